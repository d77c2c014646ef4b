//! The gated scan at the sizes of the kernels that it replaces.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Element, Library, Random};

use crate::ffi;
use crate::oracle::reference::{self, Near, Precision};
use crate::oracle::temporal_scan::{TemporalScan, Upstream, gradients, temporal_scan};

const BATCH: usize = 8192;
const STEPS: usize = 8;
const FEATURES: usize = 256;
const STATES: usize = 16;
const ROWS: usize = BATCH * STEPS;
const MATRIX: usize = FEATURES * STATES;
/// What the replaced designs may be off by: other sums of 256 terms near 1, and one chain of 65,536.
const FORWARD_WITHIN: f64 = 1e-4;
const WEIGHTS_WITHIN: f64 = 0.05;

/// And the twin in TF32: of contexts, and of gradients, of weights sums of 65,536 terms.
const TF32_WITHIN: [f64; 2] = [0.1, 2.0];

/// What a case computes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Forward,
    /// Gradients of the weights.
    Weights,
    /// And of history and current.
    Full,
}

pub(super) fn benches() -> Vec<Bench> {
    let kinds = [
        ("forward", Kind::Forward),
        ("backward-weights", Kind::Weights),
        ("backward-full", Kind::Full),
    ];
    let both = |(name, kind)| {
        let id = format!("{name}-{BATCH}x{STEPS}x{FEATURES}x{STATES}");
        [bench(id.clone(), kind), fast_bench(id, kind)]
    };
    kinds.into_iter().flat_map(both).collect()
}

fn bench(id: String, kind: Kind) -> Bench {
    Bench {
        id,
        entry: if kind == Kind::Forward {
            "m2_temporal_scan_f32"
        } else {
            "m2_scan_backward_f32"
        },
        class: Class::Exact,
        modes: vec![Mode::Cold],
        work: kind.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| kind.buffers(seed, oracle, Class::Exact)),
        kernel: Variant::kernel(move |library| kind.prepared(library)),
        others: kind.baselines(),
        under_floor: None,
    }
}

/// The twin on tensor cores, as accurate as f32; beside it the one in TF32.
fn fast_bench(id: String, kind: Kind) -> Bench {
    let tf32 = Variant {
        within: Some(TF32_WITHIN[usize::from(kind != Kind::Forward)]),
        ..Variant::also("tf32", move |library| {
            kind.prepared_fast(library, ffi::M2_PRECISION_TF32)
        })
    };
    Bench {
        entry: if kind == Kind::Forward {
            "m2_temporal_scan_fast_f32"
        } else {
            "m2_scan_backward_fast_f32"
        },
        class: Class::Fast,
        // Its multiply-adds are not those of the f32 units.
        work: Work {
            fmas: 0,
            ..kind.work()
        },
        build: Arc::new(move |seed, oracle| kind.buffers(seed, oracle, Class::Fast)),
        kernel: Variant::kernel(move |library| {
            kind.prepared_fast(library, ffi::M2_PRECISION_3XTF32)
        }),
        others: vec![tf32],
        ..bench(id, kind)
    }
}

/// An output and its expectation: the oracle's bytes, or the bounds of the formula.
fn output(
    name: &'static str,
    count: usize,
    oracle: Oracle,
    values: Option<Expected<'_>>,
) -> Buffer {
    match (oracle, values) {
        (Oracle::Run, Some(Expected::Exact(values))) => Buffer::output(name, values),
        (Oracle::Run, Some(Expected::Near(values))) => {
            let (reference, bound) = values.iter().map(|x| (x.value, x.bound)).unzip();
            let mut buffer = Buffer::output_bound(name, Element::F32, reference, bound);
            // What the twin in TF32, which has a distance of its own, is compared with.
            let bytes = |x: &Near| (x.value as f32).to_ne_bytes();
            buffer.expected = Some(values.iter().flat_map(bytes).collect());
            buffer
        }
        _ => Buffer::output(name, &vec![0.0f32; count]),
    }
}

