//! Host arguments: every way to be refused, each with its code, on buffers of a legal call.

use super::spec::*;
use crate::ffi::*;
use crate::{Beta, Decay, Norm};
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
const MISALIGNED: u32 = 10_000;

/// Beyond every extent's limit.
const TOO_LARGE: i64 = 1 << 31;
/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

type Alter = fn(&mut gdn_scan_params);

/// A legal call on which everything optional is present.
fn legal(id: String, tokens: Tokens) -> Spec {
    Spec::new(id, [2, 2, 4, 8, 6], tokens)
        .with(STATUS | SLOTS_IN | SLOTS_OUT | SOURCE)
        .change(|spec| {
            spec.decay = Decay::Gate;
            spec.beta = Beta::Sigmoid;
            spec.norm = Norm::EpsInside(1e-6);
            spec.scale = Some(0.5);
            spec.snapshots = Some(1);
        })
}

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

fn refused(spec: Spec, entry: Entry, code: u32, alter: Alter) -> Case {
    Case::exact(spec.id.clone(), entry.name(), move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation));
        leave_unwritten(&mut buffers);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            alter(&mut params);
            entry.call(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

/// Refused of a ragged scan.
fn scan(id: &str, code: u32, alter: Alter) -> Case {
    let spec = legal(format!("refuses-{id}"), Tokens::Ragged(vec![2, 1], 2));
    refused(spec, Entry::Scan, code, alter)
}

/// Refused of a step.
fn step(id: &str, code: u32, alter: Alter) -> Case {
    let spec = legal(format!("refuses-step-{id}"), Tokens::Step);
    refused(spec, Entry::Step, code, alter)
}

fn sizes_and_enums() -> Vec<Case> {
    vec![
        scan("struct-size-0", BAD_STRUCT + GDN_ARG_struct_size, |p| {
            p.struct_size = 0
        }),
        scan("struct-size-short", BAD_STRUCT + GDN_ARG_struct_size, |p| {
            p.struct_size -= 8
        }),
        step("struct-size-long", BAD_STRUCT + GDN_ARG_struct_size, |p| {
            p.struct_size += 8
        }),
        scan("dtype-3", BAD_ENUM + GDN_ARG_dtype, |p| p.dtype = 3),
        scan("dtype-minus-1", BAD_ENUM + GDN_ARG_dtype, |p| p.dtype = -1),
        scan("state-dtype-3", BAD_ENUM + GDN_ARG_state_dtype, |p| {
            p.state_dtype = 3
        }),
        scan("layout-2", BAD_ENUM + GDN_ARG_layout, |p| p.layout = 2),
        scan("head-map-2", BAD_ENUM + GDN_ARG_head_map, |p| {
            p.head_map = 2
        }),
        scan("decay-form-3", BAD_ENUM + GDN_ARG_decay_form, |p| {
            p.decay_form = 3
        }),
        scan("beta-form-3", BAD_ENUM + GDN_ARG_beta_form, |p| {
            p.beta_form = 3
        }),
        scan("norm-3", BAD_ENUM + GDN_ARG_norm, |p| p.norm = 3),
        scan("key-decay-2", BAD_ENUM + GDN_ARG_key_decay, |p| {
            p.key_decay = 2
        }),
        scan("path-4", BAD_ENUM + GDN_ARG_path, |p| p.path = 4),
        scan("path-minus-1", BAD_ENUM + GDN_ARG_path, |p| p.path = -1),
        scan("path-segments-of-8", UNSUPPORTED + GDN_ARG_path, |p| {
            p.path = 2
        }),
        scan("path-streamed-of-a-scan", UNSUPPORTED + GDN_ARG_path, |p| {
            p.path = 3
        }),
        scan("has-scale-2", BAD_ENUM + GDN_ARG_has_scale, |p| {
            p.has_scale = 2
        }),
        scan("scale-nan", BAD_VALUE + GDN_ARG_scale, |p| {
            p.scale = f32::NAN
        }),
        scan("scale-infinite", BAD_VALUE + GDN_ARG_scale, |p| {
            p.scale = f32::INFINITY
        }),
        scan("eps-negative", BAD_VALUE + GDN_ARG_norm_eps, |p| {
            p.norm_eps = -1e-6
        }),
        scan("eps-nan", BAD_VALUE + GDN_ARG_norm_eps, |p| {
            p.norm_eps = f32::NAN
        }),
        scan("eps-infinite", BAD_VALUE + GDN_ARG_norm_eps, |p| {
            p.norm_eps = f32::INFINITY
        }),
        scan("sequences-minus-1", BAD_SIZE + GDN_ARG_sequences, |p| {
            p.sequences = -1
        }),
        scan("sequences-too-many", BAD_SIZE + GDN_ARG_sequences, |p| {
            p.sequences = TOO_LARGE
        }),
        scan("key-heads-0", BAD_SIZE + GDN_ARG_key_heads, |p| {
            p.key_heads = 0
        }),
        scan("value-heads-0", BAD_SIZE + GDN_ARG_value_heads, |p| {
            p.value_heads = 0
        }),
        scan("value-heads-5-of-2", BAD_SIZE + GDN_ARG_value_heads, |p| {
            p.value_heads = 5
        }),
        scan(
            "value-heads-too-many",
            BAD_SIZE + GDN_ARG_value_heads,
            |p| p.value_heads = 65536,
        ),
        scan("key-dim-0", BAD_SIZE + GDN_ARG_key_dim, |p| p.key_dim = 0),
        scan("key-dim-257", BAD_SIZE + GDN_ARG_key_dim, |p| {
            p.key_dim = 257
        }),
        scan("value-dim-0", BAD_SIZE + GDN_ARG_value_dim, |p| {
            p.value_dim = 0
        }),
        scan("value-dim-257", BAD_SIZE + GDN_ARG_value_dim, |p| {
            p.value_dim = 257
        }),
        scan("total-t-minus-1", BAD_SIZE + GDN_ARG_total_t, |p| {
            p.total_t = -1
        }),
        scan("total-t-too-large", BAD_SIZE + GDN_ARG_total_t, |p| {
            p.total_t = TOO_LARGE
        }),
        scan("max-t-minus-1", BAD_SIZE + GDN_ARG_max_t, |p| p.max_t = -1),
        scan("max-t-too-large", BAD_SIZE + GDN_ARG_max_t, |p| {
            p.max_t = TOO_LARGE
        }),
        scan("slots-minus-1", BAD_SIZE + GDN_ARG_slots, |p| p.slots = -1),
        scan("slots-too-many", BAD_SIZE + GDN_ARG_slots, |p| {
            p.slots = TOO_LARGE
        }),
        step(
            "slots-fewer-than-sequences",
            BAD_SIZE + GDN_ARG_slots,
            |p| {
                p.slots_in = null();
                p.slots = 1;
            },
        ),
        scan("slot-stride-short", BAD_STRIDE + GDN_ARG_slot_stride, |p| {
            p.slot_stride = 4 * 48 - 1
        }),
        scan(
            "slot-stride-negative",
            BAD_STRIDE + GDN_ARG_slot_stride,
            |p| p.slot_stride = -192,
        ),
        scan(
            "slot-stride-absurd",
            BAD_STRIDE + GDN_ARG_slot_stride,
            |p| p.slot_stride = ABSURD,
        ),
        scan("q-stride-short", BAD_STRIDE + GDN_ARG_q_stride, |p| {
            p.q_stride = 15
        }),
        scan("k-stride-short", BAD_STRIDE + GDN_ARG_k_stride, |p| {
            p.k_stride = 15
        }),
        scan("v-stride-short", BAD_STRIDE + GDN_ARG_v_stride, |p| {
            p.v_stride = 23
        }),
        scan("out-stride-short", BAD_STRIDE + GDN_ARG_out_stride, |p| {
            p.out_stride = 23
        }),
        scan("out-stride-absurd", BAD_STRIDE + GDN_ARG_out_stride, |p| {
            p.out_stride = ABSURD
        }),
        scan("g-stride-short", BAD_STRIDE + GDN_ARG_g_stride, |p| {
            p.g_stride = 3
        }),
        scan(
            "g-stride-short-for-keys",
            BAD_STRIDE + GDN_ARG_g_stride,
            |p| {
                p.key_decay = 1;
                p.g_stride = 31;
            },
        ),
        scan("beta-stride-short", BAD_STRIDE + GDN_ARG_beta_stride, |p| {
            p.beta_stride = 3
        }),
        scan(
            "snapshot-count-minus-1",
            BAD_SIZE + GDN_ARG_snapshot_count,
            |p| {
                p.snapshot_count = -1;
            },
        ),
        scan(
            "snapshot-rows-short",
            BAD_SIZE + GDN_ARG_snapshot_rows,
            |p| p.snapshot_rows = 1,
        ),
        scan(
            "snapshot-rows-short-of-all",
            BAD_SIZE + GDN_ARG_snapshot_rows,
            |p| {
                p.snapshot_count = 0;
                p.snapshot_rows = 2;
            },
        ),
        scan(
            "snapshot-rows-absurd",
            BAD_SIZE + GDN_ARG_snapshot_rows,
            |p| {
                p.snapshot_rows = ABSURD;
            },
        ),
        step("cu-seqlens", UNSUPPORTED + GDN_ARG_cu_seqlens, |p| {
            p.cu_seqlens = p.slots_in
        }),
    ]
}

fn pointers() -> Vec<Case> {
    let mut cases = vec![
        scan("no-state", NULL_POINTER + GDN_ARG_state, |p| {
            p.state = null_mut()
        }),
        scan("no-q", NULL_POINTER + GDN_ARG_q, |p| p.q = null()),
        scan("no-k", NULL_POINTER + GDN_ARG_k, |p| p.k = null()),
        scan("no-v", NULL_POINTER + GDN_ARG_v, |p| p.v = null()),
        scan("no-g", NULL_POINTER + GDN_ARG_g, |p| p.g = null()),
        scan("no-beta", NULL_POINTER + GDN_ARG_beta, |p| p.beta = null()),
        scan("no-a-log", NULL_POINTER + GDN_ARG_a_log, |p| {
            p.a_log = null()
        }),
        scan("no-dt-bias", NULL_POINTER + GDN_ARG_dt_bias, |p| {
            p.dt_bias = null()
        }),
        scan("no-out", NULL_POINTER + GDN_ARG_out, |p| p.out = null_mut()),
        scan("out-is-q", OVERLAP + GDN_ARG_out, |p| {
            p.out = p.q.cast_mut()
        }),
        scan("out-in-state", OVERLAP + GDN_ARG_out, |p| p.out = p.state),
        scan("state-is-its-source", OVERLAP + GDN_ARG_state, |p| {
            p.state = p.state_source.cast_mut()
        }),
        scan("snapshots-in-state", OVERLAP + GDN_ARG_snapshots, |p| {
            p.snapshots = p.state
        }),
        scan("status-in-slots", OVERLAP + GDN_ARG_status, |p| {
            p.status = p.slots_out.cast_mut().cast();
        }),
        scan("state-misaligned", MISALIGNED + GDN_ARG_state, |p| {
            p.state = p.state.wrapping_byte_add(2);
        }),
        scan(
            "source-misaligned",
            MISALIGNED + GDN_ARG_state_source,
            |p| {
                p.state_source = p.state_source.wrapping_byte_add(1);
            },
        ),
        scan("out-misaligned", MISALIGNED + GDN_ARG_out, |p| {
            p.out = p.out.wrapping_byte_add(2)
        }),
        scan(
            "snapshots-misaligned",
            MISALIGNED + GDN_ARG_snapshots,
            |p| {
                p.snapshots = p.snapshots.wrapping_byte_add(2);
            },
        ),
    ];
    let misaligned: [(&str, u32, Alter); 11] = [
        ("slots-in", GDN_ARG_slots_in, |p| {
            p.slots_in = p.slots_in.wrapping_byte_add(2)
        }),
        ("slots-out", GDN_ARG_slots_out, |p| {
            p.slots_out = p.slots_out.wrapping_byte_add(2)
        }),
        ("cu-seqlens", GDN_ARG_cu_seqlens, |p| {
            p.cu_seqlens = p.cu_seqlens.wrapping_byte_add(2)
        }),
        ("q", GDN_ARG_q, |p| p.q = p.q.wrapping_byte_add(2)),
        ("k", GDN_ARG_k, |p| p.k = p.k.wrapping_byte_add(2)),
        ("v", GDN_ARG_v, |p| p.v = p.v.wrapping_byte_add(2)),
        ("g", GDN_ARG_g, |p| p.g = p.g.wrapping_byte_add(2)),
        ("beta", GDN_ARG_beta, |p| {
            p.beta = p.beta.wrapping_byte_add(2)
        }),
        ("a-log", GDN_ARG_a_log, |p| {
            p.a_log = p.a_log.wrapping_byte_add(2)
        }),
        ("dt-bias", GDN_ARG_dt_bias, |p| {
            p.dt_bias = p.dt_bias.wrapping_byte_add(2)
        }),
        ("status", GDN_ARG_status, |p| {
            p.status = p.status.wrapping_byte_add(2)
        }),
    ];
    for (name, argument, alter) in misaligned {
        cases.push(scan(
            &format!("{name}-misaligned"),
            MISALIGNED + argument,
            alter,
        ));
    }
    // No struct at all.
    cases.push(
        Case::exact("refuses-params-null", "gdn_scan", |_| {
            let buffers = vec![Buffer::output_unwritten::<f32>("nothing", 1)];
            Instance::new(buffers, |library, _, stream| {
                // SAFETY: the type is the header's prototype.
                let scan = unsafe { library.function::<gdn_scan_fn>("gdn_scan") }?;
                // SAFETY: the call must refuse a null pointer.
                Ok(unsafe { scan(null(), stream) })
            })
            .refused((NULL_POINTER + GDN_ARG_params) as c_int)
        })
        .tagged(Tags::SIMULATE),
    );
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sizes_and_enums();
    cases.extend(pointers());
    cases
}
