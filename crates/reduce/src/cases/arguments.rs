//! Host arguments: every way to be refused, each with its code, on buffers of a legal call; and legal
//! calls at the edge of being refused.

use super::spec::*;
use crate::Sum;
use crate::ffi::*;
use parity::{Buffer, Case, Instance, Path, Random, Role, Tags};
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

type Alter = fn(&mut red_sum_params);

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
    Case::exact(spec.id.clone(), spec.entry(), move |variation| {
        let (mut buffers, sets) = split(spec.bound_buffers(variation));
        leave_unwritten(&mut buffers);
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            alter(&mut params);
            spec.call(library, &params, stream)
        })
        .refused(code as c_int)
    })
    .tagged(Tags::SIMULATE)
}

fn columns(id: &str, code: u32, alter: Alter) -> Case {
    let flags = WEIGHTS | MASK | INDEX | STATUS;
    refused(
        Spec::new(format!("refuses-{id}"), [200, 6]).with(flags),
        code,
        alter,
    )
}

fn segments(id: &str, code: u32, alter: Alter) -> Case {
    let kind = Kind::Segments(vec![130, 0, 70]);
    refused(
        Spec::new(format!("refuses-segments-{id}"), [200, 6])
            .kind(kind)
            .with(STATUS),
        code,
        alter,
    )
}

fn row_sums(id: &str, code: u32, alter: Alter) -> Case {
    refused(
        Spec::new(format!("refuses-rows-{id}"), [5, 200]).kind(Kind::Rows),
        code,
        alter,
    )
}

fn grouped(id: &str, code: u32, alter: Alter) -> Case {
    let member = Member {
        rows: 140,
        cols: 3,
        gap: 0,
        alpha: 1.0,
        beta: 0.0,
    };
    let kind = Kind::Grouped(vec![member; 2]);
    refused(
        Spec::new(format!("refuses-grouped-{id}"), [1, 1])
            .kind(kind)
            .with(STATUS),
        code,
        alter,
    )
}

