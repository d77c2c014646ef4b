//! The exact oracle against the f64 formula, and the properties that the header promises.

use half::{bf16, f16};
use proptest::prelude::*;
use scoring::Similarity::{self, Cosine, Dot};
use scoring::oracle::{
    DeviceStatus, Elements, Layout, Problem, Reference, Scores, reference, score, score_into,
};

/// Values about normal, the same on every machine.
fn normals(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..count)
        .map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0)
        .collect()
}

/// Asserts every output to be within the bound of the formula's value.
fn assert_near(problem: &Problem<'_>, what: &str) -> (Scores, Reference) {
    let (scores, formula) = (score(problem), reference(problem));
    for (name, got, want) in [
        ("logits", &scores.logits, &formula.logits),
        (
            "probabilities",
            &scores.probabilities,
            &formula.probabilities,
        ),
        (
            "log probabilities",
            &scores.log_probabilities,
            &formula.log_probabilities,
        ),
        ("log-sum-exp", &scores.log_sum_exp, &formula.log_sum_exp),
        (
            "expected index",
            &scores.expected_index,
            &formula.expected_index,
        ),
    ] {
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            assert!(
                want.admits(*got),
                "{what}: {name} {i}: was {got:e}, must be {want:?}"
            );
        }
    }
    (scores, formula)
}

fn cosine_problem<'a>(q: &'a [f32], c: &'a [f32], sizes: [usize; 3]) -> Problem<'a> {
    let similarity = Cosine {
        eps: scoring::DEFAULT_EPS,
    };
    Problem {
        scale: 20.0,
        ..Problem::packed(similarity, Elements::F32(q), Elements::F32(c), sizes)
    }
}

#[test]
fn every_size_is_within_the_bound_of_the_formula() {
    for k in [1, 2, 31, 32, 33, 255, 256, 257, 600, 5000, 9000] {
        for dim in [1, 3, 4, 5, 127, 128, 129, 511, 512, 513, 1030] {
            if k * dim > 300_000 {
                continue;
            }
            let (q, c) = (normals(2 * dim, 1), normals(2 * k * dim, 2));
            let cosine = cosine_problem(&q, &c, [2, k, dim]);
            assert_near(&cosine, &format!("cosine {k}x{dim}"));
            let dot = Problem {
                similarity: Dot,
                scale: 0.1,
                ..cosine
            };
            assert_near(&dot, &format!("dot {k}x{dim}"));
        }
    }
}

#[test]
fn the_bound_is_not_a_formality() {
    // A relative error of 2e-4 in one candidate is found.
    let (q, c) = (normals(256, 1), normals(40 * 256, 2));
    let problem = cosine_problem(&q, &c, [1, 40, 256]);
    let (scores, formula) = assert_near(&problem, "unchanged");
    let top = scores.argmax[0] as usize;
    assert!(!formula.probabilities[top].admits(scores.probabilities[top] * (1.0 + 2e-4)));
    assert!(!formula.log_probabilities[top].admits(scores.log_probabilities[top] + 2e-4));
}

#[test]
fn magnitudes_from_subnormal_to_the_end_of_the_range_keep_the_cosine() {
    for q_scale in [1e-40, 1e-23, 1.0, 1e20, 5e37] {
        for c_scale in [1e-42, 1e-23, 1e-12, 1.0, 1e20, 5e37] {
            let q: Vec<f32> = normals(64, 5).iter().map(|x| x * q_scale).collect();
            let c: Vec<f32> = normals(64 * 9, 6).iter().map(|x| x * c_scale).collect();
            let problem = Problem {
                similarity: Cosine { eps: 0.0 },
                ..cosine_problem(&q, &c, [1, 9, 64])
            };
            assert_near(&problem, &format!("{q_scale:e} by {c_scale:e}"));
        }
    }
}

#[test]
fn a_vector_with_itself_is_one_within_two_ulp_at_every_magnitude() {
    for exponent in -149..=125 {
        let factor = 2f64.powi(exponent) as f32;
        let x: Vec<f32> = normals(96, 9)
            .iter()
            .map(|x| x.clamp(-3.0, 3.0) * factor)
            .collect();
        if x.iter().all(|&x| x == 0.0) {
            continue;
        }
        let problem = Problem {
            scale: 1.0,
            similarity: Cosine { eps: 0.0 },
            ..cosine_problem(&x, &x, [1, 1, 96])
        };
        let value = score(&problem).logits[0];
        assert!(
            (value - 1.0).abs() <= 2.0 * f32::EPSILON,
            "2^{exponent}: {value:e}"
        );
    }
}

