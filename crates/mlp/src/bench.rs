//! The cases of the bench, at the seeds' sizes.

use std::ffi::c_void;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};
use std::ptr::{self, null_mut};

use crate::ffi;
use crate::oracle::{Actions, Activation, Layer, Network, backward, curiosity_step, risk_forward};

const BATCH: usize = 8192;
/// What the replaced designs may be off by: one chain of 8,192 terms near 1, or of 265.
const SUMS_WITHIN: f64 = 0.05;
const FORWARD_WITHIN: f64 = 1e-5;

/// What a case computes, with its sizes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// I, H, O: all gradients, relu.
    Backward([usize; 3]),
    /// State, action, hidden, outputs: rewards, loss and gradients; dense actions, relu.
    Curiosity([usize; 4]),
    /// h, isv, hidden, outputs.
    Risk([usize; 4]),
}

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    [
        ("q-denoise-backward-12-24-12", Kind::Backward([12, 24, 12])),
        ("q-denoise-backward-24-24-12", Kind::Backward([24, 24, 12])),
        ("curiosity-128-128-64", Kind::Curiosity([64, 64, 128, 64])),
        ("risk-forward-265-64-1", Kind::Risk([256, 8, 64, 1])),
    ]
    .map(|(id, kind)| bench(id, kind))
    .into()
}

fn bench(id: &str, kind: Kind) -> Bench {
    Bench {
        id: id.into(),
        entry: kind.entry(),
        class: Class::Exact,
        modes: vec![Mode::Hot],
        work: kind.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| kind.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| kind.prepared(library, kind.entry())),
        others: vec![kind.baseline()],
        under_floor: None,
    }
}

