//! The composed scan on a device. Without one, or without cuBLAS, every test says so and checks what it can.
#![cfg(feature = "composed")]

mod common;

use common::uniform;
use launch::Workspace;
use launch::cudarc::driver::{CudaGraph, CudaSlice, CudaStream, sys};
use mamba2_scan::gpu::composed::{self, Composed};
use mamba2_scan::gpu::{Gradients, Outputs, Precision, Readout, TemporalScan, Upstream};
use mamba2_scan::oracle::reference::{self, Near};
use mamba2_scan::oracle::temporal_scan as oracle;
use mamba2_scan::{Error, raw};
use std::sync::Arc;

/// The reference's bounds are those of chains of at least 96 terms, in f32 roundings; four times as much holds for sums
/// of up to 384 terms in any order.
const ANY_ORDER: f64 = 4.0;

const READOUTS: [Readout; 3] = [Readout::Context, Readout::Sum, Readout::TileAdd];
/// B, K, H, S and the gaps between rows: also beyond what the fused kernels take.
const SIZES: [([usize; 4], usize); 4] = [
    ([9, 3, 20, 5], 4),
    ([20, 8, 64, 16], 0),
    ([2, 70, 3, 70], 1),
    ([2, 3, 1100, 33], 0),
];

/// A stream of its own and a handle, or `None` with the reason printed.
fn composed() -> Option<Composed> {
    if let Err(error) = raw::abi_version().and_then(|_| composed::probe()) {
        eprintln!("not checked: {error}");
        return None;
    }
    match launch::Device::open(0) {
        Ok(context) => {
            let stream = context.new_stream().expect("a device has streams");
            Some(Composed::new(&stream).expect("cuBLAS was found"))
        }
        Err(error) => {
            assert!(matches!(error, Error::NoDevice { .. }), "{error}");
            eprintln!("not checked: {error}");
            None
        }
    }
}

/// A scan on the host and on the device.
struct Data {
    sizes: [usize; 4],
    gap: usize,
    host: [Vec<f32>; 9],
    device: [CudaSlice<f32>; 9],
}

impl Data {
    fn new(stream: &Arc<CudaStream>, sizes: [usize; 4], gap: usize) -> Data {
        let [batch, steps, features, states] = sizes;
        let scale = 1.7 / (features as f32).sqrt();
        let of = |count: usize, seed: u64, most: f32| uniform(count, seed, -most, most);
        let host = [
            of(batch * (steps * (features + gap) + gap), 1, 1.7),
            of(batch * (features + gap), 2, 1.7),
            of(features * states, 3, scale),
            of(features * states, 4, scale),
            of(features * states, 5, scale),
            of(states, 6, 0.5),
            of(states, 7, 0.5),
            of(states, 8, 0.5),
            of(batch * states, 9, 1.0),
        ];
        let device = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|i| stream.clone_htod(&host[i]).unwrap());
        Data {
            sizes,
            gap,
            host,
            device,
        }
    }

    fn strides(&self) -> [usize; 3] {
        let [_, steps, features, _] = self.sizes;
        let step = features + self.gap;
        [steps * step + self.gap, step, step]
    }

    fn oracle(&self, readout: Readout) -> oracle::TemporalScan<'_> {
        let [history_stride, step_stride, current_stride] = self.strides();
        let [history, current, w_a, w_b, w_c, bias_a, bias_b, bias_c, x0] = &self.host;
        oracle::TemporalScan {
            readout,
            history_stride,
            step_stride,
            current_stride,
            biases: [Some(bias_a), Some(bias_b), Some(bias_c)],
            initial: Some(x0),
            ..oracle::TemporalScan::packed(self.sizes, history, current, [w_a, w_b, w_c])
        }
    }

    fn scan(&self, readout: Readout) -> TemporalScan<'_> {
        let [history_stride, step_stride, current_stride] = self.strides();
        let view = |i: usize| self.device[i].as_view();
        TemporalScan {
            readout,
            history_stride,
            step_stride,
            current_stride,
            biases: [Some(view(5)), Some(view(6)), Some(view(7))],
            x0: Some(view(8)),
            ..TemporalScan::packed(self.sizes, view(0), view(1), [view(2), view(3), view(4)])
        }
    }

    fn out_len(&self, readout: Readout) -> usize {
        let [batch, _, features, states] = self.sizes;
        batch
            * match readout {
                Readout::Context => states,
                Readout::Sum => 1,
                Readout::TileAdd => features,
            }
    }
}

fn near(what: &str, got: &[f32], want: &[Near]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*got) - want.value).abs();
        let bound = ANY_ORDER * want.bound;
        assert!(error <= bound, "{what}[{i}]: {error:e} beyond {bound:e}");
    }
}