#[test]
fn a_floor_is_a_floor_of_the_true_norm() {
    // |c| = 8e-10: above 1e-12, below 1e-8, where the cosine shrinks to 0.08.
    let (q, c) = ([1.0f32, 0.0], [8e-10f32, 0.0]);
    let at = |eps| {
        let problem = Problem {
            scale: 1.0,
            similarity: Cosine { eps },
            ..cosine_problem(&q, &c, [1, 1, 2])
        };
        score(&problem).logits[0]
    };
    assert_eq!(at(1e-12), 1.0);
    assert!((at(1e-8) - 0.08).abs() < 1e-6);
}

#[test]
fn zero_vectors_have_cosine_zero_with_and_without_a_floor() {
    let (zero, one) = ([0.0f32; 6], [1.0f32; 6]);
    for eps in [0.0, f32::MIN_POSITIVE, 1e-12] {
        for (q, c) in [(&zero, &one), (&one, &zero), (&zero, &zero)] {
            let problem = Problem {
                similarity: Cosine { eps },
                ..cosine_problem(q, c, [1, 2, 3])
            };
            let scores = score(&problem);
            assert_eq!(scores.logits, [0.0, 0.0]);
            assert_eq!(scores.probabilities, [0.5, 0.5]);
        }
    }
}

#[test]
fn one_candidate_is_exactly_one() {
    let (q, c) = (normals(300, 1), normals(300, 2));
    let scores = score(&cosine_problem(&q, &c, [1, 1, 300]));
    assert_eq!(
        (scores.probabilities[0], scores.log_probabilities[0]),
        (1.0, 0.0)
    );
    assert_eq!(scores.log_sum_exp[0], scores.logits[0]);
}

#[test]
fn identical_candidates_share_exactly_and_the_first_wins() {
    let (q, row) = (normals(33, 1), normals(33, 2));
    for k in 1..=256 {
        let c = row.repeat(k);
        let problem = Problem {
            top_k: 3,
            ..cosine_problem(&q, &c, [1, k, 33])
        };
        let scores = score(&problem);
        assert!(
            scores.probabilities.iter().all(|&p| p == 1.0 / k as f32),
            "{k}"
        );
        assert_eq!(scores.argmax[0], 0);
        let best: Vec<i32> = (0..3).map(|i| if i < k as i32 { i } else { -1 }).collect();
        assert_eq!(scores.top_indices, best);
    }
}

#[test]
fn probabilities_sum_to_one() {
    for k in [5, 255, 4096, 9000] {
        let (q, c) = (normals(16, 3), normals(16 * k, 4));
        let scores = score(&cosine_problem(&q, &c, [1, k, 16]));
        let sum: f64 = scores.probabilities.iter().map(|&p| f64::from(p)).sum();
        assert!(
            (sum - 1.0).abs() <= k as f64 / (1u64 << 24) as f64,
            "{k}: {sum}"
        );
    }
}

#[test]
fn one_nan_poisons_its_question_and_no_other() {
    let (q, mut c) = (normals(3 * 8, 1), normals(3 * 5 * 8, 2));
    let clean = score(&cosine_problem(&q, &c, [3, 5, 8]));
    c[5 * 8 + 3] = f32::NAN;
    for similarity in [Dot, Cosine { eps: 1e-12 }] {
        let problem = Problem {
            similarity,
            top_k: 2,
            ..cosine_problem(&q, &c, [3, 5, 8])
        };
        let scores = score(&problem);
        assert!(scores.probabilities[5..10].iter().all(|p| p.is_nan()));
        assert!(scores.log_probabilities[5..10].iter().all(|p| p.is_nan()));
        assert!(scores.top_values[2..4].iter().all(|p| p.is_nan()));
        assert_eq!(scores.top_indices[2..4], [-1, -1]);
        assert!(scores.log_sum_exp[1].is_nan() && scores.expected_index[1].is_nan());
        assert_eq!(scores.argmax[1], -1);
        // The logits stay as computed: only the hostile one is NaN.
        assert_eq!(scores.logits.iter().filter(|x| x.is_nan()).count(), 1);
        if similarity != Dot {
            assert_eq!(scores.probabilities[..5], clean.probabilities[..5]);
            assert_eq!(scores.probabilities[10..], clean.probabilities[10..]);
        }
    }
}

