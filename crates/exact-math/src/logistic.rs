//! The logistic function and what is built from it. Everything comes from `z = e^-|x|`, which neither overflows nor cancels.

use crate::logarithm::log1p_inside;
use crate::{exp, exp_nonpositive};

/// Above it [`softplus`] is its argument.
const SOFTPLUS_LINEAR: f32 = 20.0;

/// `1/d` for a normal `d` whose reciprocal is normal, within 0.501 ulp: a first guess by subtracting bits (5 % off at
/// worst), then two steps `y += y (e + e^2)`, `e = 1 - d y`, each of which cubes the error. No branch and no
/// special-function unit, whose bits a CPU cannot follow.
#[inline]
pub(crate) fn reciprocal(d: f32) -> f32 {
    let y = f32::from_bits(0x7ef3_11c7_u32.wrapping_sub(d.to_bits()));
    let e = (-d).mul_add(y, 1.0);
    let y = e.mul_add(e, e).mul_add(y, y);
    let e = (-d).mul_add(y, 1.0);
    e.mul_add(e, e).mul_add(y, y)
}

/// `1 / (1 + e^-x)` and `1 - 1 / (1 + e^-x)`, both with full relative accuracy (2.8 ulp).
///
/// The second is what a gate's derivative needs (`a (1 - a)`): it is never found by subtraction. It has the bytes of
/// `sigmoid(-x)`.
#[inline]
pub fn sigmoid_and_complement(x: f32) -> (f32, f32) {
    let z = exp_nonpositive(-x.abs());
    let large = reciprocal(1.0 + z);
    let small = z * large;
    if x < 0.0 {
        (small, large)
    } else {
        (large, small)
    }
}

/// `1 / (1 + e^-x)`, within 2.8 ulp, down to the subnormals on the far negative side.
#[inline]
pub fn sigmoid(x: f32) -> f32 {
    sigmoid_and_complement(x).0
}

/// `ln(1 + e^x)`, within 1.9 ulp: `x` itself above 20, else `log1p(exp(x))`.
#[inline]
pub fn softplus(x: f32) -> f32 {
    let y = log1p_inside(exp(x));
    // The comparison also lets NaN through, which `log1p_inside` does not.
    if x <= SOFTPLUS_LINEAR { y } else { x }
}
