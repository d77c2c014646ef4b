//! The gated scan's oracle against f64: its formula, central differences, and what the header promises.

mod common;

use common::uniform;
use mamba2_scan::oracle::temporal_scan::{
    Gradients, Readout, TemporalScan, Upstream, accumulated, gradients, partials, temporal_scan,
};

const READOUTS: [Readout; 3] = [Readout::Context, Readout::Sum, Readout::TileAdd];
const EPS: f64 = 1.0 / (1 << 24) as f64;

#[derive(Clone)]
struct Data {
    sizes: [usize; 4],
    readout: Readout,
    history: Vec<f32>,
    current: Vec<f32>,
    weights: [Vec<f32>; 3],
    biases: [Vec<f32>; 3],
    x0: Vec<f32>,
    d_out: Vec<f32>,
    d_final: Vec<f32>,
}

impl Data {
    fn new(sizes: [usize; 4], readout: Readout) -> Data {
        let [batch, steps, features, states] = sizes;
        let scale = 1.7 / (features as f32).sqrt();
        let matrix = |seed| uniform(features * states, seed, -scale, scale);
        let row = |seed| uniform(states, seed, -0.5, 0.5);
        let mut data = Data {
            sizes,
            readout,
            history: uniform(batch * steps * features, 1, -1.7, 1.7),
            current: uniform(batch * features, 2, -1.7, 1.7),
            weights: [matrix(3), matrix(4), matrix(5)],
            biases: [row(6), row(7), row(8)],
            x0: uniform(batch * states, 9, -1.0, 1.0),
            d_out: Vec::new(),
            d_final: uniform(batch * states, 10, -1.0, 1.0),
        };
        data.d_out = uniform(data.scan().out_len(), 11, -1.0, 1.0);
        data
    }

    fn scan(&self) -> TemporalScan<'_> {
        TemporalScan {
            readout: self.readout,
            biases: [0, 1, 2].map(|i| Some(&self.biases[i][..])),
            initial: Some(&self.x0),
            ..TemporalScan::packed(
                self.sizes,
                &self.history,
                &self.current,
                [0, 1, 2].map(|i| &self.weights[i][..]),
            )
        }
    }

    fn upstream(&self) -> Upstream<'_> {
        Upstream {
            out: &self.d_out,
            final_state: Some(&self.d_final),
        }
    }

    fn gradients(&self) -> Gradients {
        gradients(&self.scan(), &self.upstream())
    }

    /// Every value that has a gradient, in f64.
    fn values(&self) -> Vec<f64> {
        let parameters = self.weights.iter().chain(&self.biases);
        let inputs = [&self.history, &self.current, &self.x0];
        parameters
            .chain(inputs)
            .flatten()
            .map(|x| f64::from(*x))
            .collect()
    }
}

/// `1 / (1 + e^-x)`
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The values of `Data::values`, taken apart again.
struct Parts<'a> {
    weights: [&'a [f64]; 3],
    biases: [&'a [f64]; 3],
    history: &'a [f64],
    current: &'a [f64],
    x0: &'a [f64],
}

fn parts<'a>(data: &Data, values: &'a [f64]) -> Parts<'a> {
    let [batch, steps, features, states] = data.sizes;
    let mut rest = values;
    let mut take = |count: usize| {
        let (head, tail) = rest.split_at(count);
        rest = tail;
        head
    };
    let matrix = features * states;
    Parts {
        weights: [take(matrix), take(matrix), take(matrix)],
        biases: [take(states), take(states), take(states)],
        history: take(batch * steps * features),
        current: take(batch * features),
        x0: take(batch * states),
    }
}

