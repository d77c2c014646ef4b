//! Hidden states of a small language model, and the recorded bytes of another library's kernel.

use rms_norm::oracle::{self, Elements, Problem, norm};
use safetensors::SafeTensors;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn floats(tensors: &SafeTensors<'_>, name: &str) -> Option<Vec<f32>> {
    let data = tensors.tensor(name).ok()?.data().to_vec();
    let words: &[[u8; 4]] = data.as_chunks().0;
    Some(words.iter().map(|x| f32::from_le_bytes(*x)).collect())
}

#[test]
fn real_rows_are_within_a_few_ulps_of_their_f64_norms() {
    let bytes = fs::read(folder().join("smollm2_rmsnorm.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    for layer in [0, 6, 12] {
        let get = |name: &str| floats(&tensors, &format!("{name}_layer{layer}")).unwrap();
        let (x, gamma, expected) = (get("hidden"), get("gamma"), get("expected"));
        let problem = Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 63, 576, 1e-5);
        for (row, expected) in expected.chunks_exact(576).enumerate() {
            for (got, want) in norm(&problem, row).y.iter().zip(expected) {
                // Sum, mean, eps and root: 1e-6 in all; two products.
                assert!(
                    (got - want).abs() <= 1e-6 * want.abs() + 1e-12,
                    "layer {layer} row {row}: {got} for {want}"
                );
            }
        }
    }
}

/// Outputs of the recorded kernel are explained, to the byte, by a scale within 4 ulps of the one of
/// correctly rounded operations: the sums, the products and what counts as zero are understood.
#[test]
fn recorded_rows_are_what_one_scale_near_ours_makes_of_them() {
    let bytes = fs::read(folder().join("ggml_rms_norm.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let text = fs::read_to_string(folder().join("ggml_rms_norm.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(list.len(), 52);
    for case in list {
        let (id, n) = (&case["id"], case["n"].as_u64().unwrap() as usize);
        let eps = case["eps"].as_f64().unwrap() as f32;
        let get = |name: &str| floats(&tensors, &format!("{id}.{name}"));
        let (x, y) = (get("x").unwrap(), get("y").unwrap());
        let (gamma, add) = (get("gamma"), get("add"));
        for (row, y) in x.chunks_exact(n).zip(y.chunks_exact(n)) {
            let ours = oracle::ggml_scale(oracle::ggml_sum(row), n, eps);
            let explained = (-4..=4).any(|ulps: i32| {
                let scale = f32::from_bits(ours.to_bits().wrapping_add_signed(ulps));
                let out = oracle::ggml(row, gamma.as_deref(), add.as_deref(), scale);
                out.iter()
                    .zip(y)
                    .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
            });
            assert!(explained, "case {id}: scale near {ours}");
        }
    }
}
