//! Residuals, weight modes, types of each tensor, quantised results.

use super::spec::*;
use crate::{Dtype, GammaMode, Quantisation, ResidualMode};
use parity::Case;

const MODES: [(&str, GammaMode); 3] = [
    ("plain", GammaMode::Plain),
    ("one-plus", GammaMode::OnePlus),
    ("after-cast", GammaMode::AfterCast),
];

/// x, gamma, y, as the header lists them.
const TUPLES: [(&str, Dtype, Dtype, Dtype); 6] = [
    ("f32", Dtype::F32, Dtype::F32, Dtype::F32),
    ("bf16", Dtype::Bf16, Dtype::Bf16, Dtype::Bf16),
    ("bf16-f32-bf16", Dtype::Bf16, Dtype::F32, Dtype::Bf16),
    ("bf16-f32-f32", Dtype::Bf16, Dtype::F32, Dtype::F32),
    ("f16", Dtype::F16, Dtype::F16, Dtype::F16),
    ("f16-f32-f16", Dtype::F16, Dtype::F32, Dtype::F16),
];

fn modes_and_types() -> Vec<Case> {
    let mut cases = Vec::new();
    for (mode, gamma_mode) in MODES {
        for (name, x, gamma, y) in TUPLES {
            for (rows, n) in [(3, 96), (2, 1100), (1, 1023), (2, 4096)] {
                let spec = Spec::new(format!("mode-{mode}-{rows}x{n}-{name}"), rows, n);
                cases.push(
                    spec.with(|s| {
                        (s.x, s.gamma, s.y, s.gamma_mode) = (x, Some(gamma), y, gamma_mode);
                    })
                    .case(),
                );
            }
            let spec = Spec::new(format!("mode-{mode}-no-weight-3x40-{name}"), 3, 40);
            cases.push(
                spec.with(|s| (s.x, s.gamma, s.y, s.gamma_mode) = (x, None, y, gamma_mode))
                    .case(),
            );
        }
    }
    cases
}

fn residuals() -> Vec<Case> {
    let mut cases = Vec::new();
    for (mode, residual_mode) in [
        ("unrounded", ResidualMode::Unrounded),
        ("rounded", ResidualMode::Rounded),
    ] {
        for (name, x, gamma, y) in TUPLES {
            for (of, residual) in [("own", x), ("f32", Dtype::F32)] {
                if of == "f32" && x == Dtype::F32 {
                    continue;
                }
                for (rows, n) in [(3, 96), (1, 1100), (2, 1023), (1, 4096), (1, 9001)] {
                    let id = format!("residual-{of}-{mode}-{rows}x{n}-{name}");
                    cases.push(
                        Spec::new(id, rows, n)
                            .with(|s| {
                                (s.x, s.gamma, s.y) = (x, Some(gamma), y);
                                s.residual = Some(residual);
                                s.residual_mode = residual_mode;
                                // Some callers do not want the sum.
                                s.residual_out = n != 1023;
                            })
                            .case(),
                    );
                }
            }
        }
    }
    cases
}

fn quantised() -> Vec<Case> {
    let mut cases = Vec::new();
    for (code, dtype) in [("fp8", Dtype::Fp8), ("int8", Dtype::Int8)] {
        for (by, quantisation) in [
            ("tensor", Quantisation::Tensor { dtype, scale: 0.03 }),
            (
                "small-tensor",
                Quantisation::Tensor {
                    dtype,
                    scale: 0.004,
                },
            ),
            ("zero-tensor", Quantisation::Tensor { dtype, scale: 0.0 }),
            (
                "token",
                Quantisation::Token {
                    dtype,
                    min_scale: 1e-5,
                },
            ),
            (
                "floored-token",
                Quantisation::Token {
                    dtype,
                    min_scale: 0.5,
                },
            ),
        ] {
            for (name, x, gamma) in [
                ("bf16", Dtype::Bf16, Dtype::Bf16),
                ("bf16-f32", Dtype::Bf16, Dtype::F32),
                ("f16", Dtype::F16, Dtype::F16),
                ("f16-f32", Dtype::F16, Dtype::F32),
            ] {
                for (rows, n) in [(3, 96), (2, 1024), (1, 1027), (2, 250), (1, 9000)] {
                    let id = format!("quantised-{code}-{by}-{rows}x{n}-{name}");
                    cases.push(
                        Spec::new(id, rows, n)
                            .with(|s| {
                                (s.x, s.gamma) = (x, Some(gamma));
                                if n == 1024 {
                                    (s.residual, s.residual_out) = (Some(x), true);
                                }
                            })
                            .quantised(quantisation)
                            .case(),
                    );
                }
            }
        }
        // NaN, infinity and a row of zeros.
        for (by, quantisation) in [
            ("tensor", Quantisation::Tensor { dtype, scale: 0.5 }),
            (
                "token",
                Quantisation::Token {
                    dtype,
                    min_scale: 0.25,
                },
            ),
        ] {
            for n in [40, 1040] {
                cases.push(
                    Spec::new(format!("quantised-{code}-{by}-special-4x{n}"), 4, n)
                        .with(|s| {
                            s.x = Dtype::Bf16;
                            s.gamma = Some(Dtype::F32);
                            s.add = true;
                            s.add_sizes = [s.n, 4, 1, 1];
                        })
                        .quantised(quantisation)
                        .edit(|data| {
                            let n = data.n;
                            data.row(0).fill(0.0);
                            data.tensors[ADD][..n].fill(0.0);
                            data.tensors[ADD][n + 3] = f32::NAN;
                            data.tensors[ADD][2 * n + 5] = f32::INFINITY;
                            data.tensors[ADD][2 * n + 6] = f32::NEG_INFINITY;
                            data.row(3)[n - 1] = f32::NAN;
                        })
                        .case(),
                );
            }
        }
    }
    cases
}

fn scales_out() -> Vec<Case> {
    [(5, 100), (2, 1024), (1, 4099)]
        .into_iter()
        .map(|(rows, n)| {
            Spec::new(format!("rstd-{rows}x{n}"), rows, n)
                .with(|s| s.rstd = true)
                .case()
        })
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = modes_and_types();
    cases.extend(residuals());
    cases.extend(quantised());
    cases.extend(scales_out());
    cases
}
