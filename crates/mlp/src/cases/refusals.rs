//! Host arguments: every way to be refused, each with its code, on buffers of a legal call.

use super::spec::*;
use crate::ffi::*;
use parity::{Buffer, Case, Instance, Role, Tags};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

// The kinds of refusal, as `ck/status.h` numbers them; the argument's number is added.
const NULL_POINTER: u32 = 1000;
const BAD_SIZE: u32 = 2000;
const BAD_VALUE: u32 = 3000;
const BAD_ENUM: u32 = 4000;
const BAD_STRIDE: u32 = 5000;
const BAD_STRUCT: u32 = 6000;
const OVERLAP: u32 = 7000;
const UNSUPPORTED: u32 = 8000;
const BAD_WORKSPACE: u32 = 9000;
const MISALIGNED: u32 = 10_000;

/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

/// A refused call writes nothing.
fn leave_unwritten(buffers: &mut [Buffer]) {
    for buffer in buffers {
        if matches!(buffer.role, Role::Output | Role::InOut) {
            buffer.expected = Some(buffer.initial.clone());
            buffer.untouched.clear();
            buffer.untouched.push(0..buffer.count());
        }
    }
}

fn off<T>(pointer: *const T) -> *const T {
    pointer.wrapping_byte_add(1)
}

fn off_mut<T>(pointer: *mut T) -> *mut T {
    pointer.wrapping_byte_add(1)
}

/// A legal call on which everything optional is present.
fn legal(kind: Kind, id: String) -> Spec {
    let spec = Spec::new(kind, id, [3, 8, 6, 8]).beta(1.0);
    match kind {
        Kind::Forward | Kind::Backward => spec.residual(),
        _ => spec.extra(4),
    }
}

macro_rules! refused {
    ($name:ident, $kind:expr, $prefix:literal, $entry:literal, $params:ident, $make:ident, $call:ident) => {
        fn $name(id: &str, code: u32, alter: fn(&mut $params)) -> Case {
            let spec = legal($kind, format!(concat!($prefix, "-refuses-{}"), id));
            Case::exact(spec.id.clone(), $entry, move |variation| {
                let (mut buffers, places) = split(spec.buffers(variation.seed));
                leave_unwritten(&mut buffers);
                let spec = spec.clone();
                Instance::new(buffers, move |library, pointers, stream| {
                    let mut params = spec.$make(0, &filled(&places, pointers));
                    alter(&mut params);
                    $call(library, &params, stream)
                })
                .refused(code as c_int)
            })
            .tagged(Tags::SIMULATE)
        }
    };
}

refused!(
    forward,
    Kind::Forward,
    "forward",
    "mlp_forward_f32",
    mlp_forward_params,
    forward_params,
    call_forward
);
refused!(
    backward,
    Kind::Backward,
    "backward",
    "mlp_backward_f32",
    mlp_backward_params,
    backward_params,
    call_backward
);
refused!(
    dense,
    Kind::Dense,
    "curiosity",
    "mlp_curiosity_step_f32",
    mlp_curiosity_params,
    curiosity_params,
    call_curiosity
);
refused!(
    indexed,
    Kind::Indexed,
    "curiosity-indexed",
    "mlp_curiosity_step_f32",
    mlp_curiosity_params,
    curiosity_params,
    call_curiosity
);
refused!(
    risk,
    Kind::Risk,
    "risk",
    "mlp_risk_forward_f32",
    mlp_risk_params,
    risk_params,
    call_risk
);
refused!(
    baseline,
    Kind::Backward,
    "baseline-backward",
    "mlp_baseline_backward",
    mlp_backward_params,
    backward_params,
    call_baseline_backward
);

/// The same refusal of entries whose params have these fields by the same names.
macro_rules! all {
    ($cases:ident: $($make:ident),*; $id:expr, $code:expr, $p:ident => $alter:expr) => {
        $cases.extend([$($make($id, $code, |$p| $alter)),*]);
    };
}

