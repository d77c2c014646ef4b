//! What the machine can do at best: bandwidth by size, launches, barriers, multiply-adds, measured in
//! the same run as the kernels by the tiny kernels of `cuda/floors.cu`.

use std::ffi::{c_int, c_void};

use parity::{Library, Random};
use serde::{Deserialize, Serialize};

use crate::bench::COLD_BYTES;
use crate::device::{Device, Memory};
use crate::timing::{self, Plan};
use crate::{Error, Launch, Mode, Result, Work};

/// What a floor kernel does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reads every byte.
    Read,
    /// Writes every byte.
    Write,
    /// Reads and writes every byte in place.
    Update,
}

/// One measured size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What was done.
    pub access: Access,
    /// To memory in the cache or beyond it.
    pub mode: Mode,
    /// Size of the region; an update moves twice as much.
    pub bytes: u64,
    /// The fastest launch shape's median.
    pub us: f64,
    /// Its blocks.
    pub blocks: u32,
    /// Its threads a block.
    pub threads: u32,
    /// Whether it used programmatic dependent launch.
    pub pdl: bool,
}

/// Times that do not depend on a size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// What was run.
    pub name: String,
    /// Its median.
    pub us: f64,
}

/// The floors of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// By access, mode and rising size.
    pub points: Vec<Point>,
    /// Launches, barriers, one load and store.
    pub latencies: Vec<Latency>,
    /// f32 multiply-adds a microsecond, all multiprocessors.
    pub fmas_per_us: f64,
}

/// The latency that no row is faster than.
const LOAD_STORE: &str = "one load and store";

const MIB: u64 = 1 << 20;

/// Sizes measured. Smaller regions are interpolated towards one load and store; hot ones end where
/// no cache holds them.
const SIZES: [u64; 11] = [
    MIB / 4,
    MIB / 2,
    MIB,
    2 * MIB,
    4 * MIB,
    8 * MIB,
    16 * MIB,
    32 * MIB,
    64 * MIB,
    128 * MIB,
    256 * MIB,
];
const LARGEST_HOT: u64 = 32 * MIB;

/// Bytes that one thread moves at a time.
const VECTOR: u64 = 16;

impl Floors {
    /// The least time for `work` in `mode`.
    ///
    /// Reads and writes of unequal size are blended: the share that is balanced costs what an update
    /// in place costs, the rest what reading (or writing) alone does.
    pub fn floor_us(&self, work: Work, mode: Mode) -> f64 {
        let total = work.read + work.written;
        let (more, access) = if work.read >= work.written {
            (work.read - work.written, Access::Read)
        } else {
            (work.written - work.read, Access::Write)
        };
        let bytes_us = if total == 0 {
            0.0
        } else {
            let share = more as f64 / total as f64;
            share * self.interpolate(access, mode, total)
                + (1.0 - share) * self.interpolate(Access::Update, mode, total / 2)
        };
        let fmas_us = if work.fmas == 0 {
            0.0
        } else {
            work.fmas as f64 / self.fmas_per_us
        };
        bytes_us
            .max(fmas_us)
            .max(self.latency(LOAD_STORE).unwrap_or(0.0))
    }

    /// A latency by name.
    pub fn latency(&self, name: &str) -> Option<f64> {
        self.latencies
            .iter()
            .find(|latency| latency.name == name)
            .map(|latency| latency.us)
    }

    /// The curve of an access in a mode, from the latency of one load and store at no bytes. Hot
    /// curves go on as the cold ones where the cache ends.
    fn curve(&self, access: Access, mode: Mode) -> Vec<(f64, f64)> {
        let start = (0.0, self.latency(LOAD_STORE).unwrap_or(0.0));
        let of = |mode: Mode| {
            let points = self.points.iter();
            points.filter(move |p| p.access == access && p.mode == mode)
        };
        let hot_end = of(Mode::Hot).map(|p| p.bytes).max().unwrap_or(0);
        let near = if mode == Mode::Hot {
            Some(of(Mode::Hot))
        } else {
            None
        };
        let far = of(Mode::Cold).filter(|p| mode == Mode::Cold || p.bytes > hot_end);
        let points = near
            .into_iter()
            .flatten()
            .chain(far)
            .map(|p| (p.bytes as f64, p.us));
        std::iter::once(start).chain(points).collect()
    }

