//! The softmax and what is read off it: tiles, ties, ranges of logits.

use super::spec::*;
use parity::Case;

/// The smallest legal divisor is subnormal: 2^-127, whose inverse is 2^127.
const SMALLEST_TEMPERATURE: f32 = f32::from_bits(1 << 22);

/// Every candidate a copy of one of the first `period`.
fn repeated(period: usize) -> impl Fn(&mut Data) {
    move |data| {
        let stride = data.candidate_stride;
        let source = data.candidates[..period * stride].to_vec();
        for (row, values) in data.candidates.chunks_mut(stride).enumerate() {
            let from = row % period * stride;
            values.copy_from_slice(&source[from..][..values.len()]);
        }
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    specs.push(
        Spec::new("one-candidate-is-exactly-one", [3, 1, 50])
            .cosine()
            .every_output(),
    );
    specs.push(
        Spec::new("one-candidate-huge-logit", [2, 1, 50])
            .scaled(1e30, 1e-3)
            .every_output(),
    );
    for k in [2, 3, 7, 31, 32, 33, 64, 255, 256, 257, 1000] {
        specs.push(
            Spec::new(format!("identical-candidates-{k}"), [1, k, 20])
                .cosine()
                .every_output()
                .edit(repeated(1)),
        );
    }
    for (k, period) in [
        (17, 5),
        (300, 7),
        (600, 256),
        (600, 300),
        (4096, 1000),
        (5000, 4999),
    ] {
        specs.push(
            Spec::new(format!("ties-{k}-every-{period}"), [1, k, 12])
                .cosine()
                .every_output()
                .top(32)
                .edit(repeated(period)),
        );
    }
    for (k, top) in [
        (1, 1),
        (5, 1),
        (5, 5),
        (5, 6),
        (10, 32),
        (32, 32),
        (33, 32),
        (257, 3),
        (1000, 32),
    ] {
        specs.push(
            Spec::new(format!("top-{top}-of-{k}"), [3, k, 16])
                .only(TOP | ARGMAX)
                .top(top)
                .with(MASK),
        );
    }
    // Zeros of both signs are equal: the lowest index wins, not the sign.
    specs.push(
        Spec::new("zeros-of-both-signs-tie", [1, 40, 16])
            .cosine()
            .every_output()
            .with(CANDIDATE_INVERSE_NORMS)
            .edit(|data| {
                data.candidates.fill(0.0);
                for (k, inverse) in data.candidate_inverse_norms.iter_mut().enumerate() {
                    *inverse = if k % 3 == 0 { -1.0 } else { 1.0 };
                }
            }),
    );
    for (name, scale, temperature) in [
        ("temperature-1e-3", 20.0, 1e-3),
        ("temperature-1e-30", 20.0, 1e-30),
        ("temperature-applied-once", 1.0, 2.5),
        ("temperature-largest", 1.0, f32::MAX),
        ("temperature-smallest", 1e-30, SMALLEST_TEMPERATURE),
        ("scale-smallest", SMALLEST_TEMPERATURE, 1e-30),
        ("scale-largest", f32::MAX, f32::MAX),
        // 20 * cosine / 2^-127 passes the range of f32: rows with a logit of +inf are NaN.
        ("temperature-overflows-logits", 20.0, SMALLEST_TEMPERATURE),
        // Multiply first, then divide: 3 * (x / 7) and (3 * x) / 7 differ in the last bit.
        ("scale-before-temperature", 3.0, 7.0),
    ] {
        specs.push(
            Spec::new(name, [3, 45, 32])
                .cosine()
                .scaled(scale, temperature)
                .every_output(),
        );
    }
    for k in [600, 4096, 5000] {
        let spec = |name: &str| {
            Spec::new(format!("{name}-{k}"), [1, k, 12])
                .cosine()
                .every_output()
                .with(MASK)
        };
        specs.push(spec("first-tile-masked").edit(|data| {
            data.mask.fill(1);
            data.mask[..256].fill(0);
        }));
        specs.push(spec("second-tile-masked").edit(|data| {
            data.mask.fill(1);
            data.mask[256..512].fill(0);
        }));
        specs.push(spec("only-the-last-unmasked").edit(|data| {
            data.mask.fill(0);
            if let Some(last) = data.mask.last_mut() {
                *last = 1;
            }
        }));
        specs.push(spec("nothing-unmasked").edit(|data| data.mask.fill(0)));
        // Tile maxima up to 110 apart: terms vanish gradually through the subnormals.
        let spread = Spec::new(format!("falling-tiles-{k}"), [1, k, 12])
            .cosine()
            .every_output();
        specs.push(spread.clone().with(BIAS).edit(|data| {
            for (k, bias) in data.bias.iter_mut().enumerate() {
                *bias = -((k / 256) as f32) * 17.3;
            }
        }));
        let mut rising = spread.with(BIAS).edit(|data| {
            for (k, bias) in data.bias.iter_mut().enumerate() {
                *bias = k as f32 * 0.11;
            }
        });
        rising.id = format!("rising-bias-{k}");
        specs.push(rising);
    }
    // Probabilities that end in the subnormals and at zero.
    specs.push(
        Spec::new("probabilities-fade-to-zero", [1, 200, 8])
            .every_output()
            .with(BIAS)
            .edit(|data| {
                data.candidates.fill(0.0);
                for (k, bias) in data.bias.iter_mut().enumerate() {
                    *bias = -(k as f32) * 0.6;
                }
            }),
    );
    // All the weight on the last of many: the expected index is large and exact.
    specs.push(
        Spec::new("expected-index-at-the-end", [1, 4096, 8])
            .every_output()
            .with(BIAS)
            .edit(|data| {
                data.bias.fill(-200.0);
                data.bias[4095] = 200.0;
            }),
    );
    specs.into_iter().map(Spec::case).collect()
}
