//! The gated scan at the sizes of the kernels that it replaces.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};

use crate::ffi;
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
    [
        ("forward", Kind::Forward),
        ("backward-weights", Kind::Weights),
        ("backward-full", Kind::Full),
    ]
    .map(|(name, kind)| bench(format!("{name}-{BATCH}x{STEPS}x{FEATURES}x{STATES}"), kind))
    .into()
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
        build: Arc::new(move |seed, oracle| kind.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| kind.prepared(library)),
        others: kind.baselines(),
        under_floor: None,
    }
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

    fn buffers(self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let data = Data::draw(seed);
        let mut buffers = data.inputs();
        if self == Kind::Forward {
            let out = match oracle {
                Oracle::Skip => vec![0.0; BATCH * STATES],
                Oracle::Run => temporal_scan(&data.scan()).out,
            };
            buffers.push(Buffer::output("out", &out));
            return buffers;
        }
        let d_out = Random::named(seed, "d_out").uniforms(BATCH * STATES, -1.0, 1.0);
        buffers.push(Buffer::input("d_out", &d_out));
        let (weights, history, current) = match oracle {
            Oracle::Skip => (
                [0; 3].map(|_| vec![0.0; MATRIX]),
                vec![0.0; ROWS * FEATURES],
                vec![0.0; BATCH * FEATURES],
            ),
            Oracle::Run => {
                let upstream = Upstream {
                    out: &d_out,
                    final_state: None,
                };
                let all = gradients(&data.scan(), &upstream);
                (all.weights, all.history, all.current)
            }
        };
        for (name, sums) in ["d_w_a", "d_w_b", "d_w_c"].into_iter().zip(&weights) {
            buffers.push(Buffer::output(name, sums));
        }
        if self == Kind::Full {
            buffers.push(Buffer::output("d_history", &history));
            buffers.push(Buffer::output("d_current", &current));
        }
        buffers
    }

    /// The replaced designs; they have no gradients of inputs.
    fn baselines(self) -> Vec<Variant> {
        match self {
            Kind::Forward => vec![Variant::baseline(
                "thread a state",
                FORWARD_WITHIN,
                move |library| forward(library, "m2_baseline_temporal_scan"),
            )],
            Kind::Weights => vec![Variant::baseline(
                "thread a weight",
                WEIGHTS_WITHIN,
                move |library| self.backward(library, "m2_baseline_scan_backward"),
            )],
            Kind::Full => Vec::new(),
        }
    }

    fn prepared(self, library: &Library) -> parity::Result<Prepared> {
        if self == Kind::Forward {
            forward(library, "m2_temporal_scan_f32")
        } else {
            self.backward(library, "m2_scan_backward_f32")
        }
    }

    /// The exact entry and its baseline take the same params.
    fn backward(self, library: &Library, entry: &str) -> parity::Result<Prepared> {
        // SAFETY: the types are the header's prototypes.
        let (backward, workspace_bytes) = unsafe {
            (
                library.function::<ffi::m2_scan_backward_f32_fn>(entry)?,
                library.function::<ffi::m2_scan_backward_workspace_bytes_fn>(
                    "m2_scan_backward_workspace_bytes",
                )?,
            )
        };
        let full = self == Kind::Full;
        // The workspace's size depends on which gradients are asked for, not on where they go.
        let somewhere: Vec<*mut c_void> = vec![ptr::dangling_mut::<f32>().cast(); 12];
        let params = backward_params(&somewhere, full, 0);
        // SAFETY: it reads sizes and compares pointers with null.
        let workspace_bytes = unsafe { workspace_bytes(&params) };
        let call = move |x: &[*mut c_void], stream| {
            let params = backward_params(x, full, workspace_bytes);
            // SAFETY: bench-kit passes live buffers of these sizes, and a workspace.
            unsafe { backward(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }
}

/// The exact entry and its baseline take the same params.
fn forward(library: &Library, entry: &str) -> parity::Result<Prepared> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<ffi::m2_temporal_scan_f32_fn>(entry)? };
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
        // SAFETY: bench-kit passes live buffers of these sizes.
        unsafe { scan(&params, stream) }
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
