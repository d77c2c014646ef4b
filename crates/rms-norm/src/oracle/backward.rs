//! The gradients, in the order of the header.

use super::{Elements, logical_threads, scale, sum_of_squares};
use crate::GammaMode;
use exact_math::column::{Accumulator, F32x2, column_sum};
use exact_math::tree::block_sum;

/// One call, as slices.
#[derive(Debug, Clone, Copy)]
pub struct Backward<'a> {
    /// Columns.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// The forward call's input, rows `x_stride` apart.
    pub x: Elements<'a>,
    /// Elements between rows of x.
    pub x_stride: usize,
    /// The weight.
    pub gamma: Option<Elements<'a>>,
    /// How it entered: [`GammaMode::Plain`] or [`GammaMode::OnePlus`].
    pub gamma_mode: GammaMode,
    /// The gradient of y, rows `dy_stride` apart.
    pub dy: Elements<'a>,
    /// Elements between rows of dy.
    pub dy_stride: usize,
    /// The forward call's scales, if they are given.
    pub rstd: Option<&'a [f32]>,
    /// Inside the root.
    pub eps: f32,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    /// Packed rows, before they are rounded to their type.
    pub dx: Vec<f32>,
    /// Sums that have yet to be rounded to their type.
    pub dgamma: Vec<F32x2>,
}

/// Both gradients.
pub fn backward(problem: &Backward<'_>) -> Gradients {
    let n = problem.n;
    let mut dx = Vec::with_capacity(problem.rows * n);
    let mut scales = Vec::with_capacity(problem.rows);
    for row in 0..problem.rows {
        let x: Vec<f32> = (0..n)
            .map(|j| problem.x.at(row * problem.x_stride + j))
            .collect();
        let h: Vec<f32> = (0..n)
            .map(|j| {
                let dy = problem.dy.at(row * problem.dy_stride + j);
                match (&problem.gamma, problem.gamma_mode) {
                    (None, _) => dy,
                    (Some(g), GammaMode::OnePlus) => dy * (1.0 + g.at(j)),
                    (Some(g), _) => dy * g.at(j),
                }
            })
            .collect();
        let scale = match problem.rstd {
            Some(rstd) => rstd[row],
            None => scale(sum_of_squares(&x), n, problem.eps),
        };
        let c = block_sum(n, logical_threads(n), |sum, j| h[j].mul_add(x[j], sum));
        let k = c / n as f32 * scale * scale;
        dx.extend((0..n).map(|j| scale * (-k).mul_add(x[j], h[j])));
        scales.push(scale);
    }
    let dgamma = (0..n)
        .map(|j| {
            column_sum(problem.rows, |sum: F32x2, row| {
                let x = problem.x.at(row * problem.x_stride + j);
                let dy = problem.dy.at(row * problem.dy_stride + j);
                sum.add_product(dy, scales[row] * x)
            })
        })
        .collect();
    Gradients { dx, dgamma }
}