fn sums() -> Vec<Case> {
    vec![
        columns("struct-size-0", BAD_STRUCT + RED_ARG_struct_size, |p| {
            p.struct_size = 0
        }),
        columns("struct-size-short", BAD_STRUCT + RED_ARG_struct_size, |p| {
            p.struct_size -= 8
        }),
        columns("dtype-3", BAD_ENUM + RED_ARG_dtype, |p| p.dtype = 3),
        columns("dtype-minus-1", BAD_ENUM + RED_ARG_dtype, |p| p.dtype = -1),
        columns("out-dtype-2", BAD_ENUM + RED_ARG_out_dtype, |p| {
            p.out_dtype = 2
        }),
        columns("accumulator-3", BAD_ENUM + RED_ARG_accumulator, |p| {
            p.accumulator = 3
        }),
        columns("path-6", BAD_ENUM + RED_ARG_path, |p| p.path = 6),
        columns("splits-3", BAD_VALUE + RED_ARG_splits, |p| p.splits = 3),
        columns("splits-512", BAD_VALUE + RED_ARG_splits, |p| p.splits = 512),
        columns("splits-minus-2", BAD_VALUE + RED_ARG_splits, |p| {
            p.splits = -2
        }),
        columns("mean-2", BAD_ENUM + RED_ARG_mean, |p| p.mean = 2),
        columns("rows-minus-1", BAD_SIZE + RED_ARG_rows, |p| p.rows = -1),
        columns("rows-2-to-the-38", BAD_SIZE + RED_ARG_rows, |p| {
            p.rows = 1 << 38
        }),
        columns("cols-minus-1", BAD_SIZE + RED_ARG_cols, |p| p.cols = -1),
        columns("cols-2-to-the-31", BAD_SIZE + RED_ARG_cols, |p| {
            p.cols = 1 << 31
        }),
        columns("ld-below-cols", BAD_STRIDE + RED_ARG_ld, |p| p.ld = 5),
        columns("ld-minus-1", BAD_STRIDE + RED_ARG_ld, |p| p.ld = -1),
        columns("ld-absurd", BAD_STRIDE + RED_ARG_ld, |p| {
            p.ld = i64::MAX / 2
        }),
        columns("table-rows-minus-1", BAD_SIZE + RED_ARG_table_rows, |p| {
            p.table_rows = -1
        }),
        columns("alpha-nan", BAD_VALUE + RED_ARG_alpha, |p| {
            p.alpha = f32::NAN
        }),
        columns("alpha-infinite", BAD_VALUE + RED_ARG_alpha, |p| {
            p.alpha = f32::INFINITY
        }),
        columns("beta-nan", BAD_VALUE + RED_ARG_beta, |p| p.beta = f32::NAN),
        columns("beta-infinite", BAD_VALUE + RED_ARG_beta, |p| {
            p.beta = f32::NEG_INFINITY
        }),
        columns("x-null", NULL_POINTER + RED_ARG_x, |p| p.x = null()),
        columns("out-null", NULL_POINTER + RED_ARG_out, |p| {
            p.out = null_mut()
        }),
        columns("x-misaligned", MISALIGNED + RED_ARG_x, |p| {
            p.x = p.x.wrapping_byte_add(2)
        }),
        columns("weights-misaligned", MISALIGNED + RED_ARG_weights, |p| {
            p.weights = p.weights.wrapping_byte_add(1)
        }),
        columns("index-misaligned", MISALIGNED + RED_ARG_index, |p| {
            p.index = p.index.wrapping_byte_add(2)
        }),
        columns("out-misaligned", MISALIGNED + RED_ARG_out, |p| {
            p.out = p.out.wrapping_byte_add(2)
        }),
        columns("status-misaligned", MISALIGNED + RED_ARG_status, |p| {
            p.status = p.status.wrapping_byte_add(2)
        }),
        columns(
            "workspace-misaligned",
            MISALIGNED + RED_ARG_workspace,
            |p| p.workspace = p.workspace.wrapping_byte_add(8),
        ),
        columns("out-on-x", OVERLAP + RED_ARG_out, |p| {
            p.out = p.x.cast_mut()
        }),
        columns("out-on-the-end-of-x", OVERLAP + RED_ARG_out, |p| {
            p.out = p.x.cast_mut().wrapping_byte_add((103 * 6 - 1) * 4)
        }),
        columns("out-on-weights", OVERLAP + RED_ARG_out, |p| {
            p.out = p.weights.cast_mut().cast()
        }),
        columns("out-on-mask", OVERLAP + RED_ARG_out, |p| {
            p.out = p.mask.cast_mut().wrapping_add(4).cast()
        }),
        columns("status-on-out", OVERLAP + RED_ARG_status, |p| {
            p.status = p.out.cast()
        }),
        columns("workspace-on-x", OVERLAP + RED_ARG_workspace, |p| {
            p.workspace = p.x.cast_mut()
        }),
        columns(
            "workspace-missing",
            BAD_WORKSPACE + RED_ARG_workspace,
            |p| {
                p.splits = 2;
                p.workspace = null_mut();
            },
        ),
        columns(
            "workspace-short",
            BAD_WORKSPACE + RED_ARG_workspace_bytes,
            |p| {
                p.splits = 2;
                p.workspace_bytes = 7 * 2 * 16 - 1;
            },
        ),
        columns("packed-columns", UNSUPPORTED + RED_ARG_path, |p| {
            p.path = RED_PATH_PACKED as i32
        }),
        segments("packed-of-6-columns", UNSUPPORTED + RED_ARG_path, |p| {
            p.path = RED_PATH_PACKED as i32
        }),
        row_sums("packed-in-splits", UNSUPPORTED + RED_ARG_path, |p| {
            p.path = RED_PATH_PACKED as i32;
            p.splits = 2;
        }),
        refused(
            Spec::new("refuses-flat-of-129", [40, 129]),
            UNSUPPORTED + RED_ARG_path,
            |p| p.path = 1,
        ),
        segments("count-minus-1", BAD_SIZE + RED_ARG_count, |p| p.count = -1),
        segments("count-2-to-the-31", BAD_SIZE + RED_ARG_count, |p| {
            p.count = 1 << 31
        }),
        segments("max-rows-minus-1", BAD_SIZE + RED_ARG_max_rows, |p| {
            p.max_rows = -1
        }),
        segments("max-rows-2-to-the-38", BAD_SIZE + RED_ARG_max_rows, |p| {
            p.max_rows = 1 << 38
        }),
        segments("offsets-null", NULL_POINTER + RED_ARG_offsets, |p| {
            p.offsets = null()
        }),
        segments("offsets-misaligned", MISALIGNED + RED_ARG_offsets, |p| {
            p.offsets = p.offsets.wrapping_byte_add(4)
        }),
        segments("out-on-offsets", OVERLAP + RED_ARG_out, |p| {
            p.out = p.offsets.cast_mut().cast()
        }),
        segments("too-many-blocks", BAD_SIZE + RED_ARG_count, |p| {
            p.count = (1 << 31) - 1;
            p.splits = 4;
            // Nothing is looked at: the sizes are refused after the pointers, on which nothing lies.
            p.cols = 1;
            p.out = (1usize << 46) as *mut _;
            p.offsets = (1usize << 45) as *const _;
            p.workspace = (1usize << 44) as *mut _;
            p.workspace_bytes = 1 << 43;
        }),
        row_sums("ld-below-cols", BAD_STRIDE + RED_ARG_ld, |p| p.ld = 199),
        row_sums("out-null", NULL_POINTER + RED_ARG_out, |p| {
            p.out = null_mut()
        }),
        row_sums("out-on-x", OVERLAP + RED_ARG_out, |p| {
            p.out = p.x.cast_mut()
        }),
        grouped("count-65536", BAD_SIZE + RED_ARG_count, |p| {
            p.count = 65_536
        }),
        grouped("matrices-null", NULL_POINTER + RED_ARG_matrices, |p| {
            p.matrices = null()
        }),
        grouped("matrices-misaligned", MISALIGNED + RED_ARG_matrices, |p| {
            p.matrices = p.matrices.wrapping_byte_add(4)
        }),
        grouped("max-rows-minus-1", BAD_SIZE + RED_ARG_max_rows, |p| {
            p.max_rows = -1
        }),
        grouped(
            "workspace-short",
            BAD_WORKSPACE + RED_ARG_workspace_bytes,
            |p| {
                p.splits = 2;
                p.workspace_bytes = 2 * 4 * 2 * 16 - 1;
            },
        ),
    ]
}

