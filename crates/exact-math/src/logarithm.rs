//! Logarithms: `x = m * 2^n` with `m` in `[sqrt(1/2), sqrt(2))`, a polynomial in `f = m - 1`, and `n ln 2` added last.

/// The bits of `sqrt(1/2)`, where the mantissa's range begins.
const ROOT_HALF: u32 = 0x3f35_04f3;
const EXPONENT: u32 = 0xff80_0000;
/// `ln(2) * 2^-23`: turns an exponent still in its place in the bits into its share of the logarithm.
const LN2_PER_BIT: f32 = std::f32::consts::LN_2 / 8_388_608.0;

/// `ln(1 + f)` on `[sqrt(1/2) - 1, sqrt(2) - 1]`: `f + f^2 q(f)`, minimax `q` of degree 8, relative error 2^-27.7.
#[inline]
fn log1p_reduced(f: f32) -> f32 {
    let q = -0.074_217_9_f32;
    let q = q.mul_add(f, 0.128_239_36);
    let q = q.mul_add(f, -0.132_805_32);
    let q = q.mul_add(f, 0.141_961_49);
    let q = q.mul_add(f, -0.166_066_9);
    let q = q.mul_add(f, 0.200_012_06);
    let q = q.mul_add(f, -0.250_016_4);
    let q = q.mul_add(f, 0.333_333_37);
    let q = q.mul_add(f, -0.499_999_88);
    q.mul_add(f * f, f)
}

/// The natural logarithm, within 0.95 ulp: `log(+-0) = -inf`, NaN below zero, `log(inf) = inf`.
#[inline]
pub fn log(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let scaled = if subnormal { x * 8_388_608.0 } else { x };
    let correction = if subnormal { 23 << 23 } else { 0 };
    let bits = scaled.to_bits();
    let n = bits.wrapping_sub(ROOT_HALF) & EXPONENT;
    let f = f32::from_bits(bits.wrapping_sub(n)) - 1.0;
    let n = n.wrapping_sub(correction) as i32 as f32;
    n.mul_add(LN2_PER_BIT, log1p_reduced(f)) + outside(x, 0.0)
}

/// What is added to a logarithm with its pole at `pole`: -0, which changes nothing, inside its domain; the result itself
/// at and outside the domain's ends. (An addition, because a select there makes nvcc branch around the whole function.)
#[inline]
fn outside(x: f32, pole: f32) -> f32 {
    let above = if x < f32::INFINITY {
        -0.0
    } else {
        f32::INFINITY
    };
    let below = if x == pole {
        f32::NEG_INFINITY
    } else {
        f32::NAN
    };
    if x > pole { above } else { below }
}

/// `ln(1 + x)`, within 1.5 ulp: `log1p(-1) = -inf`, NaN below, `log1p(inf) = inf`, and the sign of zero kept.
///
/// The exponent comes from the rounded `1 + x`, the reduced argument `f = x 2^-n - (1 - 2^-n)` from `x` itself, so the
/// digits that `1 + x` drops are not lost.
#[inline]
pub fn log1p(x: f32) -> f32 {
    log1p_inside(x) + outside(x, -1.0)
}

/// [`log1p`] for finite `x > -1`; for others finite or of the sign of the infinity that [`outside`] adds.
#[inline]
pub(crate) fn log1p_inside(x: f32) -> f32 {
    let n = (1.0 + x).to_bits().wrapping_sub(ROOT_HALF) & EXPONENT;
    let reduced = f32::from_bits(x.to_bits().wrapping_sub(n));
    // 2^(2-n), not 2^-n, which is subnormal for the largest x.
    let four = f32::from_bits(0x4080_0000_u32.wrapping_sub(n));
    let f = reduced - four.mul_add(-0.25, 1.0);
    // Minus n times minus ln 2: for n = 0 the product is -0, which leaves a result of -0 alone.
    let n = (n as i32).wrapping_neg() as f32;
    n.mul_add(-LN2_PER_BIT, log1p_reduced(f))
}
