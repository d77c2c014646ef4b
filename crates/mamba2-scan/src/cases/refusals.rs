//! Host arguments: every way to be refused, each with its code, on buffers of a legal call.

use super::update_spec::*;
use crate::ffi::*;
use crate::oracle::Dtype;
use parity::{Buffer, Case, Instance, Role, Tags};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

// The kinds of refusal, as `ck/status.h` numbers them; the argument's number is added.
pub(super) const NULL_POINTER: u32 = 1000;
pub(super) const BAD_SIZE: u32 = 2000;
pub(super) const BAD_VALUE: u32 = 3000;
pub(super) const BAD_ENUM: u32 = 4000;
pub(super) const BAD_STRIDE: u32 = 5000;
pub(super) const BAD_STRUCT: u32 = 6000;
pub(super) const OVERLAP: u32 = 7000;
pub(super) const UNSUPPORTED: u32 = 8000;
pub(super) const MISALIGNED: u32 = 10_000;

/// Beyond every extent's limit.
const TOO_LARGE: i64 = 1 << 31;
/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

type Alter = fn(&mut m2_state_update_params);

/// A legal call on which everything optional is present.
fn legal(id: String) -> Spec {
    Spec::new(id, [2, 4, 2, 3, 8])
        .slots(3)
        .with(MODEL | DIRECT_PER_CHANNEL | CLAMP | DT_PER_CHANNEL | STATUS)
        .edit(|data| {
            data.slots_in = Some(vec![2, 0]);
            data.slots_out = Some(vec![2, 0]);
        })
}

/// A refused call writes nothing.
pub(super) fn leave_unwritten(buffers: &mut [Buffer]) {
    for buffer in buffers {
        if matches!(buffer.role, Role::Output | Role::InOut) {
            buffer.expected = Some(buffer.initial.clone());
            buffer.untouched.clear();
            buffer.untouched.push(0..buffer.count());
        }
    }
}

