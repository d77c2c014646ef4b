//! Numbers of candidates, elements and questions around every boundary of lanes, tiles, segments
//! and grids; extents beyond 32 bits.

use super::spec::*;
use crate::Similarity;
use crate::oracle::{self, Elements, Layout, Problem};
use half::bf16;
use parity::{Buffer, Case, Instance, Path, Random, Tags};
use std::ops::Range;

const CANDIDATES: [usize; 22] = [
    1, 2, 31, 32, 33, 63, 64, 127, 128, 255, 256, 257, 511, 512, 513, 1000, 4095, 4096, 4097, 5000,
    8193, 70000,
];

const DIMS: [usize; 29] = [
    1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257, 384, 511, 512, 513,
    1023, 1024, 1025, 2560, 3420, 3584, 4099,
];

const QUESTIONS: [usize; 6] = [0, 1, 2, 7, 133, 300];

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for k in CANDIDATES {
        let dim = if k > 10_000 { 8 } else { 36 };
        specs.push(
            Spec::new(format!("candidates-{k}"), [1, k, dim])
                .cosine()
                .every_output(),
        );
        let many = if k > 10_000 { 1 } else { 3 };
        specs.push(
            Spec::new(format!("candidates-{k}-masked-bf16"), [many, k, dim])
                .dtype(Dtype::Bf16)
                .every_output()
                .with(MASK | BIAS | WORKSPACE),
        );
    }
    for dim in DIMS {
        let spec = |kind: &str| Spec::new(format!("dim-{dim}-{kind}"), [2, 9, dim]);
        specs.push(spec("dot"));
        specs.push(spec("cosine").cosine());
        specs.push(spec("bf16").cosine().dtype(Dtype::Bf16));
        specs.push(spec("f16").dtype(Dtype::F16));
    }
    // A single wide row, and few: fewer candidates than warps.
    specs.push(Spec::new("dim-40000-one-candidate", [1, 1, 40_000]).cosine());
    specs.push(Spec::new("dim-16387-three-candidates", [1, 3, 16_387]).cosine());
    for q in QUESTIONS {
        let spec = |kind: &str| Spec::new(format!("questions-{q}-{kind}"), [q, 13, 24]).cosine();
        specs.push(spec("dense").every_output());
        specs.push(spec("shared").arrange(Arrange::Shared).every_output());
        specs.push(
            spec("ragged")
                .arrange(Arrange::Ragged((0..q).map(|i| i * 7 % 14).collect()))
                .every_output(),
        );
    }
    specs.push(Spec::new("questions-70000", [70_000, 3, 4]).cosine());
    specs.push(
        Spec::new("questions-70000-shared-bf16", [70_000, 2, 5])
            .arrange(Arrange::Shared)
            .dtype(Dtype::Bf16),
    );
    specs.push(
        Spec::new("shared-300x257x130", [300, 257, 130])
            .arrange(Arrange::Shared)
            .cosine(),
    );
    let mut cases: Vec<Case> = specs.into_iter().map(Spec::case).collect();
    // Nine rows of four segments for a block whose warps share rows eight at a time.
    cases.push(
        Spec::new("rows-shared-in-two-passes", [8, 128, 1540])
            .cosine()
            .case()
            .on_paths(&[SPREAD])
            .tagged(Tags::SIMULATE),
    );
    cases.push(far("far-candidates", 1, [0, 1 << 31, 0]));
    cases.push(far("far-blocks", 2, [8, 16, 1 << 31]));
    cases.push(far("far-queries", 2, [1 << 31, 8, 16]));
    cases
}

/// Two candidates a question in bf16, with strides (of queries, candidates, blocks) that put the
/// last row beyond 2^31 elements and 2^32 bytes. Almost all of the memory is never read.
fn far(id: &'static str, questions: usize, strides: [usize; 3]) -> Case {
    const K: usize = 2;
    const DIM: usize = 8;
    let [query_stride, candidate_stride, question_stride] = strides;
    Case::exact(id, "cs_score", move |variation| {
        let mut random = Random::named(variation.seed, id);
        let mut row = || parity::to_bf16(&random.normals(DIM, 1.0));
        let query_starts: Vec<usize> = (0..questions).map(|i| i * query_stride).collect();
        let candidate_starts: Vec<usize> = (0..questions)
            .flat_map(|i| (0..K).map(move |k| i * question_stride + k * candidate_stride))
            .collect();
        let queries: Vec<Vec<bf16>> = query_starts.iter().map(|_| row()).collect();
        let candidates: Vec<Vec<bf16>> = candidate_starts.iter().map(|_| row()).collect();
        let scores = oracle::score(&Problem {
            scale: 20.0,
            layout: Layout::Dense {
                question_stride: K * DIM,
            },
            ..Problem::packed(
                Similarity::Cosine {
                    eps: crate::DEFAULT_EPS,
                },
                Elements::Bf16(&queries.concat()),
                Elements::Bf16(&candidates.concat()),
                [questions, K, DIM],
            )
        });
        let buffers = vec![
            sparse("queries", &query_starts, &queries),
            sparse("candidates", &candidate_starts, &candidates),
            Buffer::output("probabilities", &scores.probabilities),
            Buffer::workspace("workspace", 1 << 20),
        ];
        let path = variation.path;
        Instance::new(buffers, move |library, x, stream| {
            let spec = Spec::new(id, [questions, K, DIM])
                .dtype(Dtype::Bf16)
                .cosine();
            let mut params = spec.params(path);
            params.query_stride = query_stride as i64;
            params.candidate_stride = candidate_stride as i64;
            params.question_stride = question_stride as i64;
            params.queries = x[0];
            params.candidates = x[1];
            params.probabilities = x[2].cast();
            params.workspace = x[3];
            params.workspace_bytes = 1 << 20;
            score(library, &params, stream)
        })
        .nodes(if path == TWO_NODES.value { 2 } else { 1 })
    })
    .tagged(Tags::LARGE)
    .on_paths(if questions == 1 {
        &[Path::AUTOMATIC, CLUSTER_2, TWO_NODES, SWEEP]
    } else {
        &[Path::AUTOMATIC, CLUSTER_2, TWO_NODES]
    })
}

/// An input of which only some rows are ever read.
fn sparse(name: &'static str, starts: &[usize], rows: &[Vec<bf16>]) -> Buffer {
    let ranges: Vec<Range<usize>> = starts
        .iter()
        .zip(rows)
        .map(|(&start, row)| start..start + row.len())
        .collect();
    let count = ranges.last().map_or(0, |range| range.end);
    Buffer::input(name, &rows.concat()).islands(count, ranges)
}
