//! The oracle against f64 sums, and its rules.

use half::{bf16, f16};
use reduce::Sum;
use reduce::oracle::{
    Columns, Elements, Options, Segments, Values, columns, kan_spline_grad, moments, rows,
    segments, splines,
};

fn scattered(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

const ZEROS: [f32; 64] = [0.0; 64];

fn options(sum: Sum) -> Options<'static> {
    Options {
        sum,
        mean: false,
        alpha: 1.0,
        beta: 0.0,
        before: Elements::F32(&ZEROS),
    }
}

/// Half a unit in the last place of `x`.
fn half_ulp(x: f64) -> f64 {
    (x.abs() as f32 * 2f32.powi(-24)).into()
}

#[test]
fn sums_are_the_f64_sums_rounded() {
    for [rows, cols] in [[1, 1], [7, 3], [1000, 5], [5000, 4], [20_000, 2]] {
        let x = scattered(rows * cols, 1);
        for sum in [Sum::F32x2, Sum::F64] {
            let got = columns(&Columns::packed(
                Elements::F32(&x),
                [rows, cols],
                options(sum),
            ));
            for col in 0..cols {
                let want: f64 = (0..rows).map(|r| f64::from(x[r * cols + col])).sum();
                let error = (f64::from(got.get(col)) - want).abs();
                assert!(
                    error <= 1.0001 * half_ulp(want) + 1e-12,
                    "{rows}x{cols} {sum:?}: {error:e}"
                );
            }
        }
    }
}

#[test]
fn the_column_that_cancels_is_right_to_an_ulp_and_in_f32_is_not() {
    let half = 262_144;
    let x: Vec<f32> = (0..2 * half)
        .map(|r| if r < half { 1.0 } else { -0.9999 })
        .collect();
    let sum = |sum| {
        columns(&Columns::packed(
            Elements::F32(&x),
            [2 * half, 1],
            options(sum),
        ))
        .get(0)
    };
    assert_eq!(sum(Sum::F32x2), 26.21875);
    assert_eq!(sum(Sum::F64), 26.21875);
    assert!((sum(Sum::F32) - 26.21875).abs() > 1e-4);
}

#[test]
fn weights_masks_indices_and_means_are_what_they_say() {
    let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let base = Columns::packed(Elements::F32(&x), [4, 3], options(Sum::F32x2));
    let mask = [1, 0, 255, 0];
    let kept = columns(&Columns {
        mask: Some(&mask),
        ..base
    });
    assert_eq!(kept, Values::F32(vec![6.0, 8.0, 10.0]));
    let mean = Options {
        mean: true,
        ..options(Sum::F32x2)
    };
    let kept = columns(&Columns {
        mask: Some(&mask),
        options: mean,
        ..base
    });
    assert_eq!(kept, Values::F32(vec![3.0, 4.0, 5.0]));
    let none = columns(&Columns {
        mask: Some(&[0; 4]),
        options: mean,
        ..base
    });
    assert_eq!(none, Values::F32(vec![0.0; 3]));
    let weights = [2.0, 0.0, 0.5, -1.0];
    let weighted = columns(&Columns {
        weights: Some(&weights),
        ..base
    });
    assert_eq!(weighted, Values::F32(vec![-6.0, -4.5, -3.0]));
    // Row 3 twice; -1 and 4 are outside of the table and not counted.
    let index = [3, -1, 3, 4];
    let indexed = columns(&Columns {
        index: Some((&index, 4)),
        options: mean,
        ..base
    });
    assert_eq!(indexed, Values::F32(vec![9.0, 10.0, 11.0]));
}

#[test]
fn beta_of_zero_does_not_read_and_another_does() {
    let x = [1.0, 2.0];
    let before = [f32::NAN];
    let with = |alpha, beta| {
        let options = Options {
            alpha,
            beta,
            before: Elements::F32(&before),
            ..options(Sum::F32x2)
        };
        columns(&Columns::packed(Elements::F32(&x), [2, 1], options)).get(0)
    };
    assert_eq!(with(2.0, 0.0), 6.0);
    assert_eq!(with(2.0, -0.0), 6.0);
    assert!(with(2.0, 1.0).is_nan());
}

#[test]
fn results_in_16_bits_are_rounded_once() {
    let x: Vec<f16> = scattered(3000, 3)
        .iter()
        .map(|&x| f16::from_f32(x))
        .collect();
    let exact: f64 = x.iter().map(|x| x.to_f64()).sum();
    let zeros = [f16::ZERO];
    let options = Options {
        before: Elements::F16(&zeros),
        ..options(Sum::F32x2)
    };
    let got = columns(&Columns::packed(Elements::F16(&x), [3000, 1], options));
    assert_eq!(got, Values::F16(vec![f16::from_f64(exact)]));
    let ones = vec![bf16::ONE; 70_000];
    let zeros = [bf16::ZERO];
    let options = Options {
        before: Elements::Bf16(&zeros),
        mean: true,
        ..options
    };
    let got = columns(&Columns::packed(
        Elements::Bf16(&ones),
        [70_000, 1],
        options,
    ));
    assert_eq!(got, Values::Bf16(vec![bf16::ONE]));
}

