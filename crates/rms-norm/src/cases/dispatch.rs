//! The choice of a path as a table: `rms_norm_plan` is a pure function of the arguments.

use super::spec::*;
use crate::{Dtype, Quantisation, ffi};
use parity::{Case, Instance, Tags};
use std::ffi::{c_int, c_void};

/// What a problem is run as.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Expected {
    path: u32,
    kind: u32,
    vector: i32,
    threads: i32,
    blocks: i64,
}

const fn plan(path: u32, kind: u32, vector: i32, threads: i32, blocks: i64) -> Expected {
    Expected {
        path,
        kind,
        vector,
        threads,
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
    use ffi::{
        RMS_PATH_BLOCK as BLOCK, RMS_PATH_CLUSTER_8 as C8, RMS_PATH_WARP as WARP,
        RMS_PLAN_OPTIONS as OPTIONS, RMS_PLAN_PLAIN as PLAIN, RMS_PLAN_RESIDUAL as RESIDUAL,
    };
    let none: Change = |_| {};
    let bf16: Change = |s| (s.x, s.y, s.gamma) = (Dtype::Bf16, Dtype::Bf16, Some(Dtype::Bf16));
    let at = |name, rows, n, change, expected| (name, rows, n, change, H200, 0, expected);
    vec![
        at("one-row", 1, 4096, none, plan(BLOCK, PLAIN, 4, 256, 1)),
        at("one-row-bf16", 1, 4096, bf16, plan(BLOCK, PLAIN, 8, 128, 1)),
        at("wide-row", 1, 16384, none, plan(C8, PLAIN, 4, 256, 8)),
        at("wide-row-bf16", 1, 16384, bf16, plan(C8, PLAIN, 4, 256, 8)),
        at(
            "half-a-wide-row-bf16",
            1,
            8192,
            bf16,
            plan(BLOCK, PLAIN, 8, 128, 1),
        ),
        at("wider-row", 1, 18432, none, plan(C8, OPTIONS, 1, 128, 8)),
        (
            "wide-row-no-clusters",
            1,
            16384,
            none,
            A10,
            0,
            plan(BLOCK, OPTIONS, 4, 256, 1),
        ),
        at(
            "sixteen-wide-rows",
            16,
            16384,
            none,
            plan(C8, PLAIN, 4, 256, 128),
        ),
        at(
            "seventeen-wide-rows",
            17,
            16384,
            none,
            plan(BLOCK, OPTIONS, 4, 256, 17),
        ),
        at("rows", 512, 4096, none, plan(BLOCK, PLAIN, 4, 256, 512)),
        at(
            "rows-of-1024",
            1000,
            1024,
            none,
            plan(BLOCK, PLAIN, 4, 256, 1000),
        ),
        at(
            "many-rows-of-1024",
            5000,
            1024,
            none,
            plan(WARP, PLAIN, 4, 256, 625),
        ),
        at(
            "many-rows-of-1024-rstd",
            5000,
            1024,
            |s| s.rstd = true,
            plan(BLOCK, OPTIONS, 4, 256, 5000),
        ),
        at(
            "short-rows",
            1000,
            128,
            none,
            plan(WARP, PLAIN, 4, 256, 125),
        ),
        at(
            "short-rows-bf16",
            1000,
            128,
            bf16,
            plan(WARP, PLAIN, 8, 256, 63),
        ),
        at(
            "rows-of-256",
            1000,
            256,
            none,
            plan(WARP, PLAIN, 4, 256, 125),
        ),
        at(
            "rows-of-1023",
            1000,
            1023,
            none,
            plan(WARP, OPTIONS, 1, 256, 125),
        ),
        at(
            "rows-of-1020-bf16",
            8,
            1020,
            bf16,
            plan(WARP, OPTIONS, 4, 256, 1),
        ),
        at(
            "odd-columns",
            4,
            4097,
            none,
            plan(BLOCK, OPTIONS, 1, 1024, 4),
        ),
        (
            "unaligned",
            4,
            4096,
            none,
            H200,
            4,
            plan(BLOCK, OPTIONS, 1, 1024, 4),
        ),
        (
            "half-aligned-bf16",
            4,
            4096,
            bf16,
            H200,
            8,
            plan(BLOCK, OPTIONS, 4, 256, 4),
        ),
        at(
            "unweighted",
            4,
            4096,
            |s| s.gamma = None,
            plan(BLOCK, OPTIONS, 4, 256, 4),
        ),
        at(
            "added",
            4,
            4096,
            |s| s.add = true,
            plan(BLOCK, OPTIONS, 4, 256, 4),
        ),
        at(
            "rstd",
            4,
            4096,
            |s| s.rstd = true,
            plan(BLOCK, OPTIONS, 4, 256, 4),
        ),
        at(
            "repeated",
            4,
            4096,
            |s| s.gamma_sizes = [2048, 1, 1, 1],
            plan(BLOCK, OPTIONS, 4, 256, 4),
        ),
        at(
            "odd-stride",
            4,
            4096,
            |s| s.gaps[Y] = [1, 0, 0],
            plan(BLOCK, OPTIONS, 1, 1024, 4),
        ),
        at(
            "padded",
            4,
            4096,
            |s| s.gaps[X] = [4, 0, 0],
            plan(BLOCK, PLAIN, 4, 256, 4),
        ),
        at(
            "in-place",
            4,
            4096,
            |s| s.alias = Alias::X,
            plan(BLOCK, PLAIN, 4, 256, 4),
        ),
        at(
            "channels",
            2,
            4096,
            |s| s.rows = [2, 2, 1],
            plan(BLOCK, PLAIN, 4, 256, 4),
        ),
        at(
            "residual",
            4,
            4096,
            |s| (s.residual, s.residual_out) = (Some(Dtype::F32), true),
            plan(BLOCK, RESIDUAL, 4, 256, 4),
        ),
        at(
            "residual-bf16",
            4,
            4096,
            |s| {
                (s.x, s.y, s.gamma) = (Dtype::Bf16, Dtype::Bf16, Some(Dtype::Bf16));
                s.residual = Some(Dtype::Bf16);
            },
            plan(BLOCK, RESIDUAL, 4, 256, 4),
        ),
        at(
            "wide-residual-bf16",
            4,
            8192,
            |s| {
                (s.x, s.y, s.gamma) = (Dtype::Bf16, Dtype::Bf16, Some(Dtype::Bf16));
                s.residual = Some(Dtype::Bf16);
            },
            plan(BLOCK, RESIDUAL, 8, 128, 4),
        ),
        at(
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
            plan(BLOCK, OPTIONS, 4, 256, 1),
        ),
        at(
            "f32-weight-of-bf16",
            4,
            4096,
            |s| (s.x, s.y) = (Dtype::Bf16, Dtype::Bf16),
            plan(BLOCK, OPTIONS, 4, 256, 4),
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
                        kind: 0,
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
                        got.kind as u32,
                        got.vector,
                        got.threads,
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
