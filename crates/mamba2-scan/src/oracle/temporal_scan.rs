//! The gated scan behind its projections, forward and backward: `m2_temporal_scan_f32`, `m2_scan_backward_f32`.

use exact_math::column::{self, Accumulator, F32x2};
use exact_math::sigmoid_and_complement;

/// Features are summed in groups of four: H counts as the next multiple, with zeros.
const QUAD: usize = 4;
/// Features of a chain, where gradients are computed; the scan itself has one chain of all features.
pub const SPAN: usize = 32;
/// States are taken in groups of sixteen: S counts as the next multiple, with zeros.
pub const STATE_GROUP: usize = 16;
/// Samples of a tile.
pub const TILE: usize = 8;
/// The most partial sums of a weight's gradient.
pub const MAX_PARTIALS: usize = 128;

/// What comes out of the contexts `ctx[b, s]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readout {
    /// `[B, S]`: the contexts themselves.
    Context,
    /// `[B]`: their sum over s.
    Sum,
    /// `[B, H]`: `current[b, j] + ctx[b, j mod S]`.
    TileAdd,
}

/// Sizes and inputs of a scan. Strides are in elements.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct TemporalScan<'a> {
    pub batch: usize,
    pub steps: usize,
    pub features: usize,
    pub states: usize,
    pub readout: Readout,
    /// Between samples of `history`.
    pub history_stride: usize,
    /// Between steps of a sample.
    pub step_stride: usize,
    /// Between samples of `current`.
    pub current_stride: usize,
    /// `[B, K, H]`
    pub history: &'a [f32],
    /// `[B, H]`
    pub current: &'a [f32],
    /// `[H, S]`: of the gate, the input, the readout.
    pub weights: [&'a [f32]; 3],
    /// `[S]`, in the same order.
    pub biases: [Option<&'a [f32]>; 3],
    /// `[B, S]`
    pub initial: Option<&'a [f32]>,
}

/// What a scan gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Scanned {
    /// The readout.
    pub out: Vec<f32>,
    /// `[B, S]`: the state after the last step.
    pub final_state: Vec<f32>,
}

/// Gradients that come in.
#[derive(Debug, Clone, Copy)]
pub struct Upstream<'a> {
    /// Of the readout, shaped like it.
    pub out: &'a [f32],
    /// `[B, S]`: of the final state.
    pub final_state: Option<&'a [f32]>,
}

/// Gradients that come out.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    /// `[H, S]` each: gate, input, readout.
    pub weights: [Vec<f32>; 3],
    /// `[S]` each.
    pub biases: [Vec<f32>; 3],
    /// `[B, K, H]`
    pub history: Vec<f32>,
    /// `[B, H]`
    pub current: Vec<f32>,
    /// `[B, S]`
    pub initial: Vec<f32>,
}

/// Tiles of a partial sum, and how many partial sums there are: functions of the number of samples alone.
pub fn partials(batch: usize) -> [usize; 2] {
    let tiles = batch.div_ceil(TILE);
    let each = tiles.div_ceil(MAX_PARTIALS).max(1);
    [each, tiles.div_ceil(each)]
}

/// One sample's projections and states of one state element.
struct Track {
    gates: Vec<f32>,
    /// x_0 .. x_K
    states: Vec<f32>,
    readout: f32,
}

impl<'a> TemporalScan<'a> {
    /// Packed arrays, no biases, a zero start. Sizes: B, K, H, S.
    pub fn packed(
        [batch, steps, features, states]: [usize; 4],
        history: &'a [f32],
        current: &'a [f32],
        weights: [&'a [f32]; 3],
    ) -> TemporalScan<'a> {
        TemporalScan {
            batch,
            steps,
            features,
            states,
            readout: Readout::Context,
            history_stride: steps * features,
            step_stride: features,
            current_stride: features,
            history,
            current,
            weights,
            biases: [None; 3],
            initial: None,
        }
    }

    /// Elements of the readout.
    pub fn out_len(&self) -> usize {
        self.batch
            * match self.readout {
                Readout::Context => self.states,
                Readout::Sum => 1,
                Readout::TileAdd => self.features,
            }
    }

