//! NaN and infinity in elements, bias and norms: what poisons a question, and what must not.
//!
//! Three questions; the middle one is hostile, so that a leak into a neighbour shows.

use super::spec::*;
use parity::Case;

const K: usize = 37;
/// A candidate of the middle question that is hostile, as a per-candidate entry.
const HOSTILE: usize = K + 20;

fn spec(name: impl Into<String>) -> Spec {
    Spec::new(name, [3, K, 40]).every_output()
}

/// The same edit under dot product and cosine, in every element type.
fn both(name: &str, edit: impl Fn(&mut Data) + Send + Sync + Clone + 'static) -> Vec<Spec> {
    let mut specs = vec![
        spec(format!("{name}-dot")).edit(edit.clone()),
        spec(format!("{name}-cosine")).cosine().edit(edit.clone()),
    ];
    specs.push(
        spec(format!("{name}-cosine-bf16"))
            .cosine()
            .dtype(Dtype::Bf16)
            .edit(edit.clone()),
    );
    specs.push(spec(format!("{name}-dot-f16")).dtype(Dtype::F16).edit(edit));
    specs
}

pub(super) fn cases() -> Vec<Case> {
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    let mut specs = Vec::new();
    specs.extend(both("nan-in-a-query", |data| data.query(1)[17] = NAN));
    specs.extend(both("nan-in-a-candidate", |data| {
        data.candidate(HOSTILE)[0] = NAN
    }));
    specs.extend(both("nan-in-the-last-element", |data| {
        data.candidate(HOSTILE)[39] = NAN
    }));
    specs.extend(both("infinity-in-a-query", |data| data.query(1)[3] = INF));
    specs.extend(both("infinity-in-a-candidate", |data| {
        data.candidate(HOSTILE)[5] = INF
    }));
    specs.extend(both("minus-infinity-in-a-candidate", |data| {
        data.candidate(HOSTILE)[5] = -INF;
    }));
    specs.extend(both("opposite-infinities-in-a-candidate", |data| {
        data.candidate(HOSTILE)[..2].copy_from_slice(&[INF, -INF]);
    }));
    // A dot product of -inf is a logit of -inf: probability 0, and the others share.
    specs.push(spec("dot-overflows-to-minus-infinity").edit(|data| {
        let query = data.query(1).to_vec();
        for (c, q) in data.candidate(HOSTILE).iter_mut().zip(query) {
            *c = if q > 0.0 { -f32::MAX } else { f32::MAX };
        }
    }));
    for (name, value) in [("nan", NAN), ("infinity", INF), ("minus-infinity", -INF)] {
        for cosine in [false, true] {
            let kind = if cosine { "cosine" } else { "dot" };
            let masked = spec(format!("masked-{name}-leaks-nowhere-{kind}"))
                .with(MASK | BIAS)
                .sanitize()
                .edit(move |data| {
                    for position in 0..data.mask.len() {
                        if data.mask[position] == 0 {
                            data.candidate(position).fill(value);
                            data.bias[position] = value;
                        }
                    }
                });
            specs.push(if cosine { masked.cosine() } else { masked });
        }
        specs.push(
            spec(format!("bias-of-{name}"))
                .cosine()
                .with(BIAS)
                .edit(move |data| data.bias[HOSTILE] = value),
        );
        specs.push(
            spec(format!("every-bias-{name}"))
                .cosine()
                .with(BIAS)
                .edit(move |data| data.bias[K..2 * K].fill(value)),
        );
    }
    specs.push(spec("minus-infinity-beside-nan").with(BIAS).edit(|data| {
        data.bias[K..2 * K].fill(-INF);
        data.bias[HOSTILE] = NAN;
    }));
    specs.push(
        spec("everything-masked")
            .cosine()
            .with(MASK)
            .sanitize()
            .edit(|data| {
                data.mask[K..2 * K].fill(0);
            }),
    );
    specs.push(
        spec("everything-masked-and-nan")
            .cosine()
            .with(MASK)
            .edit(|data| {
                data.mask[K..2 * K].fill(0);
                data.candidates[K * 40..2 * K * 40].fill(NAN);
            }),
    );
    specs.push(spec("one-unmasked").cosine().with(MASK).edit(|data| {
        data.mask[K..2 * K].fill(0);
        data.mask[HOSTILE] = 128;
    }));
    specs.push(
        spec("nan-query-with-everything-masked")
            .with(MASK)
            .edit(|data| {
                data.mask[K..2 * K].fill(0);
                data.query(1).fill(NAN);
            }),
    );
    // Two candidates, one hostile: a maximum that drops NaN would answer [1, 0].
    for (name, value) in [("nan", NAN), ("infinity", INF)] {
        for (place, at) in [("first", 0), ("second", 1)] {
            specs.push(
                Spec::new(format!("{name}-{place}-of-two"), [1, 2, 4])
                    .every_output()
                    .edit(move |data| {
                        data.query(0).fill(1.0);
                        data.candidate(at).fill(value);
                    }),
            );
        }
    }
    // The same in a tile of its own, far from the finite ones, and where a second node merges.
    for k in [600, 5000] {
        let hostile = |name: &str, value: f32| {
            Spec::new(format!("{name}-in-the-second-tile-of-{k}"), [2, k, 8])
                .every_output()
                .with(BIAS)
                .edit(move |data| data.bias[300] = value)
        };
        specs.push(hostile("nan", NAN));
        specs.push(hostile("infinity", INF));
        specs.push(
            Spec::new(format!("tile-of-minus-infinity-of-{k}"), [2, k, 8])
                .every_output()
                .with(BIAS)
                .edit(|data| data.bias[256..512].fill(-INF)),
        );
        specs.push(
            Spec::new(format!("only-minus-infinity-of-{k}"), [1, k, 8])
                .every_output()
                .with(BIAS)
                .edit(|data| data.bias.fill(-INF)),
        );
    }
    for (name, value) in [
        ("nan", NAN),
        ("infinity", INF),
        ("zero", 0.0),
        ("minus-one", -1.0),
    ] {
        specs.push(
            spec(format!("inverse-norm-of-{name}-for-a-candidate"))
                .cosine()
                .with(CANDIDATE_INVERSE_NORMS)
                .edit(move |data| data.candidate_inverse_norms[HOSTILE] = value),
        );
        specs.push(
            spec(format!("inverse-norm-of-{name}-for-a-query"))
                .cosine()
                .with(QUERY_INVERSE_NORMS)
                .edit(move |data| data.query_inverse_norms[1] = value),
        );
    }
    specs.into_iter().map(Spec::case).collect()
}
