//! The algorithm, as plain Rust: [`norm`] returns the bytes that every code path of the library
//! returns, [`ggml`] those of the mode with another library's bytes given its two approximations,
//! [`reference()`] the same quantities by the textbook formula in `f64`.
//!
//! The order of every sum is written out here once, as `include/rms_norm.h` states it; nothing
//! depends on the number of rows, on strides or on alignment.

mod backward;
pub mod quantise;

pub use backward::{Backward, Gradients, backward};

use crate::{Dtype, GammaMode, Quantisation, ResidualMode};
use exact_math::rsqrt_rn;
use exact_math::tree::block_sum;
use half::{bf16, f16};

/// Elements of a tensor, read as f32 (exactly, whatever their type).
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// IEEE half precision.
    F16(&'a [f16]),
}

impl Elements<'_> {
    /// Element `index`.
    pub fn at(&self, index: usize) -> f32 {
        match self {
            Elements::F32(x) => x[index],
            Elements::Bf16(x) => x[index].to_f32(),
            Elements::F16(x) => x[index].to_f32(),
        }
    }

    /// Their type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Elements::F32(_) => Dtype::F32,
            Elements::Bf16(_) => Dtype::Bf16,
            Elements::F16(_) => Dtype::F16,
        }
    }
}

/// A tensor of samples x channels x rows rows.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    /// From the first to the last element that the strides reach.
    pub elements: Elements<'a>,
    /// Elements between rows, channels and samples.
    pub strides: [usize; 3],
}

/// A tensor whose indices wrap around at its own sizes.
#[derive(Debug, Clone, Copy)]
pub struct Repeated<'a> {
    /// The stored elements.
    pub tensor: Tensor<'a>,
    /// Columns, rows, channels and samples of it.
    pub sizes: [usize; 4],
}

/// One call, as slices.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Columns.
    pub n: usize,
    /// Rows of a channel, channels of a sample, samples.
    pub rows: [usize; 3],
    /// What is normalised.
    pub x: Tensor<'a>,
    /// Added to x before.
    pub residual: Option<Tensor<'a>>,
    /// What r is rounded to with a residual.
    pub residual_mode: ResidualMode,
    /// The weight.
    pub gamma: Option<Repeated<'a>>,
    /// How the weight enters.
    pub gamma_mode: GammaMode,
    /// Added to the weighted row.
    pub add: Option<Repeated<'a>>,
    /// Inside the root.
    pub eps: f32,
    /// The type of a quantised y.
    pub quantisation: Quantisation,
}

/// What becomes of one row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Normalised {
    /// Before it is rounded to its type.
    pub y: Vec<f32>,
    /// The codes of a quantised y, else empty.
    pub codes: Vec<u8>,
    /// x + residual, before it is rounded to the type of `residual_out`.
    pub sum: Vec<f32>,
    /// The scale.
    pub rstd: f32,
    /// What a quantised y was divided by.
    pub step: f32,
}

/// Logical threads of a row of `n` columns.
pub fn logical_threads(n: usize) -> usize {
    if n >= 1024 { 1024 } else { 256 }
}

impl<'a> Problem<'a> {
    /// Packed rows with a weight and nothing else.
    pub fn packed(x: Elements<'a>, gamma: Elements<'a>, rows: usize, n: usize, eps: f32) -> Self {
        let packed = [n, rows * n, rows * n];
        Problem {
            n,
            rows: [rows, 1, 1],
            x: Tensor {
                elements: x,
                strides: packed,
            },
            residual: None,
            residual_mode: ResidualMode::Unrounded,
            gamma: Some(Repeated {
                tensor: Tensor {
                    elements: gamma,
                    strides: [n; 3],
                },
                sizes: [n, 1, 1, 1],
            }),
            gamma_mode: GammaMode::Plain,
            add: None,
            eps,
            quantisation: Quantisation::None,
        }
    }

    /// Rows in all.
    pub fn total(&self) -> usize {
        self.rows.iter().product()
    }

    /// The place of row `index` in each dimension.
    fn place(&self, index: usize) -> [usize; 3] {
        let [rows, channels, _] = self.rows;
        [
            index % rows,
            index / rows % channels,
            index / rows / channels,
        ]
    }
}

impl Tensor<'_> {
    fn start(&self, place: [usize; 3]) -> usize {
        place.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }
}

impl Repeated<'_> {
    fn at(&self, place: [usize; 3], column: usize) -> f32 {
        let [columns, sizes @ ..] = self.sizes;
        let wrapped = [0, 1, 2].map(|d| place[d] % sizes[d]);
        self.tensor
            .elements
            .at(self.tensor.start(wrapped) + column % columns)
    }
}

/// Rounds to a float type and back.
pub fn rounded(dtype: Dtype, x: f32) -> f32 {
    match dtype {
        Dtype::Bf16 => bf16::from_f32(x).to_f32(),
        Dtype::F16 => f16::from_f32(x).to_f32(),
        Dtype::F32 | Dtype::Fp8 | Dtype::Int8 => x,
    }
}

