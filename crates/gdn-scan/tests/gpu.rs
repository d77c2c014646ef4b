//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

use gdn_scan::gpu::{BetaGate, DecayGate, Gates, Outputs, Problem, Sizes, scan, step, step_fast};
use gdn_scan::{Beta, Decay, Error, Norm, oracle, raw};
use half::bf16;
use launch::cudarc::driver::CudaStream;
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

const SIZES: Sizes = Sizes {
    sequences: 2,
    key_heads: 1,
    value_heads: 2,
    key_dim: 128,
    value_dim: 128,
};
const ROWS: usize = 5;

#[test]
fn the_bytes_are_the_oracles() {
    let Some(stream) = stream() else { return };
    // Two ragged sequences of packed bf16 rows, q, k and v side by side.
    let row = 2 * 128 + 2 * 128;
    let packed: Vec<bf16> = values(ROWS * row, 1)
        .into_iter()
        .map(bf16::from_f32)
        .collect();
    let gates: Vec<bf16> = values(ROWS * 4, 2)
        .into_iter()
        .map(bf16::from_f32)
        .collect();
    let (a_log, dt_bias, state) = (values(2, 3), values(2, 4), values(2 * SIZES.state(), 5));
    let offsets = [0, 3, 5];
    let f32s = |x: &[bf16]| -> Vec<f32> { x.iter().map(|x| x.to_f32()).collect() };
    let (packed_f32, gates_f32) = (f32s(&packed), f32s(&gates));
    let mut want_state = state.clone();
    let want = oracle::scan(
        &oracle::Problem {
            total_t: ROWS,
            q_stride: row,
            k_stride: row,
            v_stride: row,
            g_stride: 4,
            beta_stride: 4,
            dtype: gdn_scan::Dtype::Bf16,
            decay: Decay::Gate,
            beta_form: Beta::Sigmoid,
            norm: Norm::EpsInside(1e-6),
            cu_seqlens: Some(&offsets),
            q: &packed_f32,
            k: &packed_f32[128..],
            v: &packed_f32[256..],
            g: &gates_f32,
            beta: &gates_f32[2..],
            a_log: &a_log,
            dt_bias: &dt_bias,
            ..oracle::Problem::tokens([2, 1, 2, 128, 128], 3)
        },
        &mut want_state,
    );
    let packed = stream.clone_htod(&packed).unwrap();
    let gates = stream.clone_htod(&gates).unwrap();
    let (a_log, dt_bias) = (
        stream.clone_htod(&a_log).unwrap(),
        stream.clone_htod(&dt_bias).unwrap(),
    );
    let offsets = stream.clone_htod(&offsets).unwrap();
    let mut state = stream.clone_htod(&state).unwrap();
    let mut out = stream.alloc_zeros::<bf16>(ROWS * 256).unwrap();
    let mut problem = Problem::packed(
        SIZES,
        3,
        packed.as_view(),
        packed.slice(128..),
        packed.slice(256..),
        Gates {
            decay: DecayGate::Raw {
                a: gates.as_view(),
                a_log: a_log.as_view(),
                dt_bias: dt_bias.as_view(),
            },
            key_decay: false,
            decay_stride: Some(4),
            beta: BetaGate::Sigmoid(gates.slice(2..)),
            beta_stride: Some(4),
        },
    );
    (problem.q_stride, problem.k_stride, problem.v_stride) = (row, row, row);
    problem.cu_seqlens = Some((offsets.as_view(), ROWS));
    problem.norm = Norm::EpsInside(1e-6);
    let mut outputs = Outputs::new(state.as_view_mut(), out.as_view_mut());
    scan(&stream, &problem, &mut outputs).unwrap();
    assert_eq!(stream.clone_dtoh(&state).unwrap(), want_state);
    assert_eq!(f32s(&stream.clone_dtoh(&out).unwrap()), want.out);
}

#[test]
fn a_buffer_that_is_too_short_is_named_before_the_library_is_called() {
    let Some(stream) = stream() else { return };
    let keys = stream.clone_htod(&values(2 * 128, 1)).unwrap();
    let v = stream.clone_htod(&values(2 * 256, 2)).unwrap();
    let gates = stream.clone_htod(&values(4, 3)).unwrap();
    let mut state = stream.alloc_zeros::<f32>(2 * SIZES.state()).unwrap();
    let mut out = stream.alloc_zeros::<f32>(2 * 256).unwrap();
    let given = || Gates::given(gates.as_view(), gates.as_view());
    let problem = Problem::packed(
        SIZES,
        1,
        keys.as_view(),
        keys.as_view(),
        v.as_view(),
        given(),
    );
    for entry in [step, step_fast] {
        let mut outputs = Outputs::new(state.as_view_mut(), out.as_view_mut());
        entry(&stream, &problem, &mut outputs).unwrap();
        let mut short = Outputs::new(state.slice_mut(1..), out.as_view_mut());
        let error = entry(&stream, &problem, &mut short).unwrap_err();
        assert!(error.to_string().starts_with("state: "), "{error}");
    }
    // max_t 0 does not make a step's buffers longer.
    let short = Problem::packed(
        SIZES,
        0,
        keys.slice(1..),
        keys.as_view(),
        v.as_view(),
        given(),
    );
    let mut outputs = Outputs::new(state.as_view_mut(), out.as_view_mut());
    let error = step(&stream, &short, &mut outputs).unwrap_err();
    assert!(error.to_string().starts_with("q: "), "{error}");
}

#[test]
fn what_the_library_refuses_comes_back_in_words() {
    let Some(stream) = stream() else { return };
    let x = stream.clone_htod(&values(1024, 1)).unwrap();
    let sizes = Sizes {
        key_heads: 2,
        value_heads: 3,
        sequences: 1,
        key_dim: 4,
        value_dim: 4,
    };
    let mut state = stream.alloc_zeros::<f32>(64).unwrap();
    let mut out = stream.alloc_zeros::<f32>(64).unwrap();
    let gates = Gates::given(x.as_view(), x.as_view());
    let problem = Problem::packed(sizes, 1, x.as_view(), x.as_view(), x.as_view(), gates);
    let mut outputs = Outputs::new(state.as_view_mut(), out.as_view_mut());
    let error = step(&stream, &problem, &mut outputs).unwrap_err();
    assert!(error.to_string().contains("value_heads"), "{error}");
}
