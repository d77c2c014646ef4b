//! What every exact entry returns, to the byte, in plain Rust; and the same formulas in f64 ([`mod@reference`]).
//!
//! The order of every sum is in `mlp.h`.

pub mod reference;

use exact_math::column::{self, Accumulator, F32x2};
use exact_math::{
    gelu_erf, gelu_erf_slope, gelu_tanh, gelu_tanh_slope, sigmoid, sigmoid_and_complement, silu,
    silu_slope, tanh, tanh_slope,
};

/// Terms are summed in groups of four: their number counts as the next multiple, with zeros.
const QUAD: usize = 4;
/// Partial sums have a multiple of this many rows.
pub const PARTIAL_ROWS: usize = 16;
/// The most partial sums of a weight's gradient.
pub const MAX_PARTIALS: usize = 128;

/// What stands behind a layer's sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// Nothing.
    None,
    /// `max(x, 0)`; its derivative at 0 is 0.
    Relu,
    /// `x` above 0, else the slope times `x`; its derivative at 0 is the slope.
    LeakyRelu(f32),
    /// `x sigmoid(x)`
    Silu,
    /// `x Phi(x)`
    GeluErf,
    /// GELU in its tanh form.
    GeluTanh,
    /// The hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^-x)`
    Sigmoid,
}

impl Activation {
    /// Its value.
    pub fn value(self, x: f32) -> f32 {
        match self {
            Activation::None => x,
            Activation::Relu => {
                if x <= 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Activation::LeakyRelu(slope) => {
                if x <= 0.0 {
                    slope * x
                } else {
                    x
                }
            }
            Activation::Silu => silu(x),
            Activation::GeluErf => gelu_erf(x),
            Activation::GeluTanh => gelu_tanh(x),
            Activation::Tanh => tanh(x),
            Activation::Sigmoid => sigmoid(x),
        }
    }

    /// Its derivative.
    pub fn slope(self, x: f32) -> f32 {
        match self {
            Activation::None => 1.0,
            Activation::Relu => {
                if x <= 0.0 {
                    0.0
                } else {
                    1.0
                }
            }
            Activation::LeakyRelu(slope) => {
                if x <= 0.0 {
                    slope
                } else {
                    1.0
                }
            }
            Activation::Silu => silu_slope(x),
            Activation::GeluErf => gelu_erf_slope(x),
            Activation::GeluTanh => gelu_tanh_slope(x),
            Activation::Tanh => tanh_slope(x),
            Activation::Sigmoid => {
                let (a, b) = sigmoid_and_complement(x);
                a * b
            }
        }
    }
}

/// A gradient through a derivative: a closed gate lets nothing through.
fn gated(gradient: f32, slope: f32) -> f32 {
    if slope == 0.0 { 0.0 } else { gradient * slope }
}

/// A layer: `[in, out]` weights, perhaps a bias, an activation.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Layer<'a> {
    pub weights: &'a [f32],
    pub bias: Option<&'a [f32]>,
    pub activation: Activation,
}

/// Sizes and parameters.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Network<'a> {
    /// Rows of the first layer's weights.
    pub inputs: usize,
    pub hidden: usize,
    pub outputs: usize,
    /// Adds the input to the output.
    pub residual: bool,
    pub first: Layer<'a>,
    pub second: Layer<'a>,
}

/// Gradients of the parameters, as sums, before they are added to what was there.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Parameters {
    pub w1: Vec<f32>,
    pub b1: Vec<f32>,
    pub w2: Vec<f32>,
    pub b2: Vec<f32>,
}

/// Gradients that come out.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    /// Of weights and biases.
    pub parameters: Parameters,
    /// `[B, I]`
    pub dx: Vec<f32>,
}

/// What a curiosity step gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Curiosity {
    /// `[B]`
    pub rewards: Vec<f32>,
    /// Their mean.
    pub loss: f32,
    /// Of weights and biases.
    pub parameters: Parameters,
}

