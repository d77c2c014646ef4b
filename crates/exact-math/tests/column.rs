//! Column sums: their order, their accuracy, that what is missing changes nothing, and that the device's accumulators are
//! the same.

use std::path::Path;
use std::process::Command;

use exact_math::column::{Accumulator, F32x2, LANES, chain, column_sum, two_sum};

fn scattered(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 * 1e-3 - 8000.0
        })
        .collect()
}

/// The tree as the documentation tells it, with every missing row and chunk in place as +0.
fn padded<A: Accumulator>(x: &[f32]) -> A {
    let chunk = LANES * chain(x.len());
    let chunks = x.len().div_ceil(chunk).max(1).next_power_of_two();
    let mut sums: Vec<A> = (0..chunks)
        .map(|c| {
            let mut lanes: Vec<A> = (0..LANES)
                .map(|lane| {
                    (0..chain(x.len())).fold(A::ZERO, |sum, k| {
                        sum.add(*x.get(c * chunk + LANES * k + lane).unwrap_or(&0.0))
                    })
                })
                .collect();
            for step in [16, 8, 4, 2, 1] {
                lanes = (0..step).map(|l| lanes[l].merge(lanes[l + step])).collect();
            }
            lanes[0]
        })
        .collect();
    while sums.len() > 1 {
        sums = sums.chunks(2).map(|pair| pair[0].merge(pair[1])).collect();
    }
    sums[0]
}

#[test]
fn the_order_is_the_documented_one_and_what_is_missing_changes_nothing() {
    for rows in [
        0, 1, 2, 31, 32, 33, 127, 128, 129, 4096, 4097, 8192, 8193, 20_000,
    ] {
        let x = scattered(rows, rows as u32);
        fn check<A: Accumulator>(x: &[f32]) {
            let sum: A = column_sum(x.len(), |sum: A, row| sum.add(x[row]));
            let want: A = padded(x);
            assert_eq!(
                sum.to_f32().to_bits(),
                want.to_f32().to_bits(),
                "{}",
                x.len()
            );
            assert_eq!(sum.to_odd().to_bits(), want.to_odd().to_bits());
        }
        check::<F32x2>(&x);
        check::<f64>(&x);
        check::<f32>(&x);
    }
}

#[test]
fn a_column_that_cancels_is_right_to_an_ulp() {
    let half = 262_144;
    let x = |row: usize| if row < half { 1.0 } else { -0.9999_f32 };
    let exact: f64 = (0..2 * half).map(|row| f64::from(x(row))).sum();
    assert_eq!(exact, 26.21875);
    let sum: F32x2 = column_sum(2 * half, |sum: F32x2, row| sum.add(x(row)));
    assert_eq!(sum.to_f32(), 26.21875);
    let sum: f64 = column_sum(2 * half, |sum: f64, row| sum.add(x(row)));
    assert_eq!(sum.to_f32(), 26.21875);
    let tenths: F32x2 = column_sum(2 * half, |sum: F32x2, _| sum.add(0.1));
    assert_eq!(
        tenths.to_f32(),
        (524_288.0 * f64::from(0.1_f32)) as f32,
        "524288 times 0.1"
    );
}

#[test]
fn means_are_right_for_row_counts_that_f32_does_not_hold() {
    for rows in [1_u64, 3, 7, (1 << 24) + 1, (1 << 33) + 12_345] {
        let sum = F32x2::ZERO.add_product(rows as f32, 0.1);
        let want = (f64::from(sum.high) + f64::from(sum.low)) / rows as f64;
        assert_eq!(sum.divided(rows).to_f32(), want as f32, "{rows}");
    }
}

#[test]
fn infinities_and_nans_are_those_of_plain_additions() {
    let sum = |x: &[f32]| column_sum(x.len(), |sum: F32x2, row| sum.add(x[row])).to_f32();
    assert_eq!(sum(&[1.0, f32::INFINITY, 2.0]), f32::INFINITY);
    assert_eq!(sum(&[f32::NEG_INFINITY; 40]), f32::NEG_INFINITY);
    assert!(sum(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]).is_nan());
    assert!(sum(&[0.0, f32::NAN]).is_nan());
    assert_eq!(sum(&[f32::MAX; 64]), f32::INFINITY);
    assert_eq!(sum(&[-0.0; 7]).to_bits(), 0);
}

