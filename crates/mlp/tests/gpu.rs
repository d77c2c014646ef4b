//! The Rust wrappers on a device. Without one every test says so and checks what it can.
#![cfg(feature = "cuda")]

use launch::Workspace;
use launch::cudarc::driver::{CudaSlice, CudaStream};
use mlp::gpu::{self, Gradients, Parameters, Rows, RowsMut, Step};
use mlp::oracle::{self, Activation};
use mlp::{Error, raw};
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

fn uniform(count: usize, seed: u32, most: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1u32 << 23) as f32 - 1.0) * most
    };
    (0..count).map(|_| next()).collect()
}

const ACTIVATIONS: [Activation; 2] = [Activation::GeluErf, Activation::LeakyRelu(0.1)];

/// Parameters on both sides.
struct Both {
    sizes: [usize; 3],
    host: [Vec<f32>; 4],
    device: [CudaSlice<f32>; 4],
}

impl Both {
    fn new(stream: &Arc<CudaStream>, sizes: [usize; 3]) -> Both {
        let [inputs, hidden, outputs] = sizes;
        let host = [inputs * hidden, hidden, hidden * outputs, outputs];
        let host = [0, 1, 2, 3].map(|i: usize| uniform(host[i], i as u32, 0.4));
        let device = [0, 1, 2, 3].map(|i: usize| stream.clone_htod(&host[i]).unwrap());
        Both {
            sizes,
            host,
            device,
        }
    }

    fn oracle(&self) -> oracle::Network<'_> {
        let [inputs, hidden, outputs] = self.sizes;
        let layer = |i: usize| oracle::Layer {
            weights: &self.host[2 * i],
            bias: Some(&self.host[2 * i + 1]),
            activation: ACTIVATIONS[i],
        };
        oracle::Network {
            inputs,
            hidden,
            outputs,
            residual: false,
            first: layer(0),
            second: layer(1),
        }
    }

    fn gpu(&self) -> gpu::Network<'_> {
        let layer = |i: usize| {
            let bias = Some(self.device[2 * i + 1].as_view());
            gpu::Layer::new(self.device[2 * i].as_view(), bias, ACTIVATIONS[i])
        };
        gpu::Network::new(self.sizes, layer(0), layer(1))
    }
}

#[test]
fn forward_and_backward_give_the_bytes_of_the_oracle() {
    let Some(stream) = stream() else { return };
    for sizes in [[12, 24, 12], [40, 100, 70], [20, 300, 7]] {
        let [inputs, hidden, outputs] = sizes;
        let batch = 100;
        let both = Both::new(&stream, sizes);
        let (x, dy) = (
            uniform(batch * inputs, 5, 1.0),
            uniform(batch * outputs, 6, 1.0),
        );
        let want_y = oracle::forward(&both.oracle(), &x);
        let want = oracle::backward(&both.oracle(), &x, &dy);
        let (x, dy) = (
            stream.clone_htod(&x).unwrap(),
            stream.clone_htod(&dy).unwrap(),
        );
        let (x, dy) = (
            Rows::packed(x.as_view(), inputs),
            Rows::packed(dy.as_view(), outputs),
        );
        let network = both.gpu();
        let mut y = stream.alloc_zeros::<f32>(batch * outputs).unwrap();
        let mut rows = RowsMut::packed(y.as_view_mut(), outputs);
        gpu::forward(&stream, &network, batch, &x, &mut rows).unwrap();
        assert_eq!(stream.clone_dtoh(&y).unwrap(), want_y);

        let mut d_w1 = stream.alloc_zeros::<f32>(inputs * hidden).unwrap();
        let mut d_b2 = stream.alloc_zeros::<f32>(outputs).unwrap();
        let mut dx = stream.alloc_zeros::<f32>(batch * inputs).unwrap();
        let mut gradients = Gradients {
            parameters: Parameters {
                w1: Some(d_w1.as_view_mut()),
                b2: Some(d_b2.as_view_mut()),
                ..Parameters::default()
            },
            dx: Some(RowsMut::packed(dx.as_view_mut(), inputs)),
        };
        let bytes = gpu::backward_workspace_bytes(&network, batch, &gradients).unwrap();
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        gpu::backward(
            &stream,
            &network,
            batch,
            &x,
            &dy,
            &mut gradients,
            &mut workspace,
        )
        .unwrap();
        assert_eq!(stream.clone_dtoh(&d_w1).unwrap(), want.parameters.w1);
        assert_eq!(stream.clone_dtoh(&d_b2).unwrap(), want.parameters.b2);
        assert_eq!(stream.clone_dtoh(&dx).unwrap(), want.dx);
    }
}

