//! The oracle against the formula in f64, against itself, and against the header's words.

use half::{bf16, f16};
use proptest::prelude::*;
use rms_norm::oracle::{
    Elements, Problem, Repeated, Tensor, norm, reference, scale, sum_of_squares,
};
use rms_norm::{Dtype, GammaMode, Quantisation, ResidualMode};

/// Uniform in [-2, 2).
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 22) as f32 - 2.0
    };
    (0..count).map(|_| next()).collect()
}

/// Normalised mean squared error.
fn nmse(got: &[f32], want: &[f64]) -> f64 {
    let error: f64 = got
        .iter()
        .zip(want)
        .map(|(g, w)| (f64::from(*g) - w).powi(2))
        .sum();
    error / want.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn widths_of_real_models_are_near_the_formula() {
    for n in [
        1, 3, 31, 33, 64, 100, 127, 128, 257, 500, 576, 769, 1023, 1024, 1025, 2880, 4097, 7168,
        16896, 65536,
    ] {
        let (x, gamma) = (values(n, 1), values(n, 2));
        let row = norm(
            &Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 1, n, 1e-6),
            0,
        );
        let want = reference(&x, |j| f64::from(gamma[j]), 1e-6);
        let error = nmse(&row.y, &want);
        assert!(error < 1e-13, "{n}: {error}");
        for (got, want) in row.y.iter().zip(&want) {
            assert!((f64::from(*got) - want).abs() <= 1e-6 * want.abs() + 1e-12);
        }
    }
}

/// The order as rms_norm.h puts it, thread by thread.
#[test]
fn the_sum_is_that_of_1024_or_256_threads() {
    for n in [1, 40, 255, 256, 300, 1023, 1024, 1025, 3000, 5120] {
        let x = values(n, 5);
        let threads = if n >= 1024 { 1024 } else { 256 };
        let mut lanes: Vec<f32> = (0..threads)
            .map(|t| {
                let mut sum = 0f32;
                for j in (t..n).step_by(threads) {
                    sum = x[j].mul_add(x[j], sum);
                }
                sum
            })
            .collect();
        let butterfly = |v: &mut [f32]| {
            for step in [16, 8, 4, 2, 1] {
                let before = v.to_vec();
                for (lane, v) in v.iter_mut().enumerate() {
                    *v = before[lane] + before[lane ^ step];
                }
            }
            assert!(v.iter().all(|x| x.to_bits() == v[0].to_bits()));
        };
        let mut sums = vec![0f32; 32];
        for (warp, lanes) in lanes.chunks_exact_mut(32).enumerate() {
            butterfly(lanes);
            sums[warp] = lanes[0];
        }
        butterfly(&mut sums);
        assert_eq!(sum_of_squares(&x).to_bits(), sums[0].to_bits(), "{n}");
    }
}

#[test]
fn eps_is_inside_the_root_and_may_be_zero() {
    assert_eq!(scale(0.0, 4, 0.25), 2.0);
    assert_eq!(scale(16.0, 4, 0.0), 0.5);
    let zero = [0.0; 4];
    let problem = |eps| Problem::packed(Elements::F32(&zero), Elements::F32(&zero), 1, 4, eps);
    assert!(norm(&problem(0.0), 0).y.iter().all(|y| y.is_nan()));
    assert_eq!(norm(&problem(1e-6), 0).y, [0.0; 4]);
}

#[test]
fn a_sum_that_overflows_makes_zeros() {
    let (x, gamma) = ([1.9e19, 1.0, -1.0], [1.0; 3]);
    let problem = Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 1, 3, 1e-6);
    assert_eq!(norm(&problem, 0).y, [0.0, 0.0, -0.0]);
}

#[test]
fn weight_modes_differ_where_they_must() {
    let (x, gamma) = (values(64, 1), values(64, 2));
    let half: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
    let weight: Vec<bf16> = gamma.iter().map(|&x| bf16::from_f32(x)).collect();
    let of = |gamma_mode| {
        let problem = Problem {
            gamma_mode,
            ..Problem::packed(Elements::Bf16(&half), Elements::Bf16(&weight), 1, 64, 1e-6)
        };
        norm(&problem, 0)
    };
    let (plain, one, cast) = (
        of(GammaMode::Plain),
        of(GammaMode::OnePlus),
        of(GammaMode::AfterCast),
    );
    for j in 0..64 {
        let (x, g) = (half[j].to_f32(), weight[j].to_f32());
        let scaled = plain.rstd * x;
        assert_eq!(plain.y[j], scaled * g);
        assert_eq!(one.y[j], scaled * (1.0 + g));
        assert_eq!(cast.y[j], bf16::from_f32(scaled).to_f32() * g);
    }
    assert_ne!(plain.y, cast.y);
}

