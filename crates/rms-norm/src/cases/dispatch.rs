//! The choice of a path as a table: `rms_norm_plan` is a pure function of the arguments.

use super::spec::*;
use crate::{Dtype, Quantisation, ffi};
use parity::{Case, Instance, Tags};
use std::ffi::{c_int, c_void};

/// What a problem is run as.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Expected {
    path: u32,
    plain: bool,
    vector: bool,
    blocks: i64,
}

const fn plan(path: u32, plain: bool, vector: bool, blocks: i64) -> Expected {
    Expected {
        path,
        plain,
        vector,
        blocks,
    }
}

const H200: (i32, i32) = (90, 132);
const A10: (i32, i32) = (86, 72);

type Change = fn(&mut Spec);
type Row = (
    &'static str,
    usize,
    usize,
    Change,
    (i32, i32),
    usize,
    Expected,
);

/// Name, rows, columns, options, device, bytes by which every pointer is displaced, plan.
fn table() -> Vec<Row> {
    use ffi::{RMS_PATH_BLOCK as BLOCK, RMS_PATH_CLUSTER_8 as C8, RMS_PATH_WARP as WARP};
    let none: Change = |_| {};
    vec![
        ("one-row", 1, 4096, none, H200, 0, plan(BLOCK, true, true, 1)),
        ("wide-row", 1, 16384, none, H200, 0, plan(C8, true, true, 8)),
        ("wide-row-no-clusters", 1, 16384, none, A10, 0, plan(BLOCK, false, true, 1)),
        ("many-wide-rows", 512, 16384, none, H200, 0, plan(BLOCK, false, true, 512)),
        ("rows", 512, 4096, none, H200, 0, plan(BLOCK, true, true, 512)),
        ("short-rows", 1000, 128, none, H200, 0, plan(WARP, true, true, 32)),
        ("short-rows-256", 1000, 256, none, H200, 0, plan(WARP, true, true, 63)),
        ("short-rows-1023", 1000, 1023, none, H200, 0, plan(WARP, false, false, 125)),
        ("rows-of-1024", 1000, 1024, none, H200, 0, plan(BLOCK, true, true, 1000)),
        ("many-rows-of-1024", 5000, 1024, none, H200, 0, plan(WARP, true, true, 625)),
        ("odd-columns", 4, 4097, none, H200, 0, plan(BLOCK, false, false, 4)),
        ("unaligned", 4, 4096, none, H200, 4, plan(BLOCK, false, false, 4)),
        ("unweighted", 4, 4096, |s| s.gamma = None, H200, 0, plan(BLOCK, false, true, 4)),
        ("added", 4, 4096, |s| s.add = true, H200, 0, plan(BLOCK, false, true, 4)),
        ("rstd", 4, 4096, |s| s.rstd = true, H200, 0, plan(BLOCK, false, true, 4)),
        ("odd-stride", 4, 4096, |s| s.gaps[Y] = [1, 0, 0], H200, 0, plan(BLOCK, false, false, 4)),
        ("padded", 4, 4096, |s| s.gaps[X] = [4, 0, 0], H200, 0, plan(BLOCK, true, true, 4)),
        (
            "in-place",
            4,
            4096,
            |s| s.alias = Alias::X,
            H200,
            0,
            plan(BLOCK, true, true, 4),
        ),
        (
            "flat-channels",
            4,
            4096,
            |s| s.rows = [2, 2, 1],
            H200,
            0,
            plan(BLOCK, true, true, 4),
        ),
        (
            "strided-channels",
            4,
            4096,
            |s| {
                s.rows = [2, 2, 1];
                s.gaps[X] = [0, 4096, 0];
            },
            H200,
            0,
            plan(BLOCK, false, true, 4),
        ),
        (
            "quantised-by-token",
            1,
            16384,
            |s| {
                s.x = Dtype::Bf16;
                s.quantisation = Quantisation::Token {
                    dtype: Dtype::Fp8,
                    min_scale: 1.0,
                };
                s.y = Dtype::Fp8;
            },
            H200,
            0,
            plan(BLOCK, false, true, 1),
        ),
        (
            "f32-weight-of-bf16",
            4,
            4096,
            |s| (s.x, s.y) = (Dtype::Bf16, Dtype::Bf16),
            H200,
            0,
            plan(BLOCK, false, true, 4),
        ),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    table()
        .into_iter()
        .map(|(name, rows, n, change, device, displaced, expected)| {
            Case::exact(format!("dispatch-{name}"), "rms_norm", move |_| {
                Instance::new(Vec::new(), move |library, _, _| {
                    let spec = Spec::new("", rows, n).with(change);
                    // SAFETY: the type is the header's prototype.
                    let ask =
                        unsafe { library.function::<ffi::rms_norm_plan_fn>("rms_norm_plan") }?;
                    // Addresses that nothing follows, far from each other.
                    let (_, sets) = split(spec.bound_addresses());
                    let pointers: Vec<*mut c_void> = (1..=sets.len())
                        .map(|i| ((i << 40) + displaced) as *mut c_void)
                        .collect();
                    let params = spec.filled(0, &sets, &pointers);
                    let mut got = ffi::rms_plan {
                        path: 0,
                        plain: 0,
                        vector: 0,
                        threads: 0,
                        blocks: 0,
                    };
                    // SAFETY: it reads the struct and writes the plan.
                    let status = unsafe { ask(&params, device.0, device.1, &mut got) };
                    if status != 0 {
                        return Ok(status);
                    }
                    let got = plan(
                        got.path as u32,
                        got.plain != 0,
                        got.vector != 0,
                        got.blocks,
                    );
                    // A status of its own, so that the report says what differs.
                    Ok(if got == expected {
                        0
                    } else {
                        eprintln!("dispatch-{name}: {got:?}, must be {expected:?}");
                        -1 as c_int
                    })
                })
                .nodes(0)
            })
            .tagged(Tags::SIMULATE)
        })
        .collect()
}
