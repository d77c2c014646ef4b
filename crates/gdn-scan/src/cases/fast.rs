//! `gdn_step_fast`: within the bound of the f64 formula.

use super::spec::*;
use crate::{Dtype, Norm};
use parity::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (dtype, io) in [
        (Dtype::F32, "f32"),
        (Dtype::Bf16, "bf16"),
        (Dtype::F16, "f16"),
    ] {
        for (state, kept) in [
            (Dtype::F32, "f32"),
            (Dtype::Bf16, "bf16"),
            (Dtype::F16, "f16"),
        ] {
            let fast = |name: &str, sizes| {
                Spec::new(
                    format!("fast-{io}-state-{kept}-{name}"),
                    sizes,
                    Tokens::Fast,
                )
                .like_models()
                .types(dtype, state)
            };
            specs.push(fast("128x128", [1, 1, 2, 128, 128]));
            specs.push(fast("small", [2, 1, 2, 12, 9]));
        }
    }
    specs.push(Spec::new("fast-b1-16x32-128", [1, 16, 32, 128, 128], Tokens::Fast).like_models());
    specs.push(Spec::new("fast-b8-16x32-128", [8, 16, 32, 128, 128], Tokens::Fast).like_models());
    specs.push(Spec::new("fast-96x192", [1, 1, 1, 96, 192], Tokens::Fast).like_models());
    specs.push(
        Spec::new("fast-key-decay", [1, 1, 1, 128, 128], Tokens::Fast)
            .change(|spec| (spec.key_decay, spec.norm) = (true, Norm::EpsOutside(1e-6))),
    );
    specs.into_iter().map(Spec::case).collect()
}