    fn interpolate(&self, access: Access, mode: Mode, bytes: u64) -> f64 {
        let curve = self.curve(access, mode);
        let bytes = bytes as f64;
        for pair in curve.windows(2) {
            let ((from, from_us), (to, to_us)) = (pair[0], pair[1]);
            if bytes <= to {
                return from_us + (to_us - from_us) * (bytes - from) / (to - from);
            }
        }
        // Beyond the largest size its bandwidth holds.
        match curve.last() {
            Some(&(to, us)) if to > 0.0 => us * bytes / to,
            _ => 0.0,
        }
    }

    /// Measures them all. `library` is `libfloors.so`.
    ///
    /// # Errors
    /// A library that lacks a kernel, and the device's own.
    pub fn measure(device: &dyn Device, library: &Library, plan: &Plan) -> Result<Self> {
        let extent = Extent {
            sizes: &SIZES,
            cold_bytes: COLD_BYTES as u64,
        };
        Self::measure_with(device, Kernels::find(library)?, plan, extent)
    }

    fn measure_with(
        device: &dyn Device,
        kernels: Kernels,
        plan: &Plan,
        extent: Extent,
    ) -> Result<Self> {
        let largest = extent
            .sizes
            .iter()
            .map(|bytes| extent.cold_sets(*bytes) as u64 * bytes)
            .max();
        let arena = Memory::new(device, largest.unwrap_or(0) as usize)?;
        // Random, since zeros can run faster than data.
        let random = random_bytes(64 << 20);
        for offset in (0..arena.bytes()).step_by(random.len()) {
            let end = random.len().min(arena.bytes() - offset);
            arena.upload(offset, &random[..end])?;
        }
        let sink = Memory::with(device, &[0; 256])?;
        let bench = Bench {
            device,
            plan,
            kernels,
            arena,
            sink,
            extent,
        };
        let mut points = Vec::new();
        for access in [Access::Read, Access::Write, Access::Update] {
            for mode in [Mode::Hot, Mode::Cold] {
                for &bytes in extent.sizes {
                    if mode == Mode::Cold || bytes <= LARGEST_HOT {
                        points.push(bench.point(access, mode, bytes)?);
                    }
                }
            }
        }
        Ok(Self {
            points,
            latencies: bench.latencies()?,
            fmas_per_us: bench.fmas_per_us()?,
        })
    }
}

/// What is measured.
#[derive(Clone, Copy)]
struct Extent {
    sizes: &'static [u64],
    cold_bytes: u64,
}

impl Extent {
    /// Regions that rotate in cold rows.
    fn cold_sets(self, bytes: u64) -> usize {
        (self.cold_bytes / bytes + 1).max(2) as usize
    }
}

/// Random bytes from equal seeds for every run.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut random = Random::named(1, "floors");
    let words = count.div_ceil(8);
    let mut bytes: Vec<u8> = (0..words)
        .flat_map(|_| random.next_u64().to_le_bytes())
        .collect();
    bytes.truncate(count);
    bytes
}

type MemoryKernel =
    unsafe extern "C" fn(*mut c_void, u64, *mut c_void, c_int, c_int, c_int, *mut c_void) -> c_int;
type EmptyKernel = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void) -> c_int;
type LoadStoreKernel = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
type ClusterKernel = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;
type FmaKernel = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;

struct Kernels {
    read: MemoryKernel,
    write: MemoryKernel,
    update: MemoryKernel,
    empty: EmptyKernel,
    load_store: LoadStoreKernel,
    cluster: ClusterKernel,
    fma: FmaKernel,
}

impl Kernels {
    fn find(library: &Library) -> Result<Self> {
        // SAFETY: the types are the prototypes in cuda/floors.cu, and the caller keeps the library.
        unsafe {
            Ok(Self {
                read: library.function("floors_read")?,
                write: library.function("floors_write")?,
                update: library.function("floors_update")?,
                empty: library.function("floors_empty")?,
                load_store: library.function("floors_load_store")?,
                cluster: library.function("floors_cluster")?,
                fma: library.function("floors_fma")?,
            })
        }
    }
}

/// A launch shape of a memory kernel.
#[derive(Clone, Copy)]
struct Shape {
    blocks: u32,
    threads: u32,
    pdl: bool,
}

/// Launch shapes worth trying for a region: enough threads for a vector each, at most a full GPU.
fn shapes(sm_count: u32, bytes: u64) -> Vec<Shape> {
    const THREADS_PER_SM: u32 = 2048;
    let vectors = bytes / VECTOR;
    let mut shapes = Vec::new();
    for threads in [256, 512, 1024] {
        let most = sm_count * (THREADS_PER_SM / threads);
        let wanted = vectors.div_ceil(threads.into()).min(most.into()) as u32;
        for blocks in [wanted, wanted.div_ceil(4)] {
            for pdl in [false, true] {
                shapes.push(Shape {
                    blocks,
                    threads,
                    pdl,
                });
            }
        }
    }
    shapes
}

