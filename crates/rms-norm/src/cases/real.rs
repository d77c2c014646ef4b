//! Hidden states and weights of a small language model (`fixtures/README.md`).

use super::spec::*;
use crate::Dtype;
use parity::Case;

static STATES: &[u8] = include_bytes!("../../fixtures/smollm2_rmsnorm.safetensors");

const ROWS: usize = 63;
const N: usize = 576;

/// A tensor of f32 of a fixture; empty where it has none of that name.
pub(super) fn floats(fixture: &[u8], name: &str) -> Vec<f32> {
    let tensors = safetensors::SafeTensors::deserialize(fixture);
    let tensor = tensors.ok().and_then(|tensors| tensors.tensor(name).ok());
    let bytes = tensor.map_or(&[][..], |tensor| tensor.data());
    let words: &[[u8; 4]] = bytes.as_chunks().0;
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for layer in [0, 6, 12] {
        let states = floats(STATES, &format!("hidden_layer{layer}"));
        let gamma = floats(STATES, &format!("gamma_layer{layer}"));
        for (name, dtype) in [
            ("f32", Dtype::F32),
            ("bf16", Dtype::Bf16),
            ("f16", Dtype::F16),
        ] {
            let (states, gamma) = (states.clone(), gamma.clone());
            let spec = Spec::new(format!("smollm2-layer-{layer}-{name}"), ROWS, N)
                .dtype(dtype)
                .with(|s| s.eps = 1e-5)
                .edit(move |data| {
                    data.tensors[X].copy_from_slice(&states);
                    data.tensors[GAMMA].copy_from_slice(&gamma);
                });
            if dtype == Dtype::F32 {
                cases.push(spec.clone().other_entry("rms_baseline_f32"));
            }
            cases.push(spec.case());
        }
    }
    cases
}
