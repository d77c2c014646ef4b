//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

use half::bf16;
use launch::Workspace;
use launch::cudarc::driver::CudaStream;
use rms_norm::gpu::{
    Backward, Norm, Outputs, Residual, Target, backward, backward_workspace_bytes, norm, norm_ggml,
};
use rms_norm::oracle::{self, Elements, Problem};
use rms_norm::{Dtype, Error, GammaMode, ResidualMode, raw};
use std::error::Error as _;
use std::sync::Arc;

/// A stream of its own, or `None` with the reason printed.
fn stream() -> Option<Arc<CudaStream>> {
    if let Err(error) = raw::abi_version() {
        eprintln!("not checked: {error}");
        return None;
    }
    match launch::Device::open(0) {
        Ok(context) => Some(context.new_stream().expect("a device has streams")),
        Err(error) => {
            assert!(matches!(error, Error::NoDevice { .. }), "{error}");
            eprintln!("not checked: {error}");
            None
        }
    }
}

fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn rows_of(problem: &Problem<'_>) -> Vec<f32> {
    (0..problem.total())
        .flat_map(|row| oracle::norm(problem, row).y)
        .collect()
}

#[test]
fn the_bytes_are_the_oracles() {
    let Some(stream) = stream() else { return };
    for (rows, n) in [(3, 64), (2, 1000), (2, 4096), (1, 4097)] {
        let (x, gamma) = (values(rows * n, 1), values(n, 2));
        let want = rows_of(&Problem::packed(
            Elements::F32(&x),
            Elements::F32(&gamma),
            rows,
            n,
            1e-6,
        ));
        let mut device_x = stream.clone_htod(&x).unwrap();
        let gamma = stream.clone_htod(&gamma).unwrap();
        let mut y = stream.alloc_zeros::<f32>(rows * n).unwrap();
        let problem = Norm::packed(device_x.as_view(), Some(gamma.as_view()), rows, n, 1e-6);
        norm(
            &stream,
            &problem,
            Outputs::only(Target::Same(y.as_view_mut())),
        )
        .unwrap();
        assert_eq!(stream.clone_dtoh(&y).unwrap(), want);

        // Of the same sizes, with its rows taken from where its results go.
        let mut in_place = Norm::packed(y.as_view(), Some(gamma.as_view()), rows, n, 1e-6);
        in_place.x = None;
        norm(
            &stream,
            &in_place,
            Outputs::only(Target::InPlace(device_x.as_view_mut())),
        )
        .unwrap();
        assert_eq!(stream.clone_dtoh(&device_x).unwrap(), want);
    }
}

#[test]
fn a_residual_in_place_and_codes_for_each_token() {
    let Some(stream) = stream() else { return };
    let (rows, n) = (2, 256);
    let half = |v: Vec<f32>| -> Vec<bf16> { v.into_iter().map(bf16::from_f32).collect() };
    let (x, residual) = (half(values(rows * n, 1)), half(values(rows * n, 2)));
    let gamma = values(n, 3);
    let problem = Problem {
        residual: Some(oracle::Tensor {
            elements: Elements::Bf16(&residual),
            strides: [n, rows * n, rows * n],
        }),
        quantisation: rms_norm::Quantisation::Token {
            dtype: Dtype::Fp8,
            min_scale: 1e-6,
        },
        ..Problem::packed(Elements::Bf16(&x), Elements::F32(&gamma), rows, n, 1e-6)
    };
    let want: Vec<_> = (0..rows).map(|row| oracle::norm(&problem, row)).collect();
    let x = stream.clone_htod(&x).unwrap();
    let mut residual = stream.clone_htod(&residual).unwrap();
    let gamma = stream.clone_htod(&gamma).unwrap();
    let mut y = stream.alloc_zeros::<u8>(rows * n).unwrap();
    let mut scales = stream.alloc_zeros::<f32>(rows).unwrap();
    let mut rstd = stream.alloc_zeros::<f32>(rows).unwrap();
    let call = Norm::packed(x.as_view(), Some(gamma.as_view()), rows, n, 1e-6);
    let outputs = Outputs {
        y: Target::ByToken {
            y: y.as_view_mut(),
            dtype: Dtype::Fp8,
            scales: scales.as_view_mut(),
            min_scale: 1e-6,
        },
        residual: Some(Residual::InPlace(residual.as_view_mut())),
        residual_mode: ResidualMode::Unrounded,
        rstd: Some(rstd.as_view_mut()),
    };
    norm(&stream, &call, outputs).unwrap();
    let codes: Vec<u8> = want.iter().flat_map(|row| row.codes.clone()).collect();
    let sums: Vec<bf16> = want
        .iter()
        .flat_map(|row| row.sum.iter().map(|&r| bf16::from_f32(r)))
        .collect();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), codes);
    assert_eq!(stream.clone_dtoh(&residual).unwrap(), sums);
    assert_eq!(
        stream.clone_dtoh(&scales).unwrap(),
        [want[0].step, want[1].step]
    );
    assert_eq!(
        stream.clone_dtoh(&rstd).unwrap(),
        [want[0].rstd, want[1].rstd]
    );
}

