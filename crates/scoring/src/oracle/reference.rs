//! The textbook formula in f64, and how far an f32 evaluation may be from it.

use super::{Elements, Problem};
use crate::Similarity;

/// Half an ulp of 1 in f32: the relative error of one rounding.
const U: f64 = 1.0 / (1u64 << 24) as f64;
/// The least subnormal f32: the absolute error of one rounding near zero.
const LEAST: f64 = f32::from_bits(1) as f64;
/// 2^-50, the norm below which a vector is scaled.
const SMALLEST_UNSCALED_NORM: f64 = 1.0 / (1u64 << 50) as f64;
/// 2^-120: a cosine whose floor is 2^128 times its vector's largest element is below it.
const LOST_TO_A_FLOOR: f64 = f32::from_bits((127 - 120) << 23) as f64;

/// A value by the formula, and a bound on the error of computing it in f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The formula's value.
    pub value: f64,
    /// How far an f32 evaluation may be from it.
    pub bound: f64,
}

impl Bounded {
    const EXACT_ZERO: Bounded = Bounded {
        value: 0.0,
        bound: 0.0,
    };
    const MINUS_INFINITY: Bounded = Bounded {
        value: f64::NEG_INFINITY,
        bound: 0.0,
    };

    /// Whether `x` is within the bound; an infinity must be met exactly.
    pub fn admits(&self, x: f32) -> bool {
        let x = f64::from(x);
        x == self.value || (x - self.value).abs() <= self.bound
    }
}

/// What [`score_into`](super::score_into) approximates. Per-candidate entries that belong to no
/// question are exact zeros.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Per candidate.
    pub probabilities: Vec<Bounded>,
    /// Per candidate.
    pub logits: Vec<Bounded>,
    /// Per candidate.
    pub log_probabilities: Vec<Bounded>,
    /// `[Q]`.
    pub log_sum_exp: Vec<Bounded>,
    /// `[Q]`.
    pub expected_index: Vec<Bounded>,
}

/// Evaluates the formula. Defined for finite elements and legal scales and temperatures.
///
/// # Panics
/// When a slice is shorter than the problem's sizes say.
pub fn reference(problem: &Problem<'_>) -> Reference {
    let per_candidate = vec![Bounded::EXACT_ZERO; problem.positions()];
    let mut result = Reference {
        probabilities: per_candidate.clone(),
        logits: per_candidate.clone(),
        log_probabilities: per_candidate,
        log_sum_exp: Vec::new(),
        expected_index: Vec::new(),
    };
    for i in 0..problem.questions {
        let span = problem.span(i).unwrap_or(0..0);
        let logits: Vec<Bounded> = span
            .clone()
            .enumerate()
            .map(|(k, position)| logit(problem, i, k, position))
            .collect();
        let softmax = Softmax::of(&logits);
        result.log_sum_exp.push(softmax.log_sum_exp);
        let mut expected = Bounded::EXACT_ZERO;
        for ((k, logit), position) in logits.iter().enumerate().zip(span) {
            let p = softmax.probability(logit);
            expected.value += k as f64 * p.value;
            expected.bound += k as f64 * (p.bound + softmax.roundings * U * p.value);
            result.logits[position] = *logit;
            result.probabilities[position] = p;
            result.log_probabilities[position] = softmax.log_probability(logit);
        }
        result.expected_index.push(expected);
    }
    result
}

