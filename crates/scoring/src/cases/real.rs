//! Real sentence embeddings: 8 questions and 255 package descriptions (`fixtures/README.md`).

use super::spec::*;
use parity::Case;

/// `questions` [8, 384], `candidates` [255, 384] and the ragged `offsets` [9].
static EMBEDDINGS: &[u8] = include_bytes!("../../fixtures/minilm_scores.safetensors");

const DIM: usize = 384;

/// A tensor's bytes as 4-byte words.
fn words(name: &str) -> Vec<[u8; 4]> {
    let tensors = safetensors::SafeTensors::deserialize(EMBEDDINGS);
    let tensor = tensors.ok().and_then(|tensors| tensors.tensor(name).ok());
    let bytes = tensor.map_or(&[][..], |tensor| tensor.data());
    bytes.as_chunks().0.to_vec()
}

fn floats(name: &str) -> Vec<f32> {
    words(name).into_iter().map(f32::from_le_bytes).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let offsets: Vec<i32> = words("offsets")
        .into_iter()
        .map(i32::from_le_bytes)
        .collect();
    let counts: Vec<usize> = offsets
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as usize)
        .collect();
    let longest = counts.iter().copied().max().unwrap_or(0);
    let (questions, candidates) = (floats("questions"), floats("candidates"));
    let embeddings = move |spec: Spec| {
        let (questions, candidates) = (questions.clone(), candidates.clone());
        spec.cosine()
            .scaled(20.0, 1.0)
            .every_output()
            .edit(move |data| {
                data.queries.copy_from_slice(&questions);
                data.candidates.copy_from_slice(&candidates);
            })
    };
    let all = |name: &str| Spec::new(name, [8, 255, DIM]).arrange(Arrange::Shared);
    let ragged =
        |name: &str| Spec::new(name, [8, longest, DIM]).arrange(Arrange::Ragged(counts.clone()));
    [
        all("minilm-all-descriptions"),
        all("minilm-all-descriptions-bf16").dtype(Dtype::Bf16),
        all("minilm-all-descriptions-f16").dtype(Dtype::F16),
        ragged("minilm-ragged"),
        ragged("minilm-ragged-bf16").dtype(Dtype::Bf16),
    ]
    .into_iter()
    .map(|spec| embeddings(spec).case())
    .collect()
}