#[test]
fn a_logit_of_plus_infinity_makes_the_question_nan() {
    let bias = [0.0, f32::INFINITY];
    let problem = Problem {
        bias: Some(&bias),
        ..Problem::packed(
            Dot,
            Elements::F32(&[1.0]),
            Elements::F32(&[1.0, 2.0]),
            [1, 2, 1],
        )
    };
    let scores = score(&problem);
    assert!(scores.probabilities.iter().all(|p| p.is_nan()));
    assert_eq!(scores.argmax[0], -1);
}

fn assert_empty(scores: &Scores, i: usize) {
    assert_eq!(scores.log_sum_exp[i], f32::NEG_INFINITY);
    assert_eq!((scores.argmax[i], scores.expected_index[i]), (-1, 0.0));
}

#[test]
fn nothing_to_choose_from_is_zeros_and_minus_infinity() {
    let (q, c) = (normals(8, 1), normals(24, 2));
    let minus = [f32::NEG_INFINITY; 3];
    let masked = Problem {
        mask: Some(&[0; 3]),
        ..cosine_problem(&q, &c, [1, 3, 8])
    };
    let biased = Problem {
        bias: Some(&minus),
        ..cosine_problem(&q, &c, [1, 3, 8])
    };
    for problem in [masked, biased] {
        let scores = score(&Problem {
            top_k: 2,
            ..problem
        });
        assert_empty(&scores, 0);
        assert_eq!(scores.probabilities, [0.0; 3]);
        assert_eq!(scores.log_probabilities, minus);
        assert_eq!(scores.logits, minus);
        assert_eq!(
            (&scores.top_values[..], &scores.top_indices[..]),
            (&[0.0; 2][..], &[-1; 2][..])
        );
    }
    let offsets = [0, 0, 3];
    let ragged = Problem {
        layout: Layout::Ragged {
            offsets: &offsets,
            sum_k: 3,
        },
        questions: 2,
        query_stride: 0,
        ..cosine_problem(&q, &c, [1, 3, 8])
    };
    let scores = score(&ragged);
    assert_empty(&scores, 0);
    assert_eq!(
        scores.probabilities,
        score(&cosine_problem(&q, &c, [1, 3, 8])).probabilities
    );
}

#[test]
fn a_huge_temperature_range_stays_a_distribution() {
    let (q, c) = (normals(64, 1), normals(20 * 64, 2));
    for temperature in [1e-30, 1e-3, 1.0, 1e30] {
        let problem = Problem {
            temperature,
            ..cosine_problem(&q, &c, [1, 20, 64])
        };
        let scores = score(&problem);
        assert!(
            scores.probabilities.iter().all(|p| (0.0..=1.0).contains(p)),
            "{temperature}"
        );
    }
}

#[test]
fn scale_is_multiplied_before_temperature_divides() {
    let problem = Problem {
        scale: 3.0,
        temperature: 7.0,
        ..Problem::packed(
            Dot,
            Elements::F32(&[1.0]),
            Elements::F32(&[0.3, 0.7, 1.1]),
            [1, 3, 1],
        )
    };
    let logits = score(&problem).logits;
    assert_eq!(logits, [0.3f32, 0.7, 1.1].map(|x| x * 3.0 / 7.0));
    assert_ne!(logits, [0.3f32, 0.7, 1.1].map(|x| x * (3.0 / 7.0)));
}