fn arguments() -> Vec<Case> {
    let mut cases = Vec::new();
    all!(cases: forward, backward, dense, risk; "struct-size-0", BAD_STRUCT + MLP_ARG_struct_size, p => p.struct_size = 0);
    all!(cases: forward, backward, dense, risk; "struct-size-short", BAD_STRUCT + MLP_ARG_struct_size, p => p.struct_size -= 8);
    all!(cases: forward, backward, dense, risk; "struct-size-long", BAD_STRUCT + MLP_ARG_struct_size, p => p.struct_size += 8);
    all!(cases: forward, backward, dense, risk; "path-3", BAD_ENUM + MLP_ARG_path, p => p.path = 3);
    all!(cases: forward, backward, dense, risk; "path-minus-1", BAD_ENUM + MLP_ARG_path, p => p.path = -1);
    all!(cases: forward, backward, dense, risk; "batch-minus-1", BAD_SIZE + MLP_ARG_batch, p => p.batch = -1);
    all!(cases: forward, backward, dense, risk; "batch-too-large", BAD_SIZE + MLP_ARG_batch, p => p.batch = 1 << 31);
    all!(cases: forward, backward, dense, risk; "hidden-0", BAD_SIZE + MLP_ARG_hidden, p => p.hidden = 0);
    all!(cases: forward, backward, dense, risk; "hidden-minus-1", BAD_SIZE + MLP_ARG_hidden, p => p.hidden = -1);
    all!(cases: forward, backward, dense, risk; "hidden-513", UNSUPPORTED + MLP_ARG_hidden, p => p.hidden = 513);
    all!(cases: forward, backward, dense, risk; "outputs-0", BAD_SIZE + MLP_ARG_outputs, p => p.outputs = 0);
    all!(cases: forward, backward, dense, risk; "outputs-minus-1", BAD_SIZE + MLP_ARG_outputs, p => p.outputs = -1);
    all!(cases: forward, backward, dense, risk; "outputs-513", UNSUPPORTED + MLP_ARG_outputs, p => p.outputs = 513);
    all!(cases: forward, backward, dense, risk; "null-w1", NULL_POINTER + MLP_ARG_w1, p => p.w1 = null());
    all!(cases: forward, backward, dense, risk; "null-w2", NULL_POINTER + MLP_ARG_w2, p => p.w2 = null());
    all!(cases: forward, backward, dense, risk; "misaligned-w1", MISALIGNED + MLP_ARG_w1, p => p.w1 = off(p.w1));
    all!(cases: forward, backward, dense, risk; "misaligned-b1", MISALIGNED + MLP_ARG_b1, p => p.b1 = off(p.b1));
    all!(cases: forward, backward, dense, risk; "misaligned-w2", MISALIGNED + MLP_ARG_w2, p => p.w2 = off(p.w2));
    all!(cases: forward, backward, dense, risk; "misaligned-b2", MISALIGNED + MLP_ARG_b2, p => p.b2 = off(p.b2));
    all!(cases: forward, backward, dense; "activation1-8", BAD_ENUM + MLP_ARG_activation1, p => p.activation1 = 8);
    all!(cases: forward, backward, dense; "activation1-minus-1", BAD_ENUM + MLP_ARG_activation1, p => p.activation1 = -1);
    all!(cases: forward, backward, dense; "slope1-nan", BAD_VALUE + MLP_ARG_slope1, p => p.slope1 = f32::NAN);
    all!(cases: forward, backward, dense; "slope1-infinite", BAD_VALUE + MLP_ARG_slope1, p => p.slope1 = f32::INFINITY);
    all!(cases: forward, backward, dense; "activation2-8", BAD_ENUM + MLP_ARG_activation2, p => p.activation2 = 8);
    all!(cases: forward, backward, dense; "activation2-minus-1", BAD_ENUM + MLP_ARG_activation2, p => p.activation2 = -1);
    all!(cases: forward, backward, dense; "slope2-nan", BAD_VALUE + MLP_ARG_slope2, p => p.slope2 = f32::NAN);
    all!(cases: forward, backward, dense; "slope2-infinite", BAD_VALUE + MLP_ARG_slope2, p => p.slope2 = f32::INFINITY);
    all!(cases: forward, backward; "inputs-0", BAD_SIZE + MLP_ARG_inputs, p => p.inputs = 0);
    all!(cases: forward, backward; "inputs-513", UNSUPPORTED + MLP_ARG_inputs, p => p.inputs = 513);
    all!(cases: forward, backward; "residual-of-other-widths", UNSUPPORTED + MLP_ARG_residual, p => p.inputs = 7);
    all!(cases: forward, backward; "fused-of-129-hidden", UNSUPPORTED + MLP_ARG_path, p => {
        p.path = MLP_PATH_FUSED as i32;
        p.batch = 0;
        p.hidden = 129;
    });
    all!(cases: forward, backward; "x-stride-7", BAD_STRIDE + MLP_ARG_x_stride, p => p.x_stride = 7);
    all!(cases: forward, backward; "x-stride-minus-8", BAD_STRIDE + MLP_ARG_x_stride, p => p.x_stride = -8);
    all!(cases: forward, backward; "x-stride-absurd", BAD_STRIDE + MLP_ARG_x_stride, p => p.x_stride = ABSURD);
    all!(cases: forward, risk; "y-stride-7", BAD_STRIDE + MLP_ARG_y_stride, p => p.y_stride = 7);
    all!(cases: forward, risk; "y-stride-minus-8", BAD_STRIDE + MLP_ARG_y_stride, p => p.y_stride = -8);
    all!(cases: forward, risk; "y-stride-absurd", BAD_STRIDE + MLP_ARG_y_stride, p => p.y_stride = ABSURD);
    all!(cases: backward; "dy-stride-7", BAD_STRIDE + MLP_ARG_dy_stride, p => p.dy_stride = 7);
    all!(cases: backward; "dy-stride-minus-8", BAD_STRIDE + MLP_ARG_dy_stride, p => p.dy_stride = -8);
    all!(cases: backward; "dy-stride-absurd", BAD_STRIDE + MLP_ARG_dy_stride, p => p.dy_stride = ABSURD);
    all!(cases: backward; "dx-stride-7", BAD_STRIDE + MLP_ARG_dx_stride, p => p.dx_stride = 7);
    all!(cases: backward; "dx-stride-minus-8", BAD_STRIDE + MLP_ARG_dx_stride, p => p.dx_stride = -8);
    all!(cases: backward; "dx-stride-absurd", BAD_STRIDE + MLP_ARG_dx_stride, p => p.dx_stride = ABSURD);
    all!(cases: dense; "state-stride-7", BAD_STRIDE + MLP_ARG_state_stride, p => p.state_stride = 7);
    all!(cases: dense; "state-stride-minus-8", BAD_STRIDE + MLP_ARG_state_stride, p => p.state_stride = -8);
    all!(cases: dense; "state-stride-absurd", BAD_STRIDE + MLP_ARG_state_stride, p => p.state_stride = ABSURD);
    all!(cases: dense; "action-stride-3", BAD_STRIDE + MLP_ARG_action_stride, p => p.action_stride = 3);
    all!(cases: dense; "action-stride-minus-4", BAD_STRIDE + MLP_ARG_action_stride, p => p.action_stride = -4);
    all!(cases: dense; "action-stride-absurd", BAD_STRIDE + MLP_ARG_action_stride, p => p.action_stride = ABSURD);
    all!(cases: dense; "next-stride-7", BAD_STRIDE + MLP_ARG_next_stride, p => p.next_stride = 7);
    all!(cases: dense; "next-stride-minus-8", BAD_STRIDE + MLP_ARG_next_stride, p => p.next_stride = -8);
    all!(cases: dense; "next-stride-absurd", BAD_STRIDE + MLP_ARG_next_stride, p => p.next_stride = ABSURD);
    all!(cases: risk; "h-stride-7", BAD_STRIDE + MLP_ARG_h_stride, p => p.h_stride = 7);
    all!(cases: risk; "h-stride-minus-8", BAD_STRIDE + MLP_ARG_h_stride, p => p.h_stride = -8);
    all!(cases: risk; "h-stride-absurd", BAD_STRIDE + MLP_ARG_h_stride, p => p.h_stride = ABSURD);
    all!(cases: risk; "isv-stride-3", BAD_STRIDE + MLP_ARG_isv_stride, p => p.isv_stride = 3);
    all!(cases: risk; "isv-stride-minus-4", BAD_STRIDE + MLP_ARG_isv_stride, p => p.isv_stride = -4);
    all!(cases: risk; "isv-stride-absurd", BAD_STRIDE + MLP_ARG_isv_stride, p => p.isv_stride = ABSURD);
    all!(cases: risk; "error-stride-minus-1", BAD_STRIDE + MLP_ARG_error_stride, p => p.error_stride = -1);
    all!(cases: risk; "error-stride-absurd", BAD_STRIDE + MLP_ARG_error_stride, p => p.error_stride = ABSURD);
    all!(cases: backward, dense; "beta-nan", BAD_VALUE + MLP_ARG_beta, p => p.beta = f32::NAN);
    all!(cases: backward, dense; "beta-infinite", BAD_VALUE + MLP_ARG_beta, p => p.beta = f32::NEG_INFINITY);
    all!(cases: backward, dense, baseline; "no-workspace", BAD_WORKSPACE + MLP_ARG_workspace, p => {
        p.workspace = null_mut();
        p.workspace_bytes = 0;
    });
    all!(cases: backward, dense; "short-workspace", BAD_WORKSPACE + MLP_ARG_workspace_bytes, p => p.workspace_bytes = 64);
    all!(cases: backward, dense; "misaligned-workspace", MISALIGNED + MLP_ARG_workspace, p => {
        p.workspace = p.workspace.wrapping_byte_add(8);
        p.workspace_bytes -= 8;
    });
    all!(cases: dense; "state-dim-0", BAD_SIZE + MLP_ARG_state_dim, p => p.state_dim = 0);
    all!(cases: dense; "action-dim-0", BAD_SIZE + MLP_ARG_action_dim, p => p.action_dim = 0);
    all!(cases: dense; "513-inputs", UNSUPPORTED + MLP_ARG_action_dim, p => p.action_dim = 505);
    all!(cases: dense; "state-dim-513", UNSUPPORTED + MLP_ARG_state_dim, p => p.state_dim = 513);
    all!(cases: risk; "h-dim-0", BAD_SIZE + MLP_ARG_h_dim, p => p.h_dim = 0);
    all!(cases: risk; "h-dim-513", UNSUPPORTED + MLP_ARG_h_dim, p => p.h_dim = 513);
    all!(cases: risk; "isv-dim-minus-1", BAD_SIZE + MLP_ARG_isv_dim, p => p.isv_dim = -1);
    all!(cases: risk; "513-inputs", UNSUPPORTED + MLP_ARG_isv_dim, p => p.isv_dim = 504);
    all!(cases: forward, backward; "null-x", NULL_POINTER + MLP_ARG_x, p => p.x = null());
    all!(cases: forward, backward; "misaligned-x", MISALIGNED + MLP_ARG_x, p => p.x = off(p.x));
    all!(cases: backward; "null-dy", NULL_POINTER + MLP_ARG_dy, p => p.dy = null());
    all!(cases: backward; "misaligned-dy", MISALIGNED + MLP_ARG_dy, p => p.dy = off(p.dy));
    all!(cases: dense; "null-state", NULL_POINTER + MLP_ARG_state, p => p.state = null());
    all!(cases: dense; "misaligned-state", MISALIGNED + MLP_ARG_state, p => p.state = off(p.state));
    all!(cases: dense; "null-action", NULL_POINTER + MLP_ARG_action, p => p.action = null());
    all!(cases: dense; "misaligned-action", MISALIGNED + MLP_ARG_action, p => p.action = off(p.action));
    all!(cases: dense, indexed; "null-next-state", NULL_POINTER + MLP_ARG_next_state, p => p.next_state = null());
    all!(cases: dense, indexed; "misaligned-next-state", MISALIGNED + MLP_ARG_next_state, p => p.next_state = off(p.next_state));
    all!(cases: indexed; "null-action-index", NULL_POINTER + MLP_ARG_action, p => p.action_index = null());
    all!(cases: indexed; "misaligned-action-index", MISALIGNED + MLP_ARG_action_index, p => p.action_index = off(p.action_index));
    all!(cases: dense; "both-actions", UNSUPPORTED + MLP_ARG_action_index, p => p.action_index = p.action.cast());
    all!(cases: risk; "null-h", NULL_POINTER + MLP_ARG_h, p => p.h = null());
    all!(cases: risk; "misaligned-h", MISALIGNED + MLP_ARG_h, p => p.h = off(p.h));
    all!(cases: risk; "null-isv", NULL_POINTER + MLP_ARG_isv, p => p.isv = null());
    all!(cases: risk; "misaligned-isv", MISALIGNED + MLP_ARG_isv, p => p.isv = off(p.isv));
    all!(cases: risk; "null-error", NULL_POINTER + MLP_ARG_error, p => p.error = null());
    all!(cases: risk; "misaligned-error", MISALIGNED + MLP_ARG_error, p => p.error = off(p.error));
    all!(cases: forward, risk; "null-y", NULL_POINTER + MLP_ARG_y, p => p.y = null_mut());
    all!(cases: forward, risk; "misaligned-y", MISALIGNED + MLP_ARG_y, p => p.y = off_mut(p.y));
    all!(cases: forward; "y-on-x", OVERLAP + MLP_ARG_y, p => p.y = p.x.cast_mut());
    all!(cases: risk; "y-on-the-last-of-h", OVERLAP + MLP_ARG_y, p => p.y = p.h.cast_mut().wrapping_add(23));
    all!(cases: backward, dense; "misaligned-d-w1", MISALIGNED + MLP_ARG_d_w1, p => p.d_w1 = off_mut(p.d_w1));
    all!(cases: backward, dense; "d-w1-on-w1", OVERLAP + MLP_ARG_d_w1, p => p.d_w1 = p.w1.cast_mut());
    all!(cases: baseline; "null-d-w1", NULL_POINTER + MLP_ARG_d_w1, p => p.d_w1 = null_mut());
    all!(cases: backward, dense; "misaligned-d-b1", MISALIGNED + MLP_ARG_d_b1, p => p.d_b1 = off_mut(p.d_b1));
    all!(cases: backward, dense; "d-b1-on-b1", OVERLAP + MLP_ARG_d_b1, p => p.d_b1 = p.b1.cast_mut());
    all!(cases: baseline; "null-d-b1", NULL_POINTER + MLP_ARG_d_b1, p => p.d_b1 = null_mut());
    all!(cases: backward, dense; "misaligned-d-w2", MISALIGNED + MLP_ARG_d_w2, p => p.d_w2 = off_mut(p.d_w2));
    all!(cases: backward, dense; "d-w2-on-w2", OVERLAP + MLP_ARG_d_w2, p => p.d_w2 = p.w2.cast_mut());
    all!(cases: baseline; "null-d-w2", NULL_POINTER + MLP_ARG_d_w2, p => p.d_w2 = null_mut());
    all!(cases: backward, dense; "misaligned-d-b2", MISALIGNED + MLP_ARG_d_b2, p => p.d_b2 = off_mut(p.d_b2));
    all!(cases: backward, dense; "d-b2-on-b2", OVERLAP + MLP_ARG_d_b2, p => p.d_b2 = p.b2.cast_mut());
    all!(cases: baseline; "null-d-b2", NULL_POINTER + MLP_ARG_d_b2, p => p.d_b2 = null_mut());
    all!(cases: backward, dense; "d-b2-on-d-w2", OVERLAP + MLP_ARG_d_b2, p => p.d_b2 = p.d_w2);
    all!(cases: baseline; "no-rows", BAD_SIZE + MLP_ARG_batch, p => p.batch = 0);
    all!(cases: backward; "misaligned-dx", MISALIGNED + MLP_ARG_dx, p => p.dx = off_mut(p.dx));
    all!(cases: backward; "dx-on-dy", OVERLAP + MLP_ARG_dx, p => p.dx = p.dy.cast_mut());
    all!(cases: backward; "workspace-on-dx", OVERLAP + MLP_ARG_workspace, p => p.workspace = p.dx.wrapping_byte_sub(p.dx.addr() % 16).cast());
    all!(cases: backward; "no-output", NULL_POINTER + MLP_ARG_d_w1, p => {
        p.d_w1 = null_mut();
        p.d_b1 = null_mut();
        p.d_w2 = null_mut();
        p.d_b2 = null_mut();
        p.dx = null_mut();
    });
    all!(cases: dense; "no-output", NULL_POINTER + MLP_ARG_reward, p => {
        p.d_w1 = null_mut();
        p.d_b1 = null_mut();
        p.d_w2 = null_mut();
        p.d_b2 = null_mut();
        p.reward = null_mut();
        p.loss = null_mut();
    });
    all!(cases: dense; "misaligned-reward", MISALIGNED + MLP_ARG_reward, p => p.reward = off_mut(p.reward));
    all!(cases: dense; "reward-on-next-state", OVERLAP + MLP_ARG_reward, p => p.reward = p.next_state.cast_mut());
    all!(cases: dense; "misaligned-loss", MISALIGNED + MLP_ARG_loss, p => p.loss = off_mut(p.loss));
    all!(cases: dense; "loss-on-next-state", OVERLAP + MLP_ARG_loss, p => p.loss = p.next_state.cast_mut());
    all!(cases: indexed; "misaligned-status", MISALIGNED + MLP_ARG_status, p => p.status = off_mut(p.status));
    all!(cases: indexed; "status-on-loss", OVERLAP + MLP_ARG_status, p => p.status = p.loss.cast());
    cases
}

