//! The correctly rounded reciprocal square root, twin of `__frsqrt_rn`.

/// `1 / sqrt(x)` rounded once to nearest even: `rsqrt_rn(+-0) = +-inf`, NaN below zero, `rsqrt_rn(inf) = 0`.
///
/// The quotient in `f64` is off by at most 1.5 of its ulps, 2^-52. No `f32` has a reciprocal root that near to the middle
/// between two neighbouring `f32` without being that middle, so rounding twice equals rounding once. Scaling `x` by four
/// scales every step exactly, which leaves 2^24 mantissas; a test compares each of them with integer arithmetic.
#[inline]
pub fn rsqrt_rn(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}