/// What an output must be.
#[derive(Clone, Copy)]
enum Expected<'a> {
    Exact(&'a [f32]),
    Near(&'a [Near]),
}

/// Inputs of both directions.
struct Data {
    history: Vec<f32>,
    current: Vec<f32>,
    weights: [Vec<f32>; 3],
}

impl Data {
    fn draw(seed: u64) -> Data {
        let uniform = |name: &str, count: usize, most: f32| {
            Random::named(seed, name).uniforms(count, -most, most)
        };
        Data {
            history: uniform("history", ROWS * FEATURES, 1.7),
            current: uniform("current", BATCH * FEATURES, 1.7),
            weights: ["a", "b", "c"].map(|name| uniform(name, MATRIX, 0.1)),
        }
    }

    fn scan(&self) -> TemporalScan<'_> {
        TemporalScan::packed(
            [BATCH, STEPS, FEATURES, STATES],
            &self.history,
            &self.current,
            [0, 1, 2].map(|i| &self.weights[i][..]),
        )
    }

    fn inputs(&self) -> Vec<Buffer> {
        vec![
            Buffer::input("history", &self.history),
            Buffer::input("current", &self.current),
            Buffer::input("w_a", &self.weights[0]),
            Buffer::input("w_b", &self.weights[1]),
            Buffer::input("w_c", &self.weights[2]),
        ]
    }
}

impl Kind {
    fn work(self) -> Work {
        let rows = ROWS + BATCH;
        let features = rows * FEATURES;
        let context = BATCH * STATES;
        // A gate and an input for each row of history, a readout for each of current.
        let projection = (2 * ROWS + BATCH) * MATRIX;
        let (read, written, times) = match self {
            Kind::Forward => (features + 3 * MATRIX, context, 1),
            Kind::Weights => (features + 3 * MATRIX + context, 3 * MATRIX, 2),
            Kind::Full => (features + 3 * MATRIX + context, 3 * MATRIX + features, 3),
        };
        Work {
            read: (read * size_of::<f32>()) as u64,
            written: (written * size_of::<f32>()) as u64,
            fmas: (projection * times) as u64,
        }
    }

    fn buffers(self, seed: u64, oracle: Oracle, class: Class) -> Vec<Buffer> {
        let data = Data::draw(seed);
        let mut buffers = data.inputs();
        let runs = |wanted: Class| oracle == Oracle::Run && class == wanted;
        if self == Kind::Forward {
            let exact = runs(Class::Exact).then(|| temporal_scan(&data.scan()));
            let near = runs(Class::Fast)
                .then(|| reference::temporal_scan(&data.scan(), Precision::ThreeTf32));
            let exact = exact.as_ref().map(|x| Expected::Exact(&x.out));
            let near = near.as_ref().map(|x| Expected::Near(&x.out));
            buffers.push(output("out", BATCH * STATES, oracle, exact.or(near)));
            return buffers;
        }
        let d_out = Random::named(seed, "d_out").uniforms(BATCH * STATES, -1.0, 1.0);
        buffers.push(Buffer::input("d_out", &d_out));
        let upstream = Upstream {
            out: &d_out,
            final_state: None,
        };
        let exact = runs(Class::Exact).then(|| gradients(&data.scan(), &upstream));
        let near = runs(Class::Fast)
            .then(|| reference::gradients(&data.scan(), &upstream, Precision::ThreeTf32));
        let of = |name: &'static str,
                  count: usize,
                  exact: Option<&Vec<f32>>,
                  near: Option<&Vec<Near>>| {
            let exact = exact.map(|x| Expected::Exact(x));
            let near = near.map(|x| Expected::Near(x));
            output(name, count, oracle, exact.or(near))
        };
        let (exact, near) = (exact.as_ref(), near.as_ref());
        for (i, name) in ["d_w_a", "d_w_b", "d_w_c"].into_iter().enumerate() {
            let exact = exact.map(|x| &x.weights[i]);
            let near = near.map(|x| &x.weights[i]);
            buffers.push(of(name, MATRIX, exact, near));
        }
        if self == Kind::Full {
            let rows = ROWS * FEATURES;
            let (history, near_history) = (exact.map(|x| &x.history), near.map(|x| &x.history));
            buffers.push(of("d_history", rows, history, near_history));
            let (current, near_current) = (exact.map(|x| &x.current), near.map(|x| &x.current));
            buffers.push(of("d_current", BATCH * FEATURES, current, near_current));
        }
        buffers
    }

