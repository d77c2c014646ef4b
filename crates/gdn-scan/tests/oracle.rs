//! The exact oracle against the f64 formula, and the properties that the header promises.

use gdn_scan::oracle::{Problem, Results, reference, scan};
use gdn_scan::{Beta, Decay, Dtype, HeadMap, Layout, Norm};

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

/// The arrays of `rows` tokens.
struct Arrays {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    g: Vec<f32>,
    beta: Vec<f32>,
    a_log: Vec<f32>,
    dt_bias: Vec<f32>,
    state: Vec<f32>,
}

impl Arrays {
    fn of(p: &Problem<'_>, seed: u64) -> Arrays {
        let rows = p.rows();
        let array = |name: u64, count: usize| normals(count, seed * 100 + name);
        Arrays {
            q: array(1, rows * p.q_stride),
            k: array(2, rows * p.k_stride),
            v: array(3, rows * p.v_stride),
            g: array(4, rows * p.g_stride),
            beta: array(5, rows * p.beta_stride),
            a_log: array(6, p.value_heads),
            dt_bias: array(7, p.g_stride),
            state: array(8, p.slots * p.slot_stride)
                .into_iter()
                .map(|x| p.state_dtype.round(x))
                .collect(),
        }
    }

    fn fill<'a>(&'a self, p: &Problem<'a>) -> Problem<'a> {
        Problem {
            q: &self.q,
            k: &self.k,
            v: &self.v,
            g: &self.g,
            beta: &self.beta,
            a_log: &self.a_log,
            dt_bias: &self.dt_bias,
            ..*p
        }
    }
}

/// As models call it: gates and norm from raw values.
fn model(sizes: [usize; 5], tokens: usize) -> Problem<'static> {
    Problem {
        decay: Decay::Gate,
        beta_form: Beta::Sigmoid,
        norm: Norm::EpsInside(1e-6),
        ..Problem::tokens(sizes, tokens)
    }
}

fn run(p: &Problem<'_>, arrays: &Arrays) -> (Vec<f32>, Results) {
    let mut state = arrays.state.clone();
    let results = scan(&arrays.fill(p), &mut state);
    (state, results)
}

#[test]
fn a_step_is_within_the_bound_of_the_formula() {
    for (seed, state_dtype) in [(1, Dtype::F32), (2, Dtype::Bf16), (3, Dtype::F16)] {
        let mut p = model([2, 2, 4, 96, 40], 1);
        p.state_dtype = state_dtype;
        let arrays = Arrays::of(&p, seed);
        let (state, results) = run(&p, &arrays);
        let want = reference(&arrays.fill(&p), &arrays.state);
        for (got, want) in [(&state, &want.state), (&results.out, &want.out)] {
            for (i, (&got, &(value, bound))) in got.iter().zip(want).enumerate() {
                let error = (f64::from(got) - value).abs();
                assert!(error <= bound, "{i}: {got:e} is {error:e} from {value:e}");
            }
        }
    }
}

#[test]
fn the_bound_of_the_formula_is_worth_something() {
    let p = model([1, 1, 2, 128, 128], 1);
    let arrays = Arrays::of(&p, 5);
    let want = reference(&arrays.fill(&p), &arrays.state);
    let worst = want.out.iter().map(|x| x.1).fold(0.0, f64::max);
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn every_cut_of_the_tokens_gives_the_bytes_of_the_whole() {
    const TOKENS: usize = 7;
    for state_dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
        let mut p = model([1, 1, 2, 12, 9], TOKENS);
        p.state_dtype = state_dtype;
        let arrays = Arrays::of(&p, 4);
        let (whole, results) = run(&p, &arrays);
        for cut in 0..=TOKENS {
            let mut state = arrays.state.clone();
            let mut out = Vec::new();
            for range in [0..cut, cut..TOKENS] {
                let part = Problem {
                    max_t: range.len(),
                    q: &arrays.q[range.start * p.q_stride..],
                    k: &arrays.k[range.start * p.k_stride..],
                    v: &arrays.v[range.start * p.v_stride..],
                    g: &arrays.g[range.start * p.g_stride..],
                    beta: &arrays.beta[range.start * p.beta_stride..],
                    ..arrays.fill(&p)
                };
                out.extend(scan(&part, &mut state).out);
            }
            assert_eq!(state, whole, "cut at {cut}");
            assert_eq!(out, results.out, "cut at {cut}");
        }
    }
}

#[test]
fn both_layouts_hold_the_same_state() {
    let kv = model([1, 2, 4, 10, 6], 3);
    let vk = Problem {
        layout: Layout::Vk,
        ..kv
    };
    let arrays = Arrays::of(&kv, 6);
    let transposed = |state: &[f32], rows: usize, columns: usize| -> Vec<f32> {
        state
            .chunks(rows * columns)
            .flat_map(|head| {
                (0..rows * columns).map(move |at| head[at % rows * columns + at / rows])
            })
            .collect()
    };
    let (state, results) = run(&kv, &arrays);
    let other = Arrays {
        state: transposed(&arrays.state, 10, 6),
        ..Arrays::of(&kv, 6)
    };
    let (other_state, other_results) = run(&vk, &other);
    assert_eq!(transposed(&state, 10, 6), other_state);
    assert_eq!(results.out, other_results.out);
}

