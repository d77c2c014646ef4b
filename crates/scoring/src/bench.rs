//! The cases of the bench: dense f32 questions, probabilities alone asked for, as the readouts that
//! this kernel replaces compute them.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use bench_kit::bench::COLD_BYTES;
use bench_kit::{Bench, Mode, Oracle, Prepared, Variant, Work};
use parity::{Buffer, Class, Library, Random};

use crate::oracle::{self, Elements, Problem};
use crate::{DEFAULT_EPS, Similarity, ffi};

/// Most candidates that the first entries take.
const SEED_MAX_K: usize = 255;
/// Most candidates that the replaced designs take.
const BASELINE_MAX_K: usize = 1024;
/// What the replaced designs' probabilities may be off by: other sums, each near 1e-6 of the logit.
const BASELINE_WITHIN: f64 = 1e-5;

/// The sizes of a case.
#[derive(Clone, Copy)]
struct Shape {
    questions: usize,
    max_k: usize,
    dim: usize,
    similarity: Similarity,
}

/// A readout that exponentiates its logit scale; 20 is of its usual size.
const COSINE: Similarity = Similarity::Cosine { eps: DEFAULT_EPS };

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    use Mode::{Cold, Hot};
    let both: &[Mode] = &[Hot, Cold];
    let case = |id, sizes, similarity, modes| bench(id, Shape::new(sizes, similarity), modes);
    vec![
        case("clm-cosine-5x512", [1, 5, 512], COSINE, &[Hot]).direct(),
        case("clm-cosine-64x512", [1, 64, 512], COSINE, &[Hot]).direct(),
        case("clm-cosine-255x512", [1, 255, 512], COSINE, &[Hot]).direct(),
        case("clm-cosine-batch8-255x512", [8, 255, 512], COSINE, both),
        case("kev-dot-255x2560", [1, 255, 2560], Similarity::Dot, both),
        case("kev-dot-255x256", [1, 255, 256], Similarity::Dot, &[Hot]),
        case(
            "clm-cosine-batch256-255x512",
            [256, 255, 512],
            COSINE,
            &[Cold],
        ),
        case("cosine-4096x1024", [1, 4096, 1024], COSINE, both),
        case("cosine-65536x1024", [1, 65536, 1024], COSINE, &[Cold]),
    ]
}

fn bench(id: &str, shape: Shape, modes: &[Mode]) -> Bench {
    let mut others = Vec::new();
    if shape.max_k <= SEED_MAX_K {
        others.push(Variant::also("seed entry", move |library| {
            shape.seed_entry(library)
        }));
    }
    if shape.max_k <= BASELINE_MAX_K {
        for (name, threads) in [("one block 256", 256), ("one block 1024", 1024)] {
            others.push(Variant::baseline(name, BASELINE_WITHIN, move |library| {
                shape.one_block(library, threads)
            }));
        }
        others.push(Variant::baseline(
            "unfused",
            BASELINE_WITHIN,
            move |library| shape.unfused(library),
        ));
    }
    Bench {
        id: id.into(),
        entry: "cs_score",
        class: Class::Exact,
        modes: modes.to_vec(),
        work: shape.work(),
        cold_bytes: COLD_BYTES,
        build: Arc::new(move |seed, oracle| shape.buffers(seed, oracle)),
        kernel: Variant::kernel(move |library| shape.score(library)),
        others,
        under_floor: None,
    }
}

/// Adds the calls without a graph: what an engine that does not capture pays.
trait WithDirect {
    fn direct(self) -> Self;
}

impl WithDirect for Bench {
    fn direct(mut self) -> Self {
        self.others.insert(0, self.kernel.direct("direct"));
        self
    }
}

impl Shape {
    fn new([questions, max_k, dim]: [usize; 3], similarity: Similarity) -> Self {
        Self {
            questions,
            max_k,
            dim,
            similarity,
        }
    }

    fn scale(&self) -> f32 {
        match self.similarity {
            Similarity::Dot => 1.0 / (self.dim as f32).sqrt(),
            Similarity::Cosine { .. } => 20.0,
        }
    }

    fn normalize(&self) -> c_int {
        (self.similarity != Similarity::Dot).into()
    }

    fn sizes(&self) -> [c_int; 3] {
        [self.questions, self.max_k, self.dim].map(|size| size as c_int)
    }