#[test]
fn bad_device_values_have_their_results_and_their_word() {
    let (q, c) = (normals(3 * 8, 1), normals(9 * 8, 2));
    let base = cosine_problem(&q, &c, [3, 3, 8]);
    let clean = score(&base);
    assert_eq!(clean.status, 0);

    for bad in [f32::NAN, f32::INFINITY, 0.0, -1.0, 1e-39] {
        let temperatures = [1.0, 1.0, bad];
        let scores = score(&Problem {
            temperatures: Some(&temperatures),
            ..base
        });
        assert_eq!(scores.status, DeviceStatus::BadTemperature.word(2));
        assert!(scores.logits[6..].iter().all(|x| x.is_nan()));
        assert_eq!(scores.probabilities[..6], clean.probabilities[..6]);
    }

    let indices = [0, 1, 2, 3, 9, 5, 6, 7, 8];
    let layout = Layout::Indexed {
        indices: &indices,
        table_rows: 9,
    };
    let scores = score(&Problem { layout, ..base });
    assert_eq!(scores.status, DeviceStatus::BadIndex.word(1));
    assert_eq!(
        (scores.logits[4], scores.probabilities[4]),
        (f32::NEG_INFINITY, 0.0)
    );

    for offsets in [[0, 5, 3, 3], [-1, 3, 6, 9], [0, 3, 6, 10], [0, 4, 4, 4]] {
        let layout = Layout::Ragged {
            offsets: &offsets,
            sum_k: 9,
        };
        let scores = score(&Problem { layout, ..base });
        let hurt = (0..3).find(|&i| scores.log_sum_exp[i] == f32::NEG_INFINITY);
        assert_eq!(
            scores.status,
            DeviceStatus::BadOffsets.word(hurt.unwrap()),
            "{offsets:?}"
        );
    }
    assert_eq!(DeviceStatus::BadIndex.word(usize::MAX), 0x02ff_ffff);
}

#[test]
fn entries_of_no_question_and_a_set_status_stay_as_they_are() {
    let (q, c) = (normals(2 * 8, 1), normals(9 * 8, 2));
    let offsets = [2, 4, 7];
    let layout = Layout::Ragged {
        offsets: &offsets,
        sum_k: 9,
    };
    let problem = Problem {
        layout,
        temperatures: Some(&[-1.0, 1.0]),
        ..cosine_problem(&q, &c, [2, 3, 8])
    };
    let mut scores = Scores::zeroed(&problem);
    scores.probabilities.fill(7.0);
    scores.status = 5;
    score_into(&problem, &mut scores);
    let untouched: Vec<usize> = (0..9).filter(|&i| scores.probabilities[i] == 7.0).collect();
    assert_eq!((untouched, scores.status), (vec![0, 1, 7, 8], 5));
}