/// An action for every row.
#[derive(Debug, Clone, Copy)]
pub enum Actions<'a> {
    /// `[B, A]`
    Dense(&'a [f32]),
    /// `[B]`: which of the A; another number stands for none.
    Indexed(&'a [i32]),
}

/// Chains of a dot product: a function of the number of outputs.
pub fn chains(outputs: usize) -> usize {
    match outputs {
        0..=64 => 4,
        65..=128 => 2,
        _ => 1,
    }
}

/// Rows of a partial sum, and how many there are: functions of the number of rows alone.
pub fn partials(batch: usize) -> [usize; 2] {
    let units = batch.div_ceil(PARTIAL_ROWS);
    let each = units.div_ceil(MAX_PARTIALS).max(1);
    [each * PARTIAL_ROWS, units.div_ceil(each)]
}

/// A dot product for one of `outputs` outputs, in the order of the header.
fn dot(terms: usize, outputs: usize, bias: f32, product: impl Fn(usize, f32) -> f32) -> f32 {
    let chains = chains(outputs);
    let each = terms.div_ceil(QUAD * chains) * QUAD;
    let chain = |j: usize| {
        let mut sum = if j == 0 { bias } else { 0.0 };
        for k in (j * each).min(terms)..((j + 1) * each).min(terms) {
            sum = product(k, sum);
        }
        // The zeros behind the last term.
        if (j * each..(j + 1) * each).contains(&(terms - 1)) && !terms.is_multiple_of(QUAD) {
            sum += 0.0;
        }
        sum
    };
    match chains {
        4 => (chain(0) + chain(1)) + (chain(2) + chain(3)),
        2 => chain(0) + chain(1),
        _ => chain(0),
    }
}

/// One row on its way.
struct Row {
    /// Activated hidden units, and their derivatives.
    hidden: Vec<f32>,
    slopes: Vec<f32>,
    /// Sums of the output layer.
    sums: Vec<f32>,
}

impl Network<'_> {
    /// `x` are the first inputs; an action's row of weights is added last.
    fn row(&self, x: &[f32], action: Option<usize>) -> Row {
        let mut row = Row {
            hidden: Vec::with_capacity(self.hidden),
            slopes: Vec::with_capacity(self.hidden),
            sums: Vec::with_capacity(self.outputs),
        };
        let w1 = self.first.weights;
        for h in 0..self.hidden {
            let bias = self.first.bias.map_or(0.0, |b| b[h]);
            let mut z = dot(x.len(), self.hidden, bias, |k, sum| {
                x[k].mul_add(w1[k * self.hidden + h], sum)
            });
            if let Some(action) = action {
                z += w1[(x.len() + action) * self.hidden + h];
            }
            row.hidden.push(self.first.activation.value(z));
            row.slopes.push(self.first.activation.slope(z));
        }
        for o in 0..self.outputs {
            let bias = self.second.bias.map_or(0.0, |b| b[o]);
            row.sums
                .push(dot(self.hidden, self.outputs, bias, |k, sum| {
                    row.hidden[k].mul_add(self.second.weights[k * self.outputs + o], sum)
                }));
        }
        row
    }

    /// Gradients of the first layer's sums from those of the second's.
    fn back(&self, dz2: &[f32], slopes: &[f32]) -> Vec<f32> {
        let du = |h: usize| {
            dot(self.outputs, self.hidden, 0.0, |k, sum| {
                dz2[k].mul_add(self.second.weights[h * self.outputs + k], sum)
            })
        };
        (0..self.hidden).map(|h| gated(du(h), slopes[h])).collect()
    }
}

/// `[B, O]`: the outputs. `x` is `[B, I]`.
pub fn forward(network: &Network<'_>, x: &[f32]) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len() / network.inputs * network.outputs);
    for x in x.chunks(network.inputs) {
        let sums = network.row(x, None).sums;
        for (o, z) in sums.into_iter().enumerate() {
            let value = network.second.activation.value(z);
            y.push(if network.residual {
                value + x[o]
            } else {
                value
            });
        }
    }
    y
}

/// The sums of both layers before their activations, `[B, H]` and `[B, O]`.
pub fn sums(network: &Network<'_>, x: &[f32]) -> [Vec<f32>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    let mut bare = *network;
    bare.first.activation = Activation::None;
    for x in x.chunks(network.inputs) {
        all[0].extend(bare.row(x, None).hidden);
        all[1].extend(network.row(x, None).sums);
    }
    all
}

