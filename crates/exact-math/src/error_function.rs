//! The error function, and the tail that the Gaussian activation shares with it.

use crate::exp_nonpositive;
use crate::logistic::reciprocal;

/// From it on, `erf` comes from its complement: `1 - erfc(x)` then has no cancellation worth naming.
const ERF_SMALL: f32 = 0.92;
/// `erfc` of it is below every f32.
const TAIL_END: f32 = 10.2;

/// `erfc(t) e^(t^2)` for `0 <= t <= 10.2`: `w q(w - 1)` with `w = 1 / (1 + 0.55 t)` (after Abramowitz and Stegun 7.1.26),
/// minimax `q` of degree 9 with the constant fixed to one, relative error 2^-26.9. A polynomial about `w = 1`, and `w - 1`
/// taken as `-0.55 t w`, keep the error small where the result is near one; the factor `w` leaves `q` little to cancel
/// where it is near zero.
#[inline]
pub(crate) fn erfc_scaled(t: f32) -> f32 {
    let k = 0.55 * t;
    let w = reciprocal(1.0 + k);
    let v = -k * w;
    let q = 0.057_696_585_f32;
    let q = q.mul_add(v, 0.184_318_2);
    let q = q.mul_add(v, 0.175_171_4);
    let q = q.mul_add(v, 0.062_476_784);
    let q = q.mul_add(v, 0.109_372_78);
    let q = q.mul_add(v, 0.014_498_088);
    let q = q.mul_add(v, -0.240_196_15);
    let q = q.mul_add(v, 0.202_643_41);
    let q = q.mul_add(v, 1.051_599_6);
    q.mul_add(v, 1.0) * w
}

/// `e^-(a b)` for a product that is not negative: what its rounding loses goes in as a factor `1 - low`.
#[inline]
pub(crate) fn exp_of_minus_product(a: f32, b: f32) -> f32 {
    let high = a * b;
    let low = a.mul_add(b, -high);
    let e = exp_nonpositive(-high);
    (-low).mul_add(e, e)
}

/// The error function, within 1.13 ulp; odd, `erf(+-inf) = +-1`.
///
/// Below 0.92 `x + x p(x^2)`, minimax `p` of degree 6, relative error 2^-30; above it `1 - erfc(x)`.
#[inline]
pub fn erf(x: f32) -> f32 {
    let a = x.abs();
    let s = a * a;
    let p = 7.995_048_5e-5_f32;
    let p = p.mul_add(s, -0.000_804_951_5);
    let p = p.mul_add(s, 0.005_192_392_5);
    let p = p.mul_add(s, -0.026_855_73);
    let p = p.mul_add(s, 0.112_836_26);
    let p = p.mul_add(s, -0.376_126_3);
    let p = p.mul_add(s, 0.128_379_17);
    let small = p.mul_add(a, a);
    let t = if a > TAIL_END { TAIL_END } else { a };
    let large = (-erfc_scaled(t)).mul_add(exp_of_minus_product(t, t), 1.0);
    (if a < ERF_SMALL { small } else { large }).copysign(x)
}
