//! Strides of each tensor, weights that repeat, memory that is shared.

use super::spec::*;
use crate::{Dtype, GammaMode, ResidualMode};
use parity::Case;

/// q/k norm: heads of a slice of a fused projection, weight of one head.
fn heads() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, dtype) in [("f32", Dtype::F32), ("bf16", Dtype::Bf16)] {
        for d in [64, 128, 256] {
            // rows: heads, channels: tokens.
            let spec = Spec::new(format!("heads-4x3x{d}-{name}"), 4, d)
                .dtype(dtype)
                .with(|s| {
                    s.rows = [4, 3, 1];
                    s.gaps[X] = [0, 8 * d, 0];
                });
            cases.push(spec.clone().case());
            cases.push(
                spec.clone()
                    .with(|s| {
                        s.id = format!("heads-in-place-4x3x{d}-{name}");
                        s.alias = Alias::X;
                        s.gaps[Y] = s.gaps[X];
                    })
                    .sanitize()
                    .case(),
            );
            cases.push(
                spec.with(|s| {
                    s.id = format!("heads-rows-outside-4x3x{d}-{name}");
                    s.rows_outside = true;
                    s.gaps[X] = [4 * d, 0, 0];
                })
                .case(),
            );
            // A weight for each head.
            cases.push(
                Spec::new(format!("heads-own-weights-4x3x{d}-{name}"), 4, d)
                    .dtype(dtype)
                    .with(|s| {
                        s.rows = [4, 3, 1];
                        s.gamma_sizes = [d, 4, 1, 1];
                    })
                    .case(),
            );
        }
    }
    cases
}

/// Weights and addends that repeat over every dimension, at every alignment of the seam.
fn repeats() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, columns) in [
        (12, 4),
        (12, 3),
        (96, 32),
        (512, 256),
        (1030, 103),
        (1024, 512),
    ] {
        for sizes in [
            [columns, 1, 1, 1],
            [columns, 2, 1, 2],
            [n, 2, 3, 1],
            [n, 1, 1, 3],
        ] {
            if columns == 3 && sizes[0] == n {
                continue; // as with 4 columns
            }
            let [c, r, h, s] = sizes;
            cases.push(
                Spec::new(format!("repeat-{n}-by-{c}x{r}x{h}x{s}"), 4, n)
                    .with(|spec| {
                        spec.rows = [4, 3, 2];
                        spec.gamma_sizes = sizes;
                        spec.add = true;
                        spec.add_sizes = [n, 1, 3, 2];
                        spec.gaps[GAMMA] = [4, 8, 0];
                    })
                    .case(),
            );
        }
    }
    for (name, dtype) in [("bf16", Dtype::Bf16), ("f16", Dtype::F16)] {
        cases.push(
            Spec::new(format!("repeat-{name}"), 3, 60)
                .dtype(dtype)
                .with(|s| {
                    s.gamma_sizes = [20, 3, 1, 1];
                    s.add = true;
                    s.add_sizes = [30, 1, 1, 1];
                })
                .case(),
        );
    }
    cases
}

/// Every tensor present, every one with gaps of its own.
fn everything() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [20, 21, 1028, 1029] {
        for (name, x, gamma, residual) in [
            ("f32", Dtype::F32, Dtype::F32, Dtype::F32),
            ("bf16", Dtype::Bf16, Dtype::Bf16, Dtype::Bf16),
            ("bf16-f32", Dtype::Bf16, Dtype::F32, Dtype::F32),
            ("f16", Dtype::F16, Dtype::F16, Dtype::F16),
            ("f16-f32", Dtype::F16, Dtype::F32, Dtype::F32),
        ] {
            cases.push(
                Spec::new(format!("everything-2x2x2x{n}-{name}"), 2, n)
                    .with(|s| {
                        s.rows = if n < 1000 { [2, 2, 2] } else { [2, 1, 2] };
                        (s.x, s.y, s.gamma, s.residual) = (x, x, Some(gamma), Some(residual));
                        s.residual_out = true;
                        s.add = true;
                        s.add_sizes = [n, s.rows[0], 1, 1];
                        s.rstd = true;
                        s.gamma_mode = GammaMode::OnePlus;
                        s.residual_mode = ResidualMode::Rounded;
                        s.gaps = [
                            [4, 8, 12],
                            [8, 0, 4],
                            [0, 0, 0],
                            [4, 0, 0],
                            [12, 4, 8],
                            [4, 4, 4],
                        ];
                    })
                    .sanitize()
                    .case(),
            );
        }
    }
    cases
}

/// In place, residual in place, y over the addend: each alone and with strides.
fn aliases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, n) in [
        (3, 70),
        (2, 128),
        (2, 1024),
        (1, 1027),
        (1, 9000),
        (1, 17000),
    ] {
        for (name, dtype) in [("f32", Dtype::F32), ("bf16", Dtype::Bf16)] {
            let spec = |what: &str| {
                Spec::new(format!("{what}-{rows}x{n}-{name}"), rows, n)
                    .dtype(dtype)
                    .with(|s| s.gaps[X] = [4, 0, 0])
            };
            cases.push(
                spec("in-place")
                    .with(|s| {
                        s.alias = Alias::X;
                        s.gaps[Y] = s.gaps[X];
                    })
                    .sanitize()
                    .case(),
            );
            cases.push(
                spec("y-over-add")
                    .with(|s| {
                        s.alias = Alias::Add;
                        s.add = true;
                        s.gaps[Y] = [8, 0, 0];
                        s.gaps[ADD] = [8, 0, 0];
                    })
                    .sanitize()
                    .case(),
            );
            cases.push(
                spec("residual-in-place")
                    .with(|s| {
                        s.residual = Some(dtype);
                        s.residual_in_place = true;
                    })
                    .sanitize()
                    .case(),
            );
            cases.push(
                spec("both-in-place")
                    .with(|s| {
                        s.alias = Alias::X;
                        s.gaps[Y] = s.gaps[X];
                        s.residual = Some(dtype);
                        s.residual_in_place = true;
                    })
                    .sanitize()
                    .case(),
            );
        }
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = heads();
    cases.extend(repeats());
    cases.extend(everything());
    cases.extend(aliases());
    cases
}
