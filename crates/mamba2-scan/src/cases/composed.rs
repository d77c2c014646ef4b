//! The composed path's scans: the bytes of their oracle, and every way to be refused.

use super::refusals::*;
use super::scan_spec::{GATES, READOUTS};
use crate::ffi::*;
use crate::oracle::composed::{self, ComposedScan};
use crate::oracle::temporal_scan::{Readout, Upstream};
use parity::{Buffer, Case, Instance, Library, Random, Tags};
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

const FORWARD: &str = "m2_composed_scan_f32";
const BACKWARD: &str = "m2_composed_scan_backward_f32";

#[derive(Clone)]
struct Spec {
    id: String,
    /// B, K, H, S
    sizes: [usize; 4],
    readout: Readout,
    /// Biases and x_0; with them d_final and d_x0.
    optional: bool,
    out: bool,
    /// Behind each row of `current`.
    gap: usize,
    hostile: bool,
}

struct Data {
    projections: Vec<f32>,
    readouts: Vec<f32>,
    current: Vec<f32>,
    biases: [Vec<f32>; 3],
    x0: Vec<f32>,
    d_out: Vec<f32>,
    d_final: Vec<f32>,
}

impl Spec {
    fn new(id: impl Into<String>, sizes: [usize; 4], readout: Readout) -> Spec {
        Spec {
            id: id.into(),
            sizes,
            readout,
            optional: true,
            out: true,
            gap: 0,
            hostile: false,
        }
    }

    fn enumerator(&self) -> i32 {
        let readout = match self.readout {
            Readout::Context => M2_READOUT_CONTEXT,
            Readout::Sum => M2_READOUT_SUM,
            Readout::TileAdd => M2_READOUT_TILE_ADD,
        };
        readout as i32
    }

    fn draw(&self, seed: u64) -> Data {
        let [batch, steps, features, states] = self.sizes;
        let uniform = |name: &str, count: usize, most: f32| {
            Random::named(seed, name).uniforms(count, -most, most)
        };
        let mut current = uniform("current", batch * (features + self.gap), 1.7);
        for row in current.chunks_mut(features + self.gap) {
            row[features..].fill(f32::NAN);
        }
        let out = match self.readout {
            Readout::Context => states,
            Readout::Sum => 1,
            Readout::TileAdd => features,
        };
        let mut data = Data {
            projections: uniform("projections", batch * steps * 2 * states, 3.0),
            readouts: uniform("readouts", batch * states, 2.0),
            current,
            biases: ["a", "b", "c"].map(|name| uniform(name, states, 0.5)),
            x0: uniform("x0", batch * states, 1.0),
            d_out: uniform("d_out", batch * out, 1.0),
            d_final: uniform("d_final", batch * states, 1.0),
        };
        if self.hostile {
            for (i, row) in data.projections.chunks_mut(2 * states).enumerate() {
                for (s, gate) in row[..states].iter_mut().enumerate() {
                    *gate = GATES[(i + s) % GATES.len()];
                }
            }
            data.projections[states] = f32::NAN;
            data.projections[2 * states] = f32::INFINITY;
            data.readouts[1] = f32::NEG_INFINITY;
        }
        data
    }

