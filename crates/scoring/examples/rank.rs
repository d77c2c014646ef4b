//! Ranks real sentence embeddings: 8 questions against 255 package descriptions.
//!
//! ```text
//! cargo run -p scoring --example rank
//! cargo run -p scoring --example rank --features cuda-13000
//! ```
//!
//! The first computes with the oracle. The second with the kernel, where there is a GPU. Both print
//! the same digits: the kernel returns the oracle's bytes.

use safetensors::SafeTensors;
use scoring::oracle;
use scoring::{DEFAULT_EPS, Similarity};
use std::error::Error;
use std::fs;
use std::path::Path;

const SIMILARITY: Similarity = Similarity::Cosine { eps: DEFAULT_EPS };
/// What the embedding model's cosines are multiplied with before the softmax.
const SCALE: f32 = 20.0;

/// Embeddings as rows of `dim` floats.
struct Embeddings {
    questions: Vec<f32>,
    candidates: Vec<f32>,
    /// Questions, candidates, elements of a row.
    sizes: [usize; 3],
}

impl Embeddings {
    fn read(path: &Path) -> Result<Embeddings, Box<dyn Error>> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let tensors = SafeTensors::deserialize(&bytes)?;
        let rows = |name: &str| -> Result<(Vec<f32>, usize, usize), Box<dyn Error>> {
            let tensor = tensors.tensor(name)?;
            let &[count, dim] = tensor.shape() else {
                return Err(format!("{name}: was {:?}, must be a matrix", tensor.shape()).into());
            };
            let values = tensor
                .data()
                .as_chunks()
                .0
                .iter()
                .map(|x| f32::from_le_bytes(*x));
            Ok((values.collect(), count, dim))
        };
        let (questions, q, dim) = rows("questions")?;
        let (candidates, k, _) = rows("candidates")?;
        Ok(Embeddings {
            questions,
            candidates,
            sizes: [q, k, dim],
        })
    }
}

/// The best candidate of each question and the probability of every candidate.
struct Ranking {
    best: Vec<i32>,
    probabilities: Vec<f32>,
}

fn by_the_oracle(embeddings: &Embeddings) -> Ranking {
    let scores = oracle::score(&oracle::Problem {
        layout: oracle::Layout::Shared,
        scale: SCALE,
        ..oracle::Problem::packed(
            SIMILARITY,
            oracle::Elements::F32(&embeddings.questions),
            oracle::Elements::F32(&embeddings.candidates),
            embeddings.sizes,
        )
    });
    Ranking {
        best: scores.argmax,
        probabilities: scores.probabilities,
    }
}

#[cfg(feature = "cuda")]
fn on_the_gpu(embeddings: &Embeddings) -> Result<Ranking, Box<dyn Error>> {
    use scoring::gpu::{Layout, Outputs, Problem, score};

    let stream = launch::Device::open(0)?.new_stream()?;
    let [q, k, _] = embeddings.sizes;
    let questions = stream.clone_htod(&embeddings.questions)?;
    let candidates = stream.clone_htod(&embeddings.candidates)?;
    let mut probabilities = stream.alloc_zeros::<f32>(q * k)?;
    let mut best = stream.alloc_zeros::<i32>(q)?;
    let problem = Problem {
        layout: Layout::Shared,
        scale: SCALE,
        ..Problem::packed(
            SIMILARITY,
            questions.as_view(),
            candidates.as_view(),
            embeddings.sizes,
        )
    };
    let mut outputs = Outputs {
        probabilities: Some(probabilities.as_view_mut()),
        argmax: Some(best.as_view_mut()),
        ..Outputs::default()
    };
    score(&stream, &problem, &mut outputs, None)?;
    Ok(Ranking {
        best: stream.clone_dtoh(&best)?,
        probabilities: stream.clone_dtoh(&probabilities)?,
    })
}

#[cfg(not(feature = "cuda"))]
fn on_the_gpu(_: &Embeddings) -> Result<Ranking, Box<dyn Error>> {
    Err("built without the feature `cuda`".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let embeddings = Embeddings::read(&folder.join("minilm_scores.safetensors"))?;
    let texts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("minilm_scores.json"))?)?;
    let ranking = match on_the_gpu(&embeddings) {
        Ok(ranking) => {
            println!("ranked by the kernel on the GPU\n");
            ranking
        }
        Err(reason) => {
            println!("ranked by the oracle on the CPU ({reason})\n");
            by_the_oracle(&embeddings)
        }
    };
    let [questions, candidates, _] = embeddings.sizes;
    for i in 0..questions {
        let best = usize::try_from(ranking.best[i])?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
        println!("{}", text(&texts["questions"][i]["text"]));
        let answer = text(&texts["candidates"][best]["description"]);
        println!(
            "  {answer}   p = {:.4}\n",
            ranking.probabilities[i * candidates + best]
        );
    }
    Ok(())
}