/// Null params, and what a group alone can be refused for.
fn others() -> Vec<Case> {
    let mut cases = Vec::new();
    macro_rules! null_params {
        ($id:literal, $entry:ident, $type:ident $(, $count:literal)?) => {
            cases.push(Case::exact(concat!($id, "-refuses-null-params"), stringify!($entry), |_| {
                let out = Buffer::output_unwritten::<f32>("out", 4);
                Instance::new(vec![out], |library, _, stream| {
                    // SAFETY: the type is the header's prototype.
                    let call = unsafe { library.function::<$type>(stringify!($entry)) }?;
                    // SAFETY: null params must be refused.
                    Ok(unsafe { call(null() $(, $count)?, stream) })
                })
                .refused((NULL_POINTER + MLP_ARG_params) as c_int)
            }));
        };
    }
    null_params!("forward", mlp_forward_f32, mlp_forward_f32_fn);
    null_params!("backward", mlp_backward_f32, mlp_backward_f32_fn);
    null_params!(
        "curiosity",
        mlp_curiosity_step_f32,
        mlp_curiosity_step_f32_fn
    );
    null_params!("risk", mlp_risk_forward_f32, mlp_risk_forward_f32_fn);
    null_params!(
        "forward-group",
        mlp_forward_group_f32,
        mlp_forward_group_f32_fn,
        1
    );
    null_params!(
        "backward-group",
        mlp_backward_group_f32,
        mlp_backward_group_f32_fn,
        1
    );
    type Alter = fn(&mut mlp_backward_params);
    let group: [(&str, u32, i32, Alter); 6] = [
        ("0-networks", BAD_SIZE + MLP_ARG_count, 0, |_| {}),
        ("minus-1-networks", BAD_SIZE + MLP_ARG_count, -1, |_| {}),
        ("9-networks", BAD_SIZE + MLP_ARG_count, 9, |_| {}),
        ("a-staged-network", UNSUPPORTED + MLP_ARG_count, 1, |p| {
            p.path = MLP_PATH_STAGED as i32;
        }),
        ("a-struct-size", BAD_STRUCT + MLP_ARG_struct_size, 1, |p| {
            p.struct_size = 4;
        }),
        ("a-hidden-0", BAD_SIZE + MLP_ARG_hidden, 1, |p| p.hidden = 0),
    ];
    for (id, code, count, alter) in group {
        let spec = legal(Kind::Backward, format!("backward-group-refuses-{id}"));
        let case = Case::exact(
            spec.id.clone(),
            "mlp_backward_group_f32",
            move |variation| {
                let (mut buffers, places) = split(spec.buffers(variation.seed));
                leave_unwritten(&mut buffers);
                let spec = spec.clone();
                Instance::new(buffers, move |library, pointers, stream| {
                    let mut params = spec.backward_params(0, &filled(&places, pointers));
                    alter(&mut params);
                    // SAFETY: the type is the header's prototype.
                    let call = unsafe {
                        library.function::<mlp_backward_group_f32_fn>("mlp_backward_group_f32")
                    }?;
                    // SAFETY: the call must refuse its arguments before it reads a second network.
                    Ok(unsafe { call(&params, count, stream) })
                })
                .refused(code as c_int)
            },
        );
        cases.push(case.tagged(Tags::SIMULATE));
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = arguments();
    cases.extend(others());
    cases
}