/// Terms of a sum over rows.
struct Terms {
    /// Rows of inputs, activated hidden units, and gradients of both layers' sums.
    x: Vec<f32>,
    actions: Option<Vec<Option<usize>>>,
    u: Vec<f32>,
    dz1: Vec<f32>,
    dz2: Vec<f32>,
}

/// The tree over partial sums.
fn over_partials(count: usize, sum_of: impl Fn(usize) -> f32) -> F32x2 {
    let mut lanes = [F32x2::ZERO; column::LANES];
    for partial in 0..count {
        let lane = &mut lanes[partial % column::LANES];
        *lane = lane.add(sum_of(partial));
    }
    exact_math::tree::butterfly(lanes, Accumulator::merge)
}

/// Partial sums of `left^T right` and of `right` over rows, then their sums.
fn weight_sums(
    batch: usize,
    [left_count, right_count]: [usize; 2],
    left: impl Fn(usize, usize) -> Option<f32>,
    indexed: impl Fn(usize, usize) -> bool,
    right: &[f32],
) -> (Vec<f32>, Vec<f32>) {
    let [rows, count] = partials(batch);
    let columns = (left_count + 1) * right_count;
    let mut sums = vec![0.0f32; count * columns];
    for (partial, sums) in sums.chunks_mut(columns).enumerate() {
        for b in partial * rows..((partial + 1) * rows).min(batch) {
            let right = &right[b * right_count..][..right_count];
            for l in 0..=left_count {
                let sums = &mut sums[l * right_count..][..right_count];
                if l == left_count || indexed(b, l) {
                    sums.iter_mut().zip(right).for_each(|(s, r)| *s += r);
                } else if let Some(x) = left(b, l) {
                    for (s, r) in sums.iter_mut().zip(right) {
                        *s = x.mul_add(*r, *s);
                    }
                }
            }
        }
    }
    let mut all: Vec<f32> = (0..columns)
        .map(|c| over_partials(count, |p| sums[p * columns + c]).to_f32())
        .collect();
    let bias = all.split_off(left_count * right_count);
    (all, bias)
}

fn parameter_sums(network: &Network<'_>, batch: usize, terms: &Terms) -> Parameters {
    let dense = terms.x.len().checked_div(batch).unwrap_or(network.inputs);
    let (w1, b1) = weight_sums(
        batch,
        [network.inputs, network.hidden],
        |b, i| (i < dense).then(|| terms.x[b * dense + i]),
        |b, i| {
            let actions = terms.actions.as_ref();
            i >= dense && actions.is_some_and(|a| a[b] == Some(i - dense))
        },
        &terms.dz1,
    );
    let (w2, b2) = weight_sums(
        batch,
        [network.hidden, network.outputs],
        |b, h| Some(terms.u[b * network.hidden + h]),
        |_, _| false,
        &terms.dz2,
    );
    Parameters { w1, b1, w2, b2 }
}

/// All gradients. `x` is `[B, I]`, `dy` `[B, O]`.
pub fn backward(network: &Network<'_>, x: &[f32], dy: &[f32]) -> Gradients {
    let batch = x.len() / network.inputs;
    let mut terms = Terms {
        x: x.to_vec(),
        actions: None,
        u: Vec::new(),
        dz1: Vec::new(),
        dz2: Vec::new(),
    };
    let mut dx = Vec::with_capacity(x.len());
    for (x, dy) in x.chunks(network.inputs).zip(dy.chunks(network.outputs)) {
        let row = network.row(x, None);
        let dz2: Vec<f32> = dy
            .iter()
            .zip(&row.sums)
            .map(|(dy, z)| gated(*dy, network.second.activation.slope(*z)))
            .collect();
        let dz1 = network.back(&dz2, &row.slopes);
        for (i, w) in network.first.weights.chunks(network.hidden).enumerate() {
            let sum = dot(network.hidden, network.inputs, 0.0, |k, sum| {
                dz1[k].mul_add(w[k], sum)
            });
            dx.push(if network.residual { sum + dy[i] } else { sum });
        }
        terms.u.extend(row.hidden);
        terms.dz1.extend(dz1);
        terms.dz2.extend(dz2);
    }
    Gradients {
        parameters: parameter_sums(network, batch, &terms),
        dx,
    }
}