fn row(elements: &Elements<'_>, start: usize, dim: usize) -> Vec<f64> {
    elements
        .row(start, dim)
        .iter()
        .map(|&x| f64::from(x))
        .collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn logit(problem: &Problem<'_>, i: usize, k: usize, position: usize) -> Bounded {
    let masked = problem.mask.is_some_and(|mask| mask[position] == 0);
    let Some((stored, start)) = problem.row(i, k, position).filter(|_| !masked) else {
        return Bounded::MINUS_INFINITY;
    };
    let q = row(&problem.queries, i * problem.query_stride, problem.dim);
    let c = row(&problem.candidates, start, problem.dim);
    let dot: f64 = q.iter().zip(&c).map(|(q, c)| q * c).sum();
    let magnitude: f64 = q.iter().zip(&c).map(|(q, c)| (q * c).abs()).sum();
    // What one multiplies the dot product with for each of the two vectors; and the same where no
    // product is lost to underflow, because smaller norms than 2^-50 are computed on a scaled vector.
    let factor = |x: &[f64], inverse: Option<f32>, eps: f32| match inverse {
        Some(inverse) => (f64::from(inverse), f64::from(inverse.abs())),
        None => match norm(x).max(f64::from(eps)) {
            0.0 => (0.0, 0.0),
            norm => (1.0 / norm, 1.0 / norm.max(SMALLEST_UNSCALED_NORM)),
        },
    };
    let (factors, unscaled) = match problem.similarity {
        Similarity::Dot => (1.0, 1.0),
        Similarity::Cosine { eps } => {
            let q = factor(&q, problem.query_inverse_norms.map(|n| n[i]), eps);
            let c = factor(&c, problem.candidate_inverse_norms.map(|n| n[stored]), eps);
            (q.0 * c.0, q.1 * c.1)
        }
    };
    let scale = f64::from(problem.scales.map_or(problem.scale, |s| s[i]));
    let temperature = f64::from(problem.temperatures.map_or(problem.temperature, |t| t[i]));
    let bias = f64::from(problem.bias.map_or(0.0, |bias| bias[position]));

    // Four terms in a chain, two sums, a sum for each segment, five steps of the butterfly; then
    // two norms, each a root of such a sum, and two divisions.
    let dim = problem.dim as f64;
    let roundings = dim / 512.0 + 16.0;
    let value = dot * factors;
    // Products near zero lose up to half the least subnormal each; a floor that overflows when it
    // is scaled takes a value near zero with it.
    let near_zero = dim * (LEAST * unscaled + LOST_TO_A_FLOOR);
    let value_bound = roundings * U * (magnitude * factors.abs() + value.abs()) + near_zero;
    let scaled = value * scale / temperature;
    let bound = value_bound * scale / temperature
        + 3.0 * U * scaled.abs()
        + LEAST * (1.0 + 1.0 / temperature);
    let logit = scaled + bias;
    Bounded {
        value: logit,
        bound: bound + U * logit.abs(),
    }
}

struct Softmax {
    max: f64,
    log_sum_exp: Bounded,
    /// The largest error of any logit.
    logit_error: f64,
    /// Relative roundings of the sum of exponentials.
    roundings: f64,
}

impl Softmax {
    fn of(logits: &[Bounded]) -> Softmax {
        let max = logits
            .iter()
            .map(|logit| logit.value)
            .fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            return Softmax {
                max,
                log_sum_exp: Bounded::MINUS_INFINITY,
                logit_error: 0.0,
                roundings: 0.0,
            };
        }
        let finite = || {
            logits
                .iter()
                .filter(|logit| logit.value > f64::NEG_INFINITY)
        };
        let sum: f64 = finite().map(|logit| (logit.value - max).exp()).sum();
        // Each exponent is a rounded difference, so a term's relative error is U times it.
        let spread: f64 = finite()
            .map(|x| (x.value - max).exp() * (max - x.value))
            .sum::<f64>()
            / sum;
        let roundings = logits.len() as f64 / 8192.0 + 30.0 + 3.0 * spread;
        let logit_error = finite().map(|logit| logit.bound).fold(0.0, f64::max);
        let value = max + sum.ln();
        let bound = logit_error + U * (roundings + 2.0 * value.abs() + max.abs());
        Softmax {
            max,
            log_sum_exp: Bounded { value, bound },
            logit_error,
            roundings,
        }
    }

    fn probability(&self, logit: &Bounded) -> Bounded {
        if logit.value == f64::NEG_INFINITY {
            return Bounded::EXACT_ZERO;
        }
        let value = (logit.value - self.log_sum_exp.value).exp();
        let relative =
            2.0 * self.logit_error + U * (self.roundings + 3.0 * (self.max - logit.value) + 4.0);
        Bounded {
            value,
            bound: value * relative.exp_m1() + 2.0 * LEAST,
        }
    }

    fn log_probability(&self, logit: &Bounded) -> Bounded {
        if logit.value == f64::NEG_INFINITY {
            return Bounded::MINUS_INFINITY;
        }
        let value = logit.value - self.log_sum_exp.value;
        let bound = 2.0 * self.logit_error
            + U * (self.roundings + 2.0 * (self.max - logit.value) + 2.0 * value.abs());
        Bounded { value, bound }
    }
}
