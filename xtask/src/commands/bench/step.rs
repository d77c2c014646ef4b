//! The training step: the fixed mix of calls that the seeds' loop makes, as one graph.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};

/// The case's id.
pub const CASE: &str = "training-step";

/// The library of each backend that the step calls.
pub type Libraries = BTreeMap<&'static str, Library>;

/// Calls of one kind.
#[derive(Clone)]
pub struct Part {
    /// Whose kernel.
    pub backend: &'static str,
    /// How one is made, checked, and was made before.
    pub bench: Bench,
    /// How many, each on buffers of its own.
    pub times: usize,
}

impl Part {
    /// As it stands in results.
    pub fn name(&self) -> String {
        format!("{} x {} {}", self.times, self.backend, self.bench.id)
    }

    /// The design replaced, or the kernel where nothing was.
    fn baseline(&self) -> &Variant {
        let others = &self.bench.others;
        others
            .iter()
            .find(|variant| variant.baseline)
            .unwrap_or(&self.bench.kernel)
    }
}

/// The step's calls, in their order.
pub fn parts() -> Vec<Part> {
    let named = |backend, benches: Vec<Bench>, id: &str, times| Part {
        backend,
        bench: benches
            .into_iter()
            .find(|bench| bench.id == id)
            .unwrap_or_else(|| panic!("{backend} benches no {id}")),
        times,
    };
    let scan = |id: &str| named("mamba2-scan", mamba2_scan::bench::benches(), id, 1);
    let network = |id: &str| named("mlp", mlp::bench::benches(), id, 1);
    let sum = |sizes, times| Part {
        backend: "reduce",
        bench: reduce::bench::of_step(sizes),
        times,
    };
    vec![
        scan("backward-weights-8192x8x256x16"),
        scan("forward-8192x8x256x16"),
        network("q-denoise-backward-24-24-12"),
        sum([524_288, 3], 5),
        sum([8192, 1800], 8),
        network("curiosity-128-128-64"),
        network("risk-forward-265-64-1"),
    ]
}

/// The parts as one case; without libraries it can be named and not run.
pub fn bench(id: &str, parts: Vec<Part>, libraries: Option<Arc<Libraries>>) -> Bench {
    let parts = Arc::new(parts);
    let mut work = Work::default();
    for part in parts.iter() {
        let (of_part, times) = (part.bench.work, part.times as u64);
        work.read += times * of_part.read;
        work.written += times * of_part.written;
        work.fmas += times * of_part.fmas;
    }
    let of = |baseline: bool| {
        let (parts, libraries) = (parts.clone(), libraries.clone());
        move |_: &Library| prepared(&parts, libraries.as_deref(), baseline)
    };
    let within = parts.iter().filter_map(|part| part.baseline().within);
    let others = vec![Variant::baseline(
        "the designs replaced",
        within.fold(0.0, f64::max),
        of(true),
    )];
    Bench {
        id: id.into(),
        entry: "the step's calls",
        class: Class::Exact,
        modes: vec![Mode::Hot],
        work,
        cold_bytes: 0,
        kernel: Variant::kernel(of(false)),
        build: Arc::new(move |seed, oracle| buffers(&parts, seed, oracle)),
        others,
        under_floor: None,
    }
}

/// The buffers of every call, one call after another.
fn buffers(parts: &[Part], seed: u64, oracle: Oracle) -> Vec<Buffer> {
    let mut all = Vec::new();
    for part in parts {
        for call in 0..part.times {
            let name = format!("{} {call}", part.bench.id);
            all.extend((part.bench.build)(
                Random::named(seed, &name).next_u64(),
                oracle,
            ));
        }
    }
    all
}

/// One part's call, and which share of the workspace it has.
struct Calls {
    prepared: Prepared,
    workspace: usize,
    buffers: usize,
    times: usize,
}

