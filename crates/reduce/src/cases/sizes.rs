//! Numbers of rows and columns around every boundary of lanes, chunks, splits and tiles.

use super::spec::*;
use crate::oracle::{self, Columns, Elements, Options, Values};
use crate::{Sum, ffi};
use parity::{Buffer, Case, Instance, Path, Random, Tags};

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
    let mut cases: Vec<Case> = specs.into_iter().map(Spec::case).collect();
    cases.extend([
        far("far-rows", Far::Rows),
        far("far-index", Far::Index),
        far("far-row-sums", Far::RowSums),
        far("far-segment", Far::Segment),
    ]);
    cases
}

/// Rows of 8 elements in bf16 of which the last lie beyond 2^31 elements and 2^32 bytes. What lies
/// between is NaN, and never read.
fn far(id: &'static str, kind: Far) -> Case {
    const COLS: usize = 8;
    const ROWS: usize = 3;
    const STRIDE: usize = 1 << 31;
    let entry = match kind {
        Far::Rows | Far::Index => "red_columns",
        Far::RowSums => "red_rows",
        Far::Segment => "red_segments",
    };
    Case::exact(id, entry, move |variation| {
        let rows = parity::to_bf16(&Random::named(variation.seed, id).normals(ROWS * COLS, 1.0));
        let zeros = [0.0; COLS];
        let options = Options {
            sum: Sum::F32x2,
            mean: false,
            alpha: 1.0,
            beta: 0.0,
            before: Elements::F32(&zeros),
        };
        let x = Elements::Bf16(&rows);
        let want = match kind {
            Far::RowSums => oracle::rows(x, [ROWS, COLS], COLS, options),
            _ => oracle::columns(&Columns::packed(x, [ROWS, COLS], options)),
        };
        let Values::F32(want) = want else {
            unreachable!("results have the type of `before`")
        };
        // A segment's rows are neighbours; the others are far apart.
        let starts: Vec<usize> = match kind {
            Far::Segment => (0..ROWS).map(|r| STRIDE + r * COLS).collect(),
            _ => (0..ROWS).map(|r| r * STRIDE).collect(),
        };
        let ranges: Vec<_> = starts.iter().map(|&start| start..start + COLS).collect();
        let count = ranges[ROWS - 1].end;
        let mut buffers = vec![
            Buffer::input("x", &rows).islands(count, ranges),
            Buffer::output("out", &want),
        ];
        let first = (STRIDE / COLS) as i64;
        match kind {
            Far::Index => {
                let index: Vec<i32> = (0..ROWS).map(|r| (r * STRIDE / COLS) as i32).collect();
                buffers.push(Buffer::input("index", &index));
            }
            Far::Segment => {
                buffers.push(Buffer::input("offsets", &[first, first + ROWS as i64]));
            }
            _ => {}
        }
        let path = variation.path;
        Instance::new(buffers, move |library, x, stream| {
            let spec = Spec::new(id, [ROWS, COLS]).dtype(Dtype::Bf16);
            let mut params = spec.params(path);
            params.x = x[0];
            params.out = x[1];
            match kind {
                Far::Rows | Far::RowSums => params.ld = STRIDE as i64,
                Far::Index => {
                    params.ld = COLS as i64;
                    params.table_rows = (count / COLS) as i64;
                    params.index = x[2].cast();
                }
                Far::Segment => {
                    params.ld = COLS as i64;
                    params.rows = (count / COLS) as i64;
                    params.count = 1;
                    params.max_rows = ROWS as i64;
                    params.offsets = x[2].cast();
                }
            }
            // SAFETY: the sums have one prototype, the header's.
            let sum = unsafe { library.function::<ffi::red_columns_fn>(entry) }?;
            // SAFETY: the runner passes live buffers of the sizes in `params`.
            Ok(unsafe { sum(&params, stream) })
        })
    })
    .tagged(Tags::LARGE)
    .on_paths(if kind == Far::RowSums {
        &[FLAT, PACKED]
    } else {
        &[FLAT, TILE_64]
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Far {
    Rows,
    Index,
    RowSums,
    Segment,
}
