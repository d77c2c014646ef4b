//! Widths of real models, odd widths, and every element type on them.

use super::spec::*;
use crate::{Dtype, Quantisation};
use parity::{Case, Path};

const MODELS: [usize; 28] = [
    64, 128, 256, 512, 576, 640, 896, 1024, 1152, 1536, 2048, 2304, 2560, 2880, 3072, 3584, 3840,
    4096, 4608, 5120, 5376, 6144, 7168, 8192, 12288, 16384, 18432, 65536,
];
const ODD: [usize; 21] = [
    1, 2, 3, 4, 5, 31, 32, 33, 63, 65, 100, 127, 129, 255, 257, 500, 769, 1000, 1023, 1025, 4097,
];

const DTYPES: [(&str, Dtype); 3] = [
    ("f32", Dtype::F32),
    ("bf16", Dtype::Bf16),
    ("f16", Dtype::F16),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, dtype) in DTYPES {
        for n in MODELS.into_iter().chain(ODD) {
            let rows = if n < 1024 { 5 } else { 2 };
            let spec = Spec::new(format!("width-{rows}x{n}-{name}"), rows, n).dtype(dtype);
            cases.push(spec.case());
        }
        // Rows beyond the registers of every path, with tails.
        let spec = Spec::new(format!("width-1x20001-{name}"), 1, 20001).dtype(dtype);
        cases.push(spec.with(|s| s.rstd = true).case());
    }
    // Rows further apart than they are long: latent rows of 512 in 576, and a padded odd width.
    for (name, dtype) in DTYPES {
        for (n, gap) in [
            (512, 64),
            (128, 4),
            (1024, 8),
            (1025, 3),
            (100, 1),
            (2048, 1),
        ] {
            cases.push(
                Spec::new(format!("padded-3x{n}-gap-{gap}-{name}"), 3, n)
                    .dtype(dtype)
                    .with(|s| {
                        s.gaps[X] = [gap, 0, 0];
                        s.gaps[Y] = [2 * gap, 0, 0];
                    })
                    .sanitize()
                    .case(),
            );
        }
    }
    cases.extend(tiles());
    // Chains of three elements, rows enough for a rounding in between to show.
    let chains = Spec::new("chains-6x700", 6, 700).simulate();
    cases.push(chains.with(|s| s.paths = Some(vec![WARP, BLOCK])).case());
    // Rows far apart in a small tensor.
    cases.push(
        Spec::new("far-apart-3x40", 3, 40)
            .with(|s| (s.gaps[X], s.gaps[Y]) = ([5000, 0, 0], [5004, 0, 0]))
            .case(),
    );
    // More rows than a grid has in its second dimension.
    cases.push(Spec::new("rows-70001x8", 70001, 8).case());
    let spec = Spec::new("rows-66000x40-bf16", 66000, 40);
    cases.push(spec.dtype(Dtype::Bf16).case());
    cases
}

/// Rows of more than one tile, and of more groups than the smaller instances hold, on few paths: what
/// the simulator sees of long rows.
fn tiles() -> Vec<Case> {
    let spec = |name: &str, n| Spec::new(format!("tiles-1x{n}-{name}"), 1, n).simulate();
    let on = |spec: Spec, paths: &[Path]| spec.with(|s| s.paths = Some(paths.to_vec())).case();
    let all = |s: &mut Spec| {
        s.residual = Some(s.x);
        s.residual_in_place = true;
        s.add = true;
        s.add_sizes = [s.n, 1, 1, 1];
        s.rstd = true;
    };
    let token = Quantisation::Token {
        dtype: Dtype::Fp8,
        min_scale: 1e-6,
    };
    let bf16 = |name, n| spec(name, n).dtype(Dtype::Bf16);
    let residual = |s: &mut Spec| (s.residual, s.residual_out) = (Some(s.x), true);
    vec![
        on(spec("f32", 4608), &[BLOCK, CLUSTERS[1]]),
        on(bf16("bf16", 4608), &[BLOCK]),
        on(spec("residual", 4608).with(residual), &[BLOCK]),
        on(bf16("residual-bf16", 4608).with(residual), &[BLOCK]),
        on(bf16("options", 4612).with(all), &[BLOCK, CLUSTERS[0]]),
        on(spec("odd", 4609).with(all), &[BLOCK, CLUSTERS[2]]),
        on(bf16("token", 4612).quantised(token), &[BLOCK]),
        on(bf16("odd-token", 4609).quantised(token), &[BLOCK]),
    ]
}
