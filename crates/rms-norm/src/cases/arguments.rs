//! Host arguments: every way to be refused, each with its code, on buffers of a legal call.

use super::spec::*;
use crate::ffi::*;
use crate::{Dtype, Quantisation};
use parity::{Buffer, Case, Instance, Path, Role, Tags};
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

const N: usize = 8;
const TOO_LARGE: i64 = 1 << 31;
/// A stride whose products pass 64 bits.
const ABSURD: i64 = i64::MAX / 2;

type Alter = fn(&mut rms_norm_params);

/// A legal call on which every tensor is present.
fn legal(id: &str) -> Spec {
    Spec::new(format!("refuses-{id}"), 3, N).with(|s| {
        s.rows = [3, 2, 2];
        s.residual = Some(Dtype::F32);
        s.residual_out = true;
        s.add = true;
        s.rstd = true;
    })
}

fn token(id: &str) -> Spec {
    legal(id)
        .with(|s| s.x = Dtype::Bf16)
        .quantised(Quantisation::Token {
            dtype: Dtype::Fp8,
            min_scale: 1e-6,
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

/// The altered call is refused with `code`.
fn refused(spec: Spec, code: u32, alter: Alter) -> Case {
    Case::exact(spec.id.clone(), "rms_norm", move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation.seed));
        leave_unwritten(&mut buffers);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            alter(&mut params);
            norm(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn enums_and_types() -> Vec<Case> {
    let rows: Vec<(&str, u32, Alter)> = vec![
        ("struct-size-0", BAD_STRUCT + RMS_ARG_struct_size, |p| {
            p.struct_size = 0
        }),
        ("struct-size-long", BAD_STRUCT + RMS_ARG_struct_size, |p| {
            p.struct_size += 8
        }),
        ("x-dtype-3", BAD_ENUM + RMS_ARG_x_dtype, |p| p.x_dtype = 3),
        ("x-dtype-minus-1", BAD_ENUM + RMS_ARG_x_dtype, |p| {
            p.x_dtype = -1
        }),
        ("gamma-dtype-3", BAD_ENUM + RMS_ARG_gamma_dtype, |p| {
            p.gamma_dtype = 3
        }),
        ("y-dtype-5", BAD_ENUM + RMS_ARG_y_dtype, |p| p.y_dtype = 5),
        ("residual-dtype-4", BAD_ENUM + RMS_ARG_residual_dtype, |p| {
            p.residual_dtype = 4
        }),
        ("gamma-mode-3", BAD_ENUM + RMS_ARG_gamma_mode, |p| {
            p.gamma_mode = 3
        }),
        ("residual-mode-2", BAD_ENUM + RMS_ARG_residual_mode, |p| {
            p.residual_mode = 2
        }),
        ("quantisation-3", BAD_ENUM + RMS_ARG_quantisation, |p| {
            p.quantisation = 3
        }),
        ("path-3", BAD_ENUM + RMS_ARG_path, |p| p.path = 3),
        ("path-33", BAD_ENUM + RMS_ARG_path, |p| p.path = 33),
        ("gamma-bf16", UNSUPPORTED + RMS_ARG_gamma_dtype, |p| {
            p.gamma_dtype = 1
        }),
        ("y-bf16", UNSUPPORTED + RMS_ARG_y_dtype, |p| p.y_dtype = 1),
        ("residual-f16", UNSUPPORTED + RMS_ARG_residual_dtype, |p| {
            p.residual_dtype = 2
        }),
        (
            "y-fp8-unquantised",
            UNSUPPORTED + RMS_ARG_quantisation,
            |p| p.y_dtype = 3,
        ),
        ("quantised-f32", UNSUPPORTED + RMS_ARG_quantisation, |p| {
            p.quantisation = 1
        }),
        ("fp8-of-f32", UNSUPPORTED + RMS_ARG_y_dtype, |p| {
            (p.y_dtype, p.quantisation) = (3, 1)
        }),
        ("path-cluster-narrow", UNSUPPORTED + RMS_ARG_path, |p| {
            p.path = 4
        }),
    ];
    let mut cases: Vec<Case> = rows
        .into_iter()
        .map(|(id, code, alter)| refused(legal(id), code, alter))
        .collect();
    cases.push(refused(
        token("path-cluster-token").with(|s| s.n = 1024).with(|s| {
            s.rows = [1, 1, 1];
            s.gamma_sizes = [1024, 1, 1, 1];
            s.add_sizes = [1024, 1, 1, 1];
        }),
        UNSUPPORTED + RMS_ARG_path,
        |p| p.path = 2,
    ));
    cases.push(refused(
        Spec::new("refuses-f16-to-f32", 2, N).dtype(Dtype::F16),
        UNSUPPORTED + RMS_ARG_y_dtype,
        |p| p.y_dtype = 0,
    ));
    cases
}

fn sizes_and_scalars() -> Vec<Case> {
    let rows: Vec<(&str, u32, Alter)> = vec![
        ("eps-nan", BAD_VALUE + RMS_ARG_eps, |p| p.eps = f32::NAN),
        ("eps-infinite", BAD_VALUE + RMS_ARG_eps, |p| {
            p.eps = f32::INFINITY
        }),
        ("eps-negative", BAD_VALUE + RMS_ARG_eps, |p| p.eps = -1e-6),
        ("n-0", BAD_SIZE + RMS_ARG_n, |p| p.n = 0),
        ("n-minus-1", BAD_SIZE + RMS_ARG_n, |p| p.n = -1),
        ("n-too-large", BAD_SIZE + RMS_ARG_n, |p| p.n = TOO_LARGE),
        ("rows-minus-1", BAD_SIZE + RMS_ARG_rows, |p| p.rows = -1),
        ("rows-too-many", BAD_SIZE + RMS_ARG_rows, |p| {
            p.rows = TOO_LARGE
        }),
        ("channels-minus-1", BAD_SIZE + RMS_ARG_channels, |p| {
            p.channels = -1
        }),
        ("channels-too-many", BAD_SIZE + RMS_ARG_channels, |p| {
            p.channels = TOO_LARGE
        }),
        ("samples-minus-1", BAD_SIZE + RMS_ARG_samples, |p| {
            p.samples = -1
        }),
        ("samples-too-many", BAD_SIZE + RMS_ARG_samples, |p| {
            p.samples = TOO_LARGE
        }),
        ("too-many-in-all", BAD_SIZE + RMS_ARG_channels, |p| {
            (p.rows, p.channels) = (1 << 20, 1 << 20);
        }),
        ("too-many-with-samples", BAD_SIZE + RMS_ARG_samples, |p| {
            (p.rows, p.channels, p.samples) = (1 << 20, 1 << 10, 1 << 10);
        }),
        ("gamma-size-minus-1", BAD_SIZE + RMS_ARG_gamma_sizes, |p| {
            p.gamma_sizes[2] = -1
        }),
        ("add-size-too-large", BAD_SIZE + RMS_ARG_add_sizes, |p| {
            p.add_sizes[1] = TOO_LARGE
        }),
        ("x-stride-minus-8", BAD_STRIDE + RMS_ARG_x_strides, |p| {
            p.x_strides[0] = -8
        }),
        ("x-stride-absurd", BAD_STRIDE + RMS_ARG_x_strides, |p| {
            p.x_strides[2] = ABSURD
        }),
        (
            "residual-stride-negative",
            BAD_STRIDE + RMS_ARG_residual_strides,
            |p| {
                p.residual_strides[1] = -1;
            },
        ),
        (
            "gamma-stride-negative",
            BAD_STRIDE + RMS_ARG_gamma_strides,
            |p| {
                p.gamma_strides[0] = -1;
            },
        ),
        ("add-stride-absurd", BAD_STRIDE + RMS_ARG_add_strides, |p| {
            p.add_strides[0] = ABSURD
        }),
        ("y-stride-7", BAD_STRIDE + RMS_ARG_y_strides, |p| {
            p.y_strides[0] = 7
        }),
        ("y-channels-overlap", BAD_STRIDE + RMS_ARG_y_strides, |p| {
            p.y_strides[1] = 16
        }),
        (
            "residual-out-stride-7",
            BAD_STRIDE + RMS_ARG_residual_out_strides,
            |p| {
                p.residual_out_strides[0] = 7;
            },
        ),
    ];
    let mut cases: Vec<Case> = rows
        .into_iter()
        .map(|(id, code, alter)| refused(legal(id), code, alter))
        .collect();
    let floors: [(&str, Alter); 4] = [
        ("min-scale-0", |p| p.min_scale = 0.0),
        ("min-scale-nan", |p| p.min_scale = f32::NAN),
        ("min-scale-negative", |p| p.min_scale = -1.0),
        ("min-scale-infinite", |p| p.min_scale = f32::INFINITY),
    ];
    for (id, alter) in floors {
        cases.push(refused(token(id), BAD_VALUE + RMS_ARG_min_scale, alter));
    }
    cases
}

fn off<T>(pointer: *const T) -> *const T {
    pointer.wrapping_byte_add(1)
}
fn off_mut<T>(pointer: *mut T) -> *mut T {
    pointer.wrapping_byte_add(1)
}

fn pointers() -> Vec<Case> {
    let rows: Vec<(&str, u32, Alter)> = vec![
        ("null-x", NULL_POINTER + RMS_ARG_x, |p| p.x = null()),
        ("null-y", NULL_POINTER + RMS_ARG_y, |p| p.y = null_mut()),
        ("null-residual", NULL_POINTER + RMS_ARG_residual, |p| {
            p.residual = null()
        }),
        ("misaligned-x", MISALIGNED + RMS_ARG_x, |p| p.x = off(p.x)),
        ("misaligned-residual", MISALIGNED + RMS_ARG_residual, |p| {
            p.residual = off(p.residual)
        }),
        ("misaligned-gamma", MISALIGNED + RMS_ARG_gamma, |p| {
            p.gamma = off(p.gamma)
        }),
        ("misaligned-add", MISALIGNED + RMS_ARG_add, |p| {
            p.add = off(p.add)
        }),
        ("misaligned-y", MISALIGNED + RMS_ARG_y, |p| {
            p.y = off_mut(p.y)
        }),
        (
            "misaligned-residual-out",
            MISALIGNED + RMS_ARG_residual_out,
            |p| {
                p.residual_out = off_mut(p.residual_out);
            },
        ),
        ("misaligned-rstd", MISALIGNED + RMS_ARG_rstd, |p| {
            p.rstd = off_mut(p.rstd)
        }),
        ("y-on-residual", OVERLAP + RMS_ARG_y, |p| {
            p.y = p.residual.cast_mut()
        }),
        ("y-on-gamma", OVERLAP + RMS_ARG_y, |p| {
            p.y = p.gamma.cast_mut()
        }),
        ("y-partly-on-x", OVERLAP + RMS_ARG_y, |p| {
            p.y = p.x.cast_mut().wrapping_byte_add(32)
        }),
        ("y-on-x-with-other-strides", OVERLAP + RMS_ARG_y, |p| {
            (p.y, p.y_strides[0]) = (p.x.cast_mut(), 12);
        }),
        ("y-on-the-last-of-x", OVERLAP + RMS_ARG_y, |p| {
            p.y = p.x.cast_mut().wrapping_byte_add(4 * (12 * N - 1));
        }),
        ("residual-out-on-x", OVERLAP + RMS_ARG_residual_out, |p| {
            p.residual_out = p.x.cast_mut();
        }),
        ("residual-out-on-y", OVERLAP + RMS_ARG_residual_out, |p| {
            p.residual_out = p.y
        }),
        ("rstd-on-y", OVERLAP + RMS_ARG_rstd, |p| p.rstd = p.y.cast()),
        ("rstd-on-gamma", OVERLAP + RMS_ARG_rstd, |p| {
            p.rstd = p.gamma.cast_mut().cast()
        }),
    ];
    let mut cases: Vec<Case> = rows
        .into_iter()
        .map(|(id, code, alter)| refused(legal(id), code, alter))
        .collect();
    cases.push(refused(
        token("null-token-scales"),
        NULL_POINTER + RMS_ARG_token_scales,
        |p| p.token_scales = null_mut(),
    ));
    cases.push(refused(
        token("misaligned-token-scales"),
        MISALIGNED + RMS_ARG_token_scales,
        |p| p.token_scales = off_mut(p.token_scales),
    ));
    cases.push(refused(
        token("null-tensor-scale"),
        NULL_POINTER + RMS_ARG_tensor_scale,
        |p| p.quantisation = 1,
    ));
    cases.push(Case::exact("refuses-null-params", "rms_norm", |_| {
        let y = Buffer::output_unwritten::<f32>("y", 4);
        Instance::new(vec![y], |library, _, stream| {
            // SAFETY: the type is the header's prototype.
            let norm = unsafe { library.function::<rms_norm_fn>("rms_norm") }?;
            // SAFETY: null params must be refused.
            Ok(unsafe { norm(null(), stream) })
        })
        .refused((NULL_POINTER + RMS_ARG_params) as c_int)
    }));
    // Clusters need the hardware for them: known on the host.
    cases.push(
        refused(
            Spec::new("refuses-clusters-where-there-are-none", 1, 1000),
            UNSUPPORTED + RMS_ARG_path,
            |_| {},
        )
        .on_paths(&[Path::needing("cluster-8", RMS_PATH_CLUSTER_8 as i32, 90)]),
    );
    cases
}

/// What the mode with llama.cpp's operations does not have.
fn ggml() -> Vec<Case> {
    let rows: Vec<(&str, u32, Alter)> = vec![
        ("ggml-bf16", UNSUPPORTED + RMS_ARG_x_dtype, |p| {
            p.x_dtype = 1
        }),
        ("ggml-gamma-mode", UNSUPPORTED + RMS_ARG_gamma_mode, |p| {
            p.gamma_mode = 1
        }),
        ("ggml-residual", UNSUPPORTED + RMS_ARG_residual, |p| {
            p.residual = p.x
        }),
        ("ggml-path", UNSUPPORTED + RMS_ARG_path, |p| p.path = 1),
        ("ggml-add-alone", NULL_POINTER + RMS_ARG_gamma, |p| {
            p.gamma = null()
        }),
        ("ggml-eps", BAD_VALUE + RMS_ARG_eps, |p| p.eps = -1.0),
        ("ggml-sums-on-y", OVERLAP + RMS_ARG_sums, |_| {}),
    ];
    rows.into_iter()
        .map(|(id, code, alter)| {
            let spec = Spec::new(format!("refuses-{id}"), 2, N).with(|s| s.add = true);
            Case::exact(spec.id.clone(), "rms_norm_ggml", move |variation| {
                let (mut buffers, sets) = split(spec.bound_buffers(variation.seed));
                leave_unwritten(&mut buffers);
                let spec = spec.clone();
                Instance::new(buffers, move |library, pointers, stream| {
                    // SAFETY: the type is the header's prototype.
                    let norm = unsafe { library.function::<rms_norm_ggml_fn>("rms_norm_ggml") }?;
                    let mut params = spec.filled(0, &sets, pointers);
                    alter(&mut params);
                    // SAFETY: the call must be refused.
                    Ok(unsafe { norm(&params, params.y.cast(), stream) })
                })
                .refused(code as c_int)
            })
            .tagged(Tags::SIMULATE)
        })
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = enums_and_types();
    cases.extend(sizes_and_scalars());
    cases.extend(pointers());
    cases.extend(ggml());
    cases
}