fn prepared(
    parts: &[Part],
    libraries: Option<&Libraries>,
    baseline: bool,
) -> parity::Result<Prepared> {
    /// Of a part's share of the workspace.
    const ALIGNED: usize = 256;
    let mut all = Vec::with_capacity(parts.len());
    let mut workspace_bytes = 0;
    for part in parts {
        let library = libraries
            .and_then(|libraries| libraries.get(part.backend))
            .ok_or_else(|| parity::Error::Load {
                path: part.backend.into(),
                message: "it was not loaded".into(),
            })?;
        let variant = if baseline {
            part.baseline()
        } else {
            &part.bench.kernel
        };
        let prepared = (variant.prepare)(library)?;
        let workspace = workspace_bytes;
        workspace_bytes += prepared.workspace_bytes.next_multiple_of(ALIGNED);
        all.push(Calls {
            prepared,
            workspace,
            buffers: (part.bench.build)(0, Oracle::Skip).len(),
            times: part.times,
        });
    }
    let call = move |pointers: &[*mut c_void], stream: *mut c_void| {
        let (own, mut rest) = pointers.split_last().expect("the workspace comes last");
        for calls in &all {
            // One stream: calls of a part follow each other, and share a workspace.
            let workspace = match calls.prepared.workspace_bytes {
                0 => std::ptr::null_mut(),
                _ => own.wrapping_byte_add(calls.workspace),
            };
            for _ in 0..calls.times {
                let (buffers, others) = rest.split_at(calls.buffers);
                let code = (calls.prepared.call)(&[buffers, &[workspace]].concat(), stream);
                if code != 0 {
                    return code;
                }
                rest = others;
            }
        }
        0
    };
    Ok(Prepared {
        workspace_bytes,
        call: Box::new(call),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::targets::Targets;

    #[test]
    fn the_step_is_a_row_of_the_targets_and_every_part_has_a_design_it_replaced() {
        let path = crate::workspace::root().unwrap().join("ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        assert!(targets.find("mlp", CASE, Mode::Hot, "exact").is_some());
        for part in parts() {
            assert!(part.baseline().baseline, "{}", part.name());
        }
    }

    #[test]
    fn a_step_s_work_is_its_calls() {
        let parts = parts();
        let bytes = |work: Work| work.read + work.written;
        let want: u64 = parts
            .iter()
            .map(|part| part.times as u64 * bytes(part.bench.work))
            .sum();
        assert_eq!(bytes(bench(CASE, parts, None).work), want);
    }

    #[test]
    fn calls_get_their_own_buffers_and_their_part_s_workspace() {
        use std::sync::Mutex;
        let seen: Arc<Mutex<Vec<Vec<usize>>>> = Arc::default();
        let part = |times: usize, workspace_bytes: usize, count: usize| {
            let seen = seen.clone();
            let kernel = Variant::kernel(move |_| {
                let seen = seen.clone();
                Ok(Prepared {
                    workspace_bytes,
                    call: Box::new(move |x, _| {
                        let addresses = x.iter().map(|p| p.addr()).collect();
                        seen.lock().unwrap().push(addresses);
                        0
                    }),
                })
            });
            let mut bench = reduce::bench::of_step([1, 1]);
            bench.kernel = kernel;
            bench.build = Arc::new(move |_, _| vec![Buffer::input("x", &[0.0f32]); count]);
            Part {
                backend: "reduce",
                bench,
                times,
            }
        };
        let library = if cfg!(target_os = "macos") {
            "libSystem.B.dylib"
        } else {
            "libc.so.6"
        };
        let libraries = Libraries::from([("reduce", Library::open(library).unwrap())]);
        let parts = [part(2, 10, 1), part(1, 0, 2), part(1, 8, 1)];
        let prepared = prepared(&parts, Some(&libraries), false).unwrap();
        assert_eq!(prepared.workspace_bytes, 512);
        let pointers: Vec<*mut c_void> = [1, 2, 3, 4, 5, 4096]
            .map(std::ptr::without_provenance_mut)
            .into();
        assert_eq!((prepared.call)(&pointers, std::ptr::null_mut()), 0);
        let seen = seen.lock().unwrap();
        assert_eq!(
            *seen,
            [
                vec![1, 4096],
                vec![2, 4096],
                vec![3, 4, 0],
                vec![5, 4096 + 256]
            ]
        );
    }
}