fn null_params() -> Case {
    Case::exact("refuses-null-params", "red_columns", |variation| {
        let spec = Spec::new("null", [4, 2]);
        let (mut buffers, _) = split(spec.bound_buffers(variation));
        leave_unwritten(&mut buffers);
        Instance::new(buffers, move |library, _, stream| {
            spec.call(library, null(), stream)
        })
        .refused((NULL_POINTER + RED_ARG_params) as c_int)
    })
    .tagged(Tags::SIMULATE)
}

type AlterMoments = fn(&mut red_moments_params);

fn moments(id: &str, code: u32, alter: AlterMoments) -> Case {
    const COUNT: usize = 300;
    Case::exact(
        format!("refuses-moments-{id}"),
        "red_moments",
        move |variation| {
            let buffers = vec![
                Buffer::input("x", &Random::named(variation.seed, "x").normals(COUNT, 1.0)),
                Buffer::output_unwritten::<f32>("sum_squares", 1),
                Buffer::output_unwritten::<f32>("norm", 1),
                Buffer::output_unwritten::<f32>("max_abs", 1),
                Buffer::output_unwritten::<i64>("non_finite", 1),
                Buffer::workspace("workspace", 1024),
            ];
            Instance::new(buffers, move |library, x, stream| {
                let mut params = red_moments_params {
                    x: x[0],
                    sum_squares: x[1].cast(),
                    norm: x[2].cast(),
                    max_abs: x[3].cast(),
                    non_finite: x[4].cast(),
                    workspace: x[5],
                    workspace_bytes: 1024,
                    ..super::moments::params(Dtype::F32, Sum::F32x2, COUNT)
                };
                alter(&mut params);
                // SAFETY: the type is the header's prototype.
                let moments = unsafe { library.function::<red_moments_fn>("red_moments") }?;
                // SAFETY: live buffers, or arguments that must be refused.
                Ok(unsafe { moments(&params, stream) })
            })
            .refused(code as c_int)
        },
    )
    .tagged(Tags::SIMULATE)
}