#[test]
fn shorter_formats_are_rounded_to_once() {
    // Halfway between two neighbours of bf16, and less than an f32 ulp above: up, where the f32 would tie to even.
    let half_way = f32::from_bits(0x3f80_8000);
    let sum = F32x2::ZERO.add(half_way).add(1e-10);
    assert_eq!(sum.to_f32(), half_way);
    assert_eq!(sum.to_bf16(), 0x3f81);
    assert_eq!(F32x2::ZERO.add(half_way).to_bf16(), 0x3f80);
    assert_eq!(F32x2::ZERO.add(half_way).add(-1e-10).to_bf16(), 0x3f80);
    assert_eq!((f64::from(half_way) + 1e-10).to_bf16(), 0x3f81);
    assert_eq!((-f64::from(half_way) - 1e-10).to_bf16(), 0xbf81);
    assert_eq!(1e-60_f64.to_f16(), 0);
}

#[test]
fn the_error_of_a_sum_is_exact() {
    for pair in scattered(2000, 9).chunks(2) {
        let (sum, error) = two_sum(pair[0], pair[1] * 1e-5);
        let exact = f64::from(pair[0]) + f64::from(pair[1] * 1e-5);
        assert_eq!(f64::from(sum) + f64::from(error), exact);
    }
}

/// The first compiler that starts: `CXX`, then the usual names.
fn compiler() -> Option<String> {
    let named = std::env::var("CXX").ok();
    named
        .into_iter()
        .chain(["c++", "g++", "clang++"].map(String::from))
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|o| o.status.success())
        })
}

#[test]
fn the_devices_accumulators_return_the_same_bytes() {
    let compiler = compiler().expect("no C++ compiler found: set CXX, or install g++ or clang++");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [program, inputs, outputs] =
        ["accumulate", "accumulate.inputs", "accumulate.outputs"].map(|name| scratch.join(name));
    let built = Command::new(&compiler)
        .args(["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra"])
        .args(["-Werror", "-Wno-unused-function", "-DCK_SIM=1", "-I"])
        .arg(here.join("tests/shim"))
        .arg("-I")
        .arg(here.join("../build-support/include"))
        .arg(here.join("tests/shim/accumulate.cc"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler started a moment ago");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );

    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::from_bits(1),
        1e-38,
        16_777_217.0,
        0.1,
    ];
    let mut groups = Vec::new();
    for (i, x) in scattered(4000, 5).chunks_exact(5).enumerate() {
        let mut group = [x[0], x[1] * 1e-4, x[2] * 1e3, x[3] * 1e-6, x[4] * 1e-3];
        if i % 2 == 1 {
            group[i / 2 % 5] = special[i / 10 % special.len()];
            group[i / 3 % 5] = special[i / 7 % special.len()];
        }
        groups.push((
            group,
            1 + (i as u32).pow(2).wrapping_mul(7919) % (u32::MAX - 1),
        ));
    }
    let bytes: Vec<u8> = groups
        .iter()
        .flat_map(|(group, rows)| {
            let floats = group.iter().flat_map(|x| x.to_ne_bytes());
            floats.chain(rows.to_ne_bytes()).collect::<Vec<_>>()
        })
        .collect();
    std::fs::write(&inputs, bytes).expect("the target folder is writable");
    let ran = Command::new(&program)
        .args([&inputs, &outputs])
        .status()
        .expect("the program was just built");
    assert!(ran.success());

    fn make<A: Accumulator>([a, b, w, x, alpha]: [f32; 5], rows: u32) -> [f32; 2] {
        let sum = A::ZERO.add(a).add(b).add_product(w, x);
        let sum = sum.merge(A::ZERO.add(b)).merge(sum);
        let sum = sum.divided(rows.into()).scaled(alpha);
        [sum.to_f32(), sum.to_odd()]
    }
    let results = std::fs::read(&outputs).expect("the program wrote it");
    let mut results = results
        .chunks_exact(4)
        .map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
    for (group, rows) in groups {
        let wanted = [
            make::<F32x2>(group, rows),
            make::<f64>(group, rows),
            make::<f32>(group, rows),
        ];
        for want in wanted.as_flattened() {
            let got = results.next().expect("six results a group");
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{group:?}, {rows} rows: Rust {want:e}, device source {got:e}"
            );
        }
    }
    assert_eq!(results.next(), None);
}
