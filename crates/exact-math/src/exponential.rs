//! The exponential: range reduction to `|r| <= ln(2)/2`, a polynomial, and a scale by `2^n` in two steps.

use std::f32::consts::LOG2_E;

/// `1.5 * 2^23`: adding it leaves a float's integer part, rounded to nearest even, in the low bits.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// `ln(2)` in two parts. The first has 15 significant bits, so `n * LN2_HI` is exact for every `n` in use.
const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;
/// Below it `e^x` is zero, and so is `x e^x`.
const LEAST: f32 = -110.0;
/// The exponent that the second multiplication puts back.
const STEP: f32 = 64.0;

/// `e^r` on `|r| <= 0.3467`: minimax of degree 6 with the first two coefficients fixed to one, relative error 2^-28.2.
#[inline]
fn exp_reduced(r: f32) -> f32 {
    let p = 0.001_383_797_1_f32;
    let p = p.mul_add(r, 0.008_369_165);
    let p = p.mul_add(r, 0.041_668_102);
    let p = p.mul_add(r, 0.166_665_17);
    let p = p.mul_add(r, 0.499_999_94);
    let p = p.mul_add(r, 1.0);
    p.mul_add(r, 1.0)
}

/// `e^x`, within 0.9 ulp: overflow to infinity, gradual underflow, `exp(-inf) = 0`, NaN for NaN.
///
/// With `n = rint(x / ln 2)` and `r = x - n ln 2`, `e^x = p(r) * 2^(n+-64) * 2^-+64`. The first product never leaves the
/// normal range, so the second rounds once, into a subnormal, a normal number or infinity as the case may be.
#[inline]
pub fn exp(x: f32) -> f32 {
    let x = if x < LEAST { LEAST } else { x };
    let negative = x < 0.0;
    let bias = if negative { ROUND + STEP } else { ROUND - STEP };
    let back = if negative { TWO_TO_MINUS_64 } else { TWO_TO_64 };
    // The limit keeps the exponent field in range where the result is infinite anyway; it also catches NaN, which then
    // travels in `r`.
    let t = x.mul_add(LOG2_E, bias).min(ROUND - STEP + 130.0);
    raised(x, t, bias) * back
}

/// [`exp`] for `x <= 0` (softmax terms, gates), with fewer operations; the same bytes. A positive `x` gives an
/// unspecified value.
#[inline]
pub fn exp_nonpositive(x: f32) -> f32 {
    raised_nonpositive(x) * TWO_TO_MINUS_64
}

/// `e^x * factor` for `x <= 0`, rounded into the subnormals once, after both products.
#[inline]
pub(crate) fn exp_nonpositive_times(x: f32, factor: f32) -> f32 {
    raised_nonpositive(x) * factor * TWO_TO_MINUS_64
}

#[inline]
fn raised_nonpositive(x: f32) -> f32 {
    let x = if x < LEAST { LEAST } else { x };
    raised(x, x.mul_add(LOG2_E, ROUND + STEP), ROUND + STEP)
}

const TWO_TO_64: f32 = 18_446_744_073_709_551_616.0;
const TWO_TO_MINUS_64: f32 = 1.0 / TWO_TO_64;

/// `e^x` times 2^64 or 2^-64, as `bias` says; always normal.
#[inline]
fn raised(x: f32, t: f32, bias: f32) -> f32 {
    let n = t - bias;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
    // The low nine bits of `t` hold n + 64 or n - 64, and nothing else survives the shift.
    let scale = f32::from_bits((t.to_bits() << 23).wrapping_add(0x3f80_0000));
    exp_reduced(r) * scale
}
