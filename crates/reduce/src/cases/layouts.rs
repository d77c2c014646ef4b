//! Strides, weights, masks, indices, means, factors, types, segments and groups.

use super::spec::*;
use crate::Sum;
use parity::{Case, Path};

fn member([rows, cols, gap]: [usize; 3], alpha: f32, beta: f32) -> Member {
    Member {
        rows,
        cols,
        gap,
        alpha,
        beta,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (name, flags) in [
        ("weights", WEIGHTS),
        ("mask", MASK),
        ("index", INDEX),
        ("weights-mask", WEIGHTS | MASK),
        ("weights-mask-index-mean", WEIGHTS | MASK | INDEX | MEAN),
        ("mask-mean", MASK | MEAN),
        ("mean", MEAN),
    ] {
        for (shape, rows, cols) in [("narrow", 300, 3), ("wide", 140, 30)] {
            let spec = Spec::new(format!("{name}-{shape}"), [rows, cols])
                .with(flags)
                .sanitize();
            specs.push(spec.clone());
            specs.push(
                spec.clone()
                    .suffixed("-bf16")
                    .dtype(Dtype::Bf16)
                    .with(OUT_AS_X)
                    .gap(1),
            );
            specs.push(
                spec.clone()
                    .suffixed("-f64")
                    .sum(Sum::F64)
                    .scaled(-0.75, 0.5),
            );
            specs.push(spec.suffixed("-f32").sum(Sum::F32).scaled(3.0, 0.0));
        }
        specs.push(Spec::new(format!("{name}-9000x40"), [9000, 40]).with(flags));
    }
    specs.push(
        Spec::new("mask-of-nothing", [70, 4])
            .with(MASK | MEAN)
            .scaled(2.0, 0.5)
            .edit(|d| d.mask.fill(0)),
    );
    specs.push(Spec::new("mask-without-workspace", [300, 4]).with(MASK | MEAN | NO_WORKSPACE));
    for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
        for (name, flags) in [("to-f32", 0), ("to-itself", OUT_AS_X)] {
            for gap in [0, 1, 4] {
                let id = format!("{dtype:?}-{name}-gap-{gap}").to_lowercase();
                specs.push(
                    Spec::new(id.clone(), [200, 12])
                        .dtype(dtype)
                        .gap(gap)
                        .with(flags)
                        .scaled(0.1, -1.5),
                );
                specs.push(
                    Spec::new(format!("{id}-wide"), [40, 72])
                        .dtype(dtype)
                        .gap(gap)
                        .with(flags | MEAN),
                );
            }
        }
    }

    let counts = vec![0, 1, 5, 130, 0, 0, 300, 2, 33, 0];
    let rows = counts.iter().sum::<usize>() + 9;
    for (name, cols, flags) in [("1d", 1, 0), ("2d", 6, 0), ("2d-mean", 3, MEAN)] {
        let spec = Spec::new(format!("segments-{name}"), [rows, cols])
            .kind(Kind::Segments(counts.clone()))
            .with(flags);
        specs.push(spec.clone());
        specs.push(
            spec.clone()
                .suffixed("-f16")
                .dtype(Dtype::F16)
                .gap(1)
                .with(OUT_AS_X)
                .scaled(0.5, 0.25),
        );
        specs.push(spec.suffixed("-without-workspace").with(NO_WORKSPACE));
    }
    // The longest has chunks of another size than the others.
    specs.push(
        Spec::new("segments-long", [30_000, 2])
            .kind(Kind::Segments(vec![4096, 8192, 0, 9000, 3, 4097])),
    );
    specs.push(Spec::new("segments-wide", [400, 260]).kind(Kind::Segments(vec![100, 0, 300])));
    specs.push(Spec::new("segments-none", [10, 3]).kind(Kind::Segments(vec![])));
    specs.push(
        Spec::new("segments-many", [60_000, 1])
            .kind(Kind::Segments((0..3000).map(|i| i * 7 % 39).collect()))
            .on(&[Path::AUTOMATIC, FLAT]),
    );

    let group = vec![
        member([300, 3, 0], 1.0, 0.0),
        member([0, 4, 0], 1.0, 2.0),
        member([1, 1, 0], -2.0, 0.0),
        member([130, 8, 2], 0.5, 1.0),
        member([33, 30, 0], 1.0, 0.0),
        member([5, 0, 0], 1.0, 0.0),
        member([129, 4, 0], 1.0, 0.0),
    ];
    for (name, dtype, flags) in [
        ("f32", Dtype::F32, 0),
        ("bf16", Dtype::Bf16, OUT_AS_X),
        ("f16-mean", Dtype::F16, MEAN),
    ] {
        let spec = Spec::new(format!("grouped-{name}"), [1, 1])
            .kind(Kind::Grouped(group.clone()))
            .dtype(dtype)
            .with(flags);
        specs.push(
            spec.clone()
                .suffixed("-without-workspace")
                .with(NO_WORKSPACE),
        );
        specs.push(spec);
    }
    specs.push(
        Spec::new("grouped-f64", [1, 1])
            .kind(Kind::Grouped(group))
            .sum(Sum::F64),
    );
    let long = vec![
        member([20_000, 3, 0], 1.0, 0.0),
        member([4096, 200, 0], 1.0, 0.0),
        member([9000, 33, 1], 1.0, 1.0),
    ];
    specs.push(Spec::new("grouped-long", [1, 1]).kind(Kind::Grouped(long)));
    specs.push(Spec::new("grouped-none", [1, 1]).kind(Kind::Grouped(vec![])));
    specs.into_iter().map(Spec::case).collect()
}