impl Kind {
    fn entry(self) -> &'static str {
        match self {
            Kind::Backward(_) => "mlp_backward_f32",
            Kind::Curiosity(_) => "mlp_curiosity_step_f32",
            Kind::Risk(_) => "mlp_risk_forward_f32",
        }
    }

    /// Inputs of the two sources, hidden, outputs, rows of w1.
    fn sizes(self) -> [usize; 5] {
        match self {
            Kind::Backward([inputs, hidden, outputs]) => [inputs, 0, hidden, outputs, inputs],
            Kind::Curiosity([state, action, hidden, outputs]) => {
                [state, action, hidden, outputs, state + action]
            }
            Kind::Risk([h, isv, hidden, outputs]) => [h, isv, hidden, outputs, h + isv + 1],
        }
    }

    fn work(self) -> Work {
        let [_, _, hidden, outputs, rows] = self.sizes();
        let (first, second) = (rows * hidden, hidden * outputs);
        let weights = first + second + hidden + outputs;
        let (read, written, fmas) = match self {
            Kind::Backward(_) => (
                BATCH * (rows + outputs) + weights,
                BATCH * rows + weights,
                // z1, du, d_w1, d_w2, dx
                3 * first + 2 * second,
            ),
            Kind::Curiosity(_) => (
                BATCH * (rows + outputs) + weights,
                BATCH + 1 + weights,
                // z1, z2, du, d_w1, d_w2
                2 * first + 3 * second,
            ),
            Kind::Risk(_) => (BATCH * rows + weights, BATCH * outputs, first + second),
        };
        Work {
            read: (read * size_of::<f32>()) as u64,
            written: (written * size_of::<f32>()) as u64,
            fmas: (BATCH * fmas) as u64,
        }
    }

    fn buffers(self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let [x, extra, hidden, outputs, rows] = self.sizes();
        let uniform = |name: &str, count: usize, most: f32| {
            Random::named(seed, name).uniforms(count, -most, most)
        };
        let x = uniform("x", BATCH * x, 1.7);
        let extra = uniform("extra", BATCH * extra, 1.7);
        let error = uniform("error", BATCH, 1.7);
        let upstream = uniform("upstream", BATCH * outputs, 1.0);
        let w1 = uniform("w1", rows * hidden, 1.7 / (rows as f32).sqrt());
        let b1 = uniform("b1", hidden, 0.5);
        let w2 = uniform("w2", hidden * outputs, 1.7 / (hidden as f32).sqrt());
        let b2 = uniform("b2", outputs, 0.5);
        let network = Network {
            inputs: rows,
            hidden,
            outputs,
            residual: false,
            first: Layer {
                weights: &w1,
                bias: Some(&b1),
                activation: Activation::Relu,
            },
            second: Layer {
                weights: &w2,
                bias: Some(&b2),
                activation: Activation::None,
            },
        };
        let run = oracle == Oracle::Run;
        let mut buffers = vec![Buffer::input("x", &x)];
        if !extra.is_empty() {
            buffers.push(Buffer::input("extra", &extra));
        }
        match self {
            Kind::Risk(_) => buffers.push(Buffer::input("error", &error)),
            _ => buffers.push(Buffer::input("upstream", &upstream)),
        }
        buffers.extend([
            Buffer::input("w1", &w1),
            Buffer::input("b1", &b1),
            Buffer::input("w2", &w2),
            Buffer::input("b2", &b2),
        ]);
        let lengths = [rows * hidden, hidden, hidden * outputs, outputs];
        let names = ["d_w1", "d_b1", "d_w2", "d_b2"];
        let mut outs: Vec<(&'static str, Vec<f32>)> = Vec::new();
        match self {
            Kind::Risk(_) => outs.push(("y", vec![0.0; BATCH * outputs])),
            Kind::Backward(_) => {
                outs.extend(names.into_iter().zip(lengths.map(|n| vec![0.0; n])));
                outs.push(("dx", vec![0.0; BATCH * rows]));
            }
            Kind::Curiosity(_) => {
                outs.extend(names.into_iter().zip(lengths.map(|n| vec![0.0; n])));
                outs.extend([("reward", vec![0.0; BATCH]), ("loss", vec![0.0])]);
            }
        }
        if run {
            let values = match self {
                Kind::Risk(_) => vec![risk_forward(&network, &x, &extra, &error)],
                Kind::Backward(_) => {
                    let all = backward(&network, &x, &upstream);
                    let sums = all.parameters;
                    vec![sums.w1, sums.b1, sums.w2, sums.b2, all.dx]
                }
                Kind::Curiosity(_) => {
                    let all = curiosity_step(&network, &x, Actions::Dense(&extra), &upstream);
                    let sums = all.parameters;
                    vec![
                        sums.w1,
                        sums.b1,
                        sums.w2,
                        sums.b2,
                        all.rewards,
                        vec![all.loss],
                    ]
                }
            };
            for (out, values) in outs.iter_mut().zip(values) {
                out.1 = values;
            }
        }
        buffers.extend(
            outs.iter()
                .map(|(name, values)| Buffer::output(name, values)),
        );
        buffers
    }

    /// The replaced design.
    fn baseline(self) -> Variant {
        let (name, within, entry) = match self {
            Kind::Backward(_) => ("thread a weight", SUMS_WITHIN, "mlp_baseline_backward"),
            Kind::Curiosity(_) => (
                "thread a weight",
                SUMS_WITHIN,
                "mlp_baseline_curiosity_step",
            ),
            Kind::Risk(_) => (
                "thread an output",
                FORWARD_WITHIN,
                "mlp_baseline_risk_forward",
            ),
        };
        Variant::baseline(name, within, move |library| self.prepared(library, entry))
    }

    /// The exact entry and its baseline take the same params.
    fn prepared(self, library: &Library, entry: &str) -> parity::Result<Prepared> {
        let staged = entry.starts_with("mlp_baseline");
        match self {
            Kind::Backward(sizes) => {
                // SAFETY: the types are the header's prototypes.
                let (call, bytes) = unsafe {
                    (
                        library.function::<ffi::mlp_backward_f32_fn>(entry)?,
                        library.function::<ffi::mlp_backward_workspace_bytes_fn>(
                            "mlp_backward_workspace_bytes",
                        )?,
                    )
                };
                let somewhere = vec![ptr::dangling_mut::<f32>().cast(); 12];
                let params = backward_params(sizes, &somewhere, staged, 0);
                // SAFETY: it reads sizes and compares pointers with null.
                let workspace_bytes = unsafe { bytes(&params) };
                Ok(Prepared {
                    workspace_bytes,
                    call: Box::new(move |x, stream| {
                        let params = backward_params(sizes, x, staged, workspace_bytes);
                        // SAFETY: bench-kit passes live buffers of these sizes, and a workspace.
                        unsafe { call(&params, stream) }
                    }),
                })
            }
            Kind::Curiosity(sizes) => {
                // SAFETY: the types are the header's prototypes.
                let (call, bytes) = unsafe {
                    (
                        library.function::<ffi::mlp_curiosity_step_f32_fn>(entry)?,
                        library.function::<ffi::mlp_curiosity_workspace_bytes_fn>(
                            "mlp_curiosity_workspace_bytes",
                        )?,
                    )
                };
                let somewhere = vec![ptr::dangling_mut::<f32>().cast(); 14];
                let params = curiosity_params(sizes, &somewhere, staged, 0);
                // SAFETY: it reads sizes and compares pointers with null.
                let workspace_bytes = unsafe { bytes(&params) };
                Ok(Prepared {
                    workspace_bytes,
                    call: Box::new(move |x, stream| {
                        let params = curiosity_params(sizes, x, staged, workspace_bytes);
                        // SAFETY: as above.
                        unsafe { call(&params, stream) }
                    }),
                })
            }
            Kind::Risk(sizes) => {
                // SAFETY: the type is the header's prototype.
                let call = unsafe { library.function::<ffi::mlp_risk_forward_f32_fn>(entry)? };
                Ok(Prepared {
                    workspace_bytes: 0,
                    call: Box::new(move |x, stream| {
                        // SAFETY: as above.
                        unsafe { call(&risk_params(sizes, x), stream) }
                    }),
                })
            }
        }
    }
}