    fn problem<'a>(&self, data: &'a Data) -> ComposedScan<'a> {
        let [batch, steps, features, states] = self.sizes;
        let optional = |values: &'a [f32]| self.optional.then_some(values);
        ComposedScan {
            batch,
            steps,
            features,
            states,
            readout: self.readout,
            current_stride: features + self.gap,
            projections: &data.projections,
            readouts: &data.readouts,
            current: &data.current,
            biases: [0, 1, 2].map(|i| optional(&data.biases[i])),
            initial: optional(&data.x0),
        }
    }

    /// Biases and x_0: buffers 0 to 3.
    fn optional_inputs(&self, data: &Data) -> Vec<Buffer> {
        let names = ["bias_a", "bias_b", "bias_c"];
        let biases = names.into_iter().zip(&data.biases);
        let mut buffers: Vec<Buffer> = biases.map(|(name, x)| Buffer::input(name, x)).collect();
        buffers.push(Buffer::input("x0", &data.x0));
        buffers
    }

    fn forward_buffers(&self, seed: u64) -> Vec<Buffer> {
        let data = self.draw(seed);
        let want = composed::scan(&self.problem(&data));
        let mut buffers = self.optional_inputs(&data);
        buffers.push(Buffer::input("projections", &data.projections));
        buffers.push(Buffer::input("readouts", &data.readouts));
        buffers.push(Buffer::input("current", &data.current));
        buffers.push(Buffer::output("final_state", &want.final_state));
        if self.out {
            buffers.push(Buffer::output("out", &want.out));
        }
        buffers
    }

    fn backward_buffers(&self, seed: u64) -> Vec<Buffer> {
        let data = self.draw(seed);
        let upstream = Upstream {
            out: &data.d_out,
            final_state: self.optional.then_some(&data.d_final[..]),
        };
        let want = composed::backward(&self.problem(&data), &upstream);
        let mut buffers = self.optional_inputs(&data);
        buffers.push(Buffer::input("d_out", &data.d_out));
        buffers.push(Buffer::in_out(
            "projections",
            &data.projections,
            &want.projections,
        ));
        buffers.push(Buffer::in_out("readouts", &data.readouts, &want.readouts));
        if self.optional {
            buffers.push(Buffer::input("d_final", &data.d_final));
            buffers.push(Buffer::output("d_x0", &want.initial));
        }
        buffers
    }

    fn forward_params(&self, p: &[*mut c_void]) -> m2_composed_scan_params {
        let [batch, steps, features, states] = self.sizes.map(|size| size as i64);
        let optional = |i: usize| {
            if self.optional {
                p[i].cast()
            } else {
                null_mut()
            }
        };
        let stride = features + self.gap as i64;
        m2_composed_scan_params {
            struct_size: size_of::<m2_composed_scan_params>() as u32,
            readout: self.enumerator(),
            batch,
            steps,
            features,
            states,
            current_stride: if self.gap == 0 { 0 } else { stride },
            projections: p[4].cast(),
            readouts: if self.out { p[5].cast() } else { null() },
            current: match self.readout {
                Readout::TileAdd => p[6].cast(),
                _ => null(),
            },
            bias_a: optional(0),
            bias_b: optional(1),
            bias_c: optional(2),
            x0: optional(3),
            out: p.get(8).map_or(null_mut(), |p| p.cast()),
            final_state: p[7].cast(),
        }
    }

    fn backward_params(&self, p: &[*mut c_void]) -> m2_composed_scan_backward_params {
        let [batch, steps, features, states] = self.sizes.map(|size| size as i64);
        let optional = |i: usize| {
            if self.optional {
                p[i].cast()
            } else {
                null_mut()
            }
        };
        m2_composed_scan_backward_params {
            struct_size: size_of::<m2_composed_scan_backward_params>() as u32,
            readout: self.enumerator(),
            batch,
            steps,
            features,
            states,
            bias_a: optional(0),
            bias_b: optional(1),
            bias_c: optional(2),
            x0: optional(3),
            d_out: p[4].cast(),
            d_final: optional(7),
            projections: p[5].cast(),
            readouts: p[6].cast(),
            d_x0: optional(8),
        }
    }

    fn forward_case(self) -> Case {
        let id = format!("composed-forward-{}", self.id);
        Case::exact(id, FORWARD, move |variation| {
            let spec = self.clone();
            let nodes = usize::from(self.sizes[0] > 0);
            let buffers = self.forward_buffers(variation.seed);
            Instance::new(buffers, move |library, pointers, stream| {
                call_forward(library, &spec.forward_params(pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(Tags::SANITIZE | Tags::SIMULATE)
    }

    fn backward_case(self) -> Case {
        let id = format!("composed-backward-{}", self.id);
        Case::exact(id, BACKWARD, move |variation| {
            let spec = self.clone();
            let nodes = usize::from(self.sizes[0] > 0);
            let buffers = self.backward_buffers(variation.seed);
            Instance::new(buffers, move |library, pointers, stream| {
                call_backward(library, &spec.backward_params(pointers), stream)
            })
            .nodes(nodes)
        })
        .tagged(Tags::SANITIZE | Tags::SIMULATE)
    }
}

fn call_forward(
    library: &Library,
    params: *const m2_composed_scan_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<m2_composed_scan_f32_fn>(FORWARD) }?;
    // SAFETY: the runner passes live buffers of the sizes in `params`, or the call must refuse them.
    Ok(unsafe { scan(params, stream) })
}

fn call_backward(
    library: &Library,
    params: *const m2_composed_scan_backward_params,
    stream: *mut c_void,
) -> parity::Result<c_int> {
    // SAFETY: the type is the header's prototype.
    let scan = unsafe { library.function::<m2_composed_scan_backward_f32_fn>(BACKWARD) }?;
    // SAFETY: as above.
    Ok(unsafe { scan(params, stream) })
}

type AlterForward = fn(&mut m2_composed_scan_params);
type AlterBackward = fn(&mut m2_composed_scan_backward_params);

/// A legal call on which everything optional is present.
fn legal() -> Spec {
    Spec::new("", [3, 2, 8, 4], Readout::TileAdd)
}

fn forward_refuses(id: &str, code: u32, alter: AlterForward) -> Case {
    let id = format!("composed-forward-refuses-{id}");
    Case::exact(id, FORWARD, move |variation| {
        let spec = legal();
        let mut buffers = spec.forward_buffers(variation.seed);
        leave_unwritten(&mut buffers);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.forward_params(pointers);
            alter(&mut params);
            call_forward(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn backward_refuses(id: &str, code: u32, alter: AlterBackward) -> Case {
    let id = format!("composed-backward-refuses-{id}");
    Case::exact(id, BACKWARD, move |variation| {
        let spec = legal();
        let mut buffers = spec.backward_buffers(variation.seed);
        leave_unwritten(&mut buffers);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.backward_params(pointers);
            alter(&mut params);
            call_backward(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

/// A refusal of both directions, whose params have these fields by the same names.
macro_rules! both {
    ($cases:ident, $id:expr, $code:expr, $p:ident => $alter:expr) => {
        $cases.extend([
            forward_refuses($id, $code, |$p| $alter),
            backward_refuses($id, $code, |$p| $alter),
        ]);
    };
}

fn refusals() -> Vec<Case> {
    const MOST: i64 = M2_MAX_COMPOSED as i64;
    let mut cases = Vec::new();
    both!(cases, "struct-size-0", BAD_STRUCT + M2_ARG_struct_size, p => p.struct_size = 0);
    both!(cases, "readout-3", BAD_ENUM + M2_ARG_readout, p => p.readout = 3);
    both!(cases, "readout-minus-1", BAD_ENUM + M2_ARG_readout, p => p.readout = -1);
    both!(cases, "batch-minus-1", BAD_SIZE + M2_ARG_batch, p => p.batch = -1);
    both!(cases, "steps-0", BAD_SIZE + M2_ARG_steps, p => p.steps = 0);
    both!(cases, "features-0", BAD_SIZE + M2_ARG_features, p => p.features = 0);
    both!(cases, "states-0", BAD_SIZE + M2_ARG_states, p => p.states = 0);
    both!(cases, "batch-too-large", BAD_SIZE + M2_ARG_batch, p => p.batch = i64::MAX);
    both!(cases, "steps-too-large", BAD_SIZE + M2_ARG_steps, p => p.steps = MOST + 1);
    both!(cases, "features-too-large", BAD_SIZE + M2_ARG_features, p => p.features = i64::MAX);
    both!(cases, "states-too-large", BAD_SIZE + M2_ARG_states, p => p.states = i64::MAX);
    both!(cases, "too-many-projections", BAD_SIZE + M2_ARG_batch, p => {
        p.batch = 1 << 30;
        p.steps = 1 << 9;
        p.features = 1;
        p.states = 1;
    });
    both!(cases, "products-beyond-64-bits", BAD_SIZE + M2_ARG_batch, p => {
        p.batch = 1 << 38;
        p.steps = 1 << 38;
        p.features = 1;
    });
    both!(cases, "too-much-of-current", BAD_SIZE + M2_ARG_batch, p => p.features = MOST / 2);
    both!(cases, "null-projections", NULL_POINTER + M2_ARG_projections, p => {
        p.projections = null_mut();
    });
    both!(cases, "null-readouts", NULL_POINTER + M2_ARG_readouts, p => p.readouts = null_mut());
    both!(cases, "misaligned-projections", MISALIGNED + M2_ARG_projections, p => {
        p.projections = p.projections.wrapping_byte_add(1);
    });
    both!(cases, "misaligned-readouts", MISALIGNED + M2_ARG_readouts, p => {
        p.readouts = p.readouts.wrapping_byte_add(1);
    });
    both!(cases, "misaligned-bias-a", MISALIGNED + M2_ARG_bias_a, p => {
        p.bias_a = p.bias_a.wrapping_byte_add(1);
    });
    both!(cases, "misaligned-bias-b", MISALIGNED + M2_ARG_bias_b, p => {
        p.bias_b = p.bias_b.wrapping_byte_add(1);
    });
    both!(cases, "misaligned-bias-c", MISALIGNED + M2_ARG_bias_c, p => {
        p.bias_c = p.bias_c.wrapping_byte_add(1);
    });
    both!(cases, "misaligned-x0", MISALIGNED + M2_ARG_x0, p => p.x0 = p.x0.wrapping_byte_add(1));
    let forward: [(&str, u32, AlterForward); 9] = [
        ("sum", UNSUPPORTED + M2_ARG_readout, |p| {
            p.readout = M2_READOUT_SUM as i32
        }),
        (
            "current-stride-7",
            BAD_STRIDE + M2_ARG_current_stride,
            |p| p.current_stride = 7,
        ),
        ("null-current", NULL_POINTER + M2_ARG_current, |p| {
            p.current = null()
        }),
        ("no-output", NULL_POINTER + M2_ARG_out, |p| {
            p.out = null_mut();
            p.final_state = null_mut();
        }),
        ("misaligned-current", MISALIGNED + M2_ARG_current, |p| {
            p.current = p.current.wrapping_byte_add(1)
        }),
        ("misaligned-out", MISALIGNED + M2_ARG_out, |p| {
            p.out = p.out.wrapping_byte_add(1)
        }),
        (
            "misaligned-final-state",
            MISALIGNED + M2_ARG_final_state,
            |p| p.final_state = p.final_state.wrapping_byte_add(1),
        ),
        ("out-on-current", OVERLAP + M2_ARG_out, |p| {
            p.out = p.current.cast_mut()
        }),
        ("final-state-on-x0", OVERLAP + M2_ARG_final_state, |p| {
            p.final_state = p.x0.cast_mut()
        }),
    ];
    for (id, code, alter) in forward {
        cases.push(forward_refuses(id, code, alter));
    }
    let backward: [(&str, u32, AlterBackward); 7] = [
        ("null-d-out", NULL_POINTER + M2_ARG_d_out, |p| {
            p.d_out = null()
        }),
        ("misaligned-d-out", MISALIGNED + M2_ARG_d_out, |p| {
            p.d_out = p.d_out.wrapping_byte_add(1)
        }),
        ("misaligned-d-final", MISALIGNED + M2_ARG_d_final, |p| {
            p.d_final = p.d_final.wrapping_byte_add(1)
        }),
        ("misaligned-d-x0", MISALIGNED + M2_ARG_d_x0, |p| {
            p.d_x0 = p.d_x0.wrapping_byte_add(1)
        }),
        ("projections-on-d-out", OVERLAP + M2_ARG_projections, |p| {
            p.projections = p.d_out.cast_mut()
        }),
        ("readouts-on-x0", OVERLAP + M2_ARG_readouts, |p| {
            p.readouts = p.x0.cast_mut()
        }),
        ("d-x0-on-readouts", OVERLAP + M2_ARG_d_x0, |p| {
            p.d_x0 = p.readouts
        }),
    ];
    for (id, code, alter) in backward {
        cases.push(backward_refuses(id, code, alter));
    }
    for (entry, id) in [
        (FORWARD, "composed-forward-refuses-null-params"),
        (BACKWARD, "composed-backward-refuses-null-params"),
    ] {
        cases.push(
            Case::exact(id, entry, move |_| {
                let out = Buffer::output_unwritten::<f32>("out", 4);
                Instance::new(vec![out], move |library, _, stream| {
                    if entry == FORWARD {
                        call_forward(library, null(), stream)
                    } else {
                        call_backward(library, null(), stream)
                    }
                })
                .refused((NULL_POINTER + M2_ARG_params) as c_int)
            })
            .tagged(Tags::SIMULATE),
        );
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let both = |cases: &mut Vec<Case>, spec: Spec| {
        if spec.readout != Readout::Sum {
            cases.push(spec.clone().forward_case());
        }
        cases.push(spec.backward_case());
    };
    for (name, readout) in READOUTS {
        for optional in [true, false] {
            let with = if optional { "all" } else { "bare" };
            let mut spec = Spec::new(format!("{name}-{with}"), [7, 3, 10, 5], readout);
            spec.optional = optional;
            both(&mut cases, spec);
        }
        let mut spec = Spec::new(format!("{name}-hostile"), [5, 6, 20, 16], readout);
        spec.hostile = true;
        both(&mut cases, spec);
    }
    // Also beyond what the fused kernels take; states beyond a block; fewer features than states.
    for (name, sizes) in [
        ("no-samples", [0, 2, 4, 3]),
        ("1-of-each", [1, 1, 1, 1]),
        ("100-steps", [2, 100, 4, 3]),
        ("300-states", [2, 3, 7, 300]),
        ("1500-features", [2, 2, 1500, 33]),
        ("257-samples", [257, 2, 3, 1]),
    ] {
        both(&mut cases, Spec::new(name, sizes, Readout::TileAdd));
    }
    let mut spec = Spec::new("gap", [4, 2, 9, 4], Readout::TileAdd);
    spec.gap = 3;
    cases.push(spec.forward_case());
    let mut spec = Spec::new("final-state-alone", [4, 2, 9, 4], Readout::Context);
    spec.out = false;
    cases.push(spec.forward_case());
    cases.extend(refusals());
    cases
}