#[test]
fn a_head_map_says_whose_keys_a_head_reads() {
    let grouped = model([1, 2, 6, 8, 4], 1);
    let tiled = Problem {
        head_map: HeadMap::Tiled,
        ..grouped
    };
    let arrays = Arrays::of(&grouped, 7);
    let with_zero_queries_in_head_1 = Arrays {
        q: [&arrays.q[..8], &[0.0; 8]].concat(),
        ..Arrays::of(&grouped, 7)
    };
    let silent = |p: &Problem<'_>| -> Vec<usize> {
        let (_, results) = run(p, &with_zero_queries_in_head_1);
        let heads = results.out.chunks(4).enumerate();
        heads
            .filter(|(_, head)| head.iter().all(|&x| x == 0.0))
            .map(|(h, _)| h)
            .collect()
    };
    assert_eq!(silent(&grouped), [3, 4, 5]);
    assert_eq!(silent(&tiled), [1, 3, 5]);
}

#[test]
fn a_long_run_stays_near_f64() {
    // 1000 steps of unit keys and gates in f32: the error of one step does not grow.
    const TOKENS: usize = 1000;
    let p = model([1, 1, 1, 16, 4], TOKENS);
    let arrays = Arrays::of(&p, 8);
    let (state, _) = run(&p, &arrays);
    let filled = arrays.fill(&p);
    let mut exact: Vec<f64> = arrays.state.iter().map(|&x| x.into()).collect();
    for t in 0..TOKENS {
        let one = Problem {
            max_t: 1,
            q: &filled.q[t * p.q_stride..],
            k: &filled.k[t * p.k_stride..],
            v: &filled.v[t * p.v_stride..],
            g: &filled.g[t * p.g_stride..],
            beta: &filled.beta[t * p.beta_stride..],
            ..filled
        };
        // The formula is linear in the state: a run on its rounded value, and the rest by superposition, would be as good;
        // rounding to f32 once a step keeps this simple and is what the tolerance allows for.
        let rounded: Vec<f32> = exact.iter().map(|&x| x as f32).collect();
        exact = reference(&one, &rounded)
            .state
            .iter()
            .map(|x| x.0)
            .collect();
    }
    for (got, want) in state.iter().zip(&exact) {
        assert!((f64::from(*got) - want).abs() < 2e-5, "{got} {want}");
    }
}

#[test]
fn a_sequence_without_tokens_carries_its_state() {
    let (from, to) = ([0, -1], [1, 0]);
    let mut p = model([2, 1, 1, 3, 2], 0);
    (p.slots_in, p.slots_out) = (Some(&from[..]), Some(&to[..]));
    let arrays = Arrays::of(&p, 9);
    let (state, results) = run(&p, &arrays);
    assert_eq!(state[6..], arrays.state[..6]);
    assert_eq!(state[..6], [0.0; 6]);
    assert!(results.out.is_empty());
}

#[test]
fn pads_are_zero_and_slot_0_is_no_pad() {
    let slots = [-1, 0];
    let mut p = model([2, 1, 1, 3, 2], 1);
    p.slots_in = Some(&slots[..]);
    let arrays = Arrays::of(&p, 10);
    let (state, results) = run(&p, &arrays);
    assert_eq!(results.out[..2], [0.0, 0.0]);
    assert_ne!(results.out[2..], [0.0, 0.0]);
    assert_ne!(state[..6], arrays.state[..6]);
    assert_eq!(state[6..], arrays.state[6..]);
}

#[test]
fn snapshots_are_the_states_of_shorter_runs() {
    let mut p = model([1, 1, 2, 5, 3], 4);
    (p.snapshots, p.snapshot_rows) = (Some(2), 2);
    let arrays = Arrays::of(&p, 11);
    let (last, results) = run(&p, &arrays);
    let three = Problem { max_t: 3, ..p };
    let (third, _) = run(&three, &arrays);
    assert_eq!(results.snapshots, [third, last].concat());
}

#[test]
fn the_seed_order_is_separate_multiplications_and_additions() {
    // One key, one value: S' = 0.1 * 3, p = S' k, d = beta (v - p), S'' = S' + k d, each rounded.
    let (q, k, v, g, beta) = ([1.5], [0.7], [2.0], [0.1], [0.3]);
    let mut p = Problem::step([1, 1, 1, 1, 1]);
    (p.q, p.k, p.v, p.g, p.beta) = (&q, &k, &v, &g, &beta);
    let mut state = [3.0f32];
    let results = scan(&p, &mut state);
    let decayed = 3.0f32 * 0.1;
    let delta = 0.3 * (2.0 - (0.0 + decayed * 0.7));
    let written = decayed + 0.7 * delta;
    assert_eq!(state, [written]);
    assert_eq!(results.out, [(0.0 + written * 1.5) * 1.0]);
}

#[test]
fn decay_of_a_gate_has_no_cliff_where_softplus_overflows() {
    // exp(a) overflows above 88: softplus is a itself there, and the decay goes on falling smoothly.
    let decay = |a: f32| {
        let (one, zero, g, a_log, bias) = ([1.0], [0.0], [a], [-4.0], [0.0]);
        let p = Problem {
            decay: Decay::Gate,
            q: &zero,
            k: &zero,
            v: &zero,
            g: &g,
            beta: &one,
            a_log: &a_log,
            dt_bias: &bias,
            ..Problem::step([1, 1, 1, 1, 1])
        };
        let mut state = [1.0f32];
        scan(&p, &mut state);
        state[0]
    };
    assert!(decay(89.0) > 0.15 && decay(89.0) < decay(88.0));
    assert_eq!(decay(-1000.0), 1.0);
    assert_eq!(decay(1e30), 0.0);
}