/// The step of a forward model. `state` is `[B, S]`, `next` `[B, O]`; the network's inputs are S and A.
pub fn curiosity_step(
    network: &Network<'_>,
    state: &[f32],
    actions: Actions<'_>,
    next: &[f32],
) -> Curiosity {
    let batch = next.len() / network.outputs;
    let state_dim = state.len().checked_div(batch).unwrap_or(0);
    let action_dim = network.inputs - state_dim;
    let scale = if batch == 0 { 0.0 } else { 1.0 / batch as f32 };
    let mut terms = Terms {
        x: Vec::new(),
        actions: matches!(actions, Actions::Indexed(_)).then(Vec::new),
        u: Vec::new(),
        dz1: Vec::new(),
        dz2: Vec::new(),
    };
    let mut rewards = Vec::with_capacity(batch);
    for (b, next) in next.chunks(network.outputs).enumerate() {
        let mut x = state[b * state_dim..][..state_dim].to_vec();
        let mut action = None;
        match actions {
            Actions::Dense(actions) => x.extend(&actions[b * action_dim..][..action_dim]),
            Actions::Indexed(actions) => {
                action = usize::try_from(actions[b]).ok().filter(|a| *a < action_dim);
            }
        }
        let row = network.row(&x, action);
        let off: Vec<f32> = row
            .sums
            .iter()
            .zip(next)
            .map(|(z, next)| network.second.activation.value(*z) - next)
            .collect();
        let mut squares = 0.0f32;
        for quad in off.chunks(QUAD) {
            squares += quad.iter().fold(0.0f32, |sum, d| d.mul_add(*d, sum));
        }
        rewards.push(0.5 * squares);
        let dz2: Vec<f32> = off
            .iter()
            .zip(&row.sums)
            .map(|(d, z)| gated(d * scale, network.second.activation.slope(*z)))
            .collect();
        terms.dz1.extend(network.back(&dz2, &row.slopes));
        terms.dz2.extend(dz2);
        terms.u.extend(row.hidden);
        terms.x.extend(x);
        if let Some(actions) = &mut terms.actions {
            actions.push(action);
        }
    }
    let [rows, count] = partials(batch);
    let loss = over_partials(count, |p| {
        let rewards = &rewards[p * rows..((p + 1) * rows).min(batch)];
        rewards.iter().fold(0.0, |sum, r| sum + r)
    });
    Curiosity {
        loss: if batch == 0 {
            0.0
        } else {
            loss.divided(batch as u64).to_f32()
        },
        parameters: parameter_sums(network, batch, &terms),
        rewards,
    }
}

/// `[B, O]`: the head over `h` `[B, _]`, `isv` `[B, _]` and `error` `[B]`, side by side. The network's activations are
/// relu and sigmoid.
pub fn risk_forward(network: &Network<'_>, h: &[f32], isv: &[f32], error: &[f32]) -> Vec<f32> {
    let batch = error.len();
    let width = |rows: &[f32]| rows.len().checked_div(batch).unwrap_or(0);
    let (of_h, of_isv) = (width(h), width(isv));
    let mut x = Vec::with_capacity(batch * network.inputs);
    for b in 0..batch {
        x.extend(&h[b * of_h..][..of_h]);
        x.extend(&isv[b * of_isv..][..of_isv]);
        x.push(error[b]);
    }
    let mut network = *network;
    network.first.activation = Activation::Relu;
    network.second.activation = Activation::Sigmoid;
    forward(&network, &x)
}

/// A parameter's gradient after it is added to what was there: `sum` alone for a beta of 0, whatever was there.
pub fn accumulated(beta: f32, before: &[f32], sums: &[f32]) -> Vec<f32> {
    if beta == 0.0 {
        return sums.to_vec();
    }
    let pairs = before.iter().zip(sums);
    pairs
        .map(|(before, sum)| beta.mul_add(*before, *sum))
        .collect()
}