fn path(staged: bool) -> i32 {
    let path = if staged {
        ffi::MLP_PATH_STAGED
    } else {
        ffi::MLP_PATH_AUTO
    };
    path as i32
}

/// Pointers in the order of the buffers, then the workspace.
fn backward_params(
    [inputs, hidden, outputs]: [usize; 3],
    x: &[*mut c_void],
    staged: bool,
    workspace_bytes: usize,
) -> ffi::mlp_backward_params {
    ffi::mlp_backward_params {
        struct_size: size_of::<ffi::mlp_backward_params>() as u32,
        activation1: ffi::MLP_RELU as i32,
        activation2: ffi::MLP_NONE as i32,
        residual: 0,
        path: path(staged),
        slope1: 0.0,
        slope2: 0.0,
        beta: 0.0,
        batch: BATCH as i64,
        inputs: inputs as i64,
        hidden: hidden as i64,
        outputs: outputs as i64,
        x_stride: 0,
        dy_stride: 0,
        dx_stride: 0,
        x: x[0].cast(),
        dy: x[1].cast(),
        w1: x[2].cast(),
        b1: x[3].cast(),
        w2: x[4].cast(),
        b2: x[5].cast(),
        d_w1: x[6].cast(),
        d_b1: x[7].cast(),
        d_w2: x[8].cast(),
        d_b2: x[9].cast(),
        dx: x[10].cast(),
        workspace: x[11],
        workspace_bytes,
    }
}

fn curiosity_params(
    [state, action, hidden, outputs]: [usize; 4],
    x: &[*mut c_void],
    staged: bool,
    workspace_bytes: usize,
) -> ffi::mlp_curiosity_params {
    ffi::mlp_curiosity_params {
        struct_size: size_of::<ffi::mlp_curiosity_params>() as u32,
        activation1: ffi::MLP_RELU as i32,
        activation2: ffi::MLP_NONE as i32,
        path: path(staged),
        slope1: 0.0,
        slope2: 0.0,
        beta: 0.0,
        batch: BATCH as i64,
        state_dim: state as i64,
        action_dim: action as i64,
        hidden: hidden as i64,
        outputs: outputs as i64,
        state_stride: 0,
        action_stride: 0,
        next_stride: 0,
        state: x[0].cast(),
        action: x[1].cast(),
        action_index: ptr::null(),
        next_state: x[2].cast(),
        w1: x[3].cast(),
        b1: x[4].cast(),
        w2: x[5].cast(),
        b2: x[6].cast(),
        d_w1: x[7].cast(),
        d_b1: x[8].cast(),
        d_w2: x[9].cast(),
        d_b2: x[10].cast(),
        reward: x[11].cast(),
        loss: x[12].cast(),
        status: null_mut(),
        workspace: x[13],
        workspace_bytes,
    }
}

fn risk_params([h, isv, hidden, outputs]: [usize; 4], x: &[*mut c_void]) -> ffi::mlp_risk_params {
    ffi::mlp_risk_params {
        struct_size: size_of::<ffi::mlp_risk_params>() as u32,
        path: ffi::MLP_PATH_AUTO as i32,
        batch: BATCH as i64,
        h_dim: h as i64,
        isv_dim: isv as i64,
        hidden: hidden as i64,
        outputs: outputs as i64,
        h_stride: 0,
        isv_stride: 0,
        error_stride: 0,
        y_stride: 0,
        h: x[0].cast(),
        isv: x[1].cast(),
        error: x[2].cast(),
        w1: x[3].cast(),
        b1: x[4].cast(),
        w2: x[5].cast(),
        b2: x[6].cast(),
        y: x[7].cast(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bench_kit::bench::class_name;
    use bench_kit::targets::Targets;

    #[test]
    fn every_measured_row_is_one_of_the_targets() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        let wanted: BTreeSet<_> = targets
            .rows
            .iter()
            .filter(|row| row.backend == "mlp")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let measured: BTreeSet<_> = benches()
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).to_owned()))
            })
            .collect();
        let unknown: Vec<_> = measured.difference(&wanted).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
