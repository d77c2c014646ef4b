//! Values that only the device sees: each bad one has its result, and the status word names it.
//! One bad value a case, because any of several may be the first.

use super::spec::*;
use parity::Case;

const K: usize = 9;

fn ragged(name: &str, counts: [usize; 3], offsets: [i32; 4]) -> [Spec; 2] {
    let spec = |name: String, arrange| {
        Spec::new(name, [3, K, 20])
            .arrange(arrange)
            .cosine()
            .every_output()
            .sanitize()
            .edit(move |data| data.offsets = offsets.to_vec())
    };
    [
        spec(format!("offsets-{name}"), Arrange::Ragged(counts.to_vec())),
        spec(
            format!("offsets-{name}-indexed"),
            Arrange::RaggedIndexed(counts.to_vec()),
        ),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    // sum_k is the sum of the counts; the offsets on the device say something else.
    specs.extend(ragged("decrease", [5, 4, 4], [0, 5, 3, 3]));
    specs.extend(ragged("begin-below-0", [5, 4, 4], [-2, 5, 9, 13]));
    specs.extend(ragged("begin-far-below-0", [5, 4, 4], [i32::MIN, 5, 9, 13]));
    specs.extend(ragged("end-beyond-sum-k", [5, 4, 4], [0, 5, 9, 14]));
    specs.extend(ragged(
        "end-far-beyond-sum-k",
        [5, 4, 4],
        [0, 5, 9, i32::MAX],
    ));
    specs.extend(ragged("pass-max-k", [6, 4, 3], [0, 3, 13, 13]));
    specs.extend(ragged("end-below-0", [5, 4, 4], [0, 5, 13, i32::MIN]));
    // Good ones leave a clean word clean.
    specs.extend(ragged("good", [5, 0, 8], [0, 5, 5, 13]));

    let indexed = |name: &str| {
        Spec::new(format!("index-{name}"), [3, K, 20])
            .arrange(Arrange::Indexed)
            .cosine()
            .every_output()
            .sanitize()
    };
    // The table has 2 * K + 3 = 21 rows.
    for (name, index) in [
        ("minus-1", -1),
        ("one-past-the-table", 21),
        ("largest", i32::MAX),
        ("smallest", i32::MIN),
    ] {
        specs.push(indexed(name).edit(move |data| data.indices[K + 4] = index));
        specs.push(
            indexed(&format!("{name}-with-norms"))
                .with(CANDIDATE_INVERSE_NORMS | BIAS | SCALES)
                .edit(move |data| data.indices[K + 4] = index),
        );
    }
    specs.push(indexed("outside-for-a-whole-question").edit(|data| {
        data.indices[K..2 * K].fill(21);
    }));
    // The word is set where it is 0, and only there.
    specs.push(indexed("outside-with-the-status-set").edit(|data| {
        data.indices[3] = -7;
        data.status = 0x0100_0005;
    }));

    let per_question = |name: String, flag| {
        Spec::new(name, [3, K, 20])
            .cosine()
            .every_output()
            .with(flag)
            .sanitize()
    };
    for (name, value) in [
        ("nan", f32::NAN),
        ("infinite", f32::INFINITY),
        ("minus-infinite", f32::NEG_INFINITY),
        ("zero", 0.0),
        ("minus-zero", -0.0),
        ("negative", -1.0),
        // Its inverse is 2^128.
        ("too-small", f32::from_bits(1 << 21)),
        ("least-subnormal", f32::from_bits(1)),
    ] {
        specs.push(
            per_question(format!("temperature-of-a-question-{name}"), TEMPERATURES)
                .edit(move |data| data.temperatures[1] = value),
        );
        specs.push(
            per_question(format!("scale-of-a-question-{name}"), SCALES)
                .edit(move |data| data.scales[1] = value),
        );
    }
    specs.push(
        per_question(
            "temperature-of-a-question-smallest-legal".into(),
            TEMPERATURES,
        )
        .scaled(1e-30, 1.0)
        .edit(|data| data.temperatures[1] = f32::from_bits(1 << 22)),
    );
    specs.push(
        per_question(
            "temperature-of-the-last-question-bad".into(),
            TEMPERATURES | MASK,
        )
        .edit(|data| data.temperatures[2] = -3.0),
    );
    // No status word to write to.
    specs.push(
        per_question("temperature-bad-without-a-status-word".into(), TEMPERATURES)
            .only(PROBABILITIES | LOGITS | ARGMAX)
            .edit(|data| data.temperatures[0] = f32::NAN),
    );
    // Where a second node merges.
    specs.push(
        Spec::new("index-outside-of-5000", [2, 5000, 8])
            .arrange(Arrange::Indexed)
            .every_output()
            .edit(|data| data.indices[7000] = -1),
    );
    specs.push(
        Spec::new("temperature-bad-of-5000", [2, 5000, 8])
            .every_output()
            .with(TEMPERATURES)
            .edit(|data| data.temperatures[1] = 0.0),
    );
    specs.into_iter().map(Spec::case).collect()
}
