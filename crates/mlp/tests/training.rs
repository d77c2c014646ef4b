//! A small training run with the exact entries' bytes, beside the same run in f64: a forward model by curiosity steps,
//! and a denoiser by backward calls, by gradient descent with momentum.

use mlp::oracle::reference::{self, Weights};
use mlp::oracle::{
    Actions, Activation, Layer, Network, Parameters, backward, curiosity_step, forward,
};

/// What loss and gradient norm may be off by, relative; the seed asked 5 %.
const WITHIN: f64 = 1e-3;
const RATE: f64 = 0.05;
const MOMENTUM: f64 = 0.9;

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

fn network<'a>(
    [inputs, hidden, outputs]: [usize; 3],
    activation: Activation,
    parameters: &'a [Vec<f32>; 4],
) -> Network<'a> {
    Network {
        inputs,
        hidden,
        outputs,
        residual: false,
        first: Layer {
            weights: &parameters[0],
            bias: Some(&parameters[1]),
            activation,
        },
        second: Layer {
            weights: &parameters[2],
            bias: Some(&parameters[3]),
            activation: Activation::None,
        },
    }
}

fn drawn([inputs, hidden, outputs]: [usize; 3]) -> [Vec<f32>; 4] {
    [
        uniform(inputs * hidden, 1, 1.2 / (inputs as f32).sqrt()),
        vec![0.0; hidden],
        uniform(hidden * outputs, 3, 1.2 / (hidden as f32).sqrt()),
        vec![0.0; outputs],
    ]
}

fn norm(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

fn assert_follows(step: usize, what: &str, got: f64, want: f64) {
    let off = (got - want).abs();
    assert!(
        off <= WITHIN * want.abs(),
        "step {step}: {what} {got} for {want}"
    );
}

/// Both optimisers: parameters and momenta in f32 and in f64.
struct Run {
    parameters: [Vec<f32>; 4],
    momenta: [Vec<f32>; 4],
    wide: Weights,
    wide_momenta: Vec<f64>,
}

impl Run {
    fn new(parameters: [Vec<f32>; 4]) -> Run {
        let [w1, b1, w2, b2] = [0, 1, 2, 3].map(|i: usize| wide(&parameters[i]));
        let count = parameters.iter().map(Vec::len).sum();
        Run {
            momenta: [0, 1, 2, 3].map(|i: usize| vec![0.0; parameters[i].len()]),
            parameters,
            wide: Weights { w1, b1, w2, b2 },
            wide_momenta: vec![0.0; count],
        }
    }

    /// Compares the gradients' norms, then takes a step on each side.
    fn step(&mut self, step: usize, got: &Parameters, want: &Weights) {
        let sums = [&got.w1, &got.b1, &got.w2, &got.b2];
        let flat = sums.into_iter().flatten().map(|x| f64::from(*x));
        assert_follows(step, "gradient norm", norm(flat), norm(want.flat()));
        for (i, sums) in sums.into_iter().enumerate() {
            let places = self.parameters[i].iter_mut().zip(&mut self.momenta[i]);
            for ((w, m), g) in places.zip(sums) {
                *m = (MOMENTUM as f32).mul_add(*m, *g);
                *w = (-RATE as f32).mul_add(*m, *w);
            }
        }
        let w = &mut self.wide;
        let parameters = [&mut w.w1, &mut w.b1, &mut w.w2, &mut w.b2];
        let places = parameters.into_iter().flatten().zip(&mut self.wide_momenta);
        for ((w, m), g) in places.zip(want.flat()) {
            *m = MOMENTUM * *m + g;
            *w -= RATE * *m;
        }
    }
}

#[test]
fn a_forward_model_trains_as_in_f64() {
    const STEPS: usize = 300;
    let [state, actions, hidden, outputs, batch] = [8, 4, 24, 8, 128];
    let sizes = [state + actions, hidden, outputs];
    let mut run = Run::new(drawn(sizes));
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let seed = 100 + step as u32 % 8;
        let x = uniform(batch * state, seed, 1.0);
        let action = uniform(batch * actions, seed + 50, 1.0);
        // The next state: the state turned, pushed by the action.
        let mut next = Vec::new();
        for b in 0..batch {
            for o in 0..outputs {
                let push = action[b * actions + o % actions];
                next.push(0.8 * x[b * state + (o + 1) % state] + 0.5 * push * x[b * state + o]);
            }
        }
        let parameters = run.parameters.clone();
        let network = network(sizes, Activation::Silu, &parameters);
        let got = curiosity_step(&network, &x, Actions::Dense(&action), &next);
        let joined: Vec<f64> = (0..batch)
            .flat_map(|b| {
                let mut row = wide(&x[b * state..(b + 1) * state]);
                row.extend(wide(&action[b * actions..(b + 1) * actions]));
                row
            })
            .collect();
        let next = wide(&next);
        let losses_of_rows = std::cell::RefCell::new(0.0f64);
        let (want, _) = reference::backward(&network, &run.wide, &joined, None, |b, y| {
            let off: Vec<f64> = y
                .iter()
                .zip(&next[b * outputs..])
                .map(|(y, n)| y - n)
                .collect();
            *losses_of_rows.borrow_mut() += 0.5 * off.iter().map(|d| d * d).sum::<f64>();
            off.iter().map(|d| d / batch as f64).collect()
        });
        let loss = losses_of_rows.into_inner() / batch as f64;
        assert_follows(step, "loss", f64::from(got.loss), loss);
        losses.push(loss);
        run.step(step, &got.parameters, &want);
    }
    let (first, last) = (losses[0], losses[STEPS - 1]);
    assert!(last < 0.5 * first, "a loss of {first} came to {last}");
}

#[test]
fn a_denoiser_trains_as_in_f64() {
    const STEPS: usize = 300;
    let sizes @ [inputs, _, outputs] = [12, 24, 12];
    let batch = 128;
    let mut run = Run::new(drawn(sizes));
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let clean = uniform(batch * inputs, 200 + step as u32 % 8, 1.0);
        let noise = uniform(batch * inputs, 300 + step as u32 % 8, 0.3);
        let x: Vec<f32> = clean.iter().zip(&noise).map(|(x, n)| x + n).collect();
        let parameters = run.parameters.clone();
        let network = network(sizes, Activation::Tanh, &parameters);
        let y = forward(&network, &x);
        let scale = 1.0 / batch as f32;
        let dy: Vec<f32> = y.iter().zip(&clean).map(|(y, c)| (y - c) * scale).collect();
        let loss = y
            .iter()
            .zip(&clean)
            .map(|(y, c)| f64::from(y - c).powi(2) / 2.0);
        let loss = loss.sum::<f64>() / batch as f64;
        let got = backward(&network, &x, &dy);
        let clean = wide(&clean);
        let of_rows = std::cell::RefCell::new(0.0f64);
        let (want, _) = reference::backward(&network, &run.wide, &wide(&x), None, |b, y| {
            let off: Vec<f64> = y
                .iter()
                .zip(&clean[b * outputs..])
                .map(|(y, c)| y - c)
                .collect();
            *of_rows.borrow_mut() += 0.5 * off.iter().map(|d| d * d).sum::<f64>();
            off.iter().map(|d| d / batch as f64).collect()
        });
        let wanted = of_rows.into_inner() / batch as f64;
        assert_follows(step, "loss", loss, wanted);
        losses.push(wanted);
        run.step(step, &got.parameters, &want);
    }
    let (first, last) = (losses[0], losses[STEPS - 1]);
    assert!(last < 0.5 * first, "a loss of {first} came to {last}");
}
