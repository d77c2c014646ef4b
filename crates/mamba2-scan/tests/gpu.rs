//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

mod common;

use common::uniform;
use half::bf16;
use launch::Workspace;
use launch::cudarc::driver::CudaStream;
use mamba2_scan::gpu::{self, Gradients, Outputs, Precision, Readout, Upstream};
use mamba2_scan::oracle::reference::{self, Near};
use mamba2_scan::oracle::{Dtype, state_update, temporal_scan};
use mamba2_scan::{Error, raw};
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

#[test]
fn a_decode_step_gives_the_bytes_of_the_oracle() {
    let Some(stream) = stream() else { return };
    let sizes @ [batch, heads, groups, rows, n] = [2, 4, 2, 64, 128];
    let halves = |count: usize, seed: u64| -> Vec<bf16> {
        uniform(count, seed, -2.0, 2.0)
            .into_iter()
            .map(bf16::from_f32)
            .collect()
    };
    let wide = |values: &[bf16]| values.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
    let state = uniform(batch * heads * rows * n, 1, -1.0, 1.0);
    let (x, z) = (
        halves(batch * heads * rows, 2),
        halves(batch * heads * rows, 3),
    );
    let (b, c) = (halves(batch * groups * n, 4), halves(batch * groups * n, 5));
    let dt = uniform(batch * heads, 6, -6.0, 1.0);
    let (a, d) = (uniform(heads, 7, 0.0, 2.7), uniform(heads, 8, -1.0, 1.0));
    let slots = [1, -1];
    let (wide_x, wide_z, wide_b, wide_c) = (wide(&x), wide(&z), wide(&b), wide(&c));
    let step = state_update::StateUpdate {
        io_type: Dtype::Bf16,
        softplus: true,
        d: Some(&d),
        z: Some(&wide_z),
        slots_in: Some(&slots),
        ..state_update::StateUpdate::packed(
            sizes,
            &wide_x,
            &dt,
            state_update::Decay::Log(&a),
            [&wide_b, &wide_c],
        )
    };
    let mut want_state = state.clone();
    let mut want_y = vec![0.0; batch * heads * rows];
    state_update::state_update(&step, &mut want_state, &mut want_y, &mut 0);

    let mut state = stream.clone_htod(&state).unwrap();
    let mut y = stream.clone_htod(&x).unwrap();
    let mut status = stream.alloc_zeros::<u32>(1).unwrap();
    let (x, z) = (
        stream.clone_htod(&x).unwrap(),
        stream.clone_htod(&z).unwrap(),
    );
    let (b, c) = (
        stream.clone_htod(&b).unwrap(),
        stream.clone_htod(&c).unwrap(),
    );
    let (dt, a, d) = (
        stream.clone_htod(&dt).unwrap(),
        stream.clone_htod(&a).unwrap(),
        stream.clone_htod(&d).unwrap(),
    );
    let slots = stream.clone_htod(&slots).unwrap();
    let step = gpu::StateUpdate {
        softplus: true,
        d: Some(d.as_view()),
        z: Some(z.as_view()),
        slots: gpu::Slots {
            from: Some(slots.as_view()),
            to: None,
        },
        ..gpu::StateUpdate::packed(
            sizes,
            x.as_view(),
            gpu::Step::F32(dt.as_view()),
            gpu::Decay::Log(a.as_view()),
            [b.as_view(), c.as_view()],
        )
    };
    gpu::state_update(
        &stream,
        &step,
        &mut state.as_view_mut(),
        &mut y.as_view_mut(),
        Some(&mut status.as_view_mut()),
    )
    .unwrap();
    assert_eq!(stream.clone_dtoh(&state).unwrap(), want_state);
    assert_eq!(wide(&stream.clone_dtoh(&y).unwrap()), want_y);
    assert_eq!(stream.clone_dtoh(&status).unwrap(), [0]);
}

#[test]
fn a_scan_and_its_gradients_give_the_bytes_of_the_oracle() {
    let Some(stream) = stream() else { return };
    let sizes @ [batch, steps, features, states] = [20, 8, 64, 16];
    let history = uniform(batch * steps * features, 1, -1.0, 1.0);
    let current = uniform(batch * features, 2, -1.0, 1.0);
    let weights = [3, 4, 5].map(|seed| uniform(features * states, seed, -0.2, 0.2));
    let d_out = uniform(batch * features, 6, -1.0, 1.0);
    let scan = temporal_scan::TemporalScan {
        readout: Readout::TileAdd,
        ..temporal_scan::TemporalScan::packed(
            sizes,
            &history,
            &current,
            [0, 1, 2].map(|i| &weights[i][..]),
        )
    };
    let want = temporal_scan::temporal_scan(&scan);
    let upstream = temporal_scan::Upstream {
        out: &d_out,
        final_state: None,
    };
    let want_back = temporal_scan::gradients(&scan, &upstream);

    let history = stream.clone_htod(&history).unwrap();
    let current = stream.clone_htod(&current).unwrap();
    let weights = weights.map(|w| stream.clone_htod(&w).unwrap());
    let d_out = stream.clone_htod(&d_out).unwrap();
    let scan = gpu::TemporalScan {
        readout: Readout::TileAdd,
        ..gpu::TemporalScan::packed(
            sizes,
            history.as_view(),
            current.as_view(),
            [0, 1, 2].map(|i| weights[i].as_view()),
        )
    };
    let mut out = stream.alloc_zeros::<f32>(batch * features).unwrap();
    let mut last = stream.alloc_zeros::<f32>(batch * states).unwrap();
    let mut outputs = Outputs {
        out: Some(out.as_view_mut()),
        final_state: Some(last.as_view_mut()),
    };
    gpu::temporal_scan(&stream, &scan, &mut outputs).unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), want.out);
    assert_eq!(stream.clone_dtoh(&last).unwrap(), want.final_state);

    let mut d_gate = stream.alloc_zeros::<f32>(features * states).unwrap();
    let mut d_history = stream.alloc_zeros::<f32>(batch * steps * features).unwrap();
    let mut gradients = Gradients {
        weights: [Some(d_gate.as_view_mut()), None, None],
        history: Some(d_history.as_view_mut()),
        ..Gradients::default()
    };
    let bytes = gpu::scan_backward_workspace_bytes(&scan, &gradients).unwrap();
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let upstream = Upstream {
        d_out: d_out.as_view(),
        d_final: None,
    };
    gpu::scan_backward(&stream, &scan, &upstream, &mut gradients, &mut workspace).unwrap();
    assert_eq!(stream.clone_dtoh(&d_gate).unwrap(), want_back.weights[0]);
    assert_eq!(stream.clone_dtoh(&d_history).unwrap(), want_back.history);
}