/// The sum of squares in the order of the header.
pub fn sum_of_squares(r: &[f32]) -> f32 {
    block_sum(r.len(), logical_threads(r.len()), |sum, j| {
        r[j].mul_add(r[j], sum)
    })
}

/// 1 / sqrt(s / n + eps), each operation rounded once.
pub fn scale(sum: f32, n: usize, eps: f32) -> f32 {
    rsqrt_rn(sum / n as f32 + eps)
}

/// Row `index` of a problem.
pub fn norm(problem: &Problem<'_>, index: usize) -> Normalised {
    let place = problem.place(index);
    let start = problem.x.start(place);
    let mut sum = Vec::new();
    let r: Vec<f32> = match &problem.residual {
        None => (0..problem.n)
            .map(|j| problem.x.elements.at(start + j))
            .collect(),
        Some(residual) => {
            let from = residual.start(place);
            sum = (0..problem.n)
                .map(|j| problem.x.elements.at(start + j) + residual.elements.at(from + j))
                .collect();
            match problem.residual_mode {
                ResidualMode::Unrounded => sum.clone(),
                ResidualMode::Rounded => sum
                    .iter()
                    .map(|&r| rounded(residual.elements.dtype(), r))
                    .collect(),
            }
        }
    };
    let rstd = scale(sum_of_squares(&r), problem.n, problem.eps);
    let y: Vec<f32> = r
        .iter()
        .enumerate()
        .map(|(j, &r)| {
            let weight = problem.gamma.as_ref().map_or(1.0, |g| g.at(place, j));
            let scaled = rstd * r;
            let y = match problem.gamma_mode {
                _ if problem.gamma.is_none() && problem.gamma_mode != GammaMode::AfterCast => {
                    scaled
                }
                GammaMode::Plain => scaled * weight,
                GammaMode::OnePlus => scaled * (1.0 + weight),
                GammaMode::AfterCast => rounded(problem.x.elements.dtype(), scaled) * weight,
            };
            problem.add.as_ref().map_or(y, |add| y + add.at(place, j))
        })
        .collect();
    let (codes, step) = quantise::row(problem.quantisation, &y);
    Normalised {
        y,
        codes,
        sum,
        rstd,
        step,
    }
}

/// Zero of its sign for a subnormal.
fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

/// The sum of squares of [`ggml`]: subnormals count as zero.
pub fn ggml_sum(x: &[f32]) -> f32 {
    let threads = logical_threads(x.len());
    // Subnormal partial sums of squares are flushed too: the tree with its own addition.
    let warps: Vec<f32> = (0..threads / 32)
        .map(|warp| {
            let lanes = std::array::from_fn(|lane| {
                exact_math::tree::strided_chain(
                    x.len(),
                    threads,
                    warp * 32 + lane,
                    0.0,
                    |sum, j| {
                        let v = flush(x[j]);
                        flush(v.mul_add(v, sum))
                    },
                )
            });
            exact_math::tree::butterfly(lanes, |a, b| flush(a + b))
        })
        .collect();
    let lanes = std::array::from_fn(|lane| warps.get(lane).copied().unwrap_or(0.0));
    exact_math::tree::butterfly(lanes, |a, b| flush(a + b))
}

/// The scale of [`ggml`] with correctly rounded operations in place of the two approximations: what
/// the simulator has, and within 3 ulps of what a GPU has.
pub fn ggml_scale(sum: f32, n: usize, eps: f32) -> f32 {
    let inverse = flush(1.0 / n as f32);
    rsqrt_rn(flush(sum.mul_add(inverse, flush(eps))))
}

/// y of the mode with llama.cpp's bytes, given its scale.
pub fn ggml(x: &[f32], gamma: Option<&[f32]>, add: Option<&[f32]>, scale: f32) -> Vec<f32> {
    let scaled = |j: usize| flush(scale * flush(x[j]));
    (0..x.len())
        .map(|j| match (gamma, add) {
            (None, _) => scaled(j),
            (Some(g), None) => flush(scaled(j) * flush(g[j % g.len()])),
            (Some(g), Some(a)) => {
                flush(scaled(j).mul_add(flush(g[j % g.len()]), flush(a[j % a.len()])))
            }
        })
        .collect()
}

/// y = r / sqrt(mean(r^2) + eps) * weight in f64.
pub fn reference(r: &[f32], weight: impl Fn(usize) -> f64, eps: f32) -> Vec<f64> {
    let mean = r.iter().map(|&r| f64::from(r).powi(2)).sum::<f64>() / r.len() as f64;
    let root = (mean + f64::from(eps)).sqrt();
    r.iter()
        .enumerate()
        .map(|(j, &r)| f64::from(r) / root * weight(j))
        .collect()
}