    fn work(&self) -> Work {
        let elements = self.questions * (self.max_k + 1) * self.dim;
        let read = (elements * size_of::<f32>()) as u64;
        let written = (self.questions * self.max_k * size_of::<f32>()) as u64;
        // Two chains an element for cosines: the dot product and the square.
        let chains = 1 + self.normalize() as usize;
        Work {
            read,
            written,
            fmas: (elements * chains) as u64,
        }
    }

    fn buffers(&self, seed: u64, oracle: Oracle) -> Vec<Buffer> {
        let Shape {
            questions,
            max_k,
            dim,
            similarity,
        } = *self;
        let queries = Random::named(seed, "queries").uniforms(questions * dim, -1.0, 1.0);
        let candidates =
            Random::named(seed, "candidates").uniforms(questions * max_k * dim, -1.0, 1.0);
        let probabilities = match oracle {
            Oracle::Skip => vec![0.0; questions * max_k],
            Oracle::Run => {
                let mut problem = Problem::packed(
                    similarity,
                    Elements::F32(&queries),
                    Elements::F32(&candidates),
                    [questions, max_k, dim],
                );
                problem.scale = self.scale();
                oracle::score(&problem).probabilities
            }
        };
        vec![
            Buffer::input("queries", &queries),
            Buffer::input("candidates", &candidates),
            Buffer::output("probabilities", &probabilities),
        ]
    }

