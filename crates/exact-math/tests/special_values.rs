//! Zeros, infinities, NaN, and the ends of each function's range.

use exact_math::*;

const INF: f32 = f32::INFINITY;
const LEAST_SUBNORMAL: f32 = f32::from_bits(1);

/// Equal bits, or both NaN.
#[track_caller]
fn same(got: f32, want: f32) {
    assert!(
        got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
        "got {got:e} ({:08x}), want {want:e} ({:08x})",
        got.to_bits(),
        want.to_bits()
    );
}

#[test]
fn exp_overflows_underflows_and_is_one_at_zero() {
    for f in [exp, exp_nonpositive] {
        same(f(0.0), 1.0);
        same(f(-0.0), 1.0);
        same(f(-INF), 0.0);
        same(f(-f32::MAX), 0.0);
        // Either side of half the least subnormal, and of the least normal number.
        same(f(-103.97209), 0.0);
        same(f(-103.97207), LEAST_SUBNORMAL);
        assert!(f(-87.33655) < f32::MIN_POSITIVE && f(-87.33654) >= f32::MIN_POSITIVE);
        same(f(f32::NAN), f32::NAN);
        same(f(-f32::NAN), f32::NAN);
    }
    same(exp(INF), INF);
    same(exp(f32::MAX), INF);
    same(exp(88.722_84), INF);
    assert!(exp(88.722_83).is_finite());
}

#[test]
fn exp_of_a_nonpositive_number_has_one_value() {
    for bits in (0x8000_0000..=0xff80_0000_u32).step_by(977) {
        same(
            exp_nonpositive(f32::from_bits(bits)),
            exp(f32::from_bits(bits)),
        );
    }
}

#[test]
fn logarithms_have_their_poles_domains_and_zeros() {
    same(log(0.0), -INF);
    same(log(-0.0), -INF);
    same(log(INF), INF);
    same(log(1.0), 0.0);
    for x in [-1.0, -LEAST_SUBNORMAL, -f32::MAX, -INF, f32::NAN] {
        same(log(x), f32::NAN);
    }
    same(log(LEAST_SUBNORMAL), -103.278_93);
    same(log(f32::MAX), 88.722_84);

    same(log1p(-1.0), -INF);
    same(log1p(INF), INF);
    same(log1p(0.0), 0.0);
    same(log1p(-0.0), -0.0);
    same(log1p(LEAST_SUBNORMAL), LEAST_SUBNORMAL);
    same(log1p(f32::MAX), 88.722_84);
    for x in [-1.000_000_1, -2.0, -f32::MAX, -INF, f32::NAN] {
        same(log1p(x), f32::NAN);
    }
}

#[test]
fn sigmoid_reaches_its_limits_and_its_complement_is_its_mirror() {
    same(sigmoid(0.0), 0.5);
    same(sigmoid(INF), 1.0);
    same(sigmoid(-INF), 0.0);
    same(sigmoid(f32::NAN), f32::NAN);
    assert!(sigmoid(-100.0) > 0.0, "exp(-100) is a subnormal");
    for bits in (0..=u32::MAX).step_by(1_000_003) {
        let x = f32::from_bits(bits);
        let (value, complement) = sigmoid_and_complement(x);
        same(value, sigmoid(x));
        same(complement, sigmoid(-x));
    }
}

#[test]
fn softplus_is_its_argument_above_twenty() {
    same(softplus(20.000_002), 20.000_002);
    same(softplus(f32::MAX), f32::MAX);
    same(softplus(INF), INF);
    same(softplus(-INF), 0.0);
    same(softplus(f32::NAN), f32::NAN);
    same(softplus(20.0), log1p(exp(20.0)));
    same(softplus(-3.0), log1p(exp(-3.0)));
}

#[test]
fn odd_functions_are_odd_to_the_bit() {
    for f in [tanh, erf] {
        same(f(0.0), 0.0);
        same(f(-0.0), -0.0);
        same(f(INF), 1.0);
        same(f(-INF), -1.0);
        same(f(f32::NAN), f32::NAN);
        for bits in (0..0x7f80_0000_u32).step_by(1_000_003) {
            let x = f32::from_bits(bits);
            same(f(-x), -f(x));
            assert!(f(x) <= 1.0);
        }
    }
}

#[test]
fn activations_reach_their_limits_without_nan() {
    for f in [silu, gelu_erf, gelu_tanh] {
        same(f(INF), INF);
        same(f(f32::MAX), f32::MAX);
        same(f(-INF), -0.0);
        same(f(-f32::MAX), -0.0);
        same(f(f32::NAN), f32::NAN);
        same(f(0.0), 0.0);
        same(f(-0.0), -0.0);
    }
    for f in [silu_slope, gelu_erf_slope, gelu_tanh_slope] {
        same(f(INF), 1.0);
        same(f(f32::MAX), 1.0);
        assert!(f(-INF) == 0.0 && f(-f32::MAX) == 0.0);
        same(f(0.0), 0.5);
        same(f(f32::NAN), f32::NAN);
    }
    same(tanh_slope(0.0), 1.0);
    assert!(tanh_slope(INF) == 0.0 && tanh_slope(-INF) == 0.0);
    same(tanh_slope(f32::NAN), f32::NAN);
}

#[test]
fn slopes_are_those_of_their_functions() {
    type Function = fn(f32) -> f32;
    let pairs: [[Function; 2]; 4] = [
        [tanh, tanh_slope],
        [silu, silu_slope],
        [gelu_erf, gelu_erf_slope],
        [gelu_tanh, gelu_tanh_slope],
    ];
    for [f, slope] in pairs {
        for i in -40..=40 {
            let (x, h) = (i as f32 * 0.125, 1.0 / 128.0);
            let difference = (f(x + h) - f(x - h)) / (2.0 * h);
            assert!(
                (difference - slope(x)).abs() < 1e-4,
                "at {x}: {difference} and {}",
                slope(x)
            );
        }
    }
}