/// The device's scales are near those of correctly rounded operations, and everything else follows
/// from them to the byte.
#[test]
fn the_mode_with_llama_cpps_operations_is_exact_given_its_scale() {
    let Some(stream) = stream() else { return };
    for n in [64, 1000, 2880, 4096, 7168] {
        let (x, gamma) = (values(2 * n, 1), values(n, 2));
        let device_x = stream.clone_htod(&x).unwrap();
        let device_gamma = stream.clone_htod(&gamma).unwrap();
        let mut y = stream.alloc_zeros::<f32>(2 * n).unwrap();
        let mut sums = stream.alloc_zeros::<f32>(2).unwrap();
        let mut scales = stream.alloc_zeros::<f32>(2).unwrap();
        let problem = Norm::packed(device_x.as_view(), Some(device_gamma.as_view()), 2, n, 1e-5);
        norm_ggml(
            &stream,
            &problem,
            &mut y.as_view_mut(),
            Some(&mut sums.as_view_mut()),
            Some(&mut scales.as_view_mut()),
        )
        .unwrap();
        let (y, sums, scales) = (
            stream.clone_dtoh(&y).unwrap(),
            stream.clone_dtoh(&sums).unwrap(),
            stream.clone_dtoh(&scales).unwrap(),
        );
        for (row, x) in x.chunks_exact(n).enumerate() {
            assert_eq!(sums[row], oracle::ggml_sum(x));
            let near = oracle::ggml_scale(sums[row], n, 1e-5);
            assert!(scales[row].to_bits().abs_diff(near.to_bits()) <= 4);
            let want = oracle::ggml(x, Some(&gamma), None, scales[row]);
            assert_eq!(y[row * n..][..n], want);
        }
    }
}

#[test]
fn gradients_are_the_oracles() {
    let Some(stream) = stream() else { return };
    let (rows, n) = (5, 300);
    let (x, dy, gamma) = (values(rows * n, 1), values(rows * n, 2), values(n, 3));
    let want = oracle::backward(&oracle::Backward {
        n,
        rows,
        x: Elements::F32(&x),
        x_stride: n,
        gamma: Some(Elements::F32(&gamma)),
        gamma_mode: GammaMode::Plain,
        dy: Elements::F32(&dy),
        dy_stride: n,
        rstd: None,
        eps: 1e-6,
    });
    let x = stream.clone_htod(&x).unwrap();
    let dy = stream.clone_htod(&dy).unwrap();
    let gamma = stream.clone_htod(&gamma).unwrap();
    let mut dx = stream.alloc_zeros::<f32>(rows * n).unwrap();
    let mut dgamma = stream.alloc_zeros::<f32>(n).unwrap();
    let problem = Backward {
        n,
        rows,
        x: x.as_view(),
        gamma: Some(gamma.as_view()),
        gamma_mode: GammaMode::Plain,
        dy: dy.as_view(),
        rstd: None,
        eps: 1e-6,
    };
    let bytes = backward_workspace_bytes(&problem).unwrap();
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    backward(
        &stream,
        &problem,
        Some(&mut dx.as_view_mut()),
        Some(&mut dgamma.as_view_mut()),
        Some(&mut workspace),
    )
    .unwrap();
    assert_eq!(stream.clone_dtoh(&dx).unwrap(), want.dx);
    let sums: Vec<f32> = want
        .dgamma
        .iter()
        .map(|sum| exact_math::column::Accumulator::to_f32(*sum))
        .collect();
    assert_eq!(stream.clone_dtoh(&dgamma).unwrap(), sums);
}

#[test]
fn short_buffers_and_bad_scalars_are_named() {
    let Some(stream) = stream() else { return };
    let x = stream.clone_htod(&[1.0f32; 16]).unwrap();
    let gamma = stream.clone_htod(&[1.0f32; 8]).unwrap();
    let mut y = stream.clone_htod(&[7.0f32; 16]).unwrap();
    let mut refused = |x_length: usize, eps: f32, y_length: usize, argument: &str| {
        let problem = Norm::packed(x.slice(..x_length), Some(gamma.as_view()), 2, 8, eps);
        let outputs = Outputs::only(Target::Same(y.slice_mut(..y_length)));
        let error = norm(&stream, &problem, outputs).unwrap_err();
        assert!(error.to_string().contains(argument), "{error}");
    };
    refused(15, 1e-6, 16, "x");
    refused(16, 1e-6, 15, "y");
    refused(16, f32::NAN, 16, "eps");
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [7.0; 16]);
}

#[test]
fn without_a_library_or_a_device_the_answer_is_an_error() {
    match raw::abi_version() {
        Ok(version) => assert_eq!(version, rms_norm::ffi::RMS_ABI_VERSION),
        Err(error) => {
            assert!(matches!(error, Error::NotBuilt { .. }) && error.source().is_none());
        }
    }
    assert!(matches!(
        launch::Device::open(4096),
        Err(Error::NoDevice { .. })
    ));
}
