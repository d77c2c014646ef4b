//! Real sentence embeddings: the answers to eight questions, full and ragged.

use safetensors::SafeTensors;
use scoring::oracle::{Elements, Layout, Problem, score};
use scoring::{DEFAULT_EPS, Similarity};
use std::fs;
use std::path::Path;

const DIM: usize = 384;

struct Fixture {
    questions: Vec<f32>,
    candidates: Vec<f32>,
    offsets: Vec<i32>,
    expected: Vec<f64>,
    ragged_expected: Vec<f64>,
    texts: serde_json::Value,
}

impl Fixture {
    fn load() -> Fixture {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let bytes = fs::read(folder.join("minilm_scores.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let floats = |name: &str| {
            words(&tensors, name)
                .into_iter()
                .map(f32::from_le_bytes)
                .collect()
        };
        let doubles = |name: &str| {
            let data = tensors.tensor(name).unwrap().data().to_vec();
            data.as_chunks()
                .0
                .iter()
                .map(|x| f64::from_le_bytes(*x))
                .collect()
        };
        Fixture {
            questions: floats("questions"),
            candidates: floats("candidates"),
            offsets: words(&tensors, "offsets")
                .into_iter()
                .map(i32::from_le_bytes)
                .collect(),
            expected: doubles("expected"),
            ragged_expected: doubles("ragged_expected"),
            texts: serde_json::from_slice(&fs::read(folder.join("minilm_scores.json")).unwrap())
                .unwrap(),
        }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            scale: 20.0,
            layout: Layout::Shared,
            ..Problem::packed(
                Similarity::Cosine { eps: DEFAULT_EPS },
                Elements::F32(&self.questions),
                Elements::F32(&self.candidates),
                [8, 255, DIM],
            )
        }
    }
}

fn words(tensors: &SafeTensors<'_>, name: &str) -> Vec<[u8; 4]> {
    tensors.tensor(name).unwrap().data().as_chunks().0.to_vec()
}

fn assert_close(got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        assert!(
            (f64::from(got) - want).abs() <= 1e-5 * want.max(1e-5),
            "{i}: {got} for {want}"
        );
    }
}

#[test]
fn all_descriptions_for_every_question() {
    let fixture = Fixture::load();
    let scores = score(&fixture.problem());
    assert_close(&scores.probabilities, &fixture.expected);
    for (i, question) in fixture.texts["questions"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        assert_eq!(
            i64::from(scores.argmax[i]),
            question["top"]["index"].as_i64().unwrap()
        );
        let p = scores.probabilities[i * 255 + scores.argmax[i] as usize];
        assert!((f64::from(p) - question["top"]["probability"].as_f64().unwrap()).abs() < 1e-5);
    }
}

#[test]
fn a_segment_for_each_question() {
    let fixture = Fixture::load();
    let layout = Layout::Ragged {
        offsets: &fixture.offsets,
        sum_k: 255,
    };
    let scores = score(&Problem {
        layout,
        max_k: 87,
        ..fixture.problem()
    });
    assert_eq!(scores.status, 0);
    assert_close(&scores.probabilities, &fixture.ragged_expected);
    for (i, question) in fixture.texts["questions"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        let row = i64::from(fixture.offsets[i] + scores.argmax[i]);
        assert_eq!(row, question["ragged_top"]["index"].as_i64().unwrap());
    }
}
