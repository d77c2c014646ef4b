//! Magnitudes at the ends of the range, zeros, eps, and values that are not finite.

use super::spec::*;
use crate::Dtype;
use parity::Case;

const SHAPES: [(usize, usize); 4] = [(3, 45), (2, 128), (2, 1030), (1, 2048)];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.push(spec.case());
    for (rows, n) in SHAPES {
        let spec = |what: &str| Spec::new(format!("{what}-{rows}x{n}"), rows, n);
        for (name, eps) in [("0", 0.0), ("1e-12", 1e-12), ("1e-5", 1e-5), ("1e30", 1e30)] {
            add(spec(&format!("zero-row-eps-{name}"))
                .with(|s| s.eps = eps)
                .edit(|data| data.row(0).fill(-0.0)));
            add(spec(&format!("tiny-eps-{name}"))
                .kind(Kind::Tiny)
                .with(|s| s.eps = eps));
        }
        for (name, value) in [
            ("nan", f32::NAN),
            ("infinity", f32::INFINITY),
            ("minus-infinity", f32::NEG_INFINITY),
            ("largest", f32::MAX),
            ("least", f32::from_bits(1)),
            ("least-normal", f32::MIN_POSITIVE),
            ("overflow", 1.9e19),
            ("almost-overflow", 1.8e19),
        ] {
            // One element of one row, in the first and in the last place.
            add(spec(&format!("first-{name}")).edit(move |data| data.row(0)[0] = value));
            add(spec(&format!("last-{name}")).edit(move |data| {
                let n = data.n;
                data.row(0)[n - 1] = value;
            }));
            add(spec(&format!("row-of-{name}"))
                .with(|s| s.eps = 0.0)
                .edit(move |data| data.row(0).fill(value)));
            add(spec(&format!("gamma-{name}")).edit(move |data| data.tensors[GAMMA][1] = value));
        }
        // A sum whose terms are lost one by one: order shows.
        add(spec("falling").edit(|data| {
            for row in 0..data.tensors[X].len() / data.row {
                for (j, x) in data.row(row).iter_mut().enumerate() {
                    *x *= 2f32.powi(20 - (j % 40) as i32);
                }
            }
        }));
    }
    for (name, dtype) in [("bf16", Dtype::Bf16), ("f16", Dtype::F16)] {
        for (what, value) in [
            ("largest", if dtype == Dtype::F16 { 65504.0 } else { 3e38 }),
            ("least", if dtype == Dtype::F16 { 6e-8 } else { 1e-40 }),
            ("nan", f32::NAN),
            ("infinity", f32::INFINITY),
        ] {
            add(Spec::new(format!("{name}-{what}-2x130"), 2, 130)
                .dtype(dtype)
                .edit(move |data| data.row(1)[7] = value));
            add(Spec::new(format!("{name}-row-of-{what}-2x130"), 2, 130)
                .dtype(dtype)
                .with(|s| s.eps = 0.0)
                .edit(move |data| data.row(1).fill(value)));
        }
        // Rounding of y and of the sum at ties and overflow.
        add(Spec::new(format!("{name}-residual-overflow-2x64"), 2, 64)
            .dtype(dtype)
            .with(|s| (s.residual, s.residual_out) = (Some(dtype), true))
            .edit(move |data| {
                let value = if dtype == Dtype::F16 { 60000.0 } else { 3e38 };
                data.row(0).fill(value);
                data.tensors[RESIDUAL][..64].fill(value);
            }));
    }
    cases
}