fn of_moments() -> Vec<Case> {
    vec![
        moments("struct-size", BAD_STRUCT + RED_ARG_struct_size, |p| {
            p.struct_size += 4
        }),
        moments("dtype", BAD_ENUM + RED_ARG_dtype, |p| p.dtype = 4),
        moments("accumulator", BAD_ENUM + RED_ARG_accumulator, |p| {
            p.accumulator = RED_SUM_F32 as i32
        }),
        moments("splits", BAD_VALUE + RED_ARG_splits, |p| p.splits = 6),
        moments("rows", BAD_SIZE + RED_ARG_rows, |p| p.rows = -1),
        moments("x-null", NULL_POINTER + RED_ARG_x, |p| p.x = null()),
        moments("nothing-asked", NULL_POINTER + RED_ARG_sum_squares, |p| {
            p.sum_squares = null_mut();
            p.norm = null_mut();
            p.max_abs = null_mut();
            p.non_finite = null_mut();
        }),
        moments("sum-misaligned", MISALIGNED + RED_ARG_sum_squares, |p| {
            p.sum_squares = p.sum_squares.wrapping_byte_add(1)
        }),
        moments("norm-on-sum", OVERLAP + RED_ARG_norm, |p| {
            p.norm = p.sum_squares
        }),
        moments("max-abs-on-x", OVERLAP + RED_ARG_max_abs, |p| {
            p.max_abs = p.x.cast_mut().cast()
        }),
        moments(
            "non-finite-misaligned",
            MISALIGNED + RED_ARG_non_finite,
            |p| p.non_finite = p.non_finite.wrapping_byte_add(4),
        ),
        moments(
            "workspace-short",
            BAD_WORKSPACE + RED_ARG_workspace_bytes,
            |p| {
                p.splits = 4;
                p.workspace_bytes = 16;
            },
        ),
    ]
}

/// The arguments of the spline gradient, after the pointers.
struct Spline {
    pointers: [*mut std::ffi::c_void; 5],
    sizes: [i64; 4],
    workspace_bytes: usize,
}

fn spline(id: &str, code: u32, alter: fn(&mut Spline)) -> Case {
    const SIZES: [i64; 4] = [300, 2, 3, 4];
    Case::exact(
        format!("refuses-kan-spline-{id}"),
        "red_kan_spline_grad_f32",
        move |variation| {
            let draw = |name, count| Random::named(variation.seed, name).normals(count, 1.0);
            let buffers = vec![
                Buffer::input("x", &draw("x", 600)),
                Buffer::input("dy", &draw("dy", 900)),
                Buffer::input("knots", &draw("knots", 11)),
                Buffer::output_unwritten::<f32>("out", 42),
                Buffer::workspace("workspace", 1 << 16),
            ];
            Instance::new(buffers, move |library, x, stream| {
                let mut s = Spline {
                    pointers: [x[0], x[1], x[2], x[3], x[4]],
                    sizes: SIZES,
                    workspace_bytes: 1 << 16,
                };
                alter(&mut s);
                let ([x, dy, knots, out, space], [rows, inputs, outputs, intervals]) =
                    (s.pointers, s.sizes);
                // SAFETY: the type is the header's prototype.
                let kan = unsafe {
                    library.function::<red_kan_spline_grad_f32_fn>("red_kan_spline_grad_f32")
                }?;
                let (x, dy, knots) = (
                    x.cast_const().cast(),
                    dy.cast_const().cast(),
                    knots.cast_const().cast(),
                );
                // SAFETY: live buffers, or arguments that must be refused.
                Ok(unsafe {
                    kan(
                        x,
                        dy,
                        knots,
                        out.cast(),
                        rows,
                        inputs,
                        outputs,
                        intervals,
                        space,
                        s.workspace_bytes,
                        stream,
                    )
                })
            })
            .refused(code as c_int)
        },
    )
    .tagged(Tags::SIMULATE)
}

