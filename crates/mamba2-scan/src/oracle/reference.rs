//! The gated scan in `f64`, and how far the fast entries may be from it: the bounds of `mamba2_scan.h`, carried through
//! the scan.

use super::temporal_scan::{Readout, TILE, TemporalScan, Upstream, partials};

/// How the fast entries multiply: `m2_precision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Three TF32 products.
    ThreeTf32,
    /// One.
    Tf32,
}

/// A value and how far a result may be from it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Near {
    /// The formula's.
    pub value: f64,
    /// The largest error.
    pub bound: f64,
}

/// What a scan gives.
#[derive(Debug, Clone)]
pub struct ScannedNear {
    /// As [`Scanned::out`](super::temporal_scan::Scanned).
    pub out: Vec<Near>,
    /// `[B, S]`
    pub final_state: Vec<Near>,
}

/// Gradients that come out, as [`Gradients`](super::temporal_scan::Gradients).
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct GradientsNear {
    pub weights: [Vec<Near>; 3],
    pub biases: [Vec<Near>; 3],
    pub history: Vec<Near>,
    pub current: Vec<Near>,
    pub initial: Vec<Near>,
}

/// Half the distance of neighbours at 1.
const U: f64 = 1.0 / (1u64 << 24) as f64;
/// The smallest step of f32, twice.
const STEP: f64 = f64::from_bits((1023 - 148) << 52);
/// What a product may lose where the unit takes subnormals for zero, of `|a| + |b| + 1`.
const TINY: f64 = f64::from_bits((1023 - 125) << 52);
/// Of an instruction that adds eight products: ten addends cut off below 2^-23.
const INSTRUCTION: f64 = 20.0 * U;
/// Biases, parts and partial sums.
const FEW: f64 = 32.0 * U;
/// The prelude's sigmoid: four units in the last place.
const SIGMOID: f64 = 8.0 * U;
/// A scan of eight steps in any order of composition, and what is around it.
const SCAN: f64 = 16.0 * U;

impl Precision {
    /// What three or one product leave out of a b, of `|a b|`.
    fn product(self) -> f64 {
        match self {
            Precision::ThreeTf32 => 8.0 * U,
            Precision::Tf32 => 16384.0 * U + 4.0 * U,
        }
    }

    /// Of the sum of the terms' magnitudes, for so many instructions of eight products into one sum, were each product
    /// one multiplication. Gradients take all three of a product into one sum.
    fn gradient(self, instructions: usize) -> f64 {
        let each = match self {
            Precision::ThreeTf32 => 3,
            Precision::Tf32 => 1,
        };
        self.product() + (each * instructions) as f64 * INSTRUCTION + FEW
    }
}

impl Near {
    fn exact(value: f32) -> Near {
        Near {
            value: value.into(),
            bound: 0.0,
        }
    }

    /// The largest magnitude.
    fn most(self) -> f64 {
        self.value.abs() + self.bound
    }

    /// Their product in f32.
    fn times(self, other: Near) -> Near {
        let value = self.value * other.value;
        let most = self.most() * other.most();
        Near {
            value,
            bound: self.bound * other.most()
                + self.value.abs() * other.bound
                + 2.0 * U * most
                + STEP,
        }
    }

    /// Their sum in f32.
    fn plus(self, other: Near) -> Near {
        Near {
            value: self.value + other.value,
            bound: self.bound + other.bound + 2.0 * U * (self.most() + other.most()) + STEP,
        }
    }

    /// A bound that is one: NaN promises nothing but NaN.
    fn settled(self) -> Near {
        let bound = match (self.value.is_finite(), self.bound.is_nan()) {
            (false, _) => 0.0,
            (true, true) => f64::INFINITY,
            (true, false) => self.bound,
        };
        Near { bound, ..self }
    }
}

fn settled(values: Vec<Near>) -> Vec<Near> {
    values.into_iter().map(Near::settled).collect()
}

