//! The designs that the bench compares with: within a bound of the f64 sum.

use crate::ffi;
use parity::{Buffer, Case, Class, Element, Instance, Random, Tags};
use std::ffi::c_void;

const THREAD: &str = "red_baseline_thread_per_column";
const BLOCK: &str = "red_baseline_block_per_column";

fn case(entry: &'static str, [rows, cols]: [usize; 2]) -> Case {
    let name = entry.trim_start_matches("red_").replace('_', "-");
    let nodes = if entry == BLOCK { 2 } else { 1 };
    let workspace = rows.div_ceil(256) * cols * 4;
    Case::exact(format!("{name}-{rows}x{cols}"), entry, move |variation| {
        let x = Random::named(variation.seed, "x").normals(rows * cols, 1.0);
        let column = |col: usize| x.iter().skip(col).step_by(cols).map(|&x| f64::from(x));
        let reference: Vec<f64> = (0..cols).map(|col| column(col).sum()).collect();
        // One rounding an addition, of at most the sum of magnitudes.
        let bound =
            |col: usize| column(col).map(f64::abs).sum::<f64>() * rows as f64 * 2f64.powi(-24);
        let bound: Vec<f64> = (0..cols).map(bound).collect();
        let mut buffers = vec![
            Buffer::input("x", &x),
            Buffer::output_bound("out", Element::F32, reference, bound),
        ];
        if entry == BLOCK {
            buffers.push(Buffer::workspace("workspace", workspace));
        }
        Instance::new(buffers, move |library, x, stream| {
            let (input, out, r, c) = (
                x[0].cast_const().cast(),
                x[1].cast(),
                rows as i64,
                cols as i64,
            );
            if entry == THREAD {
                // SAFETY: the type is the header's prototype.
                let sum =
                    unsafe { library.function::<ffi::red_baseline_thread_per_column_fn>(entry) }?;
                // SAFETY: the runner passes live buffers of these sizes.
                Ok(unsafe { sum(input, out, r, c, stream) })
            } else {
                // SAFETY: the type is the header's prototype.
                let sum =
                    unsafe { library.function::<ffi::red_baseline_block_per_column_fn>(entry) }?;
                let space: *mut c_void = x[2];
                // SAFETY: as above.
                Ok(unsafe { sum(input, out, r, c, space, workspace, stream) })
            }
        })
        .nodes(nodes)
    })
    .of_class(Class::Tolerance)
    .tagged(if rows * cols <= 4000 {
        Tags::SANITIZE | Tags::SIMULATE
    } else {
        Tags::SANITIZE
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in [THREAD, BLOCK] {
        for sizes in [[1, 1], [300, 3], [1000, 2], [5000, 40]] {
            cases.push(case(entry, sizes));
        }
    }
    cases
}
