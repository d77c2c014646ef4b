//! Vectors whose squares leave the range of f32, zero vectors, and the floor of the norms.

use super::spec::*;
use parity::Case;

const TINY: f32 = f32::from_bits(1);
/// The square of the first is the greatest below the range's end; of the second, 2^128.
const LAST_SQUARE: f32 = 18_446_742_974_197_923_840.0;
const FIRST_OVERFLOW: f32 = 18_446_744_073_709_551_616.0;
/// Its square is 2^-100, where rescue ends.
const EDGE: f32 = f32::from_bits((127 - 50) << 23);

fn times(values: &mut [f32], factor: f32) {
    for value in values {
        *value *= factor;
    }
}

fn spec(name: impl Into<String>, eps: f32) -> Spec {
    Spec::new(name, [2, 23, 44]).cosine_eps(eps).every_output()
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (name, q, c) in [
        ("huge-huge", 1e20, 1e20),
        ("huge-tiny", 1e20, 1e-23),
        ("tiny-huge", 1e-23, 1e20),
        ("tiny-tiny", 1e-23, 1e-23),
        ("largest-largest", 8e37, 8e37),
        ("largest-normal", 8e37, 1.0),
        ("normal-subnormal", 1.0, 1e-40),
        ("subnormal-subnormal", 1e-41, 1e-41),
        ("subnormal-largest", 1e-43, 8e37),
        ("eps-sized", 1e-13, 1e-12),
    ] {
        for (floor, eps) in [
            ("", crate::DEFAULT_EPS),
            ("-no-floor", 0.0),
            ("-floor-1", 1.0),
        ] {
            specs.push(
                spec(format!("magnitude-{name}{floor}"), eps).edit(move |data| {
                    times(&mut data.queries, q);
                    times(&mut data.candidates, c);
                    // The query itself is among the candidates: their cosine is 1.
                    let query = data.query(0).to_vec();
                    for (x, y) in data.candidate(3).iter_mut().zip(query) {
                        *x = y / q * c;
                    }
                }),
            );
        }
    }
    for (name, value) in [
        ("largest", f32::MAX),
        ("least", TINY),
        ("least-normal", f32::MIN_POSITIVE),
        ("last-square", LAST_SQUARE),
        ("first-overflow", FIRST_OVERFLOW),
        ("edge", EDGE),
        ("below-edge", f32::from_bits(EDGE.to_bits() - 1)),
    ] {
        // Alone in its vector, and in every place.
        specs.push(
            spec(format!("one-element-{name}"), 0.0)
                .sanitize()
                .edit(move |data| {
                    for row in 0..46 {
                        data.candidate(row).fill(0.0);
                        data.candidate(row)[row % 44] = value;
                    }
                }),
        );
        specs.push(
            spec(format!("every-element-{name}"), 0.0).edit(move |data| {
                data.queries.fill(value);
                data.candidates.fill(-value);
                data.candidate(1).fill(value);
                data.candidate(2)[40] = value;
            }),
        );
    }
    // Only one row of a question needs a rescue; the neighbours keep the plain path.
    for (name, value) in [("huge", 1e25), ("tiny", 1e-30), ("zero", 0.0)] {
        specs.push(spec(format!("one-row-{name}"), 0.0).edit(move |data| {
            times(data.candidate(30), value);
        }));
        specs.push(
            spec(format!("one-query-{name}"), 0.0).edit(move |data| times(data.query(1), value)),
        );
    }
    specs.push(spec("outlier-beside-tiny-elements", 0.0).edit(|data| {
        times(&mut data.candidates, 1e-30);
        for row in 0..46 {
            data.candidate(row)[7] = 1e30;
        }
    }));
    // A supplied inverse norm is used as it is, also where the other vector is rescued.
    for (name, q, c) in [
        ("query", 1e-25, 1.0),
        ("candidate", 1.0, 1e25),
        ("both", 1e25, 1e-25),
    ] {
        for (norms, flag) in [
            ("query", QUERY_INVERSE_NORMS),
            ("candidate", CANDIDATE_INVERSE_NORMS),
            ("both", QUERY_INVERSE_NORMS | CANDIDATE_INVERSE_NORMS),
        ] {
            specs.push(
                spec(format!("rescued-{name}-supplied-{norms}"), 1e-12)
                    .with(flag)
                    .edit(move |data| {
                        times(&mut data.queries, q);
                        times(&mut data.candidates, c);
                        data.query_inverse_norms.fill(1.0 / (q * 6.5));
                        data.candidate_inverse_norms.fill(1.0 / (c * 6.5));
                    }),
            );
        }
    }
    for (floor, eps) in [("", crate::DEFAULT_EPS), ("-no-floor", 0.0)] {
        specs.push(spec(format!("zero-query{floor}"), eps).edit(|data| data.query(0).fill(0.0)));
        specs.push(
            spec(format!("zero-candidate{floor}"), eps).edit(|data| data.candidate(4).fill(-0.0)),
        );
        specs.push(spec(format!("zero-everything{floor}"), eps).edit(|data| {
            data.queries.fill(0.0);
            data.candidates.fill(-0.0);
        }));
        specs.push(
            spec(format!("zero-query-dense-norms{floor}"), eps)
                .with(CANDIDATE_INVERSE_NORMS)
                .edit(|data| data.query(0).fill(0.0)),
        );
    }
    // Two zero vectors with the least normal floor: the product of the floors is 0.
    specs.push(
        Spec::new("floors-whose-product-underflows", [1, 3, 2])
            .cosine_eps(f32::MIN_POSITIVE)
            .every_output()
            .edit(|data| {
                data.queries.fill(0.0);
                data.candidates.fill(0.0);
            }),
    );
    // A norm of 8e-10 is above the floor of 1e-12 and below one of 1e-8.
    for (name, eps) in [
        ("1e-12", 1e-12),
        ("1e-8", 1e-8),
        ("1e30", 1e30),
        ("largest", f32::MAX),
    ] {
        specs.push(
            spec(format!("small-norm-floor-{name}"), eps)
                .edit(|data| times(&mut data.candidates, 1.2e-10)),
        );
    }
    // Half precision of one row with itself: squares of 512 elements pass the range of f16.
    specs.push(
        Spec::new("f16-row-with-itself", [1, 2, 512])
            .cosine()
            .dtype(Dtype::F16)
            .every_output()
            .edit(|data| {
                times(&mut data.queries, 100.0);
                let query = data.query(0).to_vec();
                data.candidate(1).copy_from_slice(&query);
            }),
    );
    for (dtype, name) in [(Dtype::Bf16, "bf16"), (Dtype::F16, "f16")] {
        specs.push(
            spec(format!("subnormals-of-{name}"), 0.0)
                .dtype(dtype)
                .edit(move |data| {
                    let least = if dtype == Dtype::F16 { 1e-7 } else { 1e-39 };
                    times(&mut data.queries, least);
                    times(&mut data.candidates, least);
                }),
        );
    }
    // Largest dot products: the pair of greatest floats, widened before they are multiplied.
    specs.push(
        Spec::new("largest-pair-dot", [1, 3, 2])
            .every_output()
            .edit(|data| {
                data.queries.fill(f32::MAX);
                data.candidate(0).copy_from_slice(&[f32::MAX, -f32::MAX]);
                data.candidate(1).fill(TINY);
                data.candidate(2).copy_from_slice(&[1.0, -1.0]);
            }),
    );
    specs.into_iter().map(Spec::case).collect()
}
