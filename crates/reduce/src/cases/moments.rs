//! Sums of squares, norms, largest magnitudes, and elements that are not finite.

use super::spec::{Dtype, input, values};
use crate::{Sum, ffi, oracle};
use parity::{Buffer, Case, Instance, Path, Random, Tags};
use std::ffi::c_void;
use std::ptr;

const SPLITS: [Path; 4] = [
    Path::AUTOMATIC,
    Path::new("splits-1", 1),
    Path::new("splits-4", 4),
    Path::new("splits-64", 64),
];

type Draw = fn(&mut Random, usize) -> Vec<f32>;

pub(super) fn params(dtype: Dtype, sum: Sum, count: usize) -> ffi::red_moments_params {
    let dtype = match dtype {
        Dtype::F32 => ffi::RED_F32,
        Dtype::Bf16 => ffi::RED_BF16,
        Dtype::F16 => ffi::RED_F16,
    };
    ffi::red_moments_params {
        struct_size: size_of::<ffi::red_moments_params>() as u32,
        dtype: dtype as i32,
        accumulator: sum.code(),
        splits: 0,
        rows: count as i64,
        x: ptr::null(),
        sum_squares: ptr::null_mut(),
        norm: ptr::null_mut(),
        max_abs: ptr::null_mut(),
        non_finite: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_bytes: 0,
    }
}

fn case(id: String, dtype: Dtype, sum: Sum, count: usize, draw: Draw) -> Case {
    const WORKSPACE: usize = 4 * 16 * ffi::RED_MAX_SPLITS as usize;
    let tags = if count <= 4500 {
        Tags::SIMULATE | Tags::SANITIZE
    } else {
        Tags::NONE
    };
    Case::exact(id, "red_moments", move |variation| {
        let x = values(dtype, &draw(&mut Random::named(variation.seed, "x"), count));
        let moments = oracle::moments(x.elements(), sum);
        let buffers = vec![
            input("x", &x),
            Buffer::output("sum_squares", &[moments.sum_squares]),
            Buffer::output("norm", &[moments.norm]),
            Buffer::output("max_abs", &[moments.max_abs]),
            Buffer::output("non_finite", &[moments.non_finite]),
            Buffer::workspace("workspace", WORKSPACE),
        ];
        let splits = variation.path;
        Instance::new(buffers, move |library, x, stream| {
            let params = ffi::red_moments_params {
                splits,
                x: x[0],
                sum_squares: x[1].cast(),
                norm: x[2].cast(),
                max_abs: x[3].cast(),
                non_finite: x[4].cast(),
                workspace: x[5],
                workspace_bytes: WORKSPACE,
                ..params(dtype, sum, count)
            };
            // SAFETY: the type is the header's prototype.
            let moments = unsafe { library.function::<ffi::red_moments_fn>("red_moments") }?;
            // SAFETY: the runner passes live buffers of these sizes.
            Ok(unsafe { moments(&params, stream) })
        })
    })
    .tagged(tags)
    .on_paths(&SPLITS)
}

/// One output alone, and no workspace.
fn alone(output: usize) -> Case {
    const COUNT: usize = 300;
    Case::exact(
        format!("moments-alone-{output}"),
        "red_moments",
        move |variation| {
            let x = Random::named(variation.seed, "x").normals(COUNT, 3.0);
            let m = oracle::moments(oracle::Elements::F32(&x), Sum::F32x2);
            let out = match output {
                0 => Buffer::output("sum_squares", &[m.sum_squares]),
                1 => Buffer::output("norm", &[m.norm]),
                2 => Buffer::output("max_abs", &[m.max_abs]),
                _ => Buffer::output("non_finite", &[m.non_finite]),
            };
            Instance::new(
                vec![Buffer::input("x", &x), out],
                move |library, x, stream| {
                    let mut params = params(Dtype::F32, Sum::F32x2, COUNT);
                    params.x = x[0];
                    let out: *mut c_void = x[1];
                    match output {
                        0 => params.sum_squares = out.cast(),
                        1 => params.norm = out.cast(),
                        2 => params.max_abs = out.cast(),
                        _ => params.non_finite = out.cast(),
                    }
                    // SAFETY: the type is the header's prototype.
                    let moments =
                        unsafe { library.function::<ffi::red_moments_fn>("red_moments") }?;
                    // SAFETY: the runner passes live buffers of these sizes.
                    Ok(unsafe { moments(&params, stream) })
                },
            )
        },
    )
    .tagged(Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let normal: Draw = |random, count| random.normals(count, 1.0);
    let hostile: Draw = |random, count| {
        let mut x = random.normals(count, 1.0);
        for (i, value) in [f32::INFINITY, f32::NAN, f32::NEG_INFINITY, -0.0]
            .into_iter()
            .enumerate()
        {
            x[i * 7 % count] = value;
        }
        x
    };
    let infinite: Draw = |random, count| {
        let mut x = random.normals(count, 1.0);
        x[count / 2] = f32::NEG_INFINITY;
        x
    };
    let huge: Draw = |random, count| random.normals(count, 1e25);
    let tiny: Draw = |random, count| random.normals(count, 1e-25);
    let mut cases = Vec::new();
    for count in [0, 1, 2, 31, 33, 128, 129, 515, 4096, 4097, 9001, 300_007] {
        for (name, dtype) in [
            ("f32", Dtype::F32),
            ("bf16", Dtype::Bf16),
            ("f16", Dtype::F16),
        ] {
            cases.push(case(
                format!("moments-{count}-{name}"),
                dtype,
                Sum::F32x2,
                count,
                normal,
            ));
        }
        cases.push(case(
            format!("moments-{count}-f64"),
            Dtype::F32,
            Sum::F64,
            count,
            normal,
        ));
    }
    for (name, draw) in [
        ("hostile", hostile),
        ("infinite", infinite),
        ("huge", huge),
        ("tiny", tiny),
    ] {
        for (of, sum) in [("f32x2", Sum::F32x2), ("f64", Sum::F64)] {
            cases.push(case(
                format!("moments-{name}-{of}"),
                Dtype::F32,
                sum,
                700,
                draw,
            ));
        }
    }
    cases.extend((0..4).map(alone));
    cases
}