#[test]
fn a_composed_scan_is_within_the_bounds_of_the_reference() {
    let Some(mut composed) = composed() else {
        return;
    };
    let stream = composed.stream().clone();
    for (sizes, gap) in SIZES {
        let data = Data::new(&stream, sizes, gap);
        let bytes = composed::scan_workspace_bytes(sizes);
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        for readout in READOUTS {
            let want = reference::temporal_scan(&data.oracle(readout), Precision::ThreeTf32);
            let mut out = stream.alloc_zeros::<f32>(data.out_len(readout)).unwrap();
            let mut last = stream.alloc_zeros::<f32>(sizes[0] * sizes[3]).unwrap();
            let mut outputs = Outputs {
                out: Some(out.as_view_mut()),
                final_state: Some(last.as_view_mut()),
            };
            let scan = data.scan(readout);
            composed
                .temporal_scan(&scan, &mut outputs, &mut workspace)
                .unwrap();
            near("out", &stream.clone_dtoh(&out).unwrap(), &want.out);
            let last = stream.clone_dtoh(&last).unwrap();
            near("final_state", &last, &want.final_state);
        }
    }
}

#[test]
fn composed_gradients_are_within_the_bounds_of_the_reference() {
    let Some(mut composed) = composed() else {
        return;
    };
    let stream = composed.stream().clone();
    for (sizes @ [batch, steps, features, states], gap) in SIZES {
        let data = Data::new(&stream, sizes, gap);
        let bytes = composed::backward_workspace_bytes(sizes);
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        for (readout, beta) in READOUTS.into_iter().zip([0.0, -0.5, 1.0]) {
            let d_out = uniform(data.out_len(readout), 10, -1.0, 1.0);
            let d_final = uniform(batch * states, 11, -1.0, 1.0);
            let upstream = oracle::Upstream {
                out: &d_out,
                final_state: Some(&d_final),
            };
            let problem = data.oracle(readout);
            let want = reference::gradients(&problem, &upstream, Precision::ThreeTf32);
            let d_out = stream.clone_htod(&d_out).unwrap();
            let d_final = stream.clone_htod(&d_final).unwrap();
            let upstream = Upstream {
                d_out: d_out.as_view(),
                d_final: Some(d_final.as_view()),
            };
            let before = |count: usize, seed: u64| match beta {
                0.0 => vec![f32::NAN; count],
                _ => uniform(count, seed, -1.0, 1.0),
            };
            let weights_before = [12, 13, 14].map(|seed| before(features * states, seed));
            let biases_before = [15, 16, 17].map(|seed| before(states, seed));
            let on_device = |values: &Vec<f32>| stream.clone_htod(values).unwrap();
            let mut weights = weights_before.each_ref().map(on_device);
            let mut biases = biases_before.each_ref().map(on_device);
            let mut history = stream.alloc_zeros::<f32>(batch * steps * features).unwrap();
            let mut current = stream.alloc_zeros::<f32>(batch * features).unwrap();
            let mut x0 = stream.alloc_zeros::<f32>(batch * states).unwrap();
            let mut gradients = Gradients {
                weights: weights.each_mut().map(|w| Some(w.as_view_mut())),
                biases: biases.each_mut().map(|b| Some(b.as_view_mut())),
                beta,
                history: Some(history.as_view_mut()),
                current: Some(current.as_view_mut()),
                x0: Some(x0.as_view_mut()),
            };
            let scan = data.scan(readout);
            composed
                .scan_backward(&scan, &upstream, &mut gradients, &mut workspace)
                .unwrap();
            for i in 0..3 {
                let sums = reference::accumulated(beta, &weights_before[i], &want.weights[i]);
                let got = stream.clone_dtoh(&weights[i]).unwrap();
                near(&format!("d_w {i}"), &got, &sums);
                let sums = reference::accumulated(beta, &biases_before[i], &want.biases[i]);
                let got = stream.clone_dtoh(&biases[i]).unwrap();
                near(&format!("d_bias {i}"), &got, &sums);
            }
            let got = stream.clone_dtoh(&history).unwrap();
            near("d_history", &got, &want.history);
            let got = stream.clone_dtoh(&current).unwrap();
            near("d_current", &got, &want.current);
            near("d_x0", &stream.clone_dtoh(&x0).unwrap(), &want.initial);
        }
    }
}