/// A sum of products, and what its bound is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Products {
    value: f64,
    /// Of the terms' magnitudes.
    most: f64,
    /// What the factors' own errors make.
    inherited: f64,
    tiny: f64,
}

impl Products {
    fn add(&mut self, a: Near, b: Near) {
        self.value += a.value * b.value;
        self.most += a.most() * b.most();
        self.inherited += a.bound * b.most() + a.value.abs() * b.bound;
        self.tiny += a.most() + b.most() + 1.0;
    }

    fn near(self, relative: f64) -> Near {
        Near {
            value: self.value,
            bound: self.inherited + relative * self.most + TINY * self.tiny,
        }
    }
}

/// A gate's value, complement and slope.
struct Gate {
    value: Near,
    slope: Near,
}

fn gate(x: Near) -> Gate {
    let z = (-x.value.abs()).exp();
    let (large, small) = (1.0 / (1.0 + z), z / (1.0 + z));
    let value = if x.value < 0.0 { small } else { large };
    let slope = large * small;
    // Both the sigmoid's slope and that slope's own change by at most e^d over a distance of d.
    let grown = slope * x.bound.exp_m1();
    let moved = grown.min(x.bound / 4.0).min(1.0);
    let bent = grown.min(0.25);
    let nan = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    Gate {
        value: Near {
            value: if x.value.is_nan() { f64::NAN } else { value },
            bound: nan(moved + SIGMOID * (value + moved) + STEP),
        },
        slope: Near {
            value: slope,
            bound: nan(bent + 3.0 * SIGMOID * (slope + bent) + STEP),
        },
    }
}

/// One state of one sample.
struct Track {
    gates: Vec<Gate>,
    /// x_0 .. x_K
    states: Vec<Near>,
    readout: Near,
}

/// A scan with its contents in `f64`.
struct Reference<'a> {
    scan: &'a TemporalScan<'a>,
    precision: Precision,
}

impl Reference<'_> {
    fn row(&self, b: usize, t: usize) -> &[f32] {
        let p = self.scan;
        &p.history[b * p.history_stride + t * p.step_stride..][..p.features]
    }

    fn current_row(&self, b: usize) -> &[f32] {
        let p = self.scan;
        &p.current[b * p.current_stride..][..p.features]
    }

    /// All states' projections of a row.
    fn project(&self, row: &[f32], which: usize) -> Vec<Near> {
        let p = self.scan;
        let mut sums: Vec<Products> = (0..p.states)
            .map(|s| {
                let bias = p.biases[which].map_or(0.0, |bias| f64::from(bias[s]));
                Products {
                    value: bias,
                    most: bias.abs(),
                    ..Products::default()
                }
            })
            .collect();
        let mut features = 0.0;
        for (h, weights) in row.iter().zip(p.weights[which].chunks(p.states)) {
            let h = f64::from(*h);
            features += h.abs() + 1.0;
            for (sum, w) in sums.iter_mut().zip(weights) {
                let w = f64::from(*w);
                sum.value += h * w;
                sum.most += (h * w).abs();
                sum.tiny += w.abs();
            }
        }
        let instructions = p.features.div_ceil(8) as f64 * INSTRUCTION;
        let relative = self.precision.product() + instructions + FEW;
        sums.into_iter()
            .map(|mut sum| {
                sum.tiny += features;
                sum.near(relative)
            })
            .collect()
    }

    /// A sample's states.
    fn tracks(&self, b: usize) -> Vec<Track> {
        let p = self.scan;
        let readouts = self.project(self.current_row(b), 2);
        let gates: Vec<_> = (0..p.steps)
            .map(|t| self.project(self.row(b, t), 0))
            .collect();
        let inputs: Vec<_> = (0..p.steps)
            .map(|t| self.project(self.row(b, t), 1))
            .collect();
        (0..p.states)
            .map(|s| {
                let mut x = Near::exact(p.initial.map_or(0.0, |x| x[b * p.states + s]));
                // What the sum of the magnitudes comes to: compositions of steps round each of them.
                let mut most = x.most();
                let mut track = Track {
                    gates: Vec::with_capacity(p.steps),
                    states: vec![x],
                    readout: readouts[s],
                };
                for t in 0..p.steps {
                    let a = gate(gates[t][s]);
                    let v = inputs[t][s];
                    most = a.value.most() * most + v.most();
                    x = Near {
                        value: a.value.value * x.value + v.value,
                        bound: a.value.bound * x.most()
                            + a.value.value * x.bound
                            + v.bound
                            + SCAN * most
                            + STEP,
                    };
                    track.gates.push(a);
                    track.states.push(x);
                }
                track
            })
            .collect()
    }
}

