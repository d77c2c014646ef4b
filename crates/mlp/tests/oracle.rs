//! The oracle against the formulas in f64, finite differences, and itself.

use mlp::oracle::reference::{self, Weights};
use mlp::oracle::{
    self, Actions, Activation, Layer, Network, backward, curiosity_step, forward, risk_forward,
};

const ACTIVATIONS: [Activation; 8] = [
    Activation::None,
    Activation::Relu,
    Activation::LeakyRelu(0.01),
    Activation::Silu,
    Activation::GeluErf,
    Activation::GeluTanh,
    Activation::Tanh,
    Activation::Sigmoid,
];

fn uniform(count: usize, seed: u32, most: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1u32 << 23) as f32 - 1.0) * most
    };
    (0..count).map(|_| next()).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// Parameters of a network, drawn.
struct Drawn {
    sizes: [usize; 3],
    parameters: [Vec<f32>; 4],
    activations: [Activation; 2],
    residual: bool,
}

impl Drawn {
    fn new(sizes: [usize; 3], first: Activation, second: Activation) -> Drawn {
        let [inputs, hidden, outputs] = sizes;
        Drawn {
            sizes,
            parameters: [
                uniform(inputs * hidden, 1, 1.7 / (inputs as f32).sqrt()),
                uniform(hidden, 2, 0.5),
                uniform(hidden * outputs, 3, 1.7 / (hidden as f32).sqrt()),
                uniform(outputs, 4, 0.5),
            ],
            activations: [first, second],
            residual: inputs == outputs,
        }
    }

    fn network(&self) -> Network<'_> {
        let [inputs, hidden, outputs] = self.sizes;
        let [w1, b1, w2, b2] = &self.parameters;
        Network {
            inputs,
            hidden,
            outputs,
            residual: self.residual,
            first: Layer {
                weights: w1,
                bias: Some(b1),
                activation: self.activations[0],
            },
            second: Layer {
                weights: w2,
                bias: Some(b2),
                activation: self.activations[1],
            },
        }
    }
}

/// Within `bound` of the reference, relative to the largest magnitude of all.
fn assert_near(what: &str, got: &[f32], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let most = want.iter().fold(1e-3f64, |most, x| most.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let off = (f64::from(*got) - want).abs();
        assert!(off <= bound * most, "{what}[{i}]: {got} for {want}");
    }
}

#[test]
fn outputs_and_gradients_are_those_of_f64() {
    for sizes in [[5, 9, 6], [12, 24, 12], [130, 70, 130], [7, 129, 3]] {
        for (i, first) in ACTIVATIONS.into_iter().enumerate() {
            let second = ACTIVATIONS[(i * 3 + 1) % ACTIVATIONS.len()];
            let drawn = Drawn::new(sizes, first, second);
            let network = drawn.network();
            let batch = 37;
            let x = uniform(batch * sizes[0], 5, 1.7);
            let dy = uniform(batch * sizes[2], 6, 1.0);
            let what = format!("{sizes:?} {first:?} {second:?}");
            let weights = Weights::of(&network);
            let y = reference::forward(&network, &weights, &wide(&x));
            assert_near(&what, &forward(&network, &x), &y, 2e-5);
            // Corners on the oracle's side: a flipped one looks like a large error.
            let [z1, z2] = oracle::sums(&network, &x);
            let outputs = sizes[2];
            let (want, dx) =
                reference::backward(&network, &weights, &wide(&x), Some([&z1, &z2]), |b, _| {
                    wide(&dy[b * outputs..(b + 1) * outputs])
                });
            let got = backward(&network, &x, &dy);
            assert_near(&what, &got.dx, &dx, 2e-5);
            assert_near(&what, &got.parameters.w1, &want.w1, 2e-5);
            assert_near(&what, &got.parameters.b1, &want.b1, 2e-5);
            assert_near(&what, &got.parameters.w2, &want.w2, 2e-5);
            assert_near(&what, &got.parameters.b2, &want.b2, 2e-5);
        }
    }
}