/// Readout and final state by the formula.
fn formula(data: &Data, values: &[f64]) -> [Vec<f64>; 2] {
    let [batch, steps, features, states] = data.sizes;
    let p = parts(data, values);
    let project = |row: &[f64], which: usize, s: usize| {
        let products = row.iter().enumerate();
        p.biases[which][s]
            + products
                .map(|(k, h)| h * p.weights[which][k * states + s])
                .sum::<f64>()
    };
    let mut out = Vec::new();
    let mut last = Vec::new();
    for b in 0..batch {
        let current = &p.current[b * features..][..features];
        let mut contexts = Vec::new();
        for s in 0..states {
            let mut x = p.x0[b * states + s];
            for t in 0..steps {
                let row = &p.history[(b * steps + t) * features..][..features];
                x = sigmoid(project(row, 0, s)) * x + project(row, 1, s);
            }
            contexts.push(project(current, 2, s) * x);
            last.push(x);
        }
        match data.readout {
            Readout::Context => out.extend(contexts),
            Readout::Sum => out.push(contexts.iter().sum()),
            Readout::TileAdd => {
                out.extend((0..features).map(|j| current[j] + contexts[j % states]))
            }
        }
    }
    [out, last]
}

/// What the gradients are those of.
fn loss(data: &Data, values: &[f64]) -> f64 {
    let [out, last] = formula(data, values);
    let dot = |a: &[f64], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
    dot(&out, &data.d_out) + dot(&last, &data.d_final)
}

fn flat(g: &Gradients) -> Vec<f32> {
    let parameters = g.weights.iter().chain(&g.biases);
    let inputs = [&g.history, &g.current, &g.initial];
    parameters.chain(inputs).flatten().copied().collect()
}

#[test]
fn every_gradient_is_that_of_central_differences() {
    for readout in READOUTS {
        for sizes in [[3, 5, 6, 3], [9, 2, 4, 5], [1, 8, 7, 16], [2, 1, 3, 18]] {
            let data = Data::new(sizes, readout);
            let got = flat(&data.gradients());
            let mut values = data.values();
            assert_eq!(got.len(), values.len());
            for i in 0..values.len() {
                const STEP: f64 = 1e-4;
                let value = values[i];
                values[i] = value + STEP;
                let above = loss(&data, &values);
                values[i] = value - STEP;
                let below = loss(&data, &values);
                values[i] = value;
                let want = (above - below) / (2.0 * STEP);
                let off = (f64::from(got[i]) - want).abs();
                assert!(
                    off <= 3e-5 * (1.0 + want.abs()),
                    "{readout:?} {sizes:?}, value {i}: was {}, must be {want}",
                    got[i]
                );
            }
        }
    }
}