/// The scan, and the bounds of `m2_temporal_scan_fast_f32`.
pub fn temporal_scan(p: &TemporalScan<'_>, precision: Precision) -> ScannedNear {
    let reference = Reference { scan: p, precision };
    let mut out = Vec::with_capacity(p.out_len());
    let mut final_state = Vec::with_capacity(p.batch * p.states);
    for b in 0..p.batch {
        let tracks = reference.tracks(b);
        let last = tracks.iter().map(|track| track.states[p.steps]);
        final_state.extend(last.clone());
        let contexts: Vec<Near> = tracks
            .iter()
            .zip(last)
            .map(|(track, x)| track.readout.times(x))
            .collect();
        match p.readout {
            Readout::Context => out.extend(contexts),
            Readout::Sum => {
                let most: f64 = contexts.iter().map(|c| c.most()).sum();
                let bound: f64 = contexts.iter().map(|c| c.bound).sum();
                out.push(Near {
                    value: contexts.iter().map(|c| c.value).sum(),
                    bound: bound + FEW * 2.0 * most,
                });
            }
            Readout::TileAdd => {
                let row = reference.current_row(b).iter().enumerate();
                out.extend(row.map(|(j, h)| Near::exact(*h).plus(contexts[j % p.states])));
            }
        }
    }
    ScannedNear {
        out: settled(out),
        final_state: settled(final_state),
    }
}

