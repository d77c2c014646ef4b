use cudarc::driver::CudaContext;
use scoring::gpu::{Outputs, Problem, score};
use scoring::{DEFAULT_EPS, Similarity};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    scoring::probe()?; // a machine without a driver or a GPU ends here, with one sentence
    let stream = CudaContext::new(0)?.new_stream()?;
    let queries = stream.clone_htod(&[1.0f32, 0.0, 0.0, 1.0])?; // one query of 4 elements
    let candidates = stream.clone_htod(&[2.0f32, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0])?; // two
    let mut probabilities = stream.alloc_zeros::<f32>(2)?;
    let similarity = Similarity::Cosine { eps: DEFAULT_EPS };
    let sizes = [1, 2, 4]; // questions, candidates of each, elements of a row
    let problem = Problem {
        scale: 5.0,
        ..Problem::packed(similarity, queries.as_view(), candidates.as_view(), sizes)
    };
    let mut outputs = Outputs::default();
    outputs.probabilities = Some(probabilities.as_view_mut());
    score(&stream, &problem, &mut outputs, None)?;
    println!("{:?}", stream.clone_dtoh(&probabilities)?); // [0.9933072, 0.0066928547]
    Ok(())
}