fn refused(spec: Spec, code: u32, alter: Alter) -> Case {
    Case::exact(spec.id.clone(), "m2_state_update", move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            alter(&mut params);
            update(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn case(id: &str, code: u32, alter: Alter) -> Case {
    refused(legal(format!("update-refuses-{id}")), code, alter)
}

fn sizes_and_enums() -> Vec<Case> {
    let refusals: [(&str, u32, Alter); 46] = [
        ("struct-size-0", BAD_STRUCT + M2_ARG_struct_size, |p| {
            p.struct_size = 0
        }),
        ("struct-size-short", BAD_STRUCT + M2_ARG_struct_size, |p| {
            p.struct_size -= 8
        }),
        ("struct-size-long", BAD_STRUCT + M2_ARG_struct_size, |p| {
            p.struct_size += 8
        }),
        ("state-dtype-3", BAD_ENUM + M2_ARG_state_dtype, |p| {
            p.state_dtype = 3
        }),
        ("state-dtype-minus-1", BAD_ENUM + M2_ARG_state_dtype, |p| {
            p.state_dtype = -1
        }),
        ("io-dtype-3", BAD_ENUM + M2_ARG_io_dtype, |p| p.io_dtype = 3),
        ("io-dtype-minus-1", BAD_ENUM + M2_ARG_io_dtype, |p| {
            p.io_dtype = -1
        }),
        ("io-f16", UNSUPPORTED + M2_ARG_io_dtype, |p| {
            p.io_dtype = M2_F16 as i32
        }),
        ("dt-dtype-3", BAD_ENUM + M2_ARG_dt_dtype, |p| p.dt_dtype = 3),
        ("dt-dtype-minus-1", BAD_ENUM + M2_ARG_dt_dtype, |p| {
            p.dt_dtype = -1
        }),
        ("dt-f16", UNSUPPORTED + M2_ARG_dt_dtype, |p| {
            p.dt_dtype = M2_F16 as i32
        }),
        ("path-2", BAD_ENUM + M2_ARG_path, |p| p.path = 2),
        ("path-minus-1", BAD_ENUM + M2_ARG_path, |p| p.path = -1),
        ("decay-2", BAD_ENUM + M2_ARG_decay, |p| p.decay = 2),
        ("decay-minus-1", BAD_ENUM + M2_ARG_decay, |p| p.decay = -1),
        ("batch-minus-1", BAD_SIZE + M2_ARG_batch, |p| p.batch = -1),
        ("batch-too-large", BAD_SIZE + M2_ARG_batch, |p| {
            p.batch = TOO_LARGE
        }),
        ("batch-beyond-the-grid", BAD_SIZE + M2_ARG_batch, |p| {
            p.batch = 1 << 24;
            p.heads = 128;
            p.slots = 1 << 24;
        }),
        ("heads-0", BAD_SIZE + M2_ARG_heads, |p| p.heads = 0),
        ("heads-minus-2", BAD_SIZE + M2_ARG_heads, |p| p.heads = -2),
        ("heads-65538", BAD_SIZE + M2_ARG_heads, |p| p.heads = 65_538),
        ("groups-0", BAD_SIZE + M2_ARG_groups, |p| p.groups = 0),
        ("groups-minus-1", BAD_SIZE + M2_ARG_groups, |p| {
            p.groups = -1
        }),
        ("groups-3-of-4-heads", BAD_SIZE + M2_ARG_groups, |p| {
            p.groups = 3
        }),
        ("groups-8-of-4-heads", BAD_SIZE + M2_ARG_groups, |p| {
            p.groups = 8
        }),
        ("head-dim-0", BAD_SIZE + M2_ARG_head_dim, |p| p.head_dim = 0),
        ("head-dim-65537", BAD_SIZE + M2_ARG_head_dim, |p| {
            p.head_dim = 65_537
        }),
        ("state-dim-0", BAD_SIZE + M2_ARG_state_dim, |p| {
            p.state_dim = 0
        }),
        ("state-dim-minus-8", BAD_SIZE + M2_ARG_state_dim, |p| {
            p.state_dim = -8
        }),
        ("state-dim-1025", BAD_SIZE + M2_ARG_state_dim, |p| {
            p.state_dim = 1025
        }),
        ("slots-minus-1", BAD_SIZE + M2_ARG_slots, |p| p.slots = -1),
        ("slots-too-many", BAD_SIZE + M2_ARG_slots, |p| {
            p.slots = TOO_LARGE
        }),
        ("fewer-slots-than-sequences", BAD_SIZE + M2_ARG_slots, |p| {
            p.slots_in = null();
            p.slots = 1;
        }),
        ("slot-stride-95", BAD_STRIDE + M2_ARG_slot_stride, |p| {
            p.slot_stride = 95
        }),
        (
            "slot-stride-negative",
            BAD_STRIDE + M2_ARG_slot_stride,
            |p| p.slot_stride = -96,
        ),
        ("slot-stride-absurd", BAD_STRIDE + M2_ARG_slot_stride, |p| {
            p.slot_stride = ABSURD
        }),
        ("x-stride-11", BAD_STRIDE + M2_ARG_x_stride, |p| {
            p.x_stride = 11
        }),
        ("x-stride-absurd", BAD_STRIDE + M2_ARG_x_stride, |p| {
            p.x_stride = ABSURD
        }),
        ("dt-stride-11", BAD_STRIDE + M2_ARG_dt_stride, |p| {
            p.dt_stride = 11
        }),
        ("b-stride-15", BAD_STRIDE + M2_ARG_b_stride, |p| {
            p.b_stride = 15
        }),
        ("c-stride-15", BAD_STRIDE + M2_ARG_c_stride, |p| {
            p.c_stride = 15
        }),
        ("z-stride-11", BAD_STRIDE + M2_ARG_z_stride, |p| {
            p.z_stride = 11
        }),
        ("y-stride-11", BAD_STRIDE + M2_ARG_y_stride, |p| {
            p.y_stride = 11
        }),
        ("dt-min-nan", BAD_VALUE + M2_ARG_dt_min, |p| {
            p.dt_min = f32::NAN
        }),
        ("dt-max-nan", BAD_VALUE + M2_ARG_dt_max, |p| {
            p.dt_max = f32::NAN
        }),
        ("dt-max-below-dt-min", BAD_VALUE + M2_ARG_dt_max, |p| {
            p.dt_max = 0.0
        }),
    ];
    refusals
        .into_iter()
        .map(|(id, code, alter)| case(id, code, alter))
        .collect()
}

fn pointers() -> Vec<Case> {
    /// A pointer one byte further: no element type is aligned there.
    fn off<T>(pointer: *const T) -> *const T {
        pointer.wrapping_byte_add(1)
    }
    fn off_mut<T>(pointer: *mut T) -> *mut T {
        pointer.wrapping_byte_add(1)
    }
    let nulls: [(&str, u32, Alter); 7] = [
        ("state", M2_ARG_state, |p| p.state = null_mut()),
        ("x", M2_ARG_x, |p| p.x = null()),
        ("dt", M2_ARG_dt, |p| p.dt = null()),
        ("a", M2_ARG_a, |p| p.a = null()),
        ("b", M2_ARG_b, |p| p.b = null()),
        ("c", M2_ARG_c, |p| p.c = null()),
        ("y", M2_ARG_y, |p| p.y = null_mut()),
    ];
    let misaligned: [(&str, u32, Alter); 13] = [
        ("state", M2_ARG_state, |p| p.state = off_mut(p.state)),
        ("slots-in", M2_ARG_slots_in, |p| {
            p.slots_in = off(p.slots_in)
        }),
        ("slots-out", M2_ARG_slots_out, |p| {
            p.slots_out = off(p.slots_out)
        }),
        ("x", M2_ARG_x, |p| p.x = off(p.x)),
        ("dt", M2_ARG_dt, |p| p.dt = off(p.dt)),
        ("a", M2_ARG_a, |p| p.a = off(p.a)),
        ("dt-bias", M2_ARG_dt_bias, |p| p.dt_bias = off(p.dt_bias)),
        ("b", M2_ARG_b, |p| p.b = off(p.b)),
        ("c", M2_ARG_c, |p| p.c = off(p.c)),
        ("d", M2_ARG_d, |p| p.d = off(p.d)),
        ("z", M2_ARG_z, |p| p.z = off(p.z)),
        ("y", M2_ARG_y, |p| p.y = off_mut(p.y)),
        ("status", M2_ARG_status, |p| p.status = off_mut(p.status)),
    ];
    let mut cases: Vec<Case> = nulls
        .into_iter()
        .map(|(name, argument, alter)| {
            case(&format!("null-{name}"), NULL_POINTER + argument, alter)
        })
        .collect();
    for (name, argument, alter) in misaligned {
        cases.push(case(
            &format!("misaligned-{name}"),
            MISALIGNED + argument,
            alter,
        ));
    }
    let halves = |name: &str| {
        legal(format!("update-refuses-misaligned-halves-{name}")).types(Dtype::Bf16, Dtype::Bf16)
    };
    cases.push(refused(halves("state"), MISALIGNED + M2_ARG_state, |p| {
        p.state = off_mut(p.state);
    }));
    cases.push(refused(halves("x"), MISALIGNED + M2_ARG_x, |p| {
        p.x = off(p.x)
    }));
    cases.push(Case::exact(
        "update-refuses-null-params",
        "m2_state_update",
        |_| {
            let y = Buffer::output_unwritten::<f32>("y", 4);
            Instance::new(vec![y], |library, _, stream| {
                // SAFETY: the type is the header's prototype.
                let update = unsafe { library.function::<m2_state_update_fn>("m2_state_update") }?;
                // SAFETY: null params must be refused.
                Ok(unsafe { update(null(), stream) })
            })
            .refused((NULL_POINTER + M2_ARG_params) as c_int)
        },
    ));
    cases
}

fn overlaps() -> Vec<Case> {
    let overlapping: [(&str, u32, Alter); 7] = [
        ("y-on-x", M2_ARG_y, |p| p.y = p.x.cast_mut()),
        ("y-on-the-state", M2_ARG_y, |p| p.y = p.state),
        ("y-on-z", M2_ARG_y, |p| p.y = p.z.cast_mut()),
        ("y-on-the-last-of-c", M2_ARG_y, |p| {
            p.y = p.c.cast_mut().cast::<f32>().wrapping_add(31).cast();
        }),
        ("state-on-b", M2_ARG_state, |p| p.state = p.b.cast_mut()),
        ("status-on-slots-in", M2_ARG_status, |p| {
            p.status = p.slots_in.cast_mut().cast()
        }),
        ("status-on-y", M2_ARG_status, |p| p.status = p.y.cast()),
    ];
    overlapping
        .into_iter()
        .map(|(name, argument, alter)| case(name, OVERLAP + argument, alter))
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sizes_and_enums();
    cases.extend(pointers());
    cases.extend(overlaps());
    cases
}