#[test]
fn a_captured_call_replays_to_the_same_bits() {
    let Some(mut composed) = composed() else {
        return;
    };
    let stream = composed.stream().clone();
    // Events of before a capture cannot be waited for inside it.
    // SAFETY: everything of this context is used on this stream alone.
    unsafe { stream.context().disable_event_tracking() };
    let sizes = [20, 8, 64, 16];
    let data = Data::new(&stream, sizes, 0);
    let mut workspace = Workspace::new(&stream, composed::scan_workspace_bytes(sizes)).unwrap();
    let mut out = stream.alloc_zeros::<f32>(20).unwrap();
    let mut run = |out: &mut CudaSlice<f32>| {
        let mut outputs = Outputs {
            out: Some(out.as_view_mut()),
            final_state: None,
        };
        let scan = data.scan(Readout::Sum);
        composed.temporal_scan(&scan, &mut outputs, &mut workspace)
    };
    run(&mut out).unwrap();
    let want = stream.clone_dtoh(&out).unwrap();
    stream.memset_zeros(&mut out).unwrap();
    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let captured = run(&mut out);
    let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph: Option<CudaGraph> = stream.end_capture(flags).unwrap();
    captured.unwrap();
    graph.expect("work was captured").launch().unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), want);
}

#[test]
fn what_does_not_fit_is_named_before_anything_is_written() {
    let Some(mut composed) = composed() else {
        return;
    };
    let stream = composed.stream().clone();
    let sizes = [3, 2, 4, 2];
    let data = Data::new(&stream, sizes, 0);
    let bytes = composed::scan_workspace_bytes(sizes);
    let mut whole = Workspace::new(&stream, bytes).unwrap();
    let mut short = Workspace::new(&stream, bytes - 1).unwrap();
    let mut out = stream.clone_htod(&[7.0f32; 6]).unwrap();
    type Alter<'a> = &'a dyn Fn(&mut TemporalScan<'_>);
    let mut refuse = |alter: Alter<'_>, out_len, workspace: &mut Workspace, argument: &str| {
        let mut scan = data.scan(Readout::Context);
        alter(&mut scan);
        let mut outputs = Outputs {
            out: Some(out.slice_mut(..out_len)),
            final_state: None,
        };
        let error = composed
            .temporal_scan(&scan, &mut outputs, workspace)
            .unwrap_err();
        assert!(error.to_string().starts_with(argument), "{error}");
    };
    refuse(&|_| {}, 6, &mut short, "workspace");
    refuse(&|_| {}, 5, &mut whole, "out");
    refuse(&|scan| scan.step_stride = 3, 6, &mut whole, "step_stride");
    refuse(
        &|scan| scan.history_stride = 0,
        6,
        &mut whole,
        "history_stride",
    );
    refuse(
        &|scan| scan.current_stride = 3,
        6,
        &mut whole,
        "current_stride",
    );
    refuse(&|scan| scan.states = 0, 6, &mut whole, "states");
    refuse(&|scan| scan.batch = 1 << 40, 6, &mut whole, "history");
    let d_out = stream.clone_htod(&[1.0f32; 6]).unwrap();
    let upstream = Upstream {
        d_out: d_out.as_view(),
        d_final: None,
    };
    let mut d_gate = stream.clone_htod(&[7.0f32; 8]).unwrap();
    for (beta, gates, argument) in [
        (0.0, 0, "gradients"),
        (f32::NAN, 8, "beta"),
        (0.0, 7, "d_w_a"),
    ] {
        let gate = (gates > 0).then(|| d_gate.slice_mut(..gates));
        let mut gradients = Gradients {
            weights: [gate, None, None],
            beta,
            ..Gradients::default()
        };
        let scan = data.scan(Readout::Context);
        let error = composed
            .scan_backward(&scan, &upstream, &mut gradients, &mut whole)
            .unwrap_err();
        assert!(error.to_string().starts_with(argument), "{error}");
    }
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [7.0; 6]);
    assert_eq!(stream.clone_dtoh(&d_gate).unwrap(), [7.0; 8]);
}

#[test]
fn the_workspace_grows_with_the_sizes_and_saturates() {
    let sizes = [8192, 8, 256, 16];
    for bytes in [
        composed::scan_workspace_bytes(sizes),
        composed::backward_workspace_bytes(sizes),
    ] {
        let projections = 8192 * 8 * 32 * 4;
        assert!(bytes > composed::CUBLAS_WORKSPACE_BYTES + projections);
        assert!(bytes < composed::CUBLAS_WORKSPACE_BYTES + 2 * projections);
    }
    let huge = [usize::MAX, 8, 256, 16];
    assert_eq!(composed::scan_workspace_bytes(huge), usize::MAX);
    assert_eq!(composed::backward_workspace_bytes(huge), usize::MAX);
}

#[test]
fn without_cublas_the_answer_is_an_error() {
    match composed::probe() {
        Ok(()) => {}
        Err(error) => assert!(matches!(error, Error::Foreign { .. }), "{error}"),
    }
}
