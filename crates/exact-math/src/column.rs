//! Sums over the rows of a matrix (`<ck/column_sum.cuh>`): the accumulators, and the one tree that every exact column sum
//! follows.
//!
//! The tree of a column is a function of its number of rows alone. Rows are cut into chunks of [`LANES`] * [`chain`]
//! rows; row `r` of a chunk belongs to lane `r % 32`; a lane adds its rows in ascending order, from +0; lanes are merged
//! 16, 8, 4, 2, 1 apart, chunks as neighbours: (0, 1), (2, 3), then pairs of pairs. Missing rows and chunks count as +0,
//! which changes no result, because an accumulator that starts from +0 never becomes -0.

use crate::convert::{f32_to_bf16, f32_to_f16};
use crate::tree::butterfly;

/// Lanes of a chunk.
pub const LANES: usize = 32;

/// Rows that a lane of a chunk adds, for a column of `rows`.
#[inline]
pub fn chain(rows: usize) -> usize {
    match rows {
        0..=4096 => 4,
        4097..=8192 => 8,
        _ => 16,
    }
}

/// What a sum is kept in.
pub trait Accumulator: Copy {
    /// The empty sum, +0.
    const ZERO: Self;
    /// With one more term.
    #[must_use]
    fn add(self, x: f32) -> Self;
    /// With `w * x` more: the product is exact before it is added (in `f32`: one fma).
    #[must_use]
    fn add_product(self, w: f32, x: f32) -> Self;
    /// Two parts of a sum. Commutes to the bit.
    #[must_use]
    fn merge(self, other: Self) -> Self;
    /// The quotient by a positive number of rows.
    #[must_use]
    fn divided(self, rows: u64) -> Self;
    /// `alpha * self`.
    #[must_use]
    fn scaled(self, alpha: f32) -> Self;
    /// Rounded to f32.
    fn to_f32(self) -> f32;
    /// An f32 that rounds to every 16-bit float as `self` does.
    fn to_odd(self) -> f32;
    /// Rounded to bfloat16, once.
    fn to_bf16(self) -> u16 {
        f32_to_bf16(self.to_odd())
    }
    /// Rounded to IEEE half precision, once.
    fn to_f16(self) -> u16 {
        f32_to_f16(self.to_odd())
    }
}

/// Two `f32`: a sum, and the rounding errors of its additions. About 48 bits, the range of `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct F32x2 {
    /// The sum as `f32` additions make it.
    pub high: f32,
    /// What they lost.
    pub low: f32,
}

/// `a + b` as a sum and its error, exactly, where nothing overflows (Knuth).
#[inline]
pub fn two_sum(a: f32, b: f32) -> (f32, f32) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

impl Accumulator for F32x2 {
    const ZERO: Self = F32x2 {
        high: 0.0,
        low: 0.0,
    };

    #[inline]
    fn add(self, x: f32) -> Self {
        let (high, error) = two_sum(self.high, x);
        F32x2 {
            high,
            low: self.low + error,
        }
    }

    #[inline]
    fn add_product(self, w: f32, x: f32) -> Self {
        let product = w * x;
        let rest = w.mul_add(x, -product);
        let (high, error) = two_sum(self.high, product);
        F32x2 {
            high,
            low: self.low + (error + rest),
        }
    }

    #[inline]
    fn merge(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        F32x2 {
            high,
            low: (self.low + other.low) + error,
        }
    }

    #[inline]
    fn divided(self, rows: u64) -> Self {
        let n = rows as f32;
        let rest_of_n = (rows as i64 - n as i64) as f32;
        let high = self.high / n;
        let rest = (-high).mul_add(rest_of_n, (-high).mul_add(n, self.high));
        F32x2 {
            high,
            low: (rest + self.low) / n,
        }
    }

    #[inline]
    fn scaled(self, alpha: f32) -> Self {
        let high = alpha * self.high;
        let rest = alpha.mul_add(self.high, -high);
        F32x2 {
            high,
            low: alpha.mul_add(self.low, rest),
        }
    }

