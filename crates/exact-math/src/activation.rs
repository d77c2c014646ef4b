//! Activations of small networks, with their slopes for the backward pass.

use crate::error_function::{erfc_scaled, exp_of_minus_product};
use crate::exponential::{exp_nonpositive, exp_nonpositive_times};
use crate::logistic::{reciprocal, sigmoid_and_complement};

/// Below it `tanh` is a polynomial: `1 - 2 / (1 + e^2x)` would cancel.
const TANH_SMALL: f32 = 0.625;
/// Beyond it every activation here is 0 or its argument in f32; a limit on factors keeps `0 * inf` away.
const FAR: f32 = 120.0;
/// `2 sqrt(2/pi)` and `0.044715` times it: GELU's tanh form is `x sigmoid(x (C1 + C3 x^2))`.
const GELU_C1: f32 = 1.595_769_2;
const GELU_C3: f32 = 0.071_354_814;
const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
/// `1 / sqrt(2 pi)`.
const DENSITY: f32 = 0.398_942_3;

#[inline]
fn at_least(x: f32, least: f32) -> f32 {
    if x < least { least } else { x }
}

#[inline]
fn at_most(x: f32, most: f32) -> f32 {
    if x > most { most } else { x }
}

/// The hyperbolic tangent, within 1.4 ulp; odd, `tanh(+-inf) = +-1`.
///
/// Below 0.625 `x + x^3 p(x^2)`, minimax `p` of degree 4, relative error 2^-27.7; above it `1 - 2z / (1 + z)` with
/// `z = e^-2|x|`.
#[inline]
pub fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let s = a * a;
    let p = -0.005_692_296_f32;
    let p = p.mul_add(s, 0.020_628_167);
    let p = p.mul_add(s, -0.053_736_515);
    let p = p.mul_add(s, 0.133_314_06);
    let p = p.mul_add(s, -0.333_332_8);
    let small = (p * s).mul_add(a, a);
    let z = exp_nonpositive(-2.0 * a);
    let large = (-2.0 * z).mul_add(reciprocal(1.0 + z), 1.0);
    (if a < TANH_SMALL { small } else { large }).copysign(x)
}

/// `tanh'(x) = 1 - tanh(x)^2 = 4 sigmoid(2x) sigmoid(-2x)`, within 5.1 ulp: no cancellation where it is small.
#[inline]
pub fn tanh_slope(x: f32) -> f32 {
    let (a, b) = sigmoid_and_complement(2.0 * x);
    4.0 * a * b
}

/// `x sigmoid(x)`, within 3.4 ulp; `silu(-inf)` is its limit, `-0`.
#[inline]
pub fn silu(x: f32) -> f32 {
    gated(x, x)
}

/// `x sigmoid(v)` for `v` of the sign of `x`: for a negative one `(x / (1 + z)) z`, which rounds into the subnormals
/// once.
#[inline]
fn gated(x: f32, v: f32) -> f32 {
    let minus = -v.abs();
    let large = at_least(x, -FAR) * reciprocal(1.0 + exp_nonpositive(minus));
    let small = exp_nonpositive_times(minus, large);
    if x < 0.0 { small } else { large }
}

/// `silu'(x) = a (1 + x (1 - a))` with `a = sigmoid(x)`, within 4.3 ulp of `a (1 + |x| (1 - a)) + 1e-36`.
#[inline]
pub fn silu_slope(x: f32) -> f32 {
    let (a, b) = sigmoid_and_complement(x);
    at_most(at_least(x, -FAR), FAR).mul_add(b, 1.0) * a
}

/// `x Phi(x)`, GELU in its exact form, within 6.5 ulp, tails included: `max(x, 0) - |x| Phi(-|x|)`, where
/// `Phi(-|x|) = erfc(|x| / sqrt(2)) / 2`. No `1 + erf`, which cancels. `gelu_erf(-inf)` is its limit, `-0`.
#[inline]
pub fn gelu_erf(x: f32) -> f32 {
    let (a, tail, e) = gaussian_tail(x);
    let positive = if x >= 0.0 { x } else { -0.0 };
    (-(0.5 * a) * tail).mul_add(e, positive)
}

/// `gelu_erf'(x) = Phi(x) + x phi(x)`, within 4 ulp of `Phi(x) + |x| phi(x) + 1e-36`.
#[inline]
pub fn gelu_erf_slope(x: f32) -> f32 {
    let (a, tail, e) = gaussian_tail(x);
    // At -|x|, where both terms are small; the slopes at x and -x add up to one.
    let negative = (-DENSITY).mul_add(a, 0.5 * tail) * e;
    if x > 0.0 { 1.0 - negative } else { negative }
}

/// `|x|` up to a limit, `erfc(t) e^(t^2)` and `e^-(t^2)` for `t = |x| / sqrt(2)`.
#[inline]
fn gaussian_tail(x: f32) -> (f32, f32, f32) {
    let a = at_most(x.abs(), 15.0);
    (
        a,
        erfc_scaled(a * ROOT_HALF),
        exp_of_minus_product(0.5 * a, a),
    )
}

/// GELU in its tanh form, `x sigmoid(v)` with `v = 2 sqrt(2/pi) (x + 0.044715 x^3)`: the same function as
/// `x/2 (1 + tanh(v/2))` without its cancellation, within `3 (1 + |v|)` ulp. `gelu_tanh(-inf)` is its limit, `-0`.
#[inline]
pub fn gelu_tanh(x: f32) -> f32 {
    gated(x, x * (x * x).mul_add(GELU_C3, GELU_C1))
}

/// `gelu_tanh'(x) = a (1 + (1 - a) x v')`, within `2.5 (1 + |v|)` ulp of
/// `a (1 + (1 - a) |x v'|) + 1e-36`.
#[inline]
pub fn gelu_tanh_slope(x: f32) -> f32 {
    let x = at_most(at_least(x, -FAR), FAR);
    let s = x * x;
    let (a, b) = sigmoid_and_complement(x * s.mul_add(GELU_C3, GELU_C1));
    (x * s.mul_add(3.0 * GELU_C3, GELU_C1)).mul_add(b, 1.0) * a
}
