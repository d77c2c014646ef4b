//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

use launch::Workspace;
use launch::cudarc::driver::CudaStream;
use reduce::gpu::{self, Moments, Options, Rows, Segments};
use reduce::oracle::{self, Elements};
use reduce::{Error, Sum, raw};
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

fn plain(before: &[f32]) -> oracle::Options<'_> {
    oracle::Options {
        sum: Sum::F32x2,
        mean: false,
        alpha: 1.0,
        beta: 0.0,
        before: Elements::F32(before),
    }
}

#[test]
fn the_bytes_are_the_oracles() {
    let Some(stream) = stream() else { return };
    let [rows, cols] = [20_000, 3];
    let x = values(rows * cols, 1);
    let zeros = [0.0; 3];
    let problem = oracle::Columns::packed(Elements::F32(&x), [rows, cols], plain(&zeros));
    let want = oracle::columns(&problem);
    let x = stream.clone_htod(&x).unwrap();
    let mut out = stream.alloc_zeros::<f32>(cols).unwrap();
    let problem = gpu::Columns::packed(x.as_view(), [rows, cols]);
    let bytes = gpu::columns_workspace_bytes(&problem).unwrap();
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    for with_workspace in [false, true] {
        let workspace = with_workspace.then_some(&mut workspace);
        gpu::columns(&stream, &problem, &mut out.as_view_mut(), None, workspace).unwrap();
        assert_eq!(oracle::Values::F32(stream.clone_dtoh(&out).unwrap()), want);
    }
}

#[test]
fn rows_segments_and_moments_are_summed() {
    let Some(stream) = stream() else { return };
    let x = values(60, 2);
    let device = stream.clone_htod(&x).unwrap();
    let mut out = stream.alloc_zeros::<f32>(6).unwrap();
    let zeros = [0.0; 6];
    let problem = Rows {
        x: device.as_view(),
        rows: 6,
        cols: 10,
        ld: 10,
        options: Options::default(),
    };
    gpu::rows(&stream, &problem, &mut out.as_view_mut(), None).unwrap();
    let want = oracle::rows(Elements::F32(&x), [6, 10], 10, plain(&zeros));
    assert_eq!(oracle::Values::F32(stream.clone_dtoh(&out).unwrap()), want);

    let offsets = [0i64, 7, 20];
    let on_device = stream.clone_htod(&offsets).unwrap();
    let problem = Segments {
        x: device.as_view(),
        rows: 20,
        cols: 3,
        ld: 3,
        offsets: on_device.as_view(),
        max_rows: 20,
        options: Options::default(),
    };
    gpu::segments(&stream, &problem, &mut out.as_view_mut(), None, None).unwrap();
    let want = oracle::segments(&oracle::Segments {
        x: Elements::F32(&x),
        rows: 20,
        cols: 3,
        ld: 3,
        offsets: &offsets,
        max_rows: 20,
        options: plain(&zeros),
    });
    assert_eq!(oracle::Values::F32(stream.clone_dtoh(&out).unwrap()), want);

    let mut norm = stream.alloc_zeros::<f32>(1).unwrap();
    let mut asked = Moments {
        norm: Some(norm.as_view_mut()),
        ..Moments::default()
    };
    gpu::moments(&stream, &device.as_view(), Sum::F32x2, &mut asked, None).unwrap();
    let want = oracle::moments(Elements::F32(&x), Sum::F32x2).norm;
    assert_eq!(stream.clone_dtoh(&norm).unwrap(), [want]);
}

#[test]
fn short_buffers_are_named_and_nothing_is_written() {
    let Some(stream) = stream() else { return };
    let x = stream.clone_htod(&[1.0f32; 12]).unwrap();
    let mut out = stream.clone_htod(&[7.0f32; 3]).unwrap();
    let mut check = |elements: usize, results: usize, argument: &str| {
        let problem = gpu::Columns::packed(x.slice(..elements), [4, 3]);
        let mut out = out.slice_mut(..results);
        let error = gpu::columns(&stream, &problem, &mut out, None, None).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        assert!(error.to_string().starts_with(argument), "{error}");
    };
    check(11, 3, "x");
    check(12, 2, "out");
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [7.0; 3]);
}

#[test]
fn without_a_library_or_a_device_the_answer_is_an_error() {
    match raw::abi_version() {
        Ok(version) => assert_eq!(version, reduce::ffi::RED_ABI_VERSION),
        Err(error) => {
            assert!(matches!(error, Error::NotBuilt { .. }) && error.source().is_none());
        }
    }
    assert!(matches!(
        launch::Device::open(4096),
        Err(Error::NoDevice { .. })
    ));
}