    fn params(&self) -> ffi::cs_score_params {
        let (similarity, eps) = match self.similarity {
            Similarity::Dot => (ffi::CS_DOT, 0.0),
            Similarity::Cosine { eps } => (ffi::CS_COSINE, eps),
        };
        ffi::cs_score_params {
            struct_size: size_of::<ffi::cs_score_params>() as u32,
            dtype: ffi::CS_F32 as i32,
            similarity: similarity as i32,
            layout: ffi::CS_DENSE as i32,
            path: ffi::CS_PATH_AUTO as i32,
            top_k: 0,
            questions: self.questions as i64,
            max_k: self.max_k as i64,
            sum_k: 0,
            table_rows: 0,
            dim: self.dim as i64,
            query_stride: 0,
            candidate_stride: 0,
            question_stride: 0,
            scale: self.scale(),
            temperature: 1.0,
            eps,
            reserved: 0.0,
            queries: ptr::null(),
            candidates: ptr::null(),
            offsets: ptr::null(),
            indices: ptr::null(),
            mask: ptr::null(),
            bias: ptr::null(),
            scales: ptr::null(),
            temperatures: ptr::null(),
            query_inverse_norms: ptr::null(),
            candidate_inverse_norms: ptr::null(),
            probabilities: ptr::null_mut(),
            logits: ptr::null_mut(),
            log_probabilities: ptr::null_mut(),
            log_sum_exp: ptr::null_mut(),
            argmax: ptr::null_mut(),
            top_values: ptr::null_mut(),
            top_indices: ptr::null_mut(),
            expected_index: ptr::null_mut(),
            status: ptr::null_mut(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }

    fn score(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the types are the header's prototypes.
        let (score, workspace_bytes) = unsafe {
            (
                library.function::<ffi::cs_score_fn>("cs_score")?,
                library.function::<ffi::cs_score_workspace_bytes_fn>("cs_score_workspace_bytes")?,
            )
        };
        let params = self.params();
        // SAFETY: it reads sizes alone.
        let workspace_bytes = unsafe { workspace_bytes(&params) };
        let call = move |x: &[*mut c_void], stream| {
            let params = ffi::cs_score_params {
                queries: x[0],
                candidates: x[1],
                probabilities: x[2].cast(),
                workspace: x[3],
                workspace_bytes,
                ..params
            };
            // SAFETY: bench-kit passes live buffers of the sizes above, and a zeroed workspace.
            unsafe { score(&params, stream) }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }

    fn seed_entry(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let score = unsafe {
            library.function::<ffi::cs_score_candidates_batch_fn>("cs_score_candidates_batch")?
        };
        let ([q, k, d], scale, normalize) = (self.sizes(), self.scale(), self.normalize());
        let call = move |x: &[*mut c_void], stream| {
            let (queries, candidates, p) = (x[0].cast(), x[1].cast(), x[2].cast());
            let no_logits = ptr::null_mut();
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe {
                score(
                    queries, candidates, p, no_logits, q, k, d, scale, 1.0, normalize, stream,
                )
            }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    fn one_block(&self, library: &Library, threads: c_int) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let score =
            unsafe { library.function::<ffi::cs_baseline_one_block_fn>("cs_baseline_one_block")? };
        let ([q, k, d], scale, normalize) = (self.sizes(), self.scale(), self.normalize());
        let call = move |x: &[*mut c_void], stream| {
            let (queries, candidates, p) = (x[0].cast(), x[1].cast(), x[2].cast());
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe {
                score(
                    queries, candidates, p, q, k, d, scale, 1.0, normalize, threads, stream,
                )
            }
        };
        Ok(Prepared {
            workspace_bytes: 0,
            call: Box::new(call),
        })
    }

    fn unfused(&self, library: &Library) -> parity::Result<Prepared> {
        // SAFETY: the type is the header's prototype.
        let score =
            unsafe { library.function::<ffi::cs_baseline_unfused_fn>("cs_baseline_unfused")? };
        let ([q, k, d], scale, normalize) = (self.sizes(), self.scale(), self.normalize());
        let workspace_bytes = self.questions * (1 + 2 * self.max_k) * size_of::<f32>();
        let call = move |x: &[*mut c_void], stream| {
            let (queries, candidates, p) = (x[0].cast(), x[1].cast(), x[2].cast());
            let (workspace, bytes) = (x[3], workspace_bytes);
            // SAFETY: bench-kit passes live buffers of these sizes.
            unsafe {
                score(
                    queries, candidates, p, q, k, d, scale, 1.0, normalize, workspace, bytes,
                    stream,
                )
            }
        };
        Ok(Prepared {
            workspace_bytes,
            call: Box::new(call),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bench_kit::bench::class_name;
    use bench_kit::targets::Targets;

    #[test]
    fn every_row_of_the_targets_is_measured_and_no_other() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        let wanted: BTreeSet<_> = targets
            .rows
            .iter()
            .filter(|row| row.backend == "scoring")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let benches = benches();
        let measured: Vec<_> = benches
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).into()))
            })
            .collect();
        assert_eq!(measured.len(), 12);
        assert_eq!(measured.into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn sets_hold_the_sizes_of_their_case_and_the_oracle_s_answer() {
        for bench in benches()
            .into_iter()
            .filter(|bench| bench.work.read < 1 << 22)
        {
            let without = (bench.build)(3, Oracle::Skip);
            let with = (bench.build)(3, Oracle::Run);
            let bytes = |buffers: &[Buffer], places: std::ops::Range<usize>| {
                buffers[places]
                    .iter()
                    .map(|buffer| buffer.initial.len() as u64)
                    .sum::<u64>()
            };
            for buffers in [&without, &with] {
                assert_eq!(bytes(buffers, 0..2), bench.work.read, "{}", bench.id);
                assert_eq!(bytes(buffers, 2..3), bench.work.written, "{}", bench.id);
            }
            assert_eq!(without[1].initial, with[1].initial);
            let expected = with[2].expected.as_ref().unwrap();
            let sum: f64 = expected
                .chunks_exact(4)
                .map(|p| with[2].element.value(p))
                .sum();
            let questions = if bench.id.contains("batch8") {
                8.0
            } else {
                1.0
            };
            assert!((sum - questions).abs() < 1e-4, "{}: {sum}", bench.id);
        }
    }

    #[test]
    fn replaced_designs_stand_beside_every_case_that_they_can_run() {
        for bench in benches() {
            let names: Vec<_> = bench
                .others
                .iter()
                .map(|other| other.name.as_str())
                .collect();
            let small = !bench.id.starts_with("cosine-");
            assert_eq!(names.contains(&"one block 256"), small, "{}", bench.id);
            assert_eq!(names.contains(&"one block 1024"), small, "{}", bench.id);
            assert_eq!(names.contains(&"unfused"), small, "{}", bench.id);
            assert_eq!(names.contains(&"seed entry"), small, "{}", bench.id);
        }
        let direct = |bench: &Bench| bench.others.iter().any(|other| other.name == "direct");
        assert_eq!(benches().iter().filter(|bench| direct(bench)).count(), 3);
    }
}
