//! The scans of the composed path, whose projections are given: `m2_composed_scan_f32`,
//! `m2_composed_scan_backward_f32`.

use super::temporal_scan::{Readout, Scanned, Upstream};
use exact_math::sigmoid_and_complement;

/// Sizes and inputs of a scan of given projections.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ComposedScan<'a> {
    pub batch: usize,
    pub steps: usize,
    pub features: usize,
    pub states: usize,
    pub readout: Readout,
    /// Between samples of `current`, in elements.
    pub current_stride: usize,
    /// `[B, K, 2 S]`: gates, then inputs, without their biases.
    pub projections: &'a [f32],
    /// `[B, S]`, without its bias.
    pub readouts: &'a [f32],
    /// `[B, H]`; read by [`Readout::TileAdd`] alone.
    pub current: &'a [f32],
    /// `[S]`: of the gate, the input, the readout.
    pub biases: [Option<&'a [f32]>; 3],
    /// `[B, S]`
    pub initial: Option<&'a [f32]>,
}

/// Gradients of the projections.
#[derive(Debug, Clone, PartialEq)]
pub struct Projections {
    /// `[B, K, 2 S]`: of gates, then of inputs.
    pub projections: Vec<f32>,
    /// `[B, S]`
    pub readouts: Vec<f32>,
    /// `[B, S]`: of x_0.
    pub initial: Vec<f32>,
}

impl ComposedScan<'_> {
    /// With its bias, if it has one.
    fn biased(&self, sum: f32, which: usize, s: usize) -> f32 {
        self.biases[which].map_or(sum, |bias| sum + bias[s])
    }

    fn row(&self, b: usize, t: usize) -> usize {
        (b * self.steps + t) * 2 * self.states
    }

    fn gate(&self, b: usize, t: usize, s: usize) -> f32 {
        self.biased(self.projections[self.row(b, t) + s], 0, s)
    }

    fn readout_of(&self, b: usize, s: usize) -> f32 {
        self.biased(self.readouts[b * self.states + s], 2, s)
    }

    /// x_0 .. x_K of one state.
    fn track(&self, b: usize, s: usize) -> Vec<f32> {
        let mut x = self.initial.map_or(0.0, |x| x[b * self.states + s]);
        let mut states = vec![x];
        for t in 0..self.steps {
            let a = sigmoid_and_complement(self.gate(b, t, s)).0;
            let input = self.projections[self.row(b, t) + self.states + s];
            x = a.mul_add(x, self.biased(input, 1, s));
            states.push(x);
        }
        states
    }
}

/// The scan.
///
/// # Panics
/// For [`Readout::Sum`], which the entry refuses.
pub fn scan(p: &ComposedScan<'_>) -> Scanned {
    let mut out = Vec::new();
    let mut final_state = Vec::with_capacity(p.batch * p.states);
    for b in 0..p.batch {
        let last = (0..p.states).map(|s| p.track(b, s)[p.steps]);
        final_state.extend(last);
        let last = &final_state[b * p.states..];
        let context = |s: usize| p.readout_of(b, s) * last[s];
        match p.readout {
            Readout::Context => out.extend((0..p.states).map(context)),
            Readout::Sum => panic!("a sum of contexts is a matrix product, not a scan's"),
            Readout::TileAdd => {
                let current = &p.current[b * p.current_stride..][..p.features];
                let row = current.iter().enumerate();
                out.extend(row.map(|(j, h)| h + context(j % p.states)));
            }
        }
    }
    Scanned { out, final_state }
}

/// Its gradients.
pub fn backward(p: &ComposedScan<'_>, upstream: &Upstream<'_>) -> Projections {
    let mut gradients = Projections {
        projections: vec![0.0; p.projections.len()],
        readouts: vec![0.0; p.batch * p.states],
        initial: vec![0.0; p.batch * p.states],
    };
    for b in 0..p.batch {
        for s in 0..p.states {
            let at = b * p.states + s;
            let states = p.track(b, s);
            let g = match p.readout {
                Readout::Context => upstream.out[at],
                Readout::Sum => upstream.out[b],
                Readout::TileAdd => (s..p.features)
                    .step_by(p.states)
                    .fold(0.0, |sum, j| sum + upstream.out[b * p.features + j]),
            };
            gradients.readouts[at] = g * states[p.steps];
            let from_final = upstream.final_state.map_or(0.0, |x| x[at]);
            let mut lambda = g.mul_add(p.readout_of(b, s), from_final);
            for t in (0..p.steps).rev() {
                let (a, complement) = sigmoid_and_complement(p.gate(b, t, s));
                let row = p.row(b, t) + s;
                gradients.projections[row] = (lambda * states[t]) * (a * complement);
                gradients.projections[row + p.states] = lambda;
                lambda *= a;
            }
            gradients.initial[at] = lambda;
        }
    }
    gradients
}
