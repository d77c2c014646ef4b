//! 16-bit floats against the definition of rounding to nearest even.

use exact_math::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

struct Format {
    widen: fn(u16) -> f32,
    narrow: fn(f32) -> u16,
    infinity: u16,
    /// Value of the least subnormal.
    unit: f64,
}

const FORMATS: [Format; 2] = [
    Format {
        widen: f16_to_f32,
        narrow: f32_to_f16,
        infinity: 0x7c00,
        unit: 1.0 / 16_777_216.0,
    },
    // 2^-133
    Format {
        widen: bf16_to_f32,
        narrow: f32_to_bf16,
        infinity: 0x7f80,
        unit: 9.183_549_615_799_121e-41,
    },
];

/// The value of a finite pattern by its definition: whole units, doubled with each exponent.
fn value(format: &Format, bits: u16) -> f64 {
    let fraction_bits = format.infinity.trailing_zeros();
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1));
    let exponent = (bits & 0x7fff) >> fraction_bits;
    let hidden = f64::from(1_u32 << fraction_bits);
    let magnitude = if exponent == 0 {
        fraction
    } else {
        (hidden + fraction) * 2f64.powi(i32::from(exponent) - 1)
    } * format.unit;
    if bits & 0x8000 != 0 {
        -magnitude
    } else {
        magnitude
    }
}

#[test]
fn widening_gives_the_value_of_every_pattern() {
    for format in &FORMATS {
        for bits in 0..=u16::MAX {
            let wide = (format.widen)(bits);
            let magnitude = bits & 0x7fff;
            if magnitude > format.infinity {
                assert!(wide.is_nan(), "{bits:04x}");
            } else if magnitude == format.infinity {
                assert!(
                    wide.is_infinite() && wide.is_sign_negative() == (bits & 0x8000 != 0),
                    "{bits:04x}"
                );
            } else {
                assert_eq!(f64::from(wide), value(format, bits), "{bits:04x}");
                assert_eq!(wide.is_sign_negative(), bits & 0x8000 != 0, "{bits:04x}");
            }
        }
    }
}

#[test]
fn narrowing_undoes_widening() {
    for format in &FORMATS {
        for bits in 0..=u16::MAX {
            let back = (format.narrow)((format.widen)(bits));
            let want = if bits & 0x7fff > format.infinity {
                0x7fff
            } else {
                bits
            };
            assert_eq!(back, want, "{bits:04x}");
        }
    }
}

#[test]
fn between_two_neighbours_the_nearer_wins_and_the_middle_goes_to_the_even_one() {
    for format in &FORMATS {
        for low in 0..format.infinity {
            // Above the largest finite value stands the next power of two in infinity's place.
            let high_value = if low + 1 == format.infinity {
                2.0 * value(format, low + 1 - (1 << format.infinity.trailing_zeros()))
            } else {
                value(format, low + 1)
            };
            let middle = ((value(format, low) + high_value) / 2.0) as f32;
            let even = low + (low & 1);
            for sign in [0, 0x8000_u16] {
                let signed = |x: f32| if sign == 0 { x } else { -x };
                assert_eq!((format.narrow)(signed(middle)), even | sign, "{low:04x}");
                assert_eq!(
                    (format.narrow)(signed(middle.next_down())),
                    low | sign,
                    "{low:04x}"
                );
                assert_eq!(
                    (format.narrow)(signed(middle.next_up())),
                    (low + 1) | sign,
                    "{low:04x}"
                );
            }
        }
    }
}

#[test]
fn what_is_too_large_becomes_infinity_and_what_is_too_small_zero() {
    for format in &FORMATS {
        assert_eq!((format.narrow)(f32::MAX), format.infinity);
        assert_eq!((format.narrow)(f32::NEG_INFINITY), format.infinity | 0x8000);
        assert_eq!((format.narrow)(f32::from_bits(1)), 0);
        assert_eq!((format.narrow)(-f32::from_bits(1)), 0x8000);
        assert_eq!((format.narrow)(-f32::NAN), 0x7fff);
    }
}