    /// The replaced designs; they have no gradients of inputs.
    fn baselines(self) -> Vec<Variant> {
        match self {
            Kind::Forward => vec![Variant::baseline(
                "thread a state",
                FORWARD_WITHIN,
                move |library| forward(library, Entry::Named("m2_baseline_temporal_scan")),
            )],
            Kind::Weights => vec![Variant::baseline(
                "thread a weight",
                WEIGHTS_WITHIN,
                move |library| self.backward(library, Entry::Named("m2_baseline_scan_backward")),
            )],
            Kind::Full => Vec::new(),
        }
    }

    fn prepared(self, library: &Library) -> parity::Result<Prepared> {
        if self == Kind::Forward {
            forward(library, Entry::Named("m2_temporal_scan_f32"))
        } else {
            self.backward(library, Entry::Named("m2_scan_backward_f32"))
        }
    }

    fn prepared_fast(self, library: &Library, precision: u32) -> parity::Result<Prepared> {
        if self == Kind::Forward {
            forward(library, Entry::Fast(precision as i32))
        } else {
            self.backward(library, Entry::Fast(precision as i32))
        }
    }

    /// All entries take the same params.
    fn backward(self, library: &Library, entry: Entry) -> parity::Result<Prepared> {
        let backward = backward_entry(library, entry)?;
        // SAFETY: the type is the header's prototype.
        let workspace_bytes = unsafe {
            library.function::<ffi::m2_scan_backward_workspace_bytes_fn>(
                "m2_scan_backward_workspace_bytes",
            )?
        };
        let full = self == Kind::Full;
        // The workspace's size depends on which gradients are asked for, not on where they go.
        let somewhere: Vec<*mut c_void> = vec![ptr::dangling_mut::<f32>().cast(); 12];
        let params = backward_params(&somewhere, full, 0);
        // SAFETY: it reads sizes and compares pointers with null.
        let workspace_bytes = unsafe { workspace_bytes(&params) };
        let call = move |x: &[*mut c_void], stream| {
            // bench-kit passes live buffers of these sizes, and a workspace.
            backward(&backward_params(x, full, workspace_bytes), stream)
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }
}

/// An entry of the library.
#[derive(Clone, Copy)]
enum Entry {
    /// That of this name, with the exact entry's prototype.
    Named(&'static str),
    /// The fast one, with an enumerator of `m2_precision`.
    Fast(i32),
}

type Entered<Params> = Box<dyn Fn(&Params, *mut c_void) -> c_int>;

fn forward_entry(
    library: &Library,
    entry: Entry,
) -> parity::Result<Entered<ffi::m2_temporal_scan_params>> {
    Ok(match entry {
        Entry::Named(name) => {
            // SAFETY: the type is the header's prototype.
            let scan = unsafe { library.function::<ffi::m2_temporal_scan_f32_fn>(name)? };
            // SAFETY: the caller's params are of live buffers.
            Box::new(move |params, stream| unsafe { scan(params, stream) })
        }
        Entry::Fast(precision) => {
            let name = "m2_temporal_scan_fast_f32";
            // SAFETY: as above.
            let scan = unsafe { library.function::<ffi::m2_temporal_scan_fast_f32_fn>(name)? };
            // SAFETY: as above.
            Box::new(move |params, stream| unsafe { scan(params, precision, stream) })
        }
    })
}

fn backward_entry(
    library: &Library,
    entry: Entry,
) -> parity::Result<Entered<ffi::m2_scan_backward_params>> {
    Ok(match entry {
        Entry::Named(name) => {
            // SAFETY: the type is the header's prototype.
            let backward = unsafe { library.function::<ffi::m2_scan_backward_f32_fn>(name)? };
            // SAFETY: the caller's params are of live buffers.
            Box::new(move |params, stream| unsafe { backward(params, stream) })
        }
        Entry::Fast(precision) => {
            let name = "m2_scan_backward_fast_f32";
            // SAFETY: as above.
            let backward = unsafe { library.function::<ffi::m2_scan_backward_fast_f32_fn>(name)? };
            // SAFETY: as above.
            Box::new(move |params, stream| unsafe { backward(params, precision, stream) })
        }
    })
}

/// All entries take the same params.
fn forward(library: &Library, entry: Entry) -> parity::Result<Prepared> {
    let scan = forward_entry(library, entry)?;
    let call = move |x: &[*mut c_void], stream| {
        let params = ffi::m2_temporal_scan_params {
            struct_size: size_of::<ffi::m2_temporal_scan_params>() as u32,
            readout: ffi::M2_READOUT_CONTEXT as i32,
            batch: BATCH as i64,
            steps: STEPS as i64,
            features: FEATURES as i64,
            states: STATES as i64,
            history_stride: 0,
            step_stride: 0,
            current_stride: 0,
            history: x[0].cast(),
            current: x[1].cast(),
            w_a: x[2].cast(),
            w_b: x[3].cast(),
            w_c: x[4].cast(),
            bias_a: ptr::null(),
            bias_b: ptr::null(),
            bias_c: ptr::null(),
            x0: ptr::null(),
            out: x[5].cast(),
            final_state: ptr::null_mut(),
        };
        // bench-kit passes live buffers of these sizes.
        scan(&params, stream)
    };
    Ok(Prepared {
        workspace_bytes: 0,
        call: Box::new(call),
    })
}

/// Inputs, gradients and workspace in the order of the buffers.
fn backward_params(
    x: &[*mut c_void],
    full: bool,
    workspace_bytes: usize,
) -> ffi::m2_scan_backward_params {
    let input_gradient = |i: usize| {
        if full {
            x[i].cast::<f32>()
        } else {
            ptr::null_mut()
        }
    };
    ffi::m2_scan_backward_params {
        struct_size: size_of::<ffi::m2_scan_backward_params>() as u32,
        readout: ffi::M2_READOUT_CONTEXT as i32,
        path: ffi::M2_BACKWARD_AUTO as i32,
        beta: 0.0,
        batch: BATCH as i64,
        steps: STEPS as i64,
        features: FEATURES as i64,
        states: STATES as i64,
        history_stride: 0,
        step_stride: 0,
        current_stride: 0,
        history: x[0].cast(),
        current: x[1].cast(),
        w_a: x[2].cast(),
        w_b: x[3].cast(),
        w_c: x[4].cast(),
        bias_a: ptr::null(),
        bias_b: ptr::null(),
        bias_c: ptr::null(),
        x0: ptr::null(),
        d_out: x[5].cast(),
        d_final: ptr::null(),
        d_w_a: x[6].cast(),
        d_w_b: x[7].cast(),
        d_w_c: x[8].cast(),
        d_bias_a: ptr::null_mut(),
        d_bias_b: ptr::null_mut(),
        d_bias_c: ptr::null_mut(),
        d_history: input_gradient(9),
        d_current: input_gradient(10),
        d_x0: ptr::null_mut(),
        workspace: if full { x[11] } else { x[9] },
        workspace_bytes,
    }
}
