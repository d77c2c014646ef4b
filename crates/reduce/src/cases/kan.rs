//! The gradient of spline coefficients.

use crate::{ffi, oracle};
use parity::{Buffer, Case, Instance, Random, Tags};
use std::ptr;

/// Rows, inputs, outputs, intervals.
type Sizes = [usize; 4];
type Alter = fn(x: &mut [f32], dy: &mut [f32], knots: &mut [f32]);

fn case(id: &str, sizes: Sizes, with_workspace: bool, alter: Alter) -> Case {
    let [rows, inputs, outputs, intervals] = sizes;
    let results = inputs * (intervals + 3) * outputs;
    // As much as the most splits need.
    let workspace = if with_workspace {
        results * 16 * 256
    } else {
        0
    };
    let tags = if rows * inputs * outputs <= 1600 {
        Tags::SIMULATE | Tags::SANITIZE
    } else {
        Tags::NONE
    };
    Case::exact(
        format!("kan-spline-{id}"),
        "red_kan_spline_grad_f32",
        move |variation| {
            // Some of x lies outside of [-1.6, 1.6], the whole grid of 5 intervals of 0.4 in [-1, 1].
            let mut x = Random::named(variation.seed, "x").uniforms(rows * inputs, -2.0, 2.0);
            let mut dy = Random::named(variation.seed, "dy").normals(rows * outputs, 1.0);
            let step = 2.0 / intervals as f32;
            let mut knots: Vec<f32> = (0..intervals + 7)
                .map(|j| (j as f32 - 3.0) * step - 1.0)
                .collect();
            alter(&mut x, &mut dy, &mut knots);
            let want = oracle::kan_spline_grad(&x, &dy, &knots, [rows, inputs, outputs]);
            let mut buffers = vec![
                Buffer::input("x", &x),
                Buffer::input("dy", &dy),
                Buffer::input("knots", &knots),
                Buffer::output("out", &want),
            ];
            if workspace > 0 {
                buffers.push(Buffer::workspace("workspace", workspace));
            }
            Instance::new(buffers, move |library, x, stream| {
                // SAFETY: the type is the header's prototype.
                let kan = unsafe {
                    library.function::<ffi::red_kan_spline_grad_f32_fn>("red_kan_spline_grad_f32")
                }?;
                let space = x.get(4).copied().unwrap_or(ptr::null_mut());
                // SAFETY: the runner passes live buffers of these sizes.
                Ok(unsafe {
                    kan(
                        x[0].cast_const().cast(),
                        x[1].cast_const().cast(),
                        x[2].cast_const().cast(),
                        x[3].cast(),
                        rows as i64,
                        inputs as i64,
                        outputs as i64,
                        intervals as i64,
                        space,
                        workspace,
                        stream,
                    )
                })
            })
            .nodes(usize::from(results > 0))
        },
    )
    .tagged(tags)
}

pub(super) fn cases() -> Vec<Case> {
    let nothing: Alter = |_, _, _| {};
    vec![
        case("130x2x3", [130, 2, 3, 5], true, nothing),
        case("130x2x3-without-workspace", [130, 2, 3, 5], false, nothing),
        case("300x1x1", [300, 1, 1, 5], true, nothing),
        case("700x1x2-rounds", [700, 1, 2, 3], false, nothing),
        case("5x3x50", [5, 3, 50, 1], true, nothing),
        case("0x2x2", [0, 2, 2, 4], true, nothing),
        case("4x0x2", [4, 0, 2, 4], true, nothing),
        case("8192x12x24", [8192, 12, 24, 5], true, nothing),
        case("20000x3x5", [20_000, 3, 5, 8], true, nothing),
        case("on-knots", [100, 1, 2, 5], true, |x, _, knots| {
            for (i, x) in x.iter_mut().enumerate() {
                *x = knots[i % knots.len()];
            }
        }),
        // Clamped ends: the last knot belongs to the last interval, where the last spline is 1.
        case("clamped", [100, 1, 2, 5], true, |x, _, knots| {
            let last = knots.len() - 1;
            for j in 0..3 {
                knots[j] = knots[3];
                knots[last - j] = knots[last - 3];
            }
            for (i, x) in x.iter_mut().enumerate().step_by(2) {
                *x = knots[i % knots.len()];
            }
        }),
        case("repeated-knots", [100, 1, 2, 5], true, |_, _, knots| {
            knots[5] = knots[6];
            knots[4] = knots[6];
        }),
        case("all-knots-equal", [40, 1, 2, 2], true, |x, _, knots| {
            knots.fill(0.5);
            x[3] = 0.5;
        }),
        case(
            "outside-with-nan-gradients",
            [100, 1, 2, 5],
            true,
            |x, dy, _| {
                for (row, value) in [(3, 5.0), (50, -1e30), (64, f32::NAN), (65, f32::INFINITY)] {
                    x[row] = value;
                    dy[2 * row] = f32::NAN;
                    dy[2 * row + 1] = f32::INFINITY;
                }
            },
        ),
        case("nan-gradient-inside", [100, 1, 2, 5], true, |x, dy, _| {
            x[7] = 0.1;
            dy[14] = f32::NAN;
        }),
        case("descending-knots", [40, 1, 2, 3], true, |_, _, knots| {
            knots.reverse()
        }),
    ]
}