#[test]
fn a_residual_is_added_once_and_rounded_where_asked() {
    let (x, residual, gamma) = (values(40, 1), values(40, 2), vec![1.0; 40]);
    let h = |v: &[f32]| -> Vec<f16> { v.iter().map(|&x| f16::from_f32(x)).collect() };
    let (x, residual) = (h(&x), h(&residual));
    let of = |residual_mode| {
        let problem = Problem {
            residual: Some(Tensor {
                elements: Elements::F16(&residual),
                strides: [40; 3],
            }),
            residual_mode,
            ..Problem::packed(Elements::F16(&x), Elements::F32(&gamma), 1, 40, 1e-6)
        };
        norm(&problem, 0)
    };
    let (exact, rounded) = (of(ResidualMode::Unrounded), of(ResidualMode::Rounded));
    assert_eq!(exact.sum, rounded.sum);
    let r: Vec<f32> = exact
        .sum
        .iter()
        .map(|&r| f16::from_f32(r).to_f32())
        .collect();
    assert_eq!(rounded.rstd, scale(sum_of_squares(&r), 40, 1e-6));
    assert_ne!(exact.rstd, rounded.rstd);
}

#[test]
fn weights_wrap_in_every_dimension() {
    let x = values(2 * 3 * 2 * 8, 1);
    let gamma = values(4 * 2, 2);
    let problem = Problem {
        rows: [2, 3, 2],
        x: Tensor {
            elements: Elements::F32(&x),
            strides: [8, 16, 48],
        },
        gamma: Some(Repeated {
            tensor: Tensor {
                elements: Elements::F32(&gamma),
                strides: [4, 4, 4],
            },
            sizes: [4, 1, 2, 1],
        }),
        ..Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 1, 8, 1e-6)
    };
    for index in 0..12 {
        let row = norm(&problem, index);
        let channel = index / 2 % 3;
        for j in 0..8 {
            let weight = gamma[channel % 2 * 4 + j % 4];
            assert_eq!(row.y[j], row.rstd * x[index * 8 + j] * weight);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_row_is_the_same_alone_and_among_others(seed: u64, n in 1usize..2500, rows in 2usize..5) {
        let (x, gamma) = (values(rows * n, seed), values(n, !seed));
        let batch = Problem::packed(Elements::F32(&x), Elements::F32(&gamma), rows, n, 1e-6);
        for row in 0..rows {
            let one = &x[row * n..(row + 1) * n];
            let alone = Problem::packed(Elements::F32(one), Elements::F32(&gamma), 1, n, 1e-6);
            prop_assert_eq!(norm(&alone, 0), norm(&batch, row));
        }
    }

    #[test]
    fn a_power_of_two_moves_through(seed: u64, n in 1usize..2000, exponent in -20i32..20) {
        // Scaling by a power of two changes no digit where eps is 0.
        let factor = 2f32.powi(exponent);
        let (x, gamma) = (values(n, seed), values(n, !seed));
        let scaled: Vec<f32> = x.iter().map(|x| x * factor).collect();
        let of = |x: &[f32]| {
            norm(&Problem::packed(Elements::F32(x), Elements::F32(&gamma), 1, n, 0.0), 0)
        };
        // The root of an odd power of two is not one.
        if exponent % 2 == 0 || n == 1 {
            prop_assert_eq!(of(&x).y, of(&scaled).y);
        }
    }

    #[test]
    fn quantised_rows_reach_the_largest_code_and_no_further(seed: u64, n in 1usize..600) {
        let x = values(n, seed);
        let gamma = vec![1.0; n];
        for (dtype, largest) in [(Dtype::Fp8, 448.0), (Dtype::Int8, 127.0)] {
            let problem = Problem {
                quantisation: Quantisation::Token { dtype, min_scale: 1e-9 },
                ..Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 1, n, 1e-6)
            };
            let row = norm(&problem, 0);
            let top = row.codes.iter().map(|&code| match dtype {
                Dtype::Int8 => f32::from(code as i8).abs(),
                _ => rms_norm::oracle::quantise::fp8_value(code).abs(),
            });
            prop_assert_eq!(top.fold(0.0, f32::max), largest);
            for (code, y) in row.codes.iter().zip(&row.y) {
                let value = match dtype {
                    Dtype::Int8 => f32::from(*code as i8),
                    _ => rms_norm::oracle::quantise::fp8_value(*code),
                } * row.step;
                prop_assert!((value - y).abs() <= row.step * largest / 14.0);
            }
        }
    }
}
