//! Where candidates are, what they are made of, and what is asked of them.

use super::spec::*;
use parity::Case;

const DTYPES: [(Dtype, &str); 3] = [
    (Dtype::F32, "f32"),
    (Dtype::Bf16, "bf16"),
    (Dtype::F16, "f16"),
];

fn arrangements() -> [(Arrange, &'static str); 5] {
    let counts = || vec![31, 1, 0, 37, 12];
    [
        (Arrange::Dense, "dense"),
        (Arrange::Shared, "shared"),
        (Arrange::Ragged(counts()), "ragged"),
        (Arrange::Indexed, "indexed"),
        (Arrange::RaggedIndexed(counts()), "ragged-indexed"),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for (arrange, layout) in arrangements() {
        for (dtype, name) in DTYPES {
            let spec = |kind: &str| {
                Spec::new(format!("layout-{layout}-{name}-{kind}"), [5, 37, 67])
                    .arrange(arrange.clone())
                    .dtype(dtype)
                    .every_output()
                    .sanitize()
            };
            specs.push(spec("dot"));
            specs.push(spec("cosine").cosine());
        }
        // Everything optional at once.
        let everything = MASK | BIAS | SCALES | TEMPERATURES;
        let norms = QUERY_INVERSE_NORMS | CANDIDATE_INVERSE_NORMS;
        let spec = |name: &str, flags| {
            Spec::new(format!("layout-{layout}-{name}"), [5, 37, 48])
                .arrange(arrange.clone())
                .cosine()
                .every_output()
                .with(flags)
        };
        specs.push(spec("all-options", everything | norms).sanitize());
        specs.push(spec("mask", MASK));
        specs.push(spec("bias", BIAS));
        specs.push(spec("query-norms", QUERY_INVERSE_NORMS));
        specs.push(spec("candidate-norms", CANDIDATE_INVERSE_NORMS));
        specs.push(spec("scales", SCALES));
        specs.push(spec("temperatures", TEMPERATURES));
        // The gaps hold NaN. Odd gaps move every row to another alignment.
        for gaps in [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [3, 5, 7],
            [4, 4, 8],
            [0, 2, 0],
        ] {
            let [q, c, b] = gaps;
            let dtype = DTYPES[(q + c + b) % 3].0;
            specs.push(
                Spec::new(format!("layout-{layout}-gaps-{q}-{c}-{b}"), [5, 37, 52])
                    .arrange(arrange.clone())
                    .dtype(dtype)
                    .gaps(gaps)
                    .cosine(),
            );
        }
    }
    for (output, name) in [
        (PROBABILITIES, "probabilities"),
        (LOGITS, "logits"),
        (LOG_PROBABILITIES, "log-probabilities"),
        (LOG_SUM_EXP, "log-sum-exp"),
        (ARGMAX, "argmax"),
        (TOP_VALUES, "top-values"),
        (TOP_INDICES, "top-indices"),
        (EXPECTED_INDEX, "expected-index"),
    ] {
        for k in [29, 300] {
            let mut spec = Spec::new(format!("output-only-{name}-{k}"), [3, k, 24]).only(output);
            if output & TOP != 0 {
                spec.top_k = 4;
            }
            specs.push(spec);
        }
    }
    let ragged = |name: &str, max_k, counts: Vec<usize>| {
        Spec::new(format!("ragged-{name}"), [counts.len(), max_k, 20])
            .arrange(Arrange::Ragged(counts))
            .cosine()
            .every_output()
    };
    specs.extend([
        ragged("first-question-empty", 9, vec![0, 9, 4]).sanitize(),
        ragged("last-question-empty", 9, vec![9, 4, 0]),
        ragged("all-questions-empty", 9, vec![0, 0, 0]).sanitize(),
        ragged("bound-0", 0, vec![0, 0]),
        ragged("bound-far-above-every-count", 4096, vec![3, 0, 70]),
        ragged("bound-beyond-one-node", 5000, vec![3, 0, 70]),
        ragged(
            "counts-around-tiles",
            513,
            vec![255, 256, 257, 511, 512, 513, 1],
        ),
        ragged("two-candidates-each", 2, vec![2; 100]),
        // Entries before the first and after the last question belong to nobody.
        ragged("entries-of-no-question", 9, vec![9, 9, 9]).edit(|data| {
            data.offsets = vec![4, 9, 9, 18];
        }),
        ragged("indexed-entries-of-no-question", 9, vec![9, 9, 9])
            .arrange(Arrange::RaggedIndexed(vec![9, 9, 9]))
            .edit(|data| data.offsets = vec![1, 10, 15, 20]),
        Spec::new("indexed-one-row-for-all", [3, 40, 20])
            .arrange(Arrange::Indexed)
            .cosine()
            .every_output()
            .edit(|data| data.indices.fill(7)),
        Spec::new("indexed-last-row", [2, 40, 20])
            .arrange(Arrange::Indexed)
            .edit(|data| data.indices.fill(82)),
        Spec::new("dot-does-not-look-at-inverse-norms", [2, 9, 20])
            .with(QUERY_INVERSE_NORMS | CANDIDATE_INVERSE_NORMS),
    ]);
    specs.into_iter().map(Spec::case).collect()
}