#[test]
fn groups_give_the_bytes_of_their_members() {
    let Some(stream) = stream() else { return };
    let batches = [30, 17];
    let both = [[12, 24, 12], [5, 9, 4]].map(|sizes| Both::new(&stream, sizes));
    let networks = [both[0].gpu(), both[1].gpu()];
    let hosts = [0, 1].map(|i: usize| uniform(batches[i] * both[i].sizes[0], 9, 1.0));
    let want = [0, 1].map(|i: usize| oracle::forward(&both[i].oracle(), &hosts[i]));
    let x = [0, 1].map(|i: usize| stream.clone_htod(&hosts[i]).unwrap());
    let x = [0, 1].map(|i: usize| Rows::packed(x[i].as_view(), both[i].sizes[0]));
    let mut first = stream.alloc_zeros::<f32>(want[0].len()).unwrap();
    let mut second = stream.alloc_zeros::<f32>(want[1].len()).unwrap();
    let mut outputs = [
        RowsMut::packed(first.as_view_mut(), 12),
        RowsMut::packed(second.as_view_mut(), 4),
    ];
    let group = [0, 1].map(|i: usize| gpu::Forward {
        network: &networks[i],
        batch: batches[i],
        x: &x[i],
    });
    gpu::forward_group(&stream, &group, &mut outputs).unwrap();
    assert_eq!(stream.clone_dtoh(&first).unwrap(), want[0]);
    assert_eq!(stream.clone_dtoh(&second).unwrap(), want[1]);
}

#[test]
fn curiosity_and_risk_give_the_bytes_of_the_oracle() {
    let Some(stream) = stream() else { return };
    let [state, actions, outputs, batch] = [7, 3, 6, 50];
    let both = Both::new(&stream, [state + actions, 20, outputs]);
    let network = both.gpu();
    let x = uniform(batch * state, 1, 1.0);
    let next = uniform(batch * outputs, 2, 1.0);
    let index: Vec<i32> = (0..batch as i32).map(|b| b % 3).collect();
    let want = oracle::curiosity_step(&both.oracle(), &x, oracle::Actions::Indexed(&index), &next);
    let device = stream.clone_htod(&x).unwrap();
    let index = stream.clone_htod(&index).unwrap();
    let next = stream.clone_htod(&next).unwrap();
    let inputs = gpu::Curiosity {
        state_dim: state,
        state: Rows::packed(device.as_view(), state),
        actions: gpu::Actions::Indexed(index.as_view()),
        next_state: Rows::packed(next.as_view(), outputs),
    };
    let mut reward = stream.alloc_zeros::<f32>(batch).unwrap();
    let mut loss = stream.alloc_zeros::<f32>(1).unwrap();
    let mut d_w1 = stream.alloc_zeros::<f32>((state + actions) * 20).unwrap();
    let mut status = stream.alloc_zeros::<u32>(1).unwrap();
    let mut step = Step {
        reward: Some(reward.as_view_mut()),
        loss: Some(loss.as_view_mut()),
        parameters: Parameters {
            w1: Some(d_w1.as_view_mut()),
            ..Parameters::default()
        },
        status: Some(status.as_view_mut()),
    };
    let bytes = gpu::curiosity_workspace_bytes(&network, batch, &inputs, &step).unwrap();
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    gpu::curiosity_step(&stream, &network, batch, &inputs, &mut step, &mut workspace).unwrap();
    assert_eq!(stream.clone_dtoh(&reward).unwrap(), want.rewards);
    assert_eq!(stream.clone_dtoh(&loss).unwrap(), [want.loss]);
    assert_eq!(stream.clone_dtoh(&d_w1).unwrap(), want.parameters.w1);
    assert_eq!(stream.clone_dtoh(&status).unwrap(), [0]);

    let (isv, error) = (uniform(batch * 2, 3, 1.0), uniform(batch, 4, 1.0));
    let want = oracle::risk_forward(&both.oracle(), &x, &isv, &error);
    let (isv, error) = (
        stream.clone_htod(&isv).unwrap(),
        stream.clone_htod(&error).unwrap(),
    );
    let risk = gpu::Risk {
        h_dim: state,
        h: Rows::packed(device.as_view(), state),
        isv: Some(Rows::packed(isv.as_view(), 2)),
        error: Rows::packed(error.as_view(), 1),
    };
    let mut y = stream.alloc_zeros::<f32>(batch * outputs).unwrap();
    let mut rows = RowsMut::packed(y.as_view_mut(), outputs);
    gpu::risk_forward(&stream, &network, batch, &risk, &mut rows).unwrap();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), want);
}

#[test]
fn short_buffers_are_named_before_anything_is_written() {
    let Some(stream) = stream() else { return };
    let both = Both::new(&stream, [4, 6, 2]);
    let network = both.gpu();
    let x = stream.clone_htod(&[1.0f32; 12]).unwrap();
    let mut y = stream.clone_htod(&[7.0f32; 6]).unwrap();
    for (x_len, y_len, argument) in [(11, 6, "x"), (12, 5, "y")] {
        let rows = Rows::packed(x.slice(..x_len), 4);
        let mut out = RowsMut::packed(y.slice_mut(..y_len), 2);
        let error = gpu::forward(&stream, &network, 3, &rows, &mut out).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        assert!(error.to_string().starts_with(argument), "{error}");
    }
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [7.0; 6]);
}

#[test]
fn without_a_library_or_a_device_the_answer_is_an_error() {
    match raw::abi_version() {
        Ok(version) => assert_eq!(version, mlp::ffi::MLP_ABI_VERSION),
        Err(error) => assert!(matches!(error, Error::NotBuilt { .. })),
    }
    assert!(matches!(
        launch::Device::open(4096),
        Err(Error::NoDevice { .. })
    ));
}