#[test]
fn the_fast_twins_are_within_the_bounds_of_the_reference() {
    let Some(stream) = stream() else { return };
    let sizes @ [batch, steps, features, states] = [20, 8, 64, 16];
    let history = uniform(batch * steps * features, 1, -1.0, 1.0);
    let current = uniform(batch * features, 2, -1.0, 1.0);
    let weights = [3, 4, 5].map(|seed| uniform(features * states, seed, -0.2, 0.2));
    let d_out = uniform(batch * states, 6, -1.0, 1.0);
    let scan = temporal_scan::TemporalScan::packed(
        sizes,
        &history,
        &current,
        [0, 1, 2].map(|i| &weights[i][..]),
    );
    let upstream = temporal_scan::Upstream {
        out: &d_out,
        final_state: None,
    };
    let within = |got: &[f32], near: &[Near]| {
        let pairs = got.iter().zip(near);
        for (got, near) in pairs {
            assert!((f64::from(*got) - near.value).abs() <= near.bound);
        }
    };
    let device_history = stream.clone_htod(&history).unwrap();
    let device_current = stream.clone_htod(&current).unwrap();
    let device_weights = [0, 1, 2].map(|i| stream.clone_htod(&weights[i]).unwrap());
    let device_d_out = stream.clone_htod(&d_out).unwrap();
    let device_scan = gpu::TemporalScan::packed(
        sizes,
        device_history.as_view(),
        device_current.as_view(),
        [0, 1, 2].map(|i| device_weights[i].as_view()),
    );
    for precision in [Precision::ThreeTf32, Precision::Tf32] {
        let mut out = stream.alloc_zeros::<f32>(batch * states).unwrap();
        let mut outputs = Outputs {
            out: Some(out.as_view_mut()),
            final_state: None,
        };
        gpu::temporal_scan_fast(&stream, &device_scan, precision, &mut outputs).unwrap();
        let want = reference::temporal_scan(&scan, precision);
        within(&stream.clone_dtoh(&out).unwrap(), &want.out);

        let mut d_gate = stream.alloc_zeros::<f32>(features * states).unwrap();
        let mut gradients = Gradients {
            weights: [Some(d_gate.as_view_mut()), None, None],
            ..Gradients::default()
        };
        let bytes = gpu::scan_backward_workspace_bytes(&device_scan, &gradients).unwrap();
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        let device_upstream = Upstream {
            d_out: device_d_out.as_view(),
            d_final: None,
        };
        gpu::scan_backward_fast(
            &stream,
            &device_scan,
            &device_upstream,
            precision,
            &mut gradients,
            &mut workspace,
        )
        .unwrap();
        let want = reference::gradients(&scan, &upstream, precision);
        within(&stream.clone_dtoh(&d_gate).unwrap(), &want.weights[0]);
    }
}

#[test]
fn short_buffers_are_named_before_anything_is_written() {
    let Some(stream) = stream() else { return };
    let history = stream.clone_htod(&[1.0f32; 24]).unwrap();
    let current = stream.clone_htod(&[1.0f32; 12]).unwrap();
    let weights = stream.clone_htod(&[1.0f32; 8]).unwrap();
    let mut out = stream.clone_htod(&[7.0f32; 6]).unwrap();
    let scan = |history_len: usize| {
        gpu::TemporalScan::packed(
            [3, 2, 4, 2],
            history.slice(..history_len),
            current.as_view(),
            [weights.as_view(), weights.as_view(), weights.as_view()],
        )
    };
    for (history_len, out_len, argument) in [(23, 6, "history"), (24, 5, "out")] {
        let mut outputs = Outputs {
            out: Some(out.slice_mut(..out_len)),
            final_state: None,
        };
        let error = gpu::temporal_scan(&stream, &scan(history_len), &mut outputs).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        assert!(error.to_string().starts_with(argument), "{error}");
    }
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [7.0; 6]);
}

#[test]
fn without_a_library_or_a_device_the_answer_is_an_error() {
    match raw::abi_version() {
        Ok(version) => assert_eq!(version, mamba2_scan::ffi::M2_ABI_VERSION),
        Err(error) => assert!(matches!(error, Error::NotBuilt { .. })),
    }
    assert!(matches!(
        launch::Device::open(4096),
        Err(Error::NoDevice { .. })
    ));
}