#[test]
fn rows_and_segments_are_columns_of_their_own() {
    let x = scattered(10 * 40, 7);
    let sums = rows(Elements::F32(&x), [10, 37], 40, options(Sum::F32x2));
    for row in 0..10 {
        let column = Columns::packed(Elements::F32(&x[row * 40..]), [37, 1], options(Sum::F32x2));
        assert_eq!(sums.get(row), columns(&column).get(0));
    }
    let offsets = [3, 3, 7, 5, 11, 9, 10];
    let s = Segments {
        x: Elements::F32(&x),
        rows: 10,
        cols: 2,
        ld: 40,
        offsets: &offsets,
        max_rows: 4,
        options: options(Sum::F32x2),
    };
    let good: Vec<bool> = (0..6).map(|i| s.bounds(i).is_some()).collect();
    assert_eq!(good, [true, true, false, false, false, true]);
    let Values::F32(sums) = segments(&s) else {
        panic!()
    };
    assert_eq!(sums.len(), 12);
    assert_eq!(sums[..2], [0.0; 2]);
    assert_eq!(sums[4..10], [0.0; 6]);
    assert_eq!(sums[10], x[9 * 40]);
}

#[test]
fn a_segments_bits_do_not_depend_on_where_it_lies() {
    let piece = scattered(200, 5);
    let at = |first: usize| {
        let mut x = scattered(first, 9);
        x.extend(&piece);
        let offsets = [0, first as i64, (first + 200) as i64];
        let s = Segments {
            x: Elements::F32(&x),
            rows: x.len(),
            cols: 1,
            ld: 1,
            offsets: &offsets,
            max_rows: 1000,
            options: options(Sum::F32),
        };
        segments(&s).get(1)
    };
    for first in [0, 1, 31, 100, 129] {
        assert_eq!(at(first).to_bits(), at(0).to_bits(), "{first}");
    }
}

#[test]
fn moments_are_those_of_f64() {
    let x: Vec<f32> = scattered(9000, 11).iter().map(|x| x * 100.0).collect();
    let squares: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
    for sum in [Sum::F32x2, Sum::F64] {
        let m = moments(Elements::F32(&x), sum);
        assert_eq!(m.sum_squares, squares as f32);
        assert_eq!(m.norm, squares.sqrt() as f32);
        assert_eq!(m.max_abs, x.iter().fold(0.0, |m: f32, x| m.max(x.abs())));
        assert_eq!(m.non_finite, 0);
    }
    let m = moments(
        Elements::F32(&[1.0, f32::NAN, f32::NEG_INFINITY, -3.0]),
        Sum::F32x2,
    );
    assert!(m.sum_squares.is_nan() && m.norm.is_nan());
    assert_eq!((m.max_abs, m.non_finite), (f32::INFINITY, 2));
    let m = moments(Elements::F32(&[]), Sum::F64);
    assert_eq!(
        (m.sum_squares, m.norm, m.max_abs, m.non_finite),
        (0.0, 0.0, 0.0, 0)
    );
    let far = [3e25, 4e25]
        .map(|x: f32| f64::from(x).powi(2))
        .iter()
        .sum::<f64>();
    let m = moments(Elements::F32(&[3e25, 4e25]), Sum::F64);
    assert_eq!((m.sum_squares, m.norm), (f32::INFINITY, far.sqrt() as f32));
}

fn uniform_knots(intervals: usize) -> Vec<f32> {
    (0..intervals + 7).map(|j| (j as f32 - 3.0) * 0.5).collect()
}

#[test]
fn splines_sum_to_one_inside_and_vanish_outside() {
    let knots = uniform_knots(6);
    for x in [0.0, 0.1, 0.5, 1.234, 2.999] {
        let b = splines(&knots, x);
        assert_eq!(b.len(), 9);
        let sum: f32 = b.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{x}: {sum}");
        assert!(b.iter().filter(|&&b| b != 0.0).count() <= 4);
    }
    for x in [-1.6, 5.0, f32::NAN, f32::INFINITY] {
        assert!(splines(&knots, x).iter().all(|&b| b == 0.0), "{x}");
    }
    // The middle of a uniform cubic spline.
    assert_eq!(splines(&knots, 0.5)[2], 2.0 / 3.0);
}

#[test]
fn the_last_knot_belongs_to_the_last_interval() {
    let mut knots = uniform_knots(4);
    let last = knots.len() - 1;
    for j in 0..3 {
        knots[j] = knots[3];
        knots[last - j] = knots[last - 3];
    }
    let b = splines(&knots, knots[last]);
    assert_eq!(b[6], 1.0);
    assert!(b[..6].iter().all(|&b| b == 0.0));
    assert_eq!(splines(&knots, knots[0])[0], 1.0);
}

#[test]
fn spline_gradients_are_the_products_summed() {
    let (n, inputs, outputs) = (200, 2, 3);
    let knots = uniform_knots(4);
    let x: Vec<f32> = scattered(n * inputs, 2).iter().map(|x| x + 1.0).collect();
    let dy = scattered(n * outputs, 4);
    let got = kan_spline_grad(&x, &dy, &knots, [n, inputs, outputs]);
    assert_eq!(got.len(), inputs * 7 * outputs);
    for i in 0..inputs {
        for g in 0..7 {
            for o in 0..outputs {
                let want: f64 = (0..n)
                    .map(|r| {
                        f64::from(splines(&knots, x[r * inputs + i])[g])
                            * f64::from(dy[r * outputs + o])
                    })
                    .sum();
                let got = f64::from(got[(i * 7 + g) * outputs + o]);
                assert!((got - want).abs() <= half_ulp(want) * 1.001 + 1e-12);
            }
        }
    }
}