/// Its gradients, and the bounds of `m2_scan_backward_fast_f32`; parameters' as sums, before they are added to what was
/// there.
pub fn gradients(
    p: &TemporalScan<'_>,
    upstream: &Upstream<'_>,
    precision: Precision,
) -> GradientsNear {
    let reference = Reference { scan: p, precision };
    let (batch, steps, features, states) = (p.batch, p.steps, p.features, p.states);
    let mut gates = vec![Near::default(); batch * steps * states];
    let mut inputs = gates.clone();
    let mut readouts = vec![Near::default(); batch * states];
    let mut initial = readouts.clone();
    for b in 0..batch {
        for (s, track) in reference.tracks(b).into_iter().enumerate() {
            let g = match p.readout {
                Readout::Context => Near::exact(upstream.out[b * states + s]),
                Readout::Sum => Near::exact(upstream.out[b]),
                Readout::TileAdd => {
                    let terms = (s..features).step_by(states);
                    let terms = terms.map(|j| f64::from(upstream.out[b * features + j]));
                    let most: f64 = terms.clone().map(f64::abs).sum();
                    Near {
                        value: terms.clone().sum(),
                        bound: terms.count() as f64 * U * most,
                    }
                }
            };
            readouts[b * states + s] = g.times(track.states[steps]);
            let from_final = upstream.final_state.map_or(0.0, |x| x[b * states + s]);
            let mut lambda = g.times(track.readout).plus(Near::exact(from_final));
            for t in (0..steps).rev() {
                let a = &track.gates[t];
                let at = (b * steps + t) * states + s;
                inputs[at] = lambda;
                gates[at] = lambda.times(track.states[t]).times(a.slope);
                lambda = lambda.times(a.value);
            }
            initial[b * states + s] = lambda;
        }
    }
    // Sums over samples and steps: one instruction for eight steps of a sample, and for four samples of current.
    let [tiles, _] = partials(batch);
    let of_partial = tiles * TILE;
    let of_history = precision.gradient(of_partial * steps.div_ceil(8));
    let of_current = precision.gradient(of_partial.div_ceil(4));
    let weights_of = |rows: Vec<&[f32]>, terms: &[Near], relative: f64| -> Vec<Near> {
        let mut sums = vec![Products::default(); features * states];
        for (row, terms) in rows.into_iter().zip(terms.chunks(states)) {
            for (h, sums) in row.iter().zip(sums.chunks_mut(states)) {
                let h = Near::exact(*h);
                for (sum, term) in sums.iter_mut().zip(terms) {
                    sum.add(h, *term);
                }
            }
        }
        sums.into_iter().map(|sum| sum.near(relative)).collect()
    };
    let history_rows = || -> Vec<&[f32]> {
        (0..batch * steps)
            .map(|row| reference.row(row / steps, row % steps))
            .collect()
    };
    let current_rows = (0..batch).map(|b| reference.current_row(b)).collect();
    let weights = [
        weights_of(history_rows(), &gates, of_history),
        weights_of(history_rows(), &inputs, of_history),
        weights_of(current_rows, &readouts, of_current),
    ];
    let biases_of = |terms: &[Near], chain: usize| -> Vec<Near> {
        let column = |s: usize| terms.iter().skip(s).step_by(states);
        (0..states)
            .map(|s| {
                let most: f64 = column(s).map(|term| term.most()).sum();
                let bound: f64 = column(s).map(|term| term.bound).sum();
                Near {
                    value: column(s).map(|term| term.value).sum(),
                    bound: bound + (chain as f64 * U + FEW) * most,
                }
            })
            .collect()
    };
    let biases = [
        biases_of(&gates, of_partial * steps),
        biases_of(&inputs, of_partial * steps),
        biases_of(&readouts, of_partial),
    ];
    // Back through the weights: one instruction for eight states of gate or input.
    let back = |k: usize, pairs: &[(usize, &[Near])], relative: f64| {
        let mut sum = Products::default();
        for &(which, terms) in pairs {
            for (s, term) in terms.iter().enumerate() {
                sum.add(Near::exact(p.weights[which][k * states + s]), *term);
            }
        }
        sum.near(relative)
    };
    let of_states = states.div_ceil(16) * 2;
    let mut history = Vec::with_capacity(batch * steps * features);
    let relative = precision.gradient(2 * of_states);
    for (gates, inputs) in gates.chunks(states).zip(inputs.chunks(states)) {
        let row = (0..features).map(|k| back(k, &[(0, gates), (1, inputs)], relative));
        history.extend(row);
    }
    let mut current = Vec::with_capacity(batch * features);
    let relative = precision.gradient(of_states);
    for (b, terms) in readouts.chunks(states).enumerate() {
        current.extend((0..features).map(|k| {
            let sum = back(k, &[(2, terms)], relative);
            match p.readout {
                Readout::TileAdd => Near::exact(upstream.out[b * features + k]).plus(sum),
                _ => sum,
            }
        }));
    }
    GradientsNear {
        weights: weights.map(settled),
        biases: biases.map(settled),
        history: settled(history),
        current: settled(current),
        initial: settled(initial),
    }
}

/// A parameter's gradient after it is added to what was there.
pub fn accumulated(beta: f32, before: &[f32], sums: &[Near]) -> Vec<Near> {
    if beta == 0.0 {
        return sums.to_vec();
    }
    let pairs = before.iter().zip(sums);
    let added = pairs.map(|(before, sum)| {
        let before = Near {
            value: f64::from(beta) * f64::from(*before),
            bound: 0.0,
        };
        before.plus(*sum)
    });
    settled(added.collect())
}
