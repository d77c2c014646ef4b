//! `rsqrt_rn` against integer arithmetic.

use exact_math::rsqrt_rn;

/// Whether `y` is `1 / sqrt(x)` rounded to nearest, for positive finite `x` and normal `y`, in integers alone.
///
/// With `x = X 2^a` and the middles `m = M 2^b` between `y` and its neighbours, `m < 1 / sqrt(x)` is `X M^2 < 2^-(a + 2b)`.
/// `M` has 25 or 26 bits and `X` 24, so the product fits. It is never equal: `X M^2` is a power of two only where `M` is
/// one, and the middles are not.
fn is_nearest(x: f32, y: f32) -> bool {
    let (significand, exponent) = split(x);
    let below_root = |middle: u128, scale: i32| {
        let product = significand * middle * middle;
        let power = -(exponent + 2 * scale);
        power >= 128 || (power >= 0 && product < 1 << power)
    };
    let (mantissa, scale) = split(y);
    // Quarters of y's last place: below a power of two the neighbour is half as far away.
    let below = if mantissa == 1 << 23 {
        4 * mantissa - 1
    } else {
        4 * mantissa - 2
    };
    below_root(below, scale - 2) && !below_root(4 * mantissa + 2, scale - 2)
}

fn split(x: f32) -> (u128, i32) {
    let bits = x.to_bits();
    match bits >> 23 {
        0 => (u128::from(bits), -149),
        e => (u128::from(bits & 0x7f_ffff | 0x80_0000), e as i32 - 150),
    }
}

#[test]
fn the_integer_check_rejects_both_neighbours() {
    for x in [1.0_f32, 2.0, 3.0, 0.7, 1e-40, 3e38, 4.0] {
        let y = rsqrt_rn(x);
        assert!(is_nearest(x, y));
        assert!(
            !is_nearest(x, y.next_up()) && !is_nearest(x, y.next_down()),
            "{x}"
        );
    }
}

#[test]
fn every_mantissa_of_two_binades_is_correctly_rounded() {
    // Multiplying x by four halves the root exactly: [1, 4) stands for every normal x.
    for bits in 1.0_f32.to_bits()..4.0_f32.to_bits() {
        let x = f32::from_bits(bits);
        assert!(is_nearest(x, rsqrt_rn(x)), "{x:e}: {:e}", rsqrt_rn(x));
    }
}

#[test]
fn subnormals_and_scattered_inputs_are_correctly_rounded() {
    for bits in (1..0x80_0000_u32)
        .step_by(7)
        .chain((0x80_0000..0x7f80_0000).step_by(4099))
    {
        let x = f32::from_bits(bits);
        assert!(is_nearest(x, rsqrt_rn(x)), "{x:e}: {:e}", rsqrt_rn(x));
    }
}

#[test]
fn special_values_follow_ieee() {
    assert_eq!(rsqrt_rn(0.0), f32::INFINITY);
    assert_eq!(rsqrt_rn(-0.0), f32::NEG_INFINITY);
    assert_eq!(rsqrt_rn(f32::INFINITY).to_bits(), 0);
    for x in [-1.0, -f32::from_bits(1), f32::NEG_INFINITY, f32::NAN] {
        assert!(rsqrt_rn(x).is_nan());
    }
}
