//! Numbers of rows and columns around every boundary of lanes, chunks, splits and tiles.

use super::spec::*;
use crate::Sum;
use parity::{Case, Path};

const ROWS: [usize; 24] = [
    0, 1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 4095, 4096, 4097,
    8192, 8193, 65_537,
];
const COLS: [usize; 20] = [
    1, 2, 3, 4, 5, 7, 8, 12, 24, 31, 32, 33, 64, 100, 127, 128, 129, 130, 256, 1800,
];

pub(super) fn cases() -> Vec<Case> {
    let mut specs = vec![Spec::new("cols-0", [40, 0])];
    for rows in ROWS {
        specs.push(Spec::new(format!("rows-{rows}"), [rows, 3]));
        specs.push(Spec::new(format!("rows-{rows}-bf16"), [rows, 5]).dtype(Dtype::Bf16));
        specs.push(Spec::new(format!("rows-{rows}-f64"), [rows, 8]).sum(Sum::F64));
        specs.push(
            Spec::new(format!("rows-{rows}-f32"), [rows, 1])
                .sum(Sum::F32)
                .scaled(0.5, 2.0),
        );
    }
    for cols in COLS {
        specs.push(Spec::new(format!("cols-{cols}"), [140, cols]));
        specs.push(
            Spec::new(format!("cols-{cols}-f16-gap"), [33, cols])
                .dtype(Dtype::F16)
                .gap(3),
        );
    }
    specs.push(Spec::new("rows-1048575", [1_048_575, 1]));
    specs.push(Spec::new("rows-300000-without-workspace", [300_000, 3]).with(NO_WORKSPACE));
    specs.push(Spec::new("rows-700-without-workspace", [700, 6]).with(NO_WORKSPACE));
    // Rounds that merge in a block: 11 chunks in two splits, and in one.
    specs.push(Spec::new("rounds", [1400, 3]).on(&[
        FLAT,
        FLAT_4,
        TILE_32_2,
        TILE_64,
        Path::AUTOMATIC,
    ]));

    for cols in [0, 1, 3, 4, 129, 1000, 4097, 9000, 100_000] {
        specs.push(Spec::new(format!("row-sums-3x{cols}"), [3, cols]).kind(Kind::Rows));
        specs.push(
            Spec::new(format!("row-sums-5x{cols}-bf16"), [5, cols])
                .kind(Kind::Rows)
                .dtype(Dtype::Bf16)
                .gap(2)
                .with(OUT_AS_X),
        );
    }
    specs.push(Spec::new("row-sums-0x7", [0, 7]).kind(Kind::Rows));
    specs.push(
        Spec::new("row-sums-3000x40", [3000, 40])
            .kind(Kind::Rows)
            .on(&[Path::AUTOMATIC, FLAT]),
    );
    specs.into_iter().map(Spec::case).collect()
}
