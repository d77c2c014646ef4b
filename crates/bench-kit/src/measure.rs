//! Times one case in one mode: its sets on the device, every variant, outputs checked afterwards.

use std::collections::HashMap;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ops::Range;

use parity::{Buffer, Compare, Library, Role};

use crate::bench::Prepared;
use crate::device::{Device, Memory};
use crate::timing::{self, Plan, Timing};
use crate::{Bench, Error, Mode, Oracle, Result, Variant};

/// Sets of a cold row, at the least: one would find part of itself in the cache.
const MIN_COLD_SETS: usize = 2;

/// Inputs that wait on the host for their upload, at the most.
const MOST_DRAWN_BYTES: usize = 4 << 30;

/// What an output holds before it is checked.
const POISON: u8 = 0xff;

/// The times of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The kernel's.
    pub kernel: Timing,
    /// The other variants', in the bench's order: name, whether it is a baseline, times.
    pub others: Vec<(String, bool, Timing)>,
    /// Input sets that rotated.
    pub sets: usize,
}

/// Times `bench` in `mode`. `prefix` is the library's, for its error texts.
///
/// # Errors
/// A call that fails, an output that is wrong, or the device's own.
pub fn measure(
    device: &dyn Device,
    library: &Library,
    prefix: &str,
    bench: &Bench,
    mode: Mode,
    plan: &Plan,
) -> Result<Measured> {
    let mut sets = Sets::upload(device, bench, mode)?;
    let mut times = Vec::new();
    for variant in std::iter::once(&bench.kernel).chain(&bench.others) {
        times.push(sets.run(library, prefix, variant, plan)?);
    }
    let mut times = times.into_iter();
    let kernel = times.next().expect("the kernel was timed first");
    let others = bench
        .others
        .iter()
        .zip(times)
        .map(|(variant, timing)| (variant.name.clone(), variant.baseline, timing))
        .collect();
    Ok(Measured {
        kernel,
        others,
        sets: sets.pointers.len(),
    })
}

/// The seed of a set. Sets differ, and so do the cases that share a shape.
fn seed(bench: &Bench, set: usize) -> u64 {
    parity::Random::named(set as u64, &bench.id).next_u64()
}

/// How many sets a row needs whose rotating buffers take `bytes` a set.
fn set_count(bench: &Bench, mode: Mode, bytes: usize) -> Result<usize> {
    match (mode, bytes) {
        (Mode::Hot, _) => Ok(1),
        (Mode::Cold, 0) => Err(Error::Bench {
            case: bench.id.clone(),
            what: "no input to rotate".into(),
        }),
        (Mode::Cold, _) => Ok((bench.cold_bytes / bytes + 1).max(MIN_COLD_SETS)),
    }
}

