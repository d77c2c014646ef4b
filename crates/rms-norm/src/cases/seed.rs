//! The seed's paired validation: 25 shapes on four kinds of data, through the general entry on every
//! path, the first entry and the kernel that it all replaced; and the operator cases of llama.cpp's
//! test suite.

use super::spec::*;
use parity::Case;

/// Rows and columns. Wide rows of whole groups, and every way to fall back: small, odd, unaligned.
const PAIRED: [(usize, usize); 25] = [
    (1, 1024),
    (2, 1025),
    (3, 1152),
    (1, 1536),
    (2, 2048),
    (1, 2304),
    (3, 2560),
    (1, 2880),
    (4, 3072),
    (2, 3584),
    (1, 4096),
    (3, 4096),
    (1, 5120),
    (2, 6144),
    (1, 7168),
    (1, 8192),
    (1, 12288),
    (1, 16384),
    (5, 33),
    (7, 127),
    (2, 511),
    (2, 769),
    (3, 896),
    (1, 1023),
    (2, 4097),
];

fn paired() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, n) in PAIRED {
        for kind in Kind::ALL {
            let spec = Spec::new(format!("paired-{rows}x{n}-{}", kind.name()), rows, n).kind(kind);
            let unweighted = spec.clone().with(|s| {
                s.id = format!("{}-unweighted", s.id);
                s.gamma = None;
            });
            cases.push(spec.clone().other_entry("rms_baseline_f32"));
            cases.push(spec.clone().other_entry("rms_norm_f32"));
            cases.push(unweighted.clone().other_entry("rms_baseline_f32"));
            cases.push(unweighted.case());
            cases.push(spec.case());
        }
    }
    cases
}

const EPS: [(&str, f32); 5] = [
    ("0", 0.0),
    ("1e-6", 1e-6),
    ("1e-4", 1e-4),
    ("1e-1", 1e-1),
    ("10", 10.0),
];

fn operators() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, eps) in EPS {
        for n in [64, 1025] {
            let spec = |what: &str| {
                Spec::new(format!("op-{what}-{n}-eps-{name}"), 5, n)
                    .kind(Kind::Uniform)
                    .with(|s| {
                        s.rows = [5, 4, 3];
                        s.eps = eps;
                    })
            };
            cases.push(spec("contiguous").with(|s| s.gamma = None).case());
            // Half of a tensor in every dimension.
            cases.push(
                spec("view")
                    .with(|s| {
                        s.gamma = None;
                        s.gaps[X] = [n, 5 * 2 * n, 4 * 2 * 5 * 2 * n];
                    })
                    .case(),
            );
            for broadcast in [false, true] {
                if broadcast && n > 1000 && eps != 1e-6 {
                    continue; // millions of elements each
                }
                let what = if broadcast {
                    "mul-add-broadcast"
                } else {
                    "mul-add"
                };
                cases.push(
                    spec(what)
                        .with(|s| {
                            s.add = true;
                            (s.gamma_sizes, s.add_sizes) = if broadcast {
                                ([n, 5, 4, 3], [n, 5, 4, 3])
                            } else {
                                ([n, 1, 1, 1], [n, 1, 1, 1])
                            };
                            if broadcast {
                                // What repeats twice over columns and three or four times elsewhere.
                                s.n = 2 * n;
                                s.rows = [15, 12, 12];
                            }
                        })
                        .case(),
                );
            }
        }
    }
    cases.push(
        Spec::new("op-in-place-64", 5, 64)
            .with(|s| {
                s.rows = [5, 4, 3];
                s.gamma = None;
                s.alias = Alias::X;
            })
            .case(),
    );
    for n in [1, 511, 1025, 8192, 16896] {
        for (name, add) in [("mul", false), ("mul-add", true)] {
            let spec = Spec::new(format!("op-{name}-{n}"), 1, n);
            cases.push(spec.kind(Kind::Uniform).with(|s| s.add = add).case());
        }
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = paired();
    cases.extend(operators());
    cases
}
