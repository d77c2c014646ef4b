//! f32 to 8 bits: the nearest representable value, ties to even, saturated.

use crate::{Dtype, Quantisation};
use exact_math::tree::maximum;

/// fp8 e4m3: largest 448, no infinity, NaN 0x7f.
pub fn fp8(x: f32) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = x.abs().min(448.0);
    // Steps of the binade: 2^-9 below 2^-6, else 2^(exponent - 3).
    let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(-6);
    let step = 2f32.powi(exponent - 3);
    let steps = (magnitude / step).round_ties_even() as i32; // exact division
    // 8 to 15 steps in a binade, 16 where it rounds into the next, fewer for subnormals.
    let code = if steps < 8 {
        steps
    } else {
        ((exponent + 7) << 3) + (steps - 8)
    };
    sign | code as u8
}

/// What a code of [`fp8`] stands for.
pub fn fp8_value(code: u8) -> f32 {
    let sign = if code & 0x80 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(code >> 3 & 15), f32::from(code & 7));
    match (exponent, code & 7) {
        (15, 7) => f32::NAN,
        (0, _) => sign * fraction * 2f32.powi(-9),
        _ => sign * (8.0 + fraction) * 2f32.powi(exponent - 10),
    }
}

/// int8 in two's complement; NaN is 0.
pub fn int8(x: f32) -> u8 {
    x.round_ties_even().clamp(-128.0, 127.0) as i8 as u8
}

/// Codes of a row and what it was divided by: empty and 1 without quantisation.
pub(super) fn row(quantisation: Quantisation, y: &[f32]) -> (Vec<u8>, f32) {
    let (dtype, step) = match quantisation {
        Quantisation::None => return (Vec::new(), 1.0),
        Quantisation::Tensor { dtype, scale } => (dtype, scale),
        Quantisation::Token { dtype, min_scale } => {
            let largest = y.iter().fold(0.0, |m, y| maximum(m, y.abs()));
            let range = if dtype == Dtype::Int8 { 127.0 } else { 448.0 };
            (dtype, maximum(largest / range, min_scale))
        }
    };
    let code = |y: &f32| match dtype {
        Dtype::Int8 => int8(y / step),
        _ => fp8(y / step),
    };
    (y.iter().map(code).collect(), step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fp8_code_is_its_own_nearest() {
        for code in 0..=255 {
            let value = fp8_value(code);
            if value.is_nan() {
                assert_eq!(fp8(value), 0x7f);
            } else {
                assert_eq!(fp8(value), code, "{value}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_even_code_and_neighbours_to_the_nearer() {
        for code in 0..0x7e_u8 {
            let (low, high) = (fp8_value(code), fp8_value(code + 1));
            let middle = (low + high) / 2.0;
            assert_eq!(fp8(middle), code + (code & 1));
            assert_eq!(fp8(f32::from_bits(middle.to_bits() - 1)), code);
            assert_eq!(fp8(f32::from_bits(middle.to_bits() + 1)), code + 1);
            assert_eq!(fp8(-middle), 0x80 | (code + (code & 1)));
        }
    }

    #[test]
    fn values_beyond_the_range_saturate() {
        for x in [448.0, 449.0, 464.0, 480.0, 1e9, f32::INFINITY] {
            assert_eq!(fp8(x), 0x7e);
            assert_eq!(fp8(-x), 0xfe);
        }
        assert_eq!(int8(127.5), 127);
        assert_eq!(int8(-1e9), 128);
        assert_eq!(int8(f32::NAN), 0);
        assert_eq!((int8(0.5), int8(1.5), int8(-0.5)), (0, 2, 0));
    }

    #[test]
    fn a_zero_row_gets_the_least_scale() {
        let token = Quantisation::Token {
            dtype: Dtype::Fp8,
            min_scale: 0.25,
        };
        assert_eq!(row(token, &[0.0, -0.0]), (vec![0, 0x80], 0.25));
        let (codes, step) = row(token, &[448.0, f32::NAN, -224.0]);
        assert_eq!((codes, step), (vec![0x7e, 0x7f, 0xf6], 1.0));
    }
}
