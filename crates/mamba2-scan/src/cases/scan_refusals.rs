//! Host arguments of the scan and its gradients: every way to be refused, each with its code.

use super::refusals::*;
use super::scan_spec::*;
use crate::ffi::*;
use crate::oracle::temporal_scan::Readout;
use parity::{Buffer, Case, Instance, Tags};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

const BAD_WORKSPACE: u32 = 9000;
/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

type AlterForward = fn(&mut m2_temporal_scan_params);
type AlterBackward = fn(&mut m2_scan_backward_params);

/// A legal call on which everything optional is present.
fn legal(id: String) -> Spec {
    Spec::new(id, [3, 2, 8, 4])
        .readout(Readout::TileAdd)
        .with(EVERYTHING)
        .beta(1.0)
}

fn forward_case(id: &str, code: u32, alter: AlterForward) -> Case {
    let spec = legal(format!("forward-refuses-{id}"));
    Case::exact(spec.id.clone(), "m2_temporal_scan_f32", move |variation| {
        let (mut buffers, sets) = split(spec.forward_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.forward_params(&filled(&sets, pointers));
            alter(&mut params);
            forward(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn backward_case(id: &str, code: u32, alter: AlterBackward) -> Case {
    let spec = legal(format!("backward-refuses-{id}"));
    Case::exact(spec.id.clone(), "m2_scan_backward_f32", move |variation| {
        let (mut buffers, sets) = split(spec.backward_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let spec = spec.clone();
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.backward_params(0, &filled(&sets, pointers));
            alter(&mut params);
            backward(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

/// A refusal of both directions, whose params have these fields by the same names.
macro_rules! both {
    ($cases:ident, $id:expr, $code:expr, $p:ident => $alter:expr) => {
        $cases.extend([
            forward_case($id, $code, |$p| $alter),
            backward_case($id, $code, |$p| $alter),
        ]);
    };
}

fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    both!(cases, "struct-size-0", BAD_STRUCT + M2_ARG_struct_size, p => p.struct_size = 0);
    both!(cases, "struct-size-short", BAD_STRUCT + M2_ARG_struct_size, p => p.struct_size -= 8);
    both!(cases, "struct-size-long", BAD_STRUCT + M2_ARG_struct_size, p => p.struct_size += 8);
    both!(cases, "readout-3", BAD_ENUM + M2_ARG_readout, p => p.readout = 3);
    both!(cases, "readout-minus-1", BAD_ENUM + M2_ARG_readout, p => p.readout = -1);
    both!(cases, "batch-minus-1", BAD_SIZE + M2_ARG_batch, p => p.batch = -1);
    both!(cases, "batch-too-large", BAD_SIZE + M2_ARG_batch, p => p.batch = 1 << 31);
    both!(cases, "too-many-rows", BAD_SIZE + M2_ARG_batch, p => p.batch = (1 << 29) + 1);
    both!(cases, "steps-0", BAD_SIZE + M2_ARG_steps, p => p.steps = 0);
    both!(cases, "steps-minus-1", BAD_SIZE + M2_ARG_steps, p => p.steps = -1);
    both!(cases, "steps-65", UNSUPPORTED + M2_ARG_steps, p => p.steps = 65);
    both!(cases, "features-0", BAD_SIZE + M2_ARG_features, p => p.features = 0);
    both!(cases, "features-1025", UNSUPPORTED + M2_ARG_features, p => p.features = 1025);
    both!(cases, "states-0", BAD_SIZE + M2_ARG_states, p => p.states = 0);
    both!(cases, "states-65", UNSUPPORTED + M2_ARG_states, p => p.states = 65);
    both!(cases, "step-stride-7", BAD_STRIDE + M2_ARG_step_stride, p => p.step_stride = 7);
    both!(cases, "step-stride-minus-8", BAD_STRIDE + M2_ARG_step_stride, p => p.step_stride = -8);
    both!(cases, "step-stride-absurd", BAD_STRIDE + M2_ARG_step_stride, p => p.step_stride = ABSURD * 2);
    both!(cases, "history-stride-15", BAD_STRIDE + M2_ARG_history_stride, p => {
        p.step_stride = 8;
        p.history_stride = 15;
    });
    both!(cases, "history-stride-absurd", BAD_STRIDE + M2_ARG_history_stride, p => {
        p.history_stride = ABSURD;
    });
    both!(cases, "current-stride-7", BAD_STRIDE + M2_ARG_current_stride, p => p.current_stride = 7);
    both!(cases, "current-stride-absurd", BAD_STRIDE + M2_ARG_current_stride, p => {
        p.current_stride = ABSURD;
    });
    let backward: [(&str, u32, AlterBackward); 7] = [
        ("path-3", BAD_ENUM + M2_ARG_path, |p| p.path = 3),
        ("path-minus-1", BAD_ENUM + M2_ARG_path, |p| p.path = -1),
        ("fused-of-9-steps", UNSUPPORTED + M2_ARG_path, |p| {
            // One sample of nine steps, in the memory of three of two... and no gradient of it all.
            p.path = M2_BACKWARD_FUSED as i32;
            p.batch = 0;
            p.steps = 9;
        }),
        ("beta-nan", BAD_VALUE + M2_ARG_beta, |p| p.beta = f32::NAN),
        ("beta-infinite", BAD_VALUE + M2_ARG_beta, |p| {
            p.beta = f32::INFINITY
        }),
        ("no-workspace", BAD_WORKSPACE + M2_ARG_workspace, |p| {
            p.workspace = null_mut();
            p.workspace_bytes = 0;
        }),
        (
            "short-workspace",
            BAD_WORKSPACE + M2_ARG_workspace_bytes,
            |p| p.workspace_bytes = 64,
        ),
    ];
    for (id, code, alter) in backward {
        cases.push(backward_case(id, code, alter));
    }
    cases
}

fn pointers() -> Vec<Case> {
    fn off<T>(pointer: *const T) -> *const T {
        pointer.wrapping_byte_add(1)
    }
    fn off_mut<T>(pointer: *mut T) -> *mut T {
        pointer.wrapping_byte_add(1)
    }
    let mut cases = Vec::new();
    both!(cases, "null-history", NULL_POINTER + M2_ARG_history, p => p.history = null());
    both!(cases, "null-current", NULL_POINTER + M2_ARG_current, p => p.current = null());
    both!(cases, "null-w-a", NULL_POINTER + M2_ARG_w_a, p => p.w_a = null());
    both!(cases, "null-w-b", NULL_POINTER + M2_ARG_w_b, p => p.w_b = null());
    both!(cases, "null-w-c", NULL_POINTER + M2_ARG_w_c, p => p.w_c = null());
    both!(cases, "misaligned-history", MISALIGNED + M2_ARG_history, p => p.history = off(p.history));
    both!(cases, "misaligned-current", MISALIGNED + M2_ARG_current, p => p.current = off(p.current));
    both!(cases, "misaligned-w-a", MISALIGNED + M2_ARG_w_a, p => p.w_a = off(p.w_a));
    both!(cases, "misaligned-w-b", MISALIGNED + M2_ARG_w_b, p => p.w_b = off(p.w_b));
    both!(cases, "misaligned-w-c", MISALIGNED + M2_ARG_w_c, p => p.w_c = off(p.w_c));
    both!(cases, "misaligned-bias-a", MISALIGNED + M2_ARG_bias_a, p => p.bias_a = off(p.bias_a));
    both!(cases, "misaligned-bias-b", MISALIGNED + M2_ARG_bias_b, p => p.bias_b = off(p.bias_b));
    both!(cases, "misaligned-bias-c", MISALIGNED + M2_ARG_bias_c, p => p.bias_c = off(p.bias_c));
    both!(cases, "misaligned-x0", MISALIGNED + M2_ARG_x0, p => p.x0 = off(p.x0));
    let forward: [(&str, u32, AlterForward); 6] = [
        ("no-output", NULL_POINTER + M2_ARG_out, |p| {
            p.out = null_mut();
            p.final_state = null_mut();
        }),
        ("misaligned-out", MISALIGNED + M2_ARG_out, |p| {
            p.out = off_mut(p.out)
        }),
        (
            "misaligned-final-state",
            MISALIGNED + M2_ARG_final_state,
            |p| {
                p.final_state = off_mut(p.final_state);
            },
        ),
        ("out-on-current", OVERLAP + M2_ARG_out, |p| {
            p.out = p.current.cast_mut()
        }),
        ("final-state-on-out", OVERLAP + M2_ARG_final_state, |p| {
            p.final_state = p.out
        }),
        ("final-state-on-x0", OVERLAP + M2_ARG_final_state, |p| {
            p.final_state = p.x0.cast_mut()
        }),
    ];
    for (id, code, alter) in forward {
        cases.push(forward_case(id, code, alter));
    }
    let backward: [(&str, u32, AlterBackward); 21] = [
        ("no-output", NULL_POINTER + M2_ARG_d_w_a, |p| {
            p.d_w_a = null_mut();
            p.d_w_b = null_mut();
            p.d_w_c = null_mut();
            p.d_bias_a = null_mut();
            p.d_bias_b = null_mut();
            p.d_bias_c = null_mut();
            p.d_history = null_mut();
            p.d_current = null_mut();
            p.d_x0 = null_mut();
        }),
        ("null-d-out", NULL_POINTER + M2_ARG_d_out, |p| {
            p.d_out = null()
        }),
        ("misaligned-d-out", MISALIGNED + M2_ARG_d_out, |p| {
            p.d_out = off(p.d_out)
        }),
        ("misaligned-d-final", MISALIGNED + M2_ARG_d_final, |p| {
            p.d_final = off(p.d_final)
        }),
        ("misaligned-d-w-a", MISALIGNED + M2_ARG_d_w_a, |p| {
            p.d_w_a = off_mut(p.d_w_a)
        }),
        ("misaligned-d-w-b", MISALIGNED + M2_ARG_d_w_b, |p| {
            p.d_w_b = off_mut(p.d_w_b)
        }),
        ("misaligned-d-w-c", MISALIGNED + M2_ARG_d_w_c, |p| {
            p.d_w_c = off_mut(p.d_w_c)
        }),
        ("misaligned-d-bias-a", MISALIGNED + M2_ARG_d_bias_a, |p| {
            p.d_bias_a = off_mut(p.d_bias_a)
        }),
        ("misaligned-d-bias-b", MISALIGNED + M2_ARG_d_bias_b, |p| {
            p.d_bias_b = off_mut(p.d_bias_b)
        }),
        ("misaligned-d-bias-c", MISALIGNED + M2_ARG_d_bias_c, |p| {
            p.d_bias_c = off_mut(p.d_bias_c)
        }),
        ("misaligned-d-history", MISALIGNED + M2_ARG_d_history, |p| {
            p.d_history = off_mut(p.d_history)
        }),
        ("misaligned-d-current", MISALIGNED + M2_ARG_d_current, |p| {
            p.d_current = off_mut(p.d_current)
        }),
        ("misaligned-d-x0", MISALIGNED + M2_ARG_d_x0, |p| {
            p.d_x0 = off_mut(p.d_x0)
        }),
        ("misaligned-workspace", MISALIGNED + M2_ARG_workspace, |p| {
            p.workspace = p.workspace.wrapping_byte_add(8);
            p.workspace_bytes -= 8;
        }),
        ("d-w-a-on-w-a", OVERLAP + M2_ARG_d_w_a, |p| {
            p.d_w_a = p.w_a.cast_mut()
        }),
        ("d-w-b-on-d-w-a", OVERLAP + M2_ARG_d_w_b, |p| {
            p.d_w_b = p.d_w_a
        }),
        ("d-bias-a-on-d-out", OVERLAP + M2_ARG_d_bias_a, |p| {
            p.d_bias_a = p.d_out.cast_mut()
        }),
        ("d-history-on-history", OVERLAP + M2_ARG_d_history, |p| {
            p.d_history = p.history.cast_mut()
        }),
        (
            "d-current-on-the-last-of-history",
            OVERLAP + M2_ARG_d_current,
            |p| {
                p.d_current = p.history.cast_mut().wrapping_add(47);
            },
        ),
        ("d-x0-on-d-final", OVERLAP + M2_ARG_d_x0, |p| {
            p.d_x0 = p.d_final.cast_mut()
        }),
        ("workspace-on-d-history", OVERLAP + M2_ARG_workspace, |p| {
            p.workspace = p
                .d_history
                .wrapping_byte_sub(p.d_history.addr() % 16)
                .cast();
        }),
    ];
    for (id, code, alter) in backward {
        cases.push(backward_case(id, code, alter));
    }
    for (entry, id) in [
        ("m2_temporal_scan_f32", "forward-refuses-null-params"),
        ("m2_scan_backward_f32", "backward-refuses-null-params"),
    ] {
        cases.push(Case::exact(id, entry, move |_| {
            let out = Buffer::output_unwritten::<f32>("out", 4);
            Instance::new(vec![out], move |library, _, stream| {
                if entry == "m2_temporal_scan_f32" {
                    // SAFETY: the type is the header's prototype.
                    let scan = unsafe { library.function::<m2_temporal_scan_f32_fn>(entry) }?;
                    // SAFETY: null params must be refused.
                    return Ok(unsafe { scan(null(), stream) });
                }
                // SAFETY: the type is the header's prototype.
                let scan = unsafe { library.function::<m2_scan_backward_f32_fn>(entry) }?;
                // SAFETY: null params must be refused.
                Ok(unsafe { scan(null(), stream) })
            })
            .refused((NULL_POINTER + M2_ARG_params) as c_int)
        }));
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(pointers());
    cases
}
