//! The device's `<ck/math.cuh>`, compiled for the CPU, returns the bytes of the Rust functions.

use std::path::Path;
use std::process::Command;

type Function = fn(f32) -> f32;

const TWINS: &[(&str, Function)] = &[
    ("exp", exact_math::exp),
    ("exp_nonpositive", exact_math::exp_nonpositive),
    ("log", exact_math::log),
    ("log1p", exact_math::log1p),
    ("sigmoid", exact_math::sigmoid),
    ("complement", |x| exact_math::sigmoid_and_complement(x).1),
    ("softplus", exact_math::softplus),
    ("tanh", exact_math::tanh),
    ("tanh_slope", exact_math::tanh_slope),
    ("erf", exact_math::erf),
    ("silu", exact_math::silu),
    ("silu_slope", exact_math::silu_slope),
    ("gelu_erf", exact_math::gelu_erf),
    ("gelu_erf_slope", exact_math::gelu_erf_slope),
    ("gelu_tanh", exact_math::gelu_tanh),
    ("gelu_tanh_slope", exact_math::gelu_tanh_slope),
];

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

/// A stride through every sign and exponent, for each of these the mantissas where rounding changes its mind, a finer
/// stride where most functions bend, and the surroundings of every limit in the source.
fn patterns() -> Vec<u32> {
    const MANTISSAS: [u32; 12] = [
        0, 1, 2, 3, 0x2a_aaaa, 0x35_04f2, 0x35_04f3, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x7f_fffe,
        0x7f_ffff,
    ];
    const LIMITS: [f32; 16] = [
        0.312_5,
        0.625,
        0.92,
        0.707_106_77,
        1.0,
        10.2,
        14.4,
        15.0,
        20.0,
        87.336_54,
        88.722_83,
        103.972_08,
        104.0,
        110.0,
        120.0,
        0.292_893_2,
    ];
    let stride = (0..=u32::MAX).step_by(8191);
    let edges =
        (0..512_u32).flat_map(|sign_and_exponent| MANTISSAS.map(|m| (sign_and_exponent << 23) | m));
    let bends = (0.125_f32.to_bits()..128_f32.to_bits()).step_by(1021);
    let limits = LIMITS
        .into_iter()
        .flat_map(|limit| limit.to_bits() - 40..=limit.to_bits() + 40);
    let both_signs = bends
        .chain(limits)
        .flat_map(|bits| [bits, bits | 0x8000_0000]);
    stride.chain(edges).chain(both_signs).collect()
}

#[test]
fn the_device_source_returns_the_same_bytes() {
    let Some(compiler) = compiler() else {
        panic!("no C++ compiler found: set CXX, or install g++ or clang++");
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [program, inputs, outputs] =
        ["apply", "apply.inputs", "apply.outputs"].map(|name| scratch.join(name));
    let built = Command::new(&compiler)
        .args([
            "-std=c++17",
            "-O2",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-function",
        ])
        .arg("-DCK_SIM=1")
        .arg("-I")
        .arg(here.join("tests/shim"))
        .arg("-I")
        .arg(here.join("../build-support/include"))
        .arg(here.join("tests/shim/apply.cc"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler started a moment ago");
    assert!(
        built.status.success(),
        "{compiler}:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );

    let patterns = patterns();
    let bytes: Vec<u8> = patterns.iter().flat_map(|p| p.to_ne_bytes()).collect();
    std::fs::write(&inputs, bytes).expect("the target folder is writable");
    let ran = Command::new(&program)
        .args([&inputs, &outputs])
        .args(TWINS.iter().map(|(name, _)| name))
        .output()
        .expect("the program was just built");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let results = std::fs::read(&outputs).expect("the program wrote it");
    let results: Vec<u32> = results
        .chunks_exact(4)
        .map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    assert_eq!(results.len(), patterns.len() * TWINS.len());

    for ((name, function), device) in TWINS.iter().zip(results.chunks_exact(patterns.len())) {
        for (&pattern, &device) in patterns.iter().zip(device) {
            let (x, got) = (f32::from_bits(pattern), f32::from_bits(device));
            if *name == "exp_nonpositive" && x > 0.0 {
                continue;
            }
            let rust = function(x);
            assert!(
                rust.to_bits() == device || (rust.is_nan() && got.is_nan()),
                "{name}({x:e}, bits {pattern:08x}): Rust {rust:e} ({:08x}), device source {got:e} ({device:08x})",
                rust.to_bits()
            );
        }
    }
}