    fn row(&self, b: usize, t: usize) -> &'a [f32] {
        &self.history[b * self.history_stride + t * self.step_stride..][..self.features]
    }

    fn current_row(&self, b: usize) -> &'a [f32] {
        &self.current[b * self.current_stride..][..self.features]
    }

    /// Fma chains over spans of features, the first from the bias, the others from +0; added in order.
    fn project(&self, row: &[f32], which: usize, s: usize, span: usize) -> f32 {
        let bias = self.biases[which].map_or(0.0, |bias| bias[s]);
        let mut total = 0.0;
        for (i, features) in row.chunks(span).enumerate() {
            let mut sum = if i == 0 { bias } else { 0.0 };
            for (k, h) in features.iter().enumerate() {
                let k = i * span + k;
                sum = h.mul_add(self.weights[which][k * self.states + s], sum);
            }
            if !features.len().is_multiple_of(QUAD) {
                // The zeros behind the last feature.
                sum += 0.0;
            }
            total = if i == 0 { sum } else { total + sum };
        }
        total
    }

    fn track(&self, b: usize, s: usize, span: usize) -> Track {
        let mut x = self.initial.map_or(0.0, |x| x[b * self.states + s]);
        let mut track = Track {
            gates: Vec::with_capacity(self.steps),
            states: vec![x],
            readout: self.project(self.current_row(b), 2, s, span),
        };
        for t in 0..self.steps {
            let gate = self.project(self.row(b, t), 0, s, span);
            let input = self.project(self.row(b, t), 1, s, span);
            x = sigmoid_and_complement(gate).0.mul_add(x, input);
            track.gates.push(gate);
            track.states.push(x);
        }
        track
    }
}