#[test]
fn gradients_are_finite_differences_away_from_corners() {
    for first in ACTIVATIONS {
        for second in [Activation::Silu, Activation::Sigmoid, first] {
            let drawn = Drawn::new([4, 6, 4], first, second);
            let network = drawn.network();
            let x = wide(&uniform(8 * 4, 7, 1.7));
            let dy = wide(&uniform(8 * 4, 8, 1.0));
            let weights = Weights::of(&network);
            let loss = |w: &Weights, x: &[f64]| {
                let y = reference::forward(&network, w, x);
                y.iter().zip(&dy).map(|(y, d)| y * d).sum::<f64>()
            };
            let (got, dx) = reference::backward(&network, &weights, &x, None, |b, _| {
                dy[b * 4..(b + 1) * 4].to_vec()
            });
            let step = 1e-6;
            let what = format!("{first:?} {second:?}");
            for (i, dx) in dx.iter().enumerate() {
                let moved = |by: f64| {
                    let mut x = x.clone();
                    x[i] += by;
                    loss(&weights, &x)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                assert!((slope - dx).abs() < 1e-6, "{what} x[{i}]: {dx} for {slope}");
            }
            for (i, got) in got.flat().enumerate() {
                let moved = |by: f64| {
                    let mut w = weights.clone();
                    let parts = [&mut w.w1, &mut w.b1, &mut w.w2, &mut w.b2];
                    *parts.into_iter().flatten().nth(i).unwrap() += by;
                    loss(&w, &x)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                assert!(
                    (slope - got).abs() < 1e-6,
                    "{what} w[{i}]: {got} for {slope}"
                );
            }
        }
    }
}

#[test]
fn derivatives_at_corners_are_the_headers() {
    for zero in [0.0, -0.0] {
        assert_eq!(Activation::Relu.slope(zero), 0.0);
        assert_eq!(Activation::Relu.value(zero).to_bits(), 0);
        assert_eq!(Activation::LeakyRelu(0.25).slope(zero), 0.25);
        assert_eq!(Activation::None.slope(zero), 1.0);
        assert_eq!(Activation::Silu.slope(zero), 0.5);
        assert_eq!(Activation::GeluErf.slope(zero), 0.5);
        assert_eq!(Activation::GeluTanh.slope(zero), 0.5);
        assert_eq!(Activation::Tanh.slope(zero), 1.0);
        assert_eq!(Activation::Sigmoid.slope(zero), 0.25);
    }
    assert_eq!(Activation::Relu.slope(1e-45), 1.0);
    assert_eq!(Activation::Relu.slope(-1e-45), 0.0);
    for activation in ACTIVATIONS {
        assert!(activation.value(f32::NAN).is_nan(), "{activation:?}");
    }
}

#[test]
fn derivatives_are_those_of_f64() {
    for activation in ACTIVATIONS {
        for i in -400..400 {
            let x = i as f32 / 32.0 + 0.01;
            let (value, slope) = reference::activation(activation, f64::from(x), x > 0.0);
            let near =
                |got: f32, want: f64| (f64::from(got) - want).abs() < 4e-6 * (1.0 + want.abs());
            assert!(near(activation.value(x), value), "{activation:?}({x})");
            assert!(near(activation.slope(x), slope), "{activation:?}'({x})");
        }
    }
}

#[test]
fn a_closed_gate_lets_nothing_through() {
    let mut drawn = Drawn::new([1, 1, 1], Activation::Relu, Activation::None);
    drawn.residual = false;
    drawn.parameters = [vec![1.0], vec![0.0], vec![1.0], vec![0.0]];
    let got = backward(&drawn.network(), &[-1.0], &[f32::NAN]);
    assert_eq!(got.parameters.w1, [0.0]);
    assert_eq!(got.dx, [0.0]);
    assert!(got.parameters.b2[0].is_nan());
}

#[test]
fn an_index_is_a_dense_action_of_zeros_and_a_one() {
    let [state, actions, hidden, outputs, batch] = [6, 3, 10, 5, 40];
    let mut drawn = Drawn::new(
        [state + actions, hidden, outputs],
        Activation::Tanh,
        Activation::None,
    );
    drawn.residual = false;
    let x = uniform(batch * state, 11, 1.0);
    let next = uniform(batch * outputs, 12, 1.0);
    let index: Vec<i32> = (0..batch as i32).map(|b| b * 7 % 5 - 1).collect();
    let mut dense = vec![0.0f32; batch * actions];
    for (b, action) in index.iter().enumerate() {
        if (0..actions as i32).contains(action) {
            dense[b * actions + *action as usize] = 1.0;
        }
    }
    let network = drawn.network();
    let a = curiosity_step(&network, &x, Actions::Indexed(&index), &next);
    let b = curiosity_step(&network, &x, Actions::Dense(&dense), &next);
    assert_near("rewards", &a.rewards, &wide(&b.rewards), 1e-6);
    assert_near("loss", &[a.loss], &[f64::from(b.loss)], 1e-6);
    assert_near("w1", &a.parameters.w1, &wide(&b.parameters.w1), 1e-6);
    assert_near("w2", &a.parameters.w2, &wide(&b.parameters.w2), 1e-6);
}

#[test]
fn curiosity_is_the_mean_of_half_squares() {
    let [state, actions, hidden, outputs, batch] = [6, 3, 10, 5, 300];
    let inputs = state + actions;
    let mut drawn = Drawn::new(
        [inputs, hidden, outputs],
        Activation::Silu,
        Activation::Tanh,
    );
    drawn.residual = false;
    let network = drawn.network();
    let x = uniform(batch * state, 11, 1.0);
    let action = uniform(batch * actions, 13, 1.0);
    let next = uniform(batch * outputs, 12, 1.0);
    let got = curiosity_step(&network, &x, Actions::Dense(&action), &next);
    let joined: Vec<f64> = (0..batch)
        .flat_map(|b| {
            let mut row = wide(&x[b * state..(b + 1) * state]);
            row.extend(wide(&action[b * actions..(b + 1) * actions]));
            row
        })
        .collect();
    let weights = Weights::of(&network);
    let y = reference::forward(&network, &weights, &joined);
    let off: Vec<f64> = y.iter().zip(wide(&next)).map(|(y, n)| y - n).collect();
    let rewards: Vec<f64> = off
        .chunks(outputs)
        .map(|d| 0.5 * d.iter().map(|d| d * d).sum::<f64>())
        .collect();
    assert_near("rewards", &got.rewards, &rewards, 1e-5);
    let loss = rewards.iter().sum::<f64>() / batch as f64;
    assert_near("loss", &[got.loss], &[loss], 1e-6);
    let (want, _) = reference::backward(&network, &weights, &joined, None, |b, _| {
        let row = &off[b * outputs..(b + 1) * outputs];
        row.iter().map(|d| d / batch as f64).collect()
    });
    assert_near("w1", &got.parameters.w1, &want.w1, 2e-5);
    assert_near("b2", &got.parameters.b2, &want.b2, 2e-5);
}

#[test]
fn a_step_without_rows_is_nothing() {
    let mut drawn = Drawn::new([3, 2, 1], Activation::Relu, Activation::None);
    drawn.residual = false;
    let got = curiosity_step(&drawn.network(), &[], Actions::Dense(&[]), &[]);
    assert_eq!(got.loss.to_bits(), 0);
    assert_eq!(got.parameters.w1, [0.0; 6]);
    assert_eq!(backward(&drawn.network(), &[], &[]).parameters.b1, [0.0; 2]);
    assert!(forward(&drawn.network(), &[]).is_empty());
}

#[test]
fn a_risk_head_reads_its_sources_side_by_side() {
    let mut drawn = Drawn::new([7, 6, 2], Activation::Tanh, Activation::Tanh);
    drawn.residual = false;
    let network = drawn.network();
    let (h, isv, error) = (uniform(12, 1, 1.0), uniform(6, 2, 1.0), uniform(3, 3, 1.0));
    let got = risk_forward(&network, &h, &isv, &error);
    let joined: Vec<f32> = (0..3)
        .flat_map(|b| [&h[b * 4..b * 4 + 4], &isv[b * 2..b * 2 + 2], &[error[b]]].concat())
        .collect();
    let mut of_kind = network;
    of_kind.first.activation = Activation::Relu;
    of_kind.second.activation = Activation::Sigmoid;
    assert_eq!(got, forward(&of_kind, &joined));
}

#[test]
fn partial_sums_are_a_function_of_the_rows_alone() {
    assert_eq!(oracle::partials(0), [16, 0]);
    assert_eq!(oracle::partials(1), [16, 1]);
    assert_eq!(oracle::partials(2048), [16, 128]);
    assert_eq!(oracle::partials(2049), [32, 65]);
    assert_eq!(oracle::partials(8191), [64, 128]);
    assert_eq!(oracle::partials(8192), [64, 128]);
    assert_eq!(oracle::partials(8193), [80, 103]);
}