struct Bench<'a> {
    device: &'a dyn Device,
    plan: &'a Plan,
    kernels: Kernels,
    arena: Memory<'a>,
    sink: Memory<'a>,
    extent: Extent,
}

impl Bench<'_> {
    fn time(
        &self,
        plan: &Plan,
        name: &str,
        sets: usize,
        call: &dyn Fn(usize) -> c_int,
    ) -> Result<f64> {
        let failed = |code| Error::Call {
            case: "floors".into(),
            variant: name.into(),
            code,
            message: None,
        };
        let timing = timing::time(self.device, plan, Launch::Replayed, sets, call, &failed)?;
        Ok(timing.median_us)
    }

    fn point(&self, access: Access, mode: Mode, bytes: u64) -> Result<Point> {
        let (name, kernel) = match access {
            Access::Read => ("read", self.kernels.read),
            Access::Write => ("write", self.kernels.write),
            Access::Update => ("update", self.kernels.update),
        };
        let sets = match mode {
            Mode::Hot => 1,
            Mode::Cold => self.extent.cold_sets(bytes),
        };
        let run = |plan: &Plan, shape: Shape| {
            self.time(plan, name, sets, &|set| {
                let region = self.arena.pointer().wrapping_byte_add(set * bytes as usize);
                let (blocks, threads) = (shape.blocks as c_int, shape.threads as c_int);
                let (sink, stream) = (self.sink.pointer(), self.device.stream());
                // SAFETY: sets * bytes stays inside the arena; the sink holds a word.
                unsafe {
                    kernel(
                        region,
                        bytes,
                        sink,
                        blocks,
                        threads,
                        shape.pdl.into(),
                        stream,
                    )
                }
            })
        };
        // A short look at every shape, then the full number of replays for the best.
        let look = Plan {
            replays: 5,
            warmups: 2,
            ..*self.plan
        };
        let mut best: Option<(f64, Shape)> = None;
        for shape in shapes(self.device.info().sm_count, bytes) {
            let us = run(&look, shape)?;
            if best.is_none_or(|(fastest, _)| us < fastest) {
                best = Some((us, shape));
            }
        }
        let (_, shape) = best.expect("there are shapes for every size");
        let us = run(self.plan, shape)?;
        let Shape {
            blocks,
            threads,
            pdl,
        } = shape;
        Ok(Point {
            access,
            mode,
            bytes,
            us,
            blocks,
            threads,
            pdl,
        })
    }

    fn latencies(&self) -> Result<Vec<Latency>> {
        let mut latencies = Vec::new();
        let mut add = |name: &str, call: &dyn Fn() -> c_int| {
            let us = self.time(self.plan, name, 1, &|_| call())?;
            latencies.push(Latency {
                name: name.into(),
                us,
            });
            Ok::<(), Error>(())
        };
        let stream = self.device.stream();
        let Kernels {
            empty,
            load_store,
            cluster,
            ..
        } = self.kernels;
        let sms = self.device.info().sm_count as c_int;
        for (name, blocks, threads, pdl) in [
            ("empty 1x32", 1, 32, 0),
            ("empty, a block of 1024 each SM", sms, 1024, 0),
            ("empty 1056x128", 1056, 128, 0),
            ("empty 1x32, dependent launch", 1, 32, 1),
        ] {
            // SAFETY: the kernel touches no memory.
            add(name, &|| unsafe { empty(blocks, threads, pdl, stream) })?;
        }
        let (from, to) = (
            self.sink.pointer(),
            self.sink.pointer().wrapping_byte_add(128),
        );
        // SAFETY: both words lie in the sink's 256 bytes.
        add(LOAD_STORE, &|| unsafe { load_store(from, to, stream) })?;
        for (name, size, barriers) in [
            ("cluster of 8, one barrier", 8, 1),
            ("cluster of 8, two barriers", 8, 2),
            ("cluster of 16, one barrier", 16, 1),
            ("cluster of 16, two barriers", 16, 2),
        ] {
            // A GPU without clusters has no such floor.
            // SAFETY: the kernel touches no memory.
            match add(name, &|| unsafe { cluster(size, barriers, stream) }) {
                Ok(()) | Err(Error::Call { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(latencies)
    }

    fn fmas_per_us(&self) -> Result<f64> {
        // Two blocks of 1024 fill a multiprocessor; the count is that of floors.cu.
        const FMAS_PER_ROUND: f64 = 16.0 * 1024.0;
        const ROUNDS: c_int = 512;
        let blocks = 2 * self.device.info().sm_count;
        let (sink, stream) = (self.sink.pointer(), self.device.stream());
        let us = self.time(self.plan, "fma", 1, &|_| {
            // SAFETY: the sink holds a word.
            unsafe { (self.kernels.fma)(sink, blocks as c_int, ROUNDS, stream) }
        })?;
        Ok(f64::from(blocks) * FMAS_PER_ROUND * f64::from(ROUNDS) / us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 4 TB/s from memory and 8 TB/s in the cache, that needs 1 us for any kernel. The
    /// fake tells hot from cold by nothing, so both are the same here.
    mod machine {
        use super::*;
        use crate::fake::{queue, quiet};

        fn memory(bytes: u64, moved: u64, threads: c_int, stream: *mut c_void) -> c_int {
            // 512 threads a block are this machine's best shape.
            let shape = if threads == 512 { 0.0 } else { 0.1 };
            // SAFETY: floors pass the fake device's own stream.
            unsafe {
                queue(
                    stream,
                    1.0 + shape + moved as f64 * bytes as f64 / 4e6,
                    quiet(),
                )
            };
            0
        }

        pub extern "C" fn read(
            _: *mut c_void,
            bytes: u64,
            _: *mut c_void,
            _: c_int,
            threads: c_int,
            _: c_int,
            stream: *mut c_void,
        ) -> c_int {
            memory(bytes, 1, threads, stream)
        }

        pub extern "C" fn update(
            _: *mut c_void,
            bytes: u64,
            _: *mut c_void,
            _: c_int,
            threads: c_int,
            _: c_int,
            stream: *mut c_void,
        ) -> c_int {
            memory(bytes, 2, threads, stream)
        }

        pub extern "C" fn empty(_: c_int, _: c_int, pdl: c_int, stream: *mut c_void) -> c_int {
            // SAFETY: as above.
            unsafe { queue(stream, 0.6 - 0.1 * f64::from(pdl), quiet()) };
            0
        }

        pub extern "C" fn load_store(_: *mut c_void, _: *mut c_void, stream: *mut c_void) -> c_int {
            // SAFETY: as above.
            unsafe { queue(stream, 0.9, quiet()) };
            0
        }

        pub extern "C" fn no_cluster(_: c_int, _: c_int, _: *mut c_void) -> c_int {
            912
        }

        pub extern "C" fn fma(
            _: *mut c_void,
            blocks: c_int,
            rounds: c_int,
            stream: *mut c_void,
        ) -> c_int {
            let fmas = f64::from(blocks) * f64::from(rounds) * 16.0 * 1024.0;
            // SAFETY: as above.
            unsafe { queue(stream, fmas / 3e7, quiet()) };
            0
        }
    }

    fn kernels() -> Kernels {
        Kernels {
            read: machine::read,
            write: machine::read,
            update: machine::update,
            empty: machine::empty,
            load_store: machine::load_store,
            cluster: machine::no_cluster,
            fma: machine::fma,
        }
    }

    #[test]
    fn the_best_shape_of_every_size_is_found_and_a_gpu_without_clusters_has_no_such_floor() {
        let device = crate::fake::Fake::new();
        let extent = Extent {
            sizes: &[MIB / 4, MIB],
            cold_bytes: 4 * MIB,
        };
        let floors = Floors::measure_with(&device, kernels(), &Plan::default(), extent).unwrap();
        assert_eq!(floors.points.len(), 3 * 2 * 2);
        assert!(floors.points.iter().all(|point| point.threads == 512));
        let us = floors.floor_us(read(MIB), Mode::Cold);
        assert!((us - (1.0 + MIB as f64 / 4e6)).abs() < 1e-6, "{us}");
        let update = Work {
            read: MIB,
            written: MIB,
            fmas: 0,
        };
        let us = floors.floor_us(update, Mode::Hot);
        assert!((us - (1.0 + 2.0 * MIB as f64 / 4e6)).abs() < 1e-6, "{us}");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        assert!(close(
            floors.latency("empty 1x32, dependent launch").unwrap(),
            0.5
        ));
        assert!(close(floors.latency(LOAD_STORE).unwrap(), 0.9));
        assert_eq!(floors.latency("cluster of 8, one barrier"), None);
        assert!(close(floors.fmas_per_us, 3e7));
        device.assert_clean();
    }

    #[test]
    fn a_floor_kernel_that_fails_is_an_error() {
        extern "C" fn refused(_: *mut c_void, _: *mut c_void, _: *mut c_void) -> c_int {
            700
        }
        let device = crate::fake::Fake::new();
        let kernels = Kernels {
            load_store: refused,
            ..kernels()
        };
        let extent = Extent {
            sizes: &[MIB / 4],
            cold_bytes: MIB,
        };
        let error = Floors::measure_with(&device, kernels, &Plan::default(), extent).unwrap_err();
        assert_eq!(
            error.to_string(),
            "floors, one load and store: the call returned 700"
        );
        device.assert_clean();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_without_the_floor_kernels_is_named() {
        let device = crate::fake::Fake::new();
        let libc = Library::open("libc.so.6").unwrap();
        let error = Floors::measure(&device, &libc, &Plan::default()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("libc.so.6") && text.contains("`floors_read`"),
            "{text}"
        );
    }

    fn point(access: Access, mode: Mode, bytes: u64, us: f64) -> Point {
        Point {
            access,
            mode,
            bytes,
            us,
            blocks: 1,
            threads: 32,
            pdl: false,
        }
    }

    fn floors() -> Floors {
        use Access::{Read, Update, Write};
        use Mode::{Cold, Hot};
        Floors {
            points: vec![
                point(Read, Hot, MIB, 1.4),
                point(Read, Hot, 32 * MIB, 7.0),
                point(Read, Cold, MIB, 1.8),
                point(Read, Cold, 32 * MIB, 9.0),
                point(Read, Cold, 64 * MIB, 16.0),
                point(Write, Cold, MIB, 2.0),
                point(Write, Cold, 64 * MIB, 15.0),
                point(Update, Cold, MIB, 2.3),
                point(Update, Cold, 64 * MIB, 33.0),
            ],
            latencies: vec![Latency {
                name: LOAD_STORE.into(),
                us: 0.9,
            }],
            fmas_per_us: 1e6,
        }
    }

    fn read(bytes: u64) -> Work {
        Work {
            read: bytes,
            ..Work::default()
        }
    }

    #[test]
    fn a_tiny_shape_cannot_beat_one_load_and_store() {
        assert_eq!(floors().floor_us(read(0), Mode::Hot), 0.9);
        let tiny = floors().floor_us(read(MIB / 2), Mode::Hot);
        assert!((tiny - (0.9 + 1.4) / 2.0).abs() < 1e-9, "{tiny}");
    }

    #[test]
    fn sizes_between_points_are_interpolated_and_beyond_them_scaled() {
        let between = floors().floor_us(read(48 * MIB), Mode::Cold);
        assert!((between - 12.5).abs() < 1e-9, "{between}");
        assert!((floors().floor_us(read(128 * MIB), Mode::Cold) - 32.0).abs() < 1e-9);
    }

    #[test]
    fn hot_rows_that_no_cache_holds_get_the_cold_floor() {
        assert!((floors().floor_us(read(64 * MIB), Mode::Hot) - 16.0).abs() < 1e-9);
        assert!((floors().floor_us(read(32 * MIB), Mode::Hot) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn updates_and_writes_have_curves_of_their_own() {
        let update = Work {
            read: 64 * MIB,
            written: 64 * MIB,
            fmas: 0,
        };
        assert!((floors().floor_us(update, Mode::Cold) - 33.0).abs() < 1e-9);
        let write = Work {
            written: 64 * MIB,
            ..Work::default()
        };
        assert!((floors().floor_us(write, Mode::Cold) - 15.0).abs() < 1e-9);
    }

    #[test]
    fn an_unequal_mix_lies_between_reading_and_updating() {
        let mix = Work {
            read: 48 * MIB,
            written: 16 * MIB,
            fmas: 0,
        };
        let us = floors().floor_us(mix, Mode::Cold);
        let half_update = floors().interpolate(Access::Update, Mode::Cold, 32 * MIB);
        assert!((us - (0.5 * 16.0 + 0.5 * half_update)).abs() < 1e-9, "{us}");
    }

    #[test]
    fn arithmetic_bounds_a_row_that_moves_little() {
        let work = Work {
            read: 64,
            written: 64,
            fmas: 5_000_000,
        };
        assert_eq!(floors().floor_us(work, Mode::Hot), 5.0);
    }

    #[test]
    fn a_region_gets_no_more_threads_than_it_has_vectors() {
        for shape in shapes(132, MIB / 4) {
            assert!(u64::from(shape.blocks) * u64::from(shape.threads) < MIB / 4 / VECTOR + 1024);
            assert!(shape.blocks >= 1);
        }
        assert!(
            shapes(132, 256 * MIB)
                .iter()
                .all(|s| s.blocks * s.threads <= 132 * 2048)
        );
    }
}