/// The sum of a sample's contexts, in the order of the header.
fn context_sum(contexts: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 4];
    for (group, contexts) in contexts.chunks(STATE_GROUP).enumerate() {
        let at = |s: usize| contexts.get(s).copied().unwrap_or(0.0);
        for (lane, sum) in lanes.iter_mut().enumerate() {
            let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|s| at(lane * 4 + s));
            let quad = (c0 + c1) + (c2 + c3);
            *sum = if group == 0 { quad } else { *sum + quad };
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

/// The scan.
pub fn temporal_scan(p: &TemporalScan<'_>) -> Scanned {
    let mut scanned = Scanned {
        out: Vec::with_capacity(p.out_len()),
        final_state: Vec::with_capacity(p.batch * p.states),
    };
    for b in 0..p.batch {
        let mut contexts = Vec::with_capacity(p.states);
        for s in 0..p.states {
            let track = p.track(b, s, p.features);
            let x = track.states[p.steps];
            contexts.push(track.readout * x);
            scanned.final_state.push(x);
        }
        match p.readout {
            Readout::Context => scanned.out.extend(contexts),
            Readout::Sum => scanned.out.push(context_sum(&contexts)),
            Readout::TileAdd => {
                let row = p.current_row(b).iter().enumerate();
                scanned
                    .out
                    .extend(row.map(|(j, h)| h + contexts[j % p.states]));
            }
        }
    }
    scanned
}

/// Its gradients; parameters' as sums, before they are added to what was there.
pub fn gradients(p: &TemporalScan<'_>, upstream: &Upstream<'_>) -> Gradients {
    let (batch, steps, features, states) = (p.batch, p.steps, p.features, p.states);
    // dA and dV, [B, K, S]; dC, [B, S].
    let mut gates = vec![0.0f32; batch * steps * states];
    let mut inputs = gates.clone();
    let mut readouts = vec![0.0f32; batch * states];
    let mut initial = readouts.clone();
    for b in 0..batch {
        for s in 0..states {
            let g = match p.readout {
                Readout::Context => upstream.out[b * states + s],
                Readout::Sum => upstream.out[b],
                Readout::TileAdd => (s..features)
                    .step_by(states)
                    .fold(0.0, |sum, j| sum + upstream.out[b * features + j]),
            };
            let track = p.track(b, s, SPAN);
            readouts[b * states + s] = g * track.states[steps];
            let from_final = upstream.final_state.map_or(0.0, |x| x[b * states + s]);
            let mut lambda = g.mul_add(track.readout, from_final);
            for t in (0..steps).rev() {
                let (a, rest) = sigmoid_and_complement(track.gates[t]);
                let at = (b * steps + t) * states + s;
                inputs[at] = lambda;
                gates[at] = (lambda * track.states[t]) * (a * rest);
                lambda *= a;
            }
            initial[b * states + s] = lambda;
        }
    }
    // Partial sums: tiles of samples in order; in a tile by step, then by sample.
    let [tiles, count] = partials(batch);
    let weight_count = features * states;
    let columns = 3 * (weight_count + states);
    let mut sums = vec![0.0f32; count * columns];
    for (partial, sums) in sums.chunks_mut(columns.max(1)).enumerate() {
        let (weights, biases) = sums.split_at_mut(3 * weight_count);
        let first = partial * tiles * TILE;
        for tile in (first..(first + tiles * TILE).min(batch)).step_by(TILE) {
            let samples = tile..(tile + TILE).min(batch);
            let mut take = |which: usize, row: &[f32], terms: &[f32]| {
                for (k, h) in row.iter().enumerate() {
                    let sums = &mut weights[which * weight_count + k * states..][..states];
                    for (sum, term) in sums.iter_mut().zip(terms) {
                        *sum = h.mul_add(*term, *sum);
                    }
                }
                for (sum, term) in biases[which * states..].iter_mut().zip(terms) {
                    *sum += term;
                }
            };
            for t in 0..steps {
                for b in samples.clone() {
                    let at = (b * steps + t) * states;
                    take(0, p.row(b, t), &gates[at..at + states]);
                    take(1, p.row(b, t), &inputs[at..at + states]);
                }
            }
            for b in samples {
                let at = b * states;
                take(2, p.current_row(b), &readouts[at..at + states]);
            }
        }
    }
    let column = |at: usize| {
        let mut lanes = [F32x2::ZERO; column::LANES];
        for partial in 0..count {
            let lane = &mut lanes[partial % column::LANES];
            *lane = lane.add(sums[partial * columns + at]);
        }
        exact_math::tree::butterfly(lanes, Accumulator::merge).to_f32()
    };
    let part = |at: usize, len: usize| (at..at + len).map(column).collect::<Vec<f32>>();
    let weights = [0, 1, 2].map(|which| part(which * weight_count, weight_count));
    let biases = [0, 1, 2].map(|which| part(3 * weight_count + which * states, states));
    // Back through the weights: states in groups, with zeros in the places past S.
    let back = |k: usize, pairs: &[(usize, &[f32])]| {
        let mut sum = 0.0f32;
        for group in (0..states).step_by(STATE_GROUP) {
            for &(which, terms) in pairs {
                for s in group..group + STATE_GROUP {
                    sum = match terms.get(s) {
                        Some(term) => p.weights[which][k * states + s].mul_add(*term, sum),
                        None => sum + 0.0,
                    };
                }
            }
        }
        sum
    };
    let mut history = Vec::with_capacity(batch * steps * features);
    for row in 0..batch * steps {
        let of = |terms: &'_ [f32]| terms[row * states..(row + 1) * states].to_vec();
        let (gates, inputs) = (of(&gates), of(&inputs));
        history.extend((0..features).map(|k| back(k, &[(0, &gates), (1, &inputs)])));
    }
    let mut current = Vec::with_capacity(batch * features);
    for b in 0..batch {
        let terms = &readouts[b * states..(b + 1) * states];
        current.extend((0..features).map(|k| {
            let sum = back(k, &[(2, terms)]);
            match p.readout {
                Readout::TileAdd => upstream.out[b * features + k] + sum,
                _ => sum,
            }
        }));
    }
    Gradients {
        weights,
        biases,
        history,
        current,
        initial,
    }
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
