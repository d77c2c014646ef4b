//! The numeric functions against definitions of their own.

mod support;

use std::ffi::c_int;

use simulator::Flavor;
use support::Simulator;

/// Bit patterns that reach every exponent, with the edges of each.
fn samples() -> Vec<f32> {
    let mut bits = Vec::new();
    for exponent in 0..=255u32 {
        for fraction in [
            0, 1, 2, 0x1000, 0x1fff, 0x2000, 0x2001, 0x3fffff, 0x400000, 0x7ffffe, 0x7fffff,
        ] {
            bits.push(exponent << 23 | fraction);
        }
    }
    let mut state = 1u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bits.push(state & 0x7fff_ffff);
    }
    bits.iter()
        .flat_map(|&b| [f32::from_bits(b), f32::from_bits(b | 0x8000_0000)])
        .collect()
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The sign of x m^2 - 1 for m halfway between two floats, in integers.
fn compare_with_one(x: f32, twice_m_bits: (u128, i32)) -> std::cmp::Ordering {
    let (significand, exponent) = decompose(x);
    let (m, m_exponent) = twice_m_bits;
    let product = u128::from(significand) * m * m;
    let shift = exponent + 2 * m_exponent;
    // product * 2^shift against 1.
    assert!(shift <= 0);
    match 1u128.checked_shl(shift.unsigned_abs()) {
        Some(one) if shift.unsigned_abs() < 128 => product.cmp(&one),
        _ => std::cmp::Ordering::Less,
    }
}

/// x = significand * 2^exponent.
fn decompose(x: f32) -> (u32, i32) {
    let bits = x.to_bits() & 0x7fff_ffff;
    let (exponent, fraction) = ((bits >> 23) as i32, bits & 0x7f_ffff);
    if exponent == 0 {
        (fraction, -149)
    } else {
        (fraction | 0x80_0000, exponent - 150)
    }
}

/// The point halfway between y and the float above it.
fn halfway_above(y: f32) -> (u128, i32) {
    let (significand, exponent) = decompose(y);
    (2 * u128::from(significand) + 1, exponent - 1)
}

#[test]
fn reciprocal_square_roots_are_correctly_rounded() {
    let sim = Simulator::load(Flavor::Plain);
    let f: extern "C" fn(f32) -> f32 = sim.symbol("simk_frsqrt");
    for x in samples() {
        let y = f(x);
        if x.is_nan() || (x < 0.0) {
            assert!(y.is_nan(), "{x:e}");
        } else if x == 0.0 {
            assert!(same(y, 1.0 / x), "{x:e}");
        } else if x.is_infinite() {
            assert_eq!(y.to_bits(), 0);
        } else {
            let below = f32::from_bits(y.to_bits() - 1);
            assert!(
                compare_with_one(x, halfway_above(y)).is_gt()
                    && compare_with_one(x, halfway_above(below)).is_lt(),
                "{x:e} gave {y:e}"
            );
        }
    }
}

#[test]
fn sixteen_bit_floats_round_to_nearest_even() {
    let sim = Simulator::load(Flavor::Plain);
    let narrow: extern "C" fn(f32) -> u16 = sim.symbol("simk_f16");
    let widen: extern "C" fn(u16) -> f32 = sim.symbol("simk_from_f16");
    let brain: extern "C" fn(f32) -> u16 = sim.symbol("simk_bf16");
    for x in samples() {
        let expected = half::f16::from_f32(x);
        assert!(
            narrow(x) == expected.to_bits() || (x.is_nan() && narrow(x) == 0x7fff),
            "{x:e}"
        );
        let expected = half::bf16::from_f32(x);
        assert!(
            brain(x) == expected.to_bits() || (x.is_nan() && brain(x) == 0x7fff),
            "{x:e}"
        );
    }
    for bits in 0..=u16::MAX {
        assert!(
            same(widen(bits), half::f16::from_bits(bits).to_f32()),
            "{bits:#x}"
        );
    }
}

