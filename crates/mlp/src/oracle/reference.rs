//! The formulas in f64, in no particular order of sums: what the oracle's arithmetic is near.

use super::{Activation, Network};

/// The error function: its series near 0, the continued fraction of its complement elsewhere; about 1e-15.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a < 2.5 {
        let (mut term, mut sum) = (a, a);
        let mut k = 0.0;
        while term.abs() > 1e-18 {
            k += 1.0;
            term *= -a * a / k;
            sum += term / (2.0 * k + 1.0);
        }
        return (sum * std::f64::consts::FRAC_2_SQRT_PI).copysign(x);
    }
    let fraction = (1..=60).rev().fold(a, |f, k| a + f64::from(k) / 2.0 / f);
    let complement = (-a * a).exp() / (fraction * std::f64::consts::PI.sqrt());
    (1.0 - complement).copysign(x)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// GELU's tanh form is `x sigmoid(x (C1 + C3 x^2))`.
fn gelu_argument(x: f64) -> (f64, f64) {
    let c1 = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
    let c3 = 0.044715 * c1;
    (x * (c1 + c3 * x * x), c1 + 3.0 * c3 * x * x)
}

/// The activation and its derivative; `positive` is the side of the corner.
pub fn activation(activation: Activation, x: f64, positive: bool) -> (f64, f64) {
    match activation {
        Activation::None => (x, 1.0),
        Activation::Relu => {
            if positive {
                (x, 1.0)
            } else {
                (0.0, 0.0)
            }
        }
        Activation::LeakyRelu(slope) => {
            let slope = f64::from(slope);
            if positive {
                (x, 1.0)
            } else {
                (slope * x, slope)
            }
        }
        Activation::Silu => {
            let a = sigmoid(x);
            (x * a, a * (1.0 + x * (1.0 - a)))
        }
        Activation::GeluErf => {
            let phi = 0.5 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2));
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            (x * phi, phi + x * density)
        }
        Activation::GeluTanh => {
            let (v, slope) = gelu_argument(x);
            let a = sigmoid(v);
            (x * a, a * (1.0 + (1.0 - a) * x * slope))
        }
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
        Activation::Sigmoid => {
            let a = sigmoid(x);
            (a, a * (1.0 - a))
        }
    }
}

/// Parameters in f64.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Weights {
    pub w1: Vec<f64>,
    pub b1: Vec<f64>,
    pub w2: Vec<f64>,
    pub b2: Vec<f64>,
}

impl Weights {
    /// Those of a network; missing biases are zeros.
    pub fn of(network: &Network<'_>) -> Weights {
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        Weights {
            w1: wide(network.first.weights),
            b1: network.first.bias.map_or(vec![0.0; network.hidden], wide),
            w2: wide(network.second.weights),
            b2: network.second.bias.map_or(vec![0.0; network.outputs], wide),
        }
    }

    /// As one row of numbers: w1, b1, w2, b2.
    pub fn flat(&self) -> impl Iterator<Item = f64> + '_ {
        let parts = [&self.w1, &self.b1, &self.w2, &self.b2];
        parts.into_iter().flatten().copied()
    }
}

/// One row's values.
struct Row {
    u: Vec<f64>,
    slopes: Vec<f64>,
    y: Vec<f64>,
    y_slopes: Vec<f64>,
}

/// The sides of the corners, `[hidden, outputs]`, of one row: given, or those of the f64 sums.
pub type Sides<'a> = Option<[&'a [f32]; 2]>;

fn row(network: &Network<'_>, w: &Weights, x: &[f64], sides: Sides<'_>) -> Row {
    let layer = |x: &[f64], w: &[f64], b: &[f64], kind, sides: Option<&[f32]>| {
        let width = b.len();
        let pairs = (0..width).map(|n| {
            let z = x
                .iter()
                .enumerate()
                .fold(b[n], |sum, (k, x)| sum + x * w[k * width + n]);
            activation(kind, z, sides.map_or(z > 0.0, |sides| sides[n] > 0.0))
        });
        pairs.unzip::<f64, f64, Vec<f64>, Vec<f64>>()
    };
    let (u, slopes) = layer(
        x,
        &w.w1,
        &w.b1,
        network.first.activation,
        sides.map(|s| s[0]),
    );
    let (mut y, y_slopes) = layer(
        &u,
        &w.w2,
        &w.b2,
        network.second.activation,
        sides.map(|s| s[1]),
    );
    if network.residual {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
    }
    Row {
        u,
        slopes,
        y,
        y_slopes,
    }
}

/// `[B, O]`
pub fn forward(network: &Network<'_>, w: &Weights, x: &[f64]) -> Vec<f64> {
    x.chunks(network.inputs)
        .flat_map(|x| row(network, w, x, None).y)
        .collect()
}

/// All gradients, with `dy` a function of a row's number and outputs: parameters', `[B, I]`.
pub fn backward(
    network: &Network<'_>,
    w: &Weights,
    x: &[f64],
    sides: Option<[&[f32]; 2]>,
    dy: impl Fn(usize, &[f64]) -> Vec<f64>,
) -> (Weights, Vec<f64>) {
    let (inputs, hidden, outputs) = (network.inputs, network.hidden, network.outputs);
    let mut sums = Weights {
        w1: vec![0.0; inputs * hidden],
        b1: vec![0.0; hidden],
        w2: vec![0.0; hidden * outputs],
        b2: vec![0.0; outputs],
    };
    let mut dx = Vec::with_capacity(x.len());
    for (b, x) in x.chunks(inputs).enumerate() {
        let sides = sides.map(|[z1, z2]| {
            [
                &z1[b * hidden..(b + 1) * hidden],
                &z2[b * outputs..(b + 1) * outputs],
            ]
        });
        let row = row(network, w, x, sides);
        let dy = dy(b, &row.y);
        let dz2: Vec<f64> = dy.iter().zip(&row.y_slopes).map(|(d, s)| d * s).collect();
        let dz1: Vec<f64> = (0..hidden)
            .map(|h| {
                let terms = dz2.iter().zip(&w.w2[h * outputs..]);
                terms.map(|(d, w)| d * w).sum::<f64>() * row.slopes[h]
            })
            .collect();
        for (o, d) in dz2.iter().enumerate() {
            sums.b2[o] += d;
            for (h, u) in row.u.iter().enumerate() {
                sums.w2[h * outputs + o] += u * d;
            }
        }
        for (h, d) in dz1.iter().enumerate() {
            sums.b1[h] += d;
            for (i, x) in x.iter().enumerate() {
                sums.w1[i * hidden + h] += x * d;
            }
        }
        for (i, w) in w.w1.chunks(hidden).enumerate() {
            let sum = dz1.iter().zip(w).map(|(d, w)| d * w).sum::<f64>();
            dx.push(if network.residual { sum + dy[i] } else { sum });
        }
    }
    (sums, dx)
}