/// The first of these sets, as many as the threads and the host's memory allow at once.
fn draw(bench: &Bench, wanted: Range<usize>, bytes: usize) -> Vec<Vec<Buffer>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let fit = (MOST_DRAWN_BYTES / bytes.max(1)).max(1);
    let sets = wanted.take(threads.min(fit));
    std::thread::scope(|scope| {
        let threads: Vec<_> = sets
            .map(|index| scope.spawn(move || (bench.build)(seed(bench, index), Oracle::Skip)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

struct Sets<'a> {
    device: &'a dyn Device,
    bench: &'a Bench,
    /// Buffers of the first set: names, roles, sizes.
    layout: Vec<Buffer>,
    /// Memory by set and buffer; `None` where the first set's is used.
    memory: Vec<Vec<Option<Memory<'a>>>>,
    /// Pointers by set and buffer.
    pointers: Vec<Vec<*mut c_void>>,
    /// Oracle results of sets that were checked.
    expected: HashMap<usize, Vec<Buffer>>,
}

fn rotates(role: Role) -> bool {
    matches!(role, Role::Input | Role::InOut)
}

impl<'a> Sets<'a> {
    fn upload(device: &'a dyn Device, bench: &'a Bench, mode: Mode) -> Result<Self> {
        let mut layout = (bench.build)(seed(bench, 0), Oracle::Skip);
        let rotating: usize = layout
            .iter()
            .filter(|b| rotates(b.role))
            .map(|b| b.initial.len())
            .sum();
        let count = set_count(bench, mode, rotating)?;
        let mut memory: Vec<Vec<Option<Memory>>> = Vec::with_capacity(count);
        let mut pointers: Vec<Vec<*mut c_void>> = Vec::with_capacity(count);
        let mut drawn = Vec::new().into_iter();
        for index in 0..count {
            let set;
            let buffers = if index == 0 {
                &layout
            } else {
                if drawn.len() == 0 {
                    drawn = draw(bench, index..count, rotating).into_iter();
                }
                set = drawn.next().expect("at least one was drawn");
                check_same_shape(bench, &layout, &set)?;
                &set
            };
            let mut own = Vec::with_capacity(buffers.len());
            for buffer in buffers {
                own.push(match (buffer.role, index) {
                    (Role::Output, 0) => {
                        Some(Memory::with(device, &vec![POISON; buffer.initial.len()])?)
                    }
                    (Role::Output | Role::Workspace, 1..) => None,
                    _ => Some(Memory::with(device, &buffer.initial)?),
                });
            }
            let address = |(place, own): (usize, &Option<Memory>)| match own {
                Some(memory) => memory.pointer(),
                None => pointers[0][place],
            };
            let addresses = own.iter().enumerate().map(address).collect();
            pointers.push(addresses);
            memory.push(own);
        }
        // The contents are on the device; the first set may be as large as the GPU's memory.
        for buffer in &mut layout {
            if buffer.role != Role::Output {
                buffer.initial = Vec::new();
            }
        }
        Ok(Self {
            device,
            bench,
            layout,
            memory,
            pointers,
            expected: HashMap::new(),
        })
    }

    fn run(
        &mut self,
        library: &Library,
        prefix: &str,
        variant: &Variant,
        plan: &Plan,
    ) -> Result<Timing> {
        let Prepared {
            workspace_bytes,
            call,
        } = (variant.prepare)(library)?;
        let workspace = match workspace_bytes {
            0 => None,
            bytes => Some(Memory::with(self.device, &vec![0; bytes])?),
        };
        let extra = workspace
            .as_ref()
            .map_or(std::ptr::null_mut(), Memory::pointer);
        let arguments: Vec<Vec<*mut c_void>> = self
            .pointers
            .iter()
            .map(|set| [set.as_slice(), &[extra]].concat())
            .collect();
        let stream = self.device.stream();
        let queue = |set: usize| call(&arguments[set], stream);
        let failed = |code| Error::Call {
            case: self.bench.id.clone(),
            variant: variant.name.clone(),
            code,
            message: library.error_string(prefix, code).ok().flatten(),
        };
        self.poison_outputs()?;
        let timing = timing::time(
            self.device,
            plan,
            variant.launch,
            self.pointers.len(),
            &queue,
            &failed,
        )?;
        let set = timing.last_set;
        if self.layout.iter().any(|buffer| buffer.role == Role::InOut) {
            // Timing left the state many calls old: the check starts from fresh state.
            self.restore(set)?;
            self.poison_outputs()?;
            match queue(set) {
                0 => self.device.synchronize()?,
                code => return Err(failed(code)),
            }
        }
        self.check(set, variant)?;
        Ok(timing)
    }

    fn poison_outputs(&self) -> Result<()> {
        for (buffer, memory) in self.layout.iter().zip(&self.memory[0]) {
            if let (Role::Output, Some(memory)) = (buffer.role, memory) {
                memory.upload(0, &vec![POISON; buffer.initial.len()])?;
            }
        }
        Ok(())
    }

    fn expected(&mut self, set: usize) -> &[Buffer] {
        let bench = self.bench;
        self.expected
            .entry(set)
            .or_insert_with(|| (bench.build)(seed(bench, set), Oracle::Run))
    }

    fn restore(&mut self, set: usize) -> Result<()> {
        self.expected(set);
        for (buffer, memory) in self.expected[&set].iter().zip(&self.memory[set]) {
            if let (Role::InOut, Some(memory)) = (buffer.role, memory) {
                memory.upload(0, &buffer.initial)?;
            }
        }
        Ok(())
    }

    /// Compares what the last call on `set` left behind.
    fn check(&mut self, set: usize, variant: &Variant) -> Result<()> {
        self.expected(set);
        for (place, buffer) in self.expected[&set].iter().enumerate() {
            let memory = match buffer.role {
                Role::Input | Role::Workspace => continue,
                Role::Output => &self.memory[0][place],
                Role::InOut => &self.memory[set][place],
            };
            let memory = memory
                .as_ref()
                .expect("outputs and rotating buffers have memory");
            let got = memory.download()?;
            let got = &got[..buffer.initial.len()];
            let comparison = match (variant.within, &buffer.expected) {
                (Some(within), Some(expected)) if buffer.element.is_float() => {
                    let size = buffer.element.size();
                    let reference: Vec<f64> = expected
                        .chunks_exact(size)
                        .map(|v| buffer.element.value(v))
                        .collect();
                    let bound = vec![within; reference.len()];
                    let compare = Compare::Bound { reference, bound };
                    Buffer {
                        compare,
                        ..buffer.clone()
                    }
                    .compare(got)
                }
                _ => buffer.compare(got),
            };
            let comparison = comparison.unwrap_or_default();
            if comparison.wrong > 0 {
                let first = comparison.first.unwrap_or_default();
                return Err(Error::Wrong {
                    case: self.bench.id.clone(),
                    variant: variant.name.clone(),
                    buffer: buffer.name,
                    what: format!("{} wrong elements, {first}", comparison.wrong),
                });
            }
        }
        Ok(())
    }
}

fn check_same_shape(bench: &Bench, a: &[Buffer], b: &[Buffer]) -> Result<()> {
    let same = a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.name == b.name && a.role == b.role && a.initial.len() == b.initial.len()
        });
    if same {
        return Ok(());
    }
    Err(Error::Bench {
        case: bench.id.clone(),
        what: "the shapes of a set depend on its seed".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use parity::{Class, Random};

    use super::*;
    use crate::fake::{Fake, queue};
    use crate::{Launch, Work};

    const COUNT: usize = 64;
    const BYTES: usize = COUNT * size_of::<f32>();

    /// Any library will do: the calls below need none.
    fn library() -> Library {
        let name = if cfg!(target_os = "macos") {
            "libSystem.B.dylib"
        } else {
            "libc.so.6"
        };
        Library::open(name).expect("the C library")
    }

    /// What a doubling kernel does wrong.
    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        /// Adds this to every result.
        Off(f32),
        /// Writes nothing.
        Idle,
        /// Goes wrong after this many runs.
        After(usize),
        /// Refuses the call.
        Code(i32),
    }

    thread_local! {
        /// (input, output, workspace) of every run.
        static SEEN: RefCell<Vec<[usize; 3]>> = const { RefCell::new(Vec::new()) };
    }

    fn take_seen() -> Vec<[usize; 3]> {
        SEEN.with(|seen| seen.borrow_mut().split_off(0))
    }

    /// `y[i] = 2 x[i]`, or `x[i] = -x[i]` in place where there is no y.
    fn doubling(
        us: f64,
        fault: Fault,
        workspace_bytes: usize,
    ) -> impl Fn(&Library) -> parity::Result<Prepared> {
        move |_| {
            let runs = Arc::new(AtomicUsize::new(0));
            let call = move |pointers: &[*mut c_void], stream: *mut c_void| {
                if let Fault::Code(code) = fault {
                    return code;
                }
                let [x, y, workspace] = match *pointers {
                    [x, y, workspace] => [x, y, workspace],
                    [x, workspace] => [x, std::ptr::null_mut(), workspace],
                    _ => panic!("{} pointers", pointers.len()),
                };
                let runs = runs.clone();
                let work = Rc::new(move || {
                    let run = runs.fetch_add(1, Ordering::Relaxed);
                    SEEN.with(|seen| {
                        seen.borrow_mut()
                            .push([x as usize, y as usize, workspace as usize]);
                    });
                    let off = match fault {
                        Fault::Off(off) => off,
                        Fault::After(count) if run >= count => 1.0,
                        _ => 0.0,
                    };
                    for i in 0..COUNT {
                        // SAFETY: both buffers hold COUNT floats and live as long as the graph.
                        unsafe {
                            let x = x.cast::<f32>().add(i);
                            match (y.is_null(), fault) {
                                (_, Fault::Idle) => {}
                                (true, _) => *x = -*x + off,
                                (false, _) => *y.cast::<f32>().add(i) = 2.0 * *x + off,
                            }
                        }
                    }
                    // Every seventh run is slow: medians must not care.
                    if run.is_multiple_of(7) { 0.5 } else { 0.0 }
                });
                // SAFETY: the stream is the fake's.
                unsafe { queue(stream, us, work) };
                0
            };
            Ok(Prepared {
                workspace_bytes,
                call: Box::new(call),
            })
        }
    }

    fn out_of_place(seed: u64, _: Oracle) -> Vec<Buffer> {
        let x = Random::new(seed).uniforms(COUNT, -1.0, 1.0);
        let y: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
        vec![Buffer::input("x", &x), Buffer::output("y", &y)]
    }

    fn in_place(seed: u64, _: Oracle) -> Vec<Buffer> {
        let x = Random::new(seed).uniforms(COUNT, -1.0, 1.0);
        let negated: Vec<f32> = x.iter().map(|x| -x).collect();
        vec![Buffer::in_out("x", &x, &negated)]
    }

    fn bench(fault: Fault) -> Bench {
        Bench {
            id: "double".into(),
            entry: "ex_double",
            class: Class::Exact,
            modes: vec![Mode::Hot, Mode::Cold],
            work: Work {
                read: BYTES as u64,
                written: BYTES as u64,
                fmas: 0,
            },
            cold_bytes: 10 * BYTES,
            build: Arc::new(out_of_place),
            kernel: Variant::kernel(doubling(3.0, fault, 0)),
            others: Vec::new(),
            under_floor: None,
        }
    }

    fn run(bench: &Bench, mode: Mode) -> (Result<Measured>, Vec<[usize; 3]>) {
        let device = Fake::new();
        take_seen();
        let measured = measure(&device, &library(), "ex", bench, mode, &Plan::default());
        device.assert_clean();
        (measured, take_seen())
    }

    fn distinct(seen: &[[usize; 3]], place: usize) -> usize {
        seen.iter()
            .map(|run| run[place])
            .collect::<BTreeSet<_>>()
            .len()
    }

    #[test]
    fn a_hot_row_calls_one_set_and_gives_the_median_of_30_replays() {
        let (measured, seen) = run(&bench(Fault::None), Mode::Hot);
        let measured = measured.unwrap();
        assert_eq!(measured.sets, 1);
        assert_eq!(distinct(&seen, 0), 1);
        let Timing {
            median_us,
            min_us,
            calls,
            replays,
            nodes,
            ..
        } = measured.kernel;
        // 3 us, and half a microsecond every seventh time.
        assert!((median_us - (3.0 + 0.5 / 7.0)).abs() < 0.01, "{median_us}");
        assert!(min_us <= median_us && min_us > 3.0);
        assert_eq!((replays, nodes), (30, 1));
        assert!(
            (20..=200).contains(&calls) && calls as f64 * median_us >= 280.0,
            "{calls}"
        );
    }

    #[test]
    fn a_cold_row_rotates_inputs_beyond_its_bytes_and_reuses_one_output() {
        let (measured, seen) = run(&bench(Fault::None), Mode::Cold);
        assert_eq!(measured.unwrap().sets, 11);
        assert_eq!(distinct(&seen, 0), 11);
        assert_eq!(distinct(&seen, 1), 1);
        // Evenly, and never the same set twice in a row once the graphs run.
        let last = &seen[seen.len() - 110..];
        assert!(last.windows(2).all(|pair| pair[0][0] != pair[1][0]));
        let first = last[0][0];
        assert_eq!(last.iter().filter(|run| run[0] == first).count(), 10);
    }

    #[test]
    fn a_cold_row_of_large_sets_still_rotates_two() {
        let large = Bench {
            cold_bytes: 1,
            ..bench(Fault::None)
        };
        assert_eq!(run(&large, Mode::Cold).0.unwrap().sets, 2);
    }

    #[test]
    fn more_sets_than_a_graph_has_calls_are_all_used() {
        let many = Bench {
            cold_bytes: 450 * BYTES,
            ..bench(Fault::None)
        };
        let (measured, seen) = run(&many, Mode::Cold);
        assert_eq!(measured.unwrap().sets, 451);
        assert_eq!(distinct(&seen, 0), 451);
    }

    #[test]
    fn a_cold_row_without_inputs_is_refused() {
        let empty = |_, _| vec![Buffer::output("y", &[0.0f32; COUNT])];
        let bench = Bench {
            build: Arc::new(empty),
            ..bench(Fault::None)
        };
        let error = run(&bench, Mode::Cold).0.unwrap_err();
        assert_eq!(error.to_string(), "double: no input to rotate");
    }

    #[test]
    fn shapes_that_depend_on_the_seed_are_refused() {
        let odd = |seed: u64, _| vec![Buffer::input("x", &vec![1.0f32; 1 + seed as usize % 64])];
        let bench = Bench {
            build: Arc::new(odd),
            ..bench(Fault::None)
        };
        let error = run(&bench, Mode::Cold).0.unwrap_err();
        assert!(error.to_string().contains("depend on its seed"), "{error}");
    }

    #[test]
    fn state_updated_in_place_rotates_and_is_checked_from_fresh_contents() {
        let state = |fault| Bench {
            build: Arc::new(in_place),
            kernel: Variant::kernel(doubling(3.0, fault, 0)),
            ..bench(fault)
        };
        let (measured, seen) = run(&state(Fault::None), Mode::Cold);
        measured.unwrap();
        assert_eq!(distinct(&seen, 0), 11);
        let error = run(&state(Fault::Off(0.25)), Mode::Cold).0.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("double, kernel: x: 64 wrong elements"),
            "{error}"
        );
    }

    #[test]
    fn outputs_that_go_wrong_while_timing_are_found() {
        for fault in [Fault::Off(1e-6), Fault::Idle, Fault::After(100)] {
            for mode in [Mode::Hot, Mode::Cold] {
                let error = run(&bench(fault), mode).0.unwrap_err();
                let text = error.to_string();
                assert!(matches!(error, Error::Wrong { .. }), "{text}");
                assert!(text.starts_with("double, kernel: y: "), "{text}");
            }
        }
    }

    #[test]
    fn a_baseline_may_differ_by_its_bound_and_no_more() {
        let with = |off| {
            let baseline = Variant::baseline("old", 1e-3, doubling(9.0, Fault::Off(off), 0));
            Bench {
                others: vec![baseline],
                ..bench(Fault::None)
            }
        };
        let measured = run(&with(1e-4), Mode::Hot).0.unwrap();
        let (name, baseline, timing) = &measured.others[0];
        assert_eq!((name.as_str(), *baseline), ("old", true));
        assert!(timing.median_us > 9.0);
        let error = run(&with(0.5), Mode::Hot).0.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("double, old: y: 64 wrong elements"),
            "{error}"
        );
    }

    #[test]
    fn a_direct_variant_uses_no_graph() {
        let kernel = bench(Fault::None).kernel;
        let direct = kernel.direct("direct");
        assert_eq!(direct.launch, Launch::Direct);
        let bench = Bench {
            others: vec![direct],
            ..bench(Fault::None)
        };
        let measured = run(&bench, Mode::Cold).0.unwrap();
        assert_eq!(measured.kernel.nodes, 1);
        assert_eq!(measured.others[0].2.nodes, 0);
        assert!(!measured.others[0].1);
    }

    #[test]
    fn every_variant_gets_a_workspace_of_its_own() {
        let bench = Bench {
            kernel: Variant::kernel(doubling(3.0, Fault::None, 256)),
            others: vec![
                Variant::also("second entry", doubling(3.0, Fault::None, 512)),
                Variant::also("without", doubling(3.0, Fault::None, 0)),
            ],
            ..bench(Fault::None)
        };
        let (measured, seen) = run(&bench, Mode::Hot);
        measured.unwrap();
        assert!(seen.first().unwrap()[2] != 0);
        assert_eq!(seen.last().unwrap()[2], 0);
    }

    #[test]
    fn a_refused_call_names_case_variant_and_code() {
        let error = run(&bench(Fault::Code(2003)), Mode::Hot).0.unwrap_err();
        assert_eq!(error.to_string(), "double, kernel: the call returned 2003");
    }
}