#[test]
fn half_precision_elements_are_read_exactly() {
    let (q, c) = (normals(70, 1), normals(700, 2));
    let b = |x: &[f32]| -> Vec<bf16> { x.iter().map(|&x| bf16::from_f32(x)).collect() };
    let h = |x: &[f32]| -> Vec<f16> { x.iter().map(|&x| f16::from_f32(x)).collect() };
    let widened = |x: &[bf16]| -> Vec<f32> { x.iter().map(|x| x.to_f32()).collect() };
    let (qb, cb) = (b(&q), b(&c));
    let (qh, ch) = (h(&q), h(&c));
    let sizes = [1, 10, 70];
    let cosine = Cosine { eps: 1e-12 };
    let got = score(&Problem::packed(
        cosine,
        Elements::Bf16(&qb),
        Elements::Bf16(&cb),
        sizes,
    ));
    let (qw, cw) = (widened(&qb), widened(&cb));
    let want = score(&Problem::packed(
        cosine,
        Elements::F32(&qw),
        Elements::F32(&cw),
        sizes,
    ));
    assert_eq!(got, want);
    assert_near(
        &Problem::packed(cosine, Elements::F16(&qh), Elements::F16(&ch), sizes),
        "half precision",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_question_scores_alike_alone_and_in_a_batch(
        seed: u64, k in 1usize..300, dim in 1usize..40, questions in 2usize..5, dot: bool,
    ) {
        let similarity = if dot { Dot } else { Similarity::Cosine { eps: 1e-12 } };
        let (q, c) = (normals(questions * dim, seed), normals(questions * k * dim, !seed));
        let batch = score(&Problem { similarity, ..cosine_problem(&q, &c, [questions, k, dim]) });
        for i in 0..questions {
            let (q, c) = (&q[i * dim..][..dim], &c[i * k * dim..][..k * dim]);
            let alone = score(&Problem { similarity, ..cosine_problem(q, c, [1, k, dim]) });
            prop_assert_eq!(&alone.probabilities[..], &batch.probabilities[i * k..][..k]);
            prop_assert_eq!(alone.log_sum_exp[0].to_bits(), batch.log_sum_exp[i].to_bits());
        }
    }

    #[test]
    fn every_layout_of_the_same_candidates_gives_the_same_bits(
        seed: u64, k in 1usize..40, dim in 1usize..20, gap in 0usize..5,
    ) {
        let (q, c) = (normals(2 * dim, seed), normals(k * dim, !seed));
        let twice = c.repeat(2);
        let dense = score(&cosine_problem(&q, &twice, [2, k, dim]));
        let shared = Problem { layout: Layout::Shared, ..cosine_problem(&q, &c, [2, k, dim]) };
        prop_assert_eq!(&score(&shared), &dense);
        let offsets = [0, k as i32, 2 * k as i32];
        let layout = Layout::Ragged { offsets: &offsets, sum_k: 2 * k };
        prop_assert_eq!(&score(&Problem { layout, ..cosine_problem(&q, &twice, [2, k, dim]) }), &dense);
        let indices: Vec<i32> = (0..2 * k).map(|i| (i % k) as i32).collect();
        let layout = Layout::Indexed { indices: &indices, table_rows: k };
        prop_assert_eq!(&score(&Problem { layout, ..shared }), &dense);
        let stride = dim + gap;
        let mut spread = vec![f32::NAN; k * stride];
        for row in 0..k {
            spread[row * stride..][..dim].copy_from_slice(&c[row * dim..][..dim]);
        }
        let strided = Problem {
            candidates: Elements::F32(&spread), candidate_stride: stride, ..shared
        };
        prop_assert_eq!(&score(&strided), &dense);
    }

    #[test]
    fn a_permutation_of_candidates_permutes_logits_and_keeps_the_best(
        seed: u64, k in 2usize..256, rotate in 1usize..256,
    ) {
        let dim = 12;
        let rotate = rotate % k;
        let (q, c) = (normals(dim, seed), normals(k * dim, !seed));
        let mut turned = c.clone();
        turned.rotate_left(rotate * dim);
        let straight = score(&cosine_problem(&q, &c, [1, k, dim]));
        let turned = score(&cosine_problem(&q, &turned, [1, k, dim]));
        let mut logits = straight.logits.clone();
        logits.rotate_left(rotate);
        prop_assert_eq!(&turned.logits, &logits);
        prop_assert_eq!((turned.argmax[0] as usize + rotate) % k, straight.argmax[0] as usize);
    }

    #[test]
    fn masked_candidates_count_as_absent_whatever_they_hold(seed: u64, mask in prop::collection::vec(0u8..2, 1..200)) {
        let (k, dim) = (mask.len(), 10);
        let (q, c) = (normals(dim, seed), normals(k * dim, !seed));
        let mut hostile = c.clone();
        for (row, keep) in hostile.chunks_mut(dim).zip(&mask) {
            if *keep == 0 { row.fill(f32::NAN); }
        }
        let problem = Problem { mask: Some(&mask), top_k: 4, ..cosine_problem(&q, &c, [1, k, dim]) };
        let scores = score(&problem);
        let with_nan = Problem { candidates: Elements::F32(&hostile), ..problem };
        prop_assert_eq!(&score(&with_nan), &scores);
        assert_near(&problem, "masked");
        for (p, keep) in scores.probabilities.iter().zip(&mask) {
            prop_assert_eq!(*p > 0.0, *keep != 0);
        }
    }

    #[test]
    fn random_problems_are_within_the_bound(
        seed: u64, k in 1usize..700, dim in 1usize..60, scale in 0.01f32..100.0,
        temperature in 0.05f32..20.0, magnitude in -30i32..30,
    ) {
        let factor = 10f32.powi(magnitude);
        let q: Vec<f32> = normals(dim, seed).iter().map(|x| x * factor).collect();
        let (c, bias) = (normals(k * dim, !seed), normals(k, seed ^ 77));
        let problem = Problem {
            scale, temperature, bias: Some(&bias), similarity: Cosine { eps: 0.0 },
            ..cosine_problem(&q, &c, [1, k, dim])
        };
        assert_near(&problem, "random");
    }
}