#[test]
fn every_size_is_near_the_formula() {
    for readout in READOUTS {
        for steps in [1, 2, 7, 8, 9, 17] {
            for features in [1, 3, 31, 32, 33, 100] {
                let data = Data::new([3, steps, features, 5], readout);
                let got = temporal_scan(&data.scan());
                let [out, last] = formula(&data, &data.values());
                for (what, got, want) in [
                    ("out", &got.out, &out),
                    ("final state", &got.final_state, &last),
                ] {
                    assert_eq!(got.len(), want.len());
                    for (got, want) in got.iter().zip(want) {
                        let off = (f64::from(*got) - want).abs();
                        // Projections near 1 of up to 100 terms, states that add up K of them.
                        let bound = EPS * 100.0 * (steps as f64).sqrt() * (1.0 + want.abs());
                        assert!(
                            off <= bound,
                            "{readout:?} K {steps} H {features}, {what}: was {got}, must be {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn saturated_gates_have_gradients() {
    // 1 - sigmoid(20) is 2e-9, which a subtraction in f32 gives as 0.
    for gate in [15.0f32, 20.0, 80.0, -15.0, -20.0, -80.0] {
        let mut data = Data::new([1, 2, 2, 1], Readout::Context);
        data.weights[0].fill(0.0);
        data.biases[0].fill(gate);
        let got = data.gradients().biases[0][0];
        // Of the gates alone: lambda_t x_{t-1} a (1 - a).
        let x: Vec<f64> = {
            let values = data.values();
            let p = parts(&data, &values);
            let a = sigmoid(gate.into());
            let input = |t: usize| {
                p.biases[1][0]
                    + p.history[2 * t] * p.weights[1][0]
                    + p.history[2 * t + 1] * p.weights[1][1]
            };
            vec![p.x0[0], a * p.x0[0] + input(0)]
        };
        let readout = {
            let values = data.values();
            let p = parts(&data, &values);
            p.biases[2][0] + p.current[0] * p.weights[2][0] + p.current[1] * p.weights[2][1]
        };
        let lambda = f64::from(data.d_out[0]) * readout + f64::from(data.d_final[0]);
        let e = (-f64::from(gate).abs()).exp();
        let slope = e / (1.0 + e) / (1.0 + e);
        let want = lambda * slope * (x[1] + sigmoid(gate.into()) * x[0]);
        assert!(got != 0.0, "{gate}");
        assert!(
            (f64::from(got) / want - 1.0).abs() < 1e-5,
            "{gate}: was {got:e}, must be {want:e}"
        );
    }
}

#[test]
fn a_state_before_the_first_step_of_zero_is_none() {
    let mut data = Data::new([3, 4, 6, 5], Readout::Context);
    data.x0.fill(0.0);
    let without = TemporalScan {
        initial: None,
        ..data.scan()
    };
    assert_eq!(temporal_scan(&without), temporal_scan(&data.scan()));
}

#[test]
fn a_split_of_the_steps_gives_the_bits_of_the_whole() {
    let data = Data::new([4, 9, 12, 6], Readout::Context);
    let whole = temporal_scan(&data.scan());
    let head = temporal_scan(&TemporalScan {
        steps: 5,
        ..data.scan()
    });
    let tail = temporal_scan(&TemporalScan {
        steps: 4,
        history: &data.history[5 * 12..],
        initial: Some(&head.final_state),
        ..data.scan()
    });
    assert_eq!(tail, whole);
}

#[test]
fn a_sample_alone_and_in_a_batch_gets_the_same_bits() {
    let data = Data::new([9, 3, 10, 5], Readout::Sum);
    let whole = temporal_scan(&data.scan());
    let back = data.gradients();
    for b in 0..9 {
        let alone = TemporalScan {
            batch: 1,
            history: &data.history[b * 30..][..30],
            current: &data.current[b * 10..][..10],
            initial: Some(&data.x0[b * 5..][..5]),
            ..data.scan()
        };
        let one = temporal_scan(&alone);
        assert_eq!(one.out, [whole.out[b]]);
        assert_eq!(one.final_state, whole.final_state[b * 5..][..5]);
        let one = gradients(
            &alone,
            &Upstream {
                out: &data.d_out[b..=b],
                final_state: Some(&data.d_final[b * 5..][..5]),
            },
        );
        assert_eq!(one.history, back.history[b * 30..][..30]);
        assert_eq!(one.current, back.current[b * 10..][..10]);
        assert_eq!(one.initial, back.initial[b * 5..][..5]);
    }
}

#[test]
fn partial_sums_are_at_most_128_and_cover_every_sample() {
    for batch in [0, 1, 7, 8, 9, 1023, 1024, 1025, 1032, 8192, 8193, 1 << 30] {
        let [tiles, count] = partials(batch);
        assert!(count <= 128, "{batch}");
        assert!(tiles * count * 8 >= batch, "{batch}");
        assert!(
            count == 0 || tiles * (count - 1) * 8 < batch,
            "{batch}: an empty partial sum"
        );
    }
    assert_eq!(partials(8192), [8, 128]);
}

#[test]
fn nothing_has_gradients_of_zero() {
    let data = Data::new([0, 3, 4, 2], Readout::Context);
    let got = data.gradients();
    for sums in got.weights.iter().chain(&got.biases) {
        assert!(sums.iter().all(|x| x.to_bits() == 0));
    }
}

#[test]
fn a_beta_of_zero_does_not_read_what_was_there() {
    assert_eq!(accumulated(0.0, &[f32::NAN], &[2.0]), [2.0]);
    assert_eq!(accumulated(-1.0, &[3.0], &[2.0]), [-1.0]);
}
