//! Columns that cancel, magnitudes, and values that are not finite: each reaches its own column only.

use super::spec::*;
use crate::Sum;
use parity::Case;

const COLS: usize = 5;

fn column(spec: Spec, col: usize, value: impl Fn(usize) -> f32 + Send + Sync + 'static) -> Spec {
    spec.edit(move |d| {
        let ld = d.ld;
        for (row, x) in d.x.iter_mut().skip(col).step_by(ld).enumerate() {
            *x = value(row);
        }
    })
}

fn at(spec: Spec, row: usize, col: usize, value: f32) -> Spec {
    spec.edit(move |d| {
        let place = row * d.ld + col;
        d.x[place] = value;
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    // 26.21875 exactly; f32 trees are off by up to a tenth.
    let half = 262_144;
    let cancelling = move |row: usize| if row < half { 1.0 } else { -0.9999 };
    for (name, sum) in [("f32x2", Sum::F32x2), ("f64", Sum::F64), ("f32", Sum::F32)] {
        let spec = Spec::new(format!("cancelling-{name}"), [2 * half, 3]).sum(sum);
        let spec = column(column(spec, 1, cancelling), 0, |_| 0.1);
        specs.push(column(spec, 2, |row| (row % 3) as f32));
        let small = Spec::new(format!("cancelling-small-{name}"), [600, 3]).sum(sum);
        specs.push(column(
            small,
            1,
            |row| if row < 300 { 1.0 } else { -0.9999 },
        ));
        let large = Spec::new(format!("two-to-the-24-then-ones-{name}"), [500, 2]).sum(sum);
        specs.push(column(
            large,
            0,
            |row| if row == 0 { 16_777_216.0 } else { 1.0 },
        ));
    }
    let half_sum = |row: usize| {
        if row.is_multiple_of(2) {
            32_000.0
        } else {
            -32_000.0
        }
    };
    specs.push(column(
        Spec::new("alternating-halves", [300, 2])
            .dtype(Dtype::F16)
            .with(OUT_AS_X),
        1,
        half_sum,
    ));
    specs.push(column(
        Spec::new("ones-in-bf16", [700, 2])
            .dtype(Dtype::Bf16)
            .with(OUT_AS_X),
        0,
        |_| 1.0,
    ));
    specs.push(column(Spec::new("negative-zeros", [140, 3]), 1, |_| -0.0));
    specs.push(column(Spec::new("subnormals", [140, 3]), 1, |row| {
        f32::from_bits(row as u32 + 1)
    }));
    specs.push(column(Spec::new("largest", [140, 3]), 1, |row| {
        if row == 3 { f32::MIN } else { f32::MAX / 512.0 }
    }));
    specs.push(column(Spec::new("overflow", [140, 3]), 1, |_| f32::MAX));
    specs.push(column(
        Spec::new("overflow-f64", [140, 3])
            .sum(Sum::F64)
            .scaled(0.001, 0.0),
        1,
        |_| f32::MAX,
    ));

    for (name, value) in [
        ("nan", f32::NAN),
        ("infinity", f32::INFINITY),
        ("minus-infinity", f32::NEG_INFINITY),
    ] {
        for sum in [Sum::F32x2, Sum::F64, Sum::F32] {
            let id = format!("{name}-{sum:?}").to_lowercase();
            specs.push(at(Spec::new(id, [150, COLS]).sum(sum), 77, 2, value));
        }
        specs.push(at(
            Spec::new(format!("{name}-bf16"), [150, 40])
                .dtype(Dtype::Bf16)
                .with(OUT_AS_X),
            149,
            39,
            value,
        ));
        specs.push(at(
            Spec::new(format!("{name}-scaled"), [150, COLS]).scaled(0.5, 1.0),
            0,
            4,
            value,
        ));
        specs.push(at(
            Spec::new(format!("{name}-weighted"), [150, COLS]).with(WEIGHTS | MEAN),
            1,
            0,
            value,
        ));
        // In a row that the mask drops, and as its weight.
        specs.push(at(
            Spec::new(format!("{name}-masked"), [150, COLS])
                .with(MASK | WEIGHTS)
                .edit(move |d| {
                    d.mask[9] = 0;
                    d.weights[9] = value;
                }),
            9,
            3,
            value,
        ));
        specs.push(
            Spec::new(format!("{name}-before"), [150, COLS])
                .scaled(1.0, 0.5)
                .edit(move |d| d.before[1] = value),
        );
        specs.push(at(
            Spec::new(format!("{name}-in-a-row"), [6, 200]).kind(Kind::Rows),
            3,
            150,
            value,
        ));
        specs.push(at(
            Spec::new(format!("{name}-in-a-segment"), [40, 2]).kind(Kind::Segments(vec![20, 20])),
            30,
            1,
            value,
        ));
    }
    let both = at(
        Spec::new("both-infinities", [150, COLS]),
        3,
        1,
        f32::INFINITY,
    );
    specs.push(at(both, 100, 1, f32::NEG_INFINITY));
    specs.push(
        Spec::new("infinite-weight-of-zero", [40, 2])
            .with(WEIGHTS)
            .edit(|d| {
                d.weights[5] = f32::INFINITY;
                d.x[10] = 0.0;
            }),
    );
    specs.push(Spec::new("alpha-0", [40, 3]).scaled(0.0, 2.0));
    specs.push(Spec::new("beta-minus-0", [40, 3]).scaled(1.0, -0.0));
    specs.into_iter().map(Spec::case).collect()
}