#[test]
fn directed_rounding_brackets_the_nearest() {
    let sim = Simulator::load(Flavor::Plain);
    let f: extern "C" fn(c_int, c_int, f32, f32, f32) -> f32 = sim.symbol("simk_directed");
    let values = samples();
    for pair in values.windows(3).step_by(7) {
        let [a, b, c] = [pair[0], pair[1], pair[2]];
        // What is exact, or exactly comparable, in f64.
        let exact = [
            f64::from(a) + f64::from(b),
            f64::from(a) * f64::from(b),
            f64::from(a) / f64::from(b),
            f64::from(a).sqrt(),
        ];
        for (operation, exact) in exact.into_iter().enumerate() {
            let [down, up, zero] = [0, 1, 2].map(|mode| f(operation as c_int, mode, a, b, c));
            if exact.is_nan() {
                assert!(
                    down.is_nan() && up.is_nan() && zero.is_nan(),
                    "{operation} {a:e} {b:e}"
                );
                continue;
            }
            assert!(
                f64::from(down) <= exact && exact <= f64::from(up),
                "{operation} of {a:e} and {b:e}: {down:e} {exact:e} {up:e}"
            );
            assert!(
                up == down || down.next_up() == up,
                "{operation} of {a:e} and {b:e}: {down:e} {up:e} are not neighbours"
            );
            assert!(same(zero, if exact < 0.0 { up } else { down }) || exact == 0.0);
        }
    }
    assert_eq!(
        f(4, 0, 1.0 + f32::EPSILON, 1.0 + f32::EPSILON, -1.0),
        2.0 * f32::EPSILON
    );
    assert_eq!(
        f(4, 1, 1.0 + f32::EPSILON, 1.0 + f32::EPSILON, -1.0),
        (2.0 * f32::EPSILON).next_up()
    );
}

#[test]
fn minimum_and_maximum_order_zeros_and_pass_over_nan() {
    let sim = Simulator::load(Flavor::Plain);
    let min: extern "C" fn(f32, f32) -> f32 = sim.symbol("simk_fmin");
    let max: extern "C" fn(f32, f32) -> f32 = sim.symbol("simk_fmax");
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert_eq!(min(a, b).to_bits(), (-0.0f32).to_bits());
        assert_eq!(max(a, b).to_bits(), 0);
    }
    assert_eq!((min(f32::NAN, 1.0), max(2.0, f32::NAN)), (1.0, 2.0));
    assert!(min(f32::NAN, f32::NAN).is_nan());
    assert_eq!((min(1.0, -3.0), max(1.0, -3.0)), (-3.0, 1.0));
}

#[test]
fn conversions_to_integers_clamp() {
    let sim = Simulator::load(Flavor::Plain);
    let int: extern "C" fn(f32) -> i32 = sim.symbol("simk_to_int");
    let uint: extern "C" fn(f32) -> u32 = sim.symbol("simk_to_uint");
    let long: extern "C" fn(f32) -> i64 = sim.symbol("simk_to_ll");
    for x in samples() {
        assert_eq!(int(x), x.round_ties_even() as i32, "{x:e}");
        assert_eq!(uint(x), x as u32, "{x:e}");
        if !x.is_nan() {
            assert_eq!(long(x), x.floor() as i64, "{x:e}");
        }
    }
    assert_eq!(long(f32::NAN), i64::MIN);
}

#[test]
fn bit_functions_do_what_cuda_says() {
    let sim = Simulator::load(Flavor::Plain);
    let perm: extern "C" fn(u32, u32, u32) -> u32 = sim.symbol("simk_byte_perm");
    let funnel: extern "C" fn(u32, u32, u32) -> u32 = sim.symbol("simk_funnel");
    let reverse: extern "C" fn(u32) -> u32 = sim.symbol("simk_brev");
    assert_eq!(perm(0x4433_2211, 0x8877_6655, 0x7531), 0x8866_4422);
    // A selector with the high bit spreads the sign of the byte.
    assert_eq!(perm(0x4433_2211, 0x8877_66f5, 0x0c8f), 0x11ff_00ff);
    assert_eq!(funnel(0x8000_0001, 0x1234_5678, 4), 0x2345_6788);
    assert_eq!(funnel(0x8000_0001, 0x1234_5678, 32), 0x1234_5678);
    for x in [0u32, 1, 0x8000_0000, 0x1234_5678] {
        assert_eq!(reverse(x), x.reverse_bits());
    }
}

#[test]
fn a_fused_product_rounds_once() {
    let sim = Simulator::load(Flavor::Plain);
    let fma: extern "C" fn(f32, f32, f32) -> f32 = sim.symbol("simk_fma");
    for triple in samples().windows(3) {
        let expected = triple[0].mul_add(triple[1], triple[2]);
        assert!(
            same(fma(triple[0], triple[1], triple[2]), expected),
            "{triple:?}"
        );
    }
}

#[test]
fn arithmetic_makes_the_one_nan_of_the_hardware() {
    let sim = Simulator::load(Flavor::Plain);
    let fma: extern "C" fn(f32, f32, f32) -> f32 = sim.symbol("simk_fma");
    let root: extern "C" fn(f32) -> f32 = sim.symbol("simk_frsqrt");
    let payload = f32::from_bits(0xffc1_2345);
    for made in [
        fma(payload, 1.0, 0.0),
        fma(1.0, 1.0, payload),
        fma(f32::INFINITY, 1.0, f32::NEG_INFINITY),
        root(-1.0),
    ] {
        assert_eq!(made.to_bits(), 0x7fff_ffff);
    }
}