    #[inline]
    fn to_f32(self) -> f32 {
        if self.low.is_finite() {
            two_sum(self.high, self.low).0
        } else {
            self.high
        }
    }

    #[inline]
    fn to_odd(self) -> f32 {
        if !self.low.is_finite() {
            return self.high;
        }
        let (sum, error) = two_sum(self.high, self.low);
        to_odd(sum, error > 0.0, error == 0.0)
    }
}

impl Accumulator for f64 {
    const ZERO: Self = 0.0;

    #[inline]
    fn add(self, x: f32) -> Self {
        self + f64::from(x)
    }

    #[inline]
    fn add_product(self, w: f32, x: f32) -> Self {
        f64::from(w).mul_add(f64::from(x), self)
    }

    #[inline]
    fn merge(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn divided(self, rows: u64) -> Self {
        self / rows as f64
    }

    #[inline]
    fn scaled(self, alpha: f32) -> Self {
        f64::from(alpha) * self
    }

    #[inline]
    fn to_f32(self) -> f32 {
        self as f32
    }

    #[inline]
    fn to_odd(self) -> f32 {
        let sum = self as f32;
        let rest = self - f64::from(sum);
        to_odd(sum, rest > 0.0, rest == 0.0)
    }
}

impl Accumulator for f32 {
    const ZERO: Self = 0.0;

    #[inline]
    fn add(self, x: f32) -> Self {
        self + x
    }

    #[inline]
    fn add_product(self, w: f32, x: f32) -> Self {
        w.mul_add(x, self)
    }

    #[inline]
    fn merge(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn divided(self, rows: u64) -> Self {
        self / rows as f32
    }

    #[inline]
    fn scaled(self, alpha: f32) -> Self {
        alpha * self
    }

    #[inline]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline]
    fn to_odd(self) -> f32 {
        self
    }
}

/// Rounding to odd (Boldo, Melquiond 2008): `sum` where it is exact, else its neighbour around the exact value whose last
/// bit is 1.
fn to_odd(sum: f32, above: bool, exact: bool) -> f32 {
    let bits = sum.to_bits();
    if exact || sum == 0.0 || !sum.is_finite() || bits & 1 != 0 {
        return sum;
    }
    f32::from_bits(if above == (sum > 0.0) {
        bits + 1
    } else {
        bits - 1
    })
}

/// The sum over `rows` rows; `add(sum, row)` takes one row in, or leaves the sum as it is.
pub fn column_sum<A: Accumulator>(rows: usize, mut add: impl FnMut(A, usize) -> A) -> A {
    let chunk = LANES * chain(rows);
    let mut merged = Merged::default();
    for first in (0..rows).step_by(chunk) {
        let end = rows.min(first + chunk);
        let mut lanes = [A::ZERO; LANES];
        for row in first..end {
            let lane = &mut lanes[(row - first) % LANES];
            *lane = add(*lane, row);
        }
        merged.push(butterfly(lanes, A::merge));
    }
    merged.total()
}

/// Chunks in ascending order, merged as neighbours: sum `i` stands for `2^i` of them.
struct Merged<A> {
    sums: Vec<Option<A>>,
}

impl<A> Default for Merged<A> {
    fn default() -> Self {
        Self { sums: Vec::new() }
    }
}

impl<A: Accumulator> Merged<A> {
    fn push(&mut self, mut sum: A) {
        for place in &mut self.sums {
            match place.take() {
                Some(earlier) => sum = earlier.merge(sum),
                None => {
                    *place = Some(sum);
                    return;
                }
            }
        }
        self.sums.push(Some(sum));
    }

    fn total(self) -> A {
        // The fewest chunks came last: they are merged among themselves first.
        self.sums
            .into_iter()
            .flatten()
            .reduce(|later, earlier| earlier.merge(later))
            .unwrap_or(A::ZERO)
    }
}