fn of_splines() -> Vec<Case> {
    vec![
        spline("rows", BAD_SIZE + RED_ARG_rows, |s| s.sizes[0] = -1),
        spline("inputs", BAD_SIZE + RED_ARG_inputs, |s| s.sizes[1] = -1),
        spline("outputs", BAD_SIZE + RED_ARG_outputs, |s| {
            s.sizes[2] = 1 << 30
        }),
        spline("intervals", BAD_SIZE + RED_ARG_intervals, |s| {
            s.sizes[3] = 0
        }),
        spline("x-null", NULL_POINTER + RED_ARG_x, |s| {
            s.pointers[0] = null_mut()
        }),
        spline("dy-null", NULL_POINTER + RED_ARG_dy, |s| {
            s.pointers[1] = null_mut()
        }),
        spline("knots-null", NULL_POINTER + RED_ARG_knots, |s| {
            s.pointers[2] = null_mut()
        }),
        spline("out-null", NULL_POINTER + RED_ARG_out, |s| {
            s.pointers[3] = null_mut()
        }),
        spline("dy-misaligned", MISALIGNED + RED_ARG_dy, |s| {
            s.pointers[1] = s.pointers[1].wrapping_byte_add(2)
        }),
        spline("out-on-knots", OVERLAP + RED_ARG_out, |s| {
            s.pointers[3] = s.pointers[2]
        }),
        spline(
            "workspace-short",
            BAD_WORKSPACE + RED_ARG_workspace_bytes,
            |s| s.workspace_bytes = 0,
        ),
    ]
}

/// Entries without a params struct, and the baselines.
fn of_the_rest() -> Vec<Case> {
    type Entry = red_iqn_bias_grad_f32_fn;
    let seed = |id: &str, entry: &'static str, code: u32, rows: i64, on_x: bool| {
        Case::exact(format!("refuses-{id}"), entry, move |variation| {
            let x = Random::named(variation.seed, "x").normals(60, 1.0);
            let buffers = vec![
                Buffer::input("x", &x),
                Buffer::output_unwritten::<f32>("out", 3),
            ];
            Instance::new(buffers, move |library, x, stream| {
                // SAFETY: both entries have the header's one prototype.
                let sum = unsafe { library.function::<Entry>(entry) }?;
                let out = if on_x { x[0] } else { x[1] };
                // SAFETY: the arguments must be refused.
                Ok(unsafe {
                    sum(
                        x[0].cast_const().cast(),
                        out.cast(),
                        rows,
                        3,
                        null_mut(),
                        0,
                        stream,
                    )
                })
            })
            .refused(code as c_int)
        })
        .tagged(Tags::SIMULATE)
    };
    vec![
        seed(
            "iqn-rows",
            "red_iqn_bias_grad_f32",
            BAD_SIZE + RED_ARG_rows,
            -20,
            false,
        ),
        seed(
            "iqn-out-on-x",
            "red_iqn_bias_grad_f32",
            OVERLAP + RED_ARG_out,
            20,
            true,
        ),
        seed(
            "kan-rows",
            "red_kan_grad_f32",
            BAD_SIZE + RED_ARG_rows,
            -20,
            false,
        ),
        seed(
            "kan-out-on-x",
            "red_kan_grad_f32",
            OVERLAP + RED_ARG_out,
            20,
            true,
        ),
    ]
}

/// What the library asks for is enough, on the cut that it then makes.
fn workspace_as_asked() -> Case {
    const ROWS: usize = 1000;
    const COLS: usize = 40;
    let spec = Spec::new("workspace-as-asked", [ROWS, COLS]);
    Case::exact("workspace-as-asked", "red_columns", move |variation| {
        let (buffers, sets) = split(spec.bound_buffers(variation));
        let (spec, path) = (spec.clone(), variation.path);
        Instance::new(buffers, move |library, pointers, stream| {
            let mut params = spec.filled(path, &sets, pointers);
            // SAFETY: the type is the header's prototype.
            let ask = unsafe {
                library.function::<red_columns_workspace_bytes_fn>("red_columns_workspace_bytes")
            }?;
            // SAFETY: it reads sizes alone.
            params.workspace_bytes = unsafe { ask(&params) };
            assert!(params.workspace_bytes > 0, "this shape is split");
            spec.call(library, &params, stream)
        })
    })
    .on_paths(&[Path::AUTOMATIC, FLAT_4, TILE_32_2])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sums();
    cases.push(null_params());
    cases.extend(of_moments());
    cases.extend(of_splines());
    cases.extend(of_the_rest());
    cases.push(workspace_as_asked());
    cases
}
