//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

use half::bf16;
use launch::Workspace;
use launch::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use scoring::gpu::{Layout, Outputs, Problem, score, workspace_bytes};
use scoring::{DEFAULT_EPS, Error, Similarity, oracle, raw};
use std::error::Error as _;
use std::sync::Arc;

const COSINE: Similarity = Similarity::Cosine { eps: DEFAULT_EPS };

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

#[test]
fn the_bytes_are_the_oracles() {
    let Some(stream) = stream() else { return };
    let sizes @ [q, k, d] = [3, 100, 65];
    let (queries, candidates) = (values(q * d, 1), values(q * k * d, 2));
    let want = oracle::score(&oracle::Problem {
        scale: 20.0,
        top_k: 4,
        ..oracle::Problem::packed(
            COSINE,
            oracle::Elements::F32(&queries),
            oracle::Elements::F32(&candidates),
            sizes,
        )
    });
    let queries = stream.clone_htod(&queries).unwrap();
    let candidates = stream.clone_htod(&candidates).unwrap();
    let mut probabilities = stream.alloc_zeros::<f32>(q * k).unwrap();
    let mut top = stream.alloc_zeros::<i32>(q * 4).unwrap();
    let problem = Problem {
        scale: 20.0,
        top_k: 4,
        ..Problem::packed(COSINE, queries.as_view(), candidates.as_view(), sizes)
    };
    let mut workspace = Workspace::new(&stream, workspace_bytes(&problem).unwrap()).unwrap();
    for with_workspace in [false, true] {
        let mut outputs = Outputs {
            probabilities: Some(probabilities.as_view_mut()),
            top_indices: Some(top.as_view_mut()),
            ..Outputs::default()
        };
        let workspace = with_workspace.then_some(&mut workspace);
        score(&stream, &problem, &mut outputs, workspace).unwrap();
        assert_eq!(
            stream.clone_dtoh(&probabilities).unwrap(),
            want.probabilities
        );
        assert_eq!(stream.clone_dtoh(&top).unwrap(), want.top_indices);
    }
}

#[test]
fn sub_slices_of_half_precision_and_offsets_are_scored() {
    let Some(stream) = stream() else { return };
    let half = |values: Vec<f32>| -> Vec<bf16> { values.into_iter().map(bf16::from_f32).collect() };
    let (queries, candidates) = (half(values(2 * 8 + 1, 1)), half(values(5 * 8 + 1, 2)));
    let offsets = [0, 2, 5];
    let want = oracle::score(&oracle::Problem {
        layout: oracle::Layout::Ragged {
            offsets: &offsets,
            sum_k: 5,
        },
        ..oracle::Problem::packed(
            Similarity::Dot,
            oracle::Elements::Bf16(&queries[1..]),
            oracle::Elements::Bf16(&candidates[1..]),
            [2, 3, 8],
        )
    });
    let queries = stream.clone_htod(&queries).unwrap();
    let candidates = stream.clone_htod(&candidates).unwrap();
    let offsets = stream.clone_htod(&offsets).unwrap();
    let mut probabilities = stream.alloc_zeros::<f32>(5).unwrap();
    let problem = Problem {
        layout: Layout::Ragged {
            offsets: offsets.as_view(),
            sum_k: 5,
        },
        ..Problem::packed(
            Similarity::Dot,
            queries.slice(1..),
            candidates.slice(1..),
            [2, 3, 8],
        )
    };
    let mut outputs = Outputs {
        probabilities: Some(probabilities.as_view_mut()),
        ..Outputs::default()
    };
    score(&stream, &problem, &mut outputs, None).unwrap();
    assert_eq!(
        stream.clone_dtoh(&probabilities).unwrap(),
        want.probabilities
    );
}

#[test]
fn short_buffers_are_named_and_nothing_is_written() {
    let Some(stream) = stream() else { return };
    let queries = stream.clone_htod(&[1.0f32; 16]).unwrap();
    let candidates = stream.clone_htod(&[1.0f32; 48]).unwrap();
    let mut probabilities = stream.clone_htod(&[7.0f32; 6]).unwrap();
    let problem = |q: usize, c: usize| {
        Problem::packed(COSINE, queries.slice(..q), candidates.slice(..c), [2, 3, 8])
    };
    let mut check = |problem: Problem<'_, f32>, length: usize, argument: &str| {
        let mut outputs = Outputs {
            probabilities: Some(probabilities.slice_mut(..length)),
            ..Outputs::default()
        };
        let error = score(&stream, &problem, &mut outputs, None).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        assert!(error.to_string().starts_with(argument), "{error}");
    };
    check(problem(15, 48), 6, "queries");
    check(problem(16, 47), 6, "candidates");
    check(problem(16, 48), 5, "probabilities");
    let bias = stream.clone_htod(&[0.0f32; 5]).unwrap();
    check(
        Problem {
            bias: Some(bias.as_view()),
            ..problem(16, 48)
        },
        6,
        "bias",
    );
    assert_eq!(stream.clone_dtoh(&probabilities).unwrap(), [7.0; 6]);
}

#[test]
fn bad_scalars_and_overlapping_views_are_refused_by_name() {
    let Some(stream) = stream() else { return };
    let queries = stream.clone_htod(&[1.0f32; 8]).unwrap();
    let candidates = stream.clone_htod(&[1.0f32; 24]).unwrap();
    let mut probabilities = stream.clone_htod(&[7.0f32; 3]).unwrap();
    let problem = || Problem::packed(COSINE, queries.as_view(), candidates.as_view(), [1, 3, 8]);
    let mut refused = |problem: Problem<'_, f32>, code: i32, argument: &str| {
        let mut outputs = Outputs {
            probabilities: Some(probabilities.as_view_mut()),
            ..Outputs::default()
        };
        let error = score(&stream, &problem, &mut outputs, None).unwrap_err();
        assert!(
            matches!(error, Error::Library { code: got, .. } if got == code),
            "{error}"
        );
        assert!(error.to_string().contains(argument), "{error}");
    };
    refused(
        Problem {
            temperature: 0.0,
            ..problem()
        },
        3017,
        "temperature",
    );
    refused(
        Problem {
            scale: f32::NAN,
            ..problem()
        },
        3016,
        "scale",
    );
    refused(
        Problem {
            query_stride: 7,
            questions: 1,
            ..problem()
        },
        5013,
        "query_stride",
    );

    // Two owners of one memory, which only unsafe code can make.
    let (address, _guard) = probabilities.device_ptr(&stream);
    // SAFETY: the memory outlives the second owner, which is leaked below.
    let mut twin: CudaSlice<f32> = unsafe { stream.upgrade_device_ptr(address, 3) };
    drop(_guard);
    let mut outputs = Outputs {
        probabilities: Some(probabilities.as_view_mut()),
        logits: Some(twin.as_view_mut()),
        ..Outputs::default()
    };
    let error = score(&stream, &problem(), &mut outputs, None).unwrap_err();
    assert!(
        matches!(error, Error::Library { code: 7030, .. }),
        "{error}"
    );
    let _ = twin.leak();
    assert_eq!(stream.clone_dtoh(&probabilities).unwrap(), [7.0; 3]);
}

#[test]
fn without_a_library_or_a_device_the_answer_is_an_error() {
    match raw::abi_version() {
        Ok(version) => assert_eq!(version, scoring::ffi::CS_ABI_VERSION),
        Err(error) => {
            assert!(matches!(error, Error::NotBuilt { .. }) && error.source().is_none());
        }
    }
    assert!(matches!(
        launch::Device::open(4096),
        Err(Error::NoDevice { .. })
    ));
}
