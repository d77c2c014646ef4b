//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use launch::cudarc::driver::CudaContext;
//! use mlp::Activation;
//! use mlp::gpu::{Layer, Network, Rows, RowsMut, forward};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let [batch, inputs, hidden, outputs] = [8192, 12, 24, 12];
//! let x = stream.clone_htod(&vec![1.0f32; batch * inputs])?;
//! let w1 = stream.clone_htod(&vec![0.1f32; inputs * hidden])?;
//! let w2 = stream.clone_htod(&vec![0.1f32; hidden * outputs])?;
//! let mut y = stream.alloc_zeros::<f32>(batch * outputs)?;
//! let network = Network::new(
//!     [inputs, hidden, outputs],
//!     Layer::new(w1.as_view(), None, Activation::Relu),
//!     Layer::new(w2.as_view(), None, Activation::None),
//! );
//! let x = Rows::packed(x.as_view(), inputs);
//! forward(&stream, &network, batch, &x, &mut RowsMut::packed(y.as_view_mut(), outputs))?;
//! println!("{:?}", &stream.clone_dtoh(&y)?[..outputs]);
//! # Ok(())
//! # }
//! ```

use crate::oracle::Activation;
use crate::{ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};
use launch::{Call, Error, Result, Workspace};
use std::ptr;
use std::sync::Arc;

/// A layer: `[in, out]` weights, perhaps a bias `[out]`, an activation.
pub struct Layer<'a> {
    /// `[in, out]`
    pub weights: CudaView<'a, f32>,
    /// `[out]`
    pub bias: Option<CudaView<'a, f32>>,
    /// What stands behind the sums.
    pub activation: Activation,
}

impl<'a> Layer<'a> {
    /// A layer of these parts.
    pub fn new(
        weights: CudaView<'a, f32>,
        bias: Option<CudaView<'a, f32>>,
        activation: Activation,
    ) -> Layer<'a> {
        Layer {
            weights,
            bias,
            activation,
        }
    }
}

/// Sizes and parameters; see `mlp.h`.
pub struct Network<'a> {
    /// Rows of the first layer's weights.
    pub inputs: usize,
    /// Hidden units.
    pub hidden: usize,
    /// Outputs.
    pub outputs: usize,
    /// Adds the input to the output.
    pub residual: bool,
    /// From inputs to hidden units.
    pub first: Layer<'a>,
    /// From hidden units to outputs.
    pub second: Layer<'a>,
}

/// Rows of floats on the device.
pub struct Rows<'a> {
    /// The first row and all that follow.
    pub data: CudaView<'a, f32>,
    /// Elements between rows.
    pub stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `width` elements without gaps.
    pub fn packed(data: CudaView<'a, f32>, width: usize) -> Rows<'a> {
        Rows {
            data,
            stride: width,
        }
    }
}

/// Rows that are written.
pub struct RowsMut<'a> {
    /// The first row and all that follow.
    pub data: CudaViewMut<'a, f32>,
    /// Elements between rows.
    pub stride: usize,
}

impl<'a> RowsMut<'a> {
    /// Rows of `width` elements without gaps.
    pub fn packed(data: CudaViewMut<'a, f32>, width: usize) -> RowsMut<'a> {
        RowsMut {
            data,
            stride: width,
        }
    }
}

/// Where gradients of weights and biases go; those left out are not computed. They become `beta` times what was there,
/// and the sum.
#[derive(Default)]
#[allow(missing_docs)]
pub struct Parameters<'a> {
    /// `[I, H]`
    pub w1: Option<CudaViewMut<'a, f32>>,
    /// `[H]`
    pub b1: Option<CudaViewMut<'a, f32>>,
    /// `[H, O]`
    pub w2: Option<CudaViewMut<'a, f32>>,
    /// `[O]`
    pub b2: Option<CudaViewMut<'a, f32>>,
    /// 0 for sums alone, whatever was there.
    pub beta: f32,
}

/// Where a backward call's gradients go; at least one.
#[derive(Default)]
pub struct Gradients<'a> {
    /// Of weights and biases.
    pub parameters: Parameters<'a>,
    /// `[B, I]`
    pub dx: Option<RowsMut<'a>>,
}

/// An action for every row.
pub enum Actions<'a> {
    /// `[B, A]`
    Dense(Rows<'a>),
    /// `[B]`: which of the A; another number stands for none.
    Indexed(CudaView<'a, i32>),
}

/// What a curiosity step reads beside the network, whose inputs are states, then actions.
pub struct Curiosity<'a> {
    /// Of the network's inputs.
    pub state_dim: usize,
    /// `[B, state_dim]`
    pub state: Rows<'a>,
    /// The others of the network's inputs.
    pub actions: Actions<'a>,
    /// `[B, O]`
    pub next_state: Rows<'a>,
}

/// Where a curiosity step's results go; at least one but the status.
#[derive(Default)]
pub struct Step<'a> {
    /// `[B]`
    pub reward: Option<CudaViewMut<'a, f32>>,
    /// `[1]`
    pub loss: Option<CudaViewMut<'a, f32>>,
    /// Of weights and biases.
    pub parameters: Parameters<'a>,
    /// `[1]`: set where it is 0 by an index that is no action.
    pub status: Option<CudaViewMut<'a, u32>>,
}

/// The sources of a risk head; the network's inputs are all of them.
pub struct Risk<'a> {
    /// Of the network's inputs.
    pub h_dim: usize,
    /// `[B, h_dim]`
    pub h: Rows<'a>,
    /// `[B, inputs - h_dim - 1]`, where that is not 0.
    pub isv: Option<Rows<'a>>,
    /// `[B]`
    pub error: Rows<'a>,
}

/// What does not fit is beyond every limit of the library, which then names it.
fn int64(x: usize) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}

/// Elements from the first of the first row to the last of the last; saturates.
fn extent(rows: usize, stride: usize, width: usize) -> usize {
    match rows {
        0 => 0,
        _ => width.saturating_add((rows - 1).saturating_mul(stride)),
    }
}

fn length<T>(slice: Option<&impl DeviceSlice<T>>) -> Option<usize> {
    slice.map(DeviceSlice::len)
}

/// The buffer must hold at least this many elements. `None`: it is left out.
fn at_least(argument: &'static str, length: Option<usize>, needed: usize) -> Result<()> {
    match length {
        Some(length) if length < needed => Err(Error::too_short(argument, length, needed)),
        _ => Ok(()),
    }
}

fn enumerator(activation: Activation) -> (i32, f32) {
    let (kind, slope) = match activation {
        Activation::None => (ffi::MLP_NONE, 0.0),
        Activation::Relu => (ffi::MLP_RELU, 0.0),
        Activation::LeakyRelu(slope) => (ffi::MLP_LEAKY_RELU, slope),
        Activation::Silu => (ffi::MLP_SILU, 0.0),
        Activation::GeluErf => (ffi::MLP_GELU_ERF, 0.0),
        Activation::GeluTanh => (ffi::MLP_GELU_TANH, 0.0),
        Activation::Tanh => (ffi::MLP_TANH, 0.0),
        Activation::Sigmoid => (ffi::MLP_SIGMOID, 0.0),
    };
    (kind as i32, slope)
}

impl<'a> Network<'a> {
    /// Sizes: I, H, O. Without a residual.
    pub fn new(
        [inputs, hidden, outputs]: [usize; 3],
        first: Layer<'a>,
        second: Layer<'a>,
    ) -> Network<'a> {
        Network {
            inputs,
            hidden,
            outputs,
            residual: false,
            first,
            second,
        }
    }

    fn check(&self) -> Result<()> {
        let w1 = self.inputs.saturating_mul(self.hidden);
        let w2 = self.hidden.saturating_mul(self.outputs);
        at_least("w1", Some(self.first.weights.len()), w1)?;
        at_least("b1", length(self.first.bias.as_ref()), self.hidden)?;
        at_least("w2", Some(self.second.weights.len()), w2)?;
        at_least("b2", length(self.second.bias.as_ref()), self.outputs)
    }

    fn check_sums(&self, sums: &Parameters<'_>) -> Result<()> {
        let w1 = self.inputs.saturating_mul(self.hidden);
        let w2 = self.hidden.saturating_mul(self.outputs);
        at_least("d_w1", length(sums.w1.as_ref()), w1)?;
        at_least("d_b1", length(sums.b1.as_ref()), self.hidden)?;
        at_least("d_w2", length(sums.w2.as_ref()), w2)?;
        at_least("d_b2", length(sums.b2.as_ref()), self.outputs)
    }

    fn check_rows(
        &self,
        name: &'static str,
        rows: &Rows<'_>,
        batch: usize,
        width: usize,
    ) -> Result<()> {
        at_least(
            name,
            Some(rows.data.len()),
            extent(batch, rows.stride, width),
        )
    }

    fn forward_params(
        &self,
        batch: usize,
        x_stride: usize,
        y_stride: usize,
    ) -> ffi::mlp_forward_params {
        let (activation1, slope1) = enumerator(self.first.activation);
        let (activation2, slope2) = enumerator(self.second.activation);
        ffi::mlp_forward_params {
            struct_size: size_of::<ffi::mlp_forward_params>() as u32,
            activation1,
            activation2,
            residual: i32::from(self.residual),
            path: ffi::MLP_PATH_AUTO as i32,
            slope1,
            slope2,
            batch: int64(batch),
            inputs: int64(self.inputs),
            hidden: int64(self.hidden),
            outputs: int64(self.outputs),
            x_stride: int64(x_stride),
            y_stride: int64(y_stride),
            x: ptr::null(),
            w1: ptr::null(),
            b1: ptr::null(),
            w2: ptr::null(),
            b2: ptr::null(),
            y: ptr::null_mut(),
        }
    }

    /// Not null where a gradient is asked for: what the size of the workspace depends on.
    fn backward_params(&self, batch: usize, gradients: &Gradients<'_>) -> ffi::mlp_backward_params {
        let (activation1, slope1) = enumerator(self.first.activation);
        let (activation2, slope2) = enumerator(self.second.activation);
        let sums = &gradients.parameters;
        ffi::mlp_backward_params {
            struct_size: size_of::<ffi::mlp_backward_params>() as u32,
            activation1,
            activation2,
            residual: i32::from(self.residual),
            path: ffi::MLP_PATH_AUTO as i32,
            slope1,
            slope2,
            beta: sums.beta,
            batch: int64(batch),
            inputs: int64(self.inputs),
            hidden: int64(self.hidden),
            outputs: int64(self.outputs),
            x_stride: 0,
            dy_stride: 0,
            dx_stride: gradients.dx.as_ref().map_or(0, |dx| int64(dx.stride)),
            x: ptr::null(),
            w1: ptr::null(),
            b1: ptr::null(),
            w2: ptr::null(),
            b2: ptr::null(),
            dy: ptr::null(),
            d_w1: asked(sums.w1.as_ref()),
            d_b1: asked(sums.b1.as_ref()),
            d_w2: asked(sums.w2.as_ref()),
            d_b2: asked(sums.b2.as_ref()),
            dx: asked(gradients.dx.as_ref()),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }

    fn curiosity_params(
        &self,
        batch: usize,
        inputs: &Curiosity<'_>,
        step: &Step<'_>,
    ) -> ffi::mlp_curiosity_params {
        let (activation1, slope1) = enumerator(self.first.activation);
        let (activation2, slope2) = enumerator(self.second.activation);
        let sums = &step.parameters;
        // As for the gradients: which kind of action the size of the workspace depends on.
        let (action, action_index, action_stride) = match &inputs.actions {
            Actions::Dense(rows) => (ptr::dangling(), ptr::null(), rows.stride),
            Actions::Indexed(_) => (ptr::null(), ptr::dangling(), 0),
        };
        ffi::mlp_curiosity_params {
            struct_size: size_of::<ffi::mlp_curiosity_params>() as u32,
            activation1,
            activation2,
            path: ffi::MLP_PATH_AUTO as i32,
            slope1,
            slope2,
            beta: sums.beta,
            batch: int64(batch),
            state_dim: int64(inputs.state_dim),
            action_dim: int64(self.inputs.saturating_sub(inputs.state_dim)),
            hidden: int64(self.hidden),
            outputs: int64(self.outputs),
            state_stride: int64(inputs.state.stride),
            action_stride: int64(action_stride),
            next_stride: int64(inputs.next_state.stride),
            state: ptr::null(),
            action,
            action_index,
            next_state: ptr::null(),
            w1: ptr::null(),
            b1: ptr::null(),
            w2: ptr::null(),
            b2: ptr::null(),
            reward: asked(step.reward.as_ref()),
            loss: asked(step.loss.as_ref()),
            d_w1: asked(sums.w1.as_ref()),
            d_b1: asked(sums.b1.as_ref()),
            d_w2: asked(sums.w2.as_ref()),
            d_b2: asked(sums.b2.as_ref()),
            status: ptr::null_mut(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }
}

/// Not null where there is something.
fn asked<T>(view: Option<&T>) -> *mut f32 {
    match view {
        Some(_) => ptr::dangling_mut(),
        None => ptr::null_mut(),
    }
}

/// Puts the parameters' pointers into any of the params structs.
macro_rules! place_network {
    ($params:ident, $call:ident, $network:expr) => {
        $params.w1 = $call.input("w1", &$network.first.weights)?;
        $params.b1 = $call.optional_input("b1", $network.first.bias.as_ref())?;
        $params.w2 = $call.input("w2", &$network.second.weights)?;
        $params.b2 = $call.optional_input("b2", $network.second.bias.as_ref())?;
    };
}

macro_rules! place_sums {
    ($params:ident, $call:ident, $sums:expr) => {
        $params.d_w1 = $call.optional_output("d_w1", $sums.w1.as_mut())?;
        $params.d_b1 = $call.optional_output("d_b1", $sums.b1.as_mut())?;
        $params.d_w2 = $call.optional_output("d_w2", $sums.w2.as_mut())?;
        $params.d_b2 = $call.optional_output("d_b2", $sums.b2.as_mut())?;
    };
}

/// `[B, O]` of `[B, I]`: queues the work on the stream and returns.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes and strides out of range, and
/// for outputs that overlap; each before anything is queued. [`Error::Cuda`] when the launch fails.
pub fn forward(
    stream: &Arc<CudaStream>,
    network: &Network<'_>,
    batch: usize,
    x: &Rows<'_>,
    y: &mut RowsMut<'_>,
) -> Result<()> {
    raw::abi_version()?;
    let problem = Forward { network, batch, x };
    let mut call = Call::on(stream, raw::error_string)?;
    let params = problem.place(&mut call, y)?;
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the sizes say, and its
    // guard is held until the work is queued.
    call.run(|stream| unsafe { raw::forward_status(&params, stream) }.unwrap_or(-1))
}

/// One network of a group and its rows.
pub struct Forward<'a> {
    /// Sizes and parameters.
    pub network: &'a Network<'a>,
    /// Rows.
    pub batch: usize,
    /// `[B, I]`
    pub x: &'a Rows<'a>,
}

impl<'a> Forward<'a> {
    /// Checks lengths, and takes the pointers.
    fn place<'b>(
        &'b self,
        call: &mut Call<'b>,
        y: &'b mut RowsMut<'_>,
    ) -> Result<ffi::mlp_forward_params> {
        let network = self.network;
        raw::abi_version()?;
        network.check()?;
        network.check_rows("x", self.x, self.batch, network.inputs)?;
        let y_extent = extent(self.batch, y.stride, network.outputs);
        at_least("y", Some(y.data.len()), y_extent)?;
        let mut params = network.forward_params(self.batch, self.x.stride, y.stride);
        params.x = call.input("x", &self.x.data)?;
        place_network!(params, call, network);
        params.y = call.output("y", &mut y.data)?;
        Ok(params)
    }
}

/// Several networks in one launch, 1 to [`MAX_GROUP`](crate::MAX_GROUP), each with the bytes of its own call.
///
/// # Errors
/// As [`forward`]; [`Error::Library`] for a network that shared memory does not hold.
pub fn forward_group(
    stream: &Arc<CudaStream>,
    networks: &[Forward<'_>],
    outputs: &mut [RowsMut<'_>],
) -> Result<()> {
    at_least("outputs", Some(outputs.len()), networks.len())?;
    let mut call = Call::on(stream, raw::error_string)?;
    let mut params = Vec::with_capacity(networks.len());
    for (network, y) in networks.iter().zip(outputs) {
        params.push(network.place(&mut call, y)?);
    }
    // SAFETY: as in `forward`.
    call.run(|stream| unsafe { raw::forward_group_status(&params, stream) }.unwrap_or(-1))
}

/// Bytes of workspace that [`backward`] needs on the calling thread's current device.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn backward_workspace_bytes(
    network: &Network<'_>,
    batch: usize,
    gradients: &Gradients<'_>,
) -> Result<usize> {
    raw::backward_workspace_bytes(&network.backward_params(batch, gradients))
}

/// The gradients of a network from those of its outputs, `dy` `[B, O]`: queues the work on the stream and returns.
///
/// # Errors
/// As [`forward`]; and for a workspace that is too short or belongs to another stream.
pub fn backward(
    stream: &Arc<CudaStream>,
    network: &Network<'_>,
    batch: usize,
    x: &Rows<'_>,
    dy: &Rows<'_>,
    gradients: &mut Gradients<'_>,
    workspace: &mut Workspace,
) -> Result<()> {
    raw::abi_version()?;
    let problem = Backward {
        network,
        batch,
        x,
        dy,
    };
    let mut call = Call::on(stream, raw::error_string)?;
    let params = problem.place(&mut call, gradients, workspace)?;
    // SAFETY: as in `forward`; the workspace has the size that the library asks for.
    call.run(|stream| unsafe { raw::backward_status(&params, stream) }.unwrap_or(-1))
}

/// One network of a group and its rows.
pub struct Backward<'a> {
    /// Sizes and parameters.
    pub network: &'a Network<'a>,
    /// Rows.
    pub batch: usize,
    /// `[B, I]`
    pub x: &'a Rows<'a>,
    /// `[B, O]`
    pub dy: &'a Rows<'a>,
}

impl<'a> Backward<'a> {
    /// Checks lengths, and takes the pointers.
    fn place<'b>(
        &'b self,
        call: &mut Call<'b>,
        gradients: &'b mut Gradients<'_>,
        workspace: &'b mut Workspace,
    ) -> Result<ffi::mlp_backward_params> {
        let network = self.network;
        raw::abi_version()?;
        network.check()?;
        network.check_rows("x", self.x, self.batch, network.inputs)?;
        network.check_rows("dy", self.dy, self.batch, network.outputs)?;
        network.check_sums(&gradients.parameters)?;
        if let Some(dx) = &gradients.dx {
            let dx_extent = extent(self.batch, dx.stride, network.inputs);
            at_least("dx", Some(dx.data.len()), dx_extent)?;
        }
        let mut params = network.backward_params(self.batch, gradients);
        params.x_stride = int64(self.x.stride);
        params.dy_stride = int64(self.dy.stride);
        params.workspace_bytes = raw::backward_workspace_bytes(&params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
        params.x = call.input("x", &self.x.data)?;
        params.dy = call.input("dy", &self.dy.data)?;
        place_network!(params, call, network);
        let sums = &mut gradients.parameters;
        place_sums!(params, call, sums);
        params.dx = call.optional_output("dx", gradients.dx.as_mut().map(|dx| &mut dx.data))?;
        Ok(params)
    }
}

/// Several networks in the nodes of one call, 1 to [`MAX_GROUP`](crate::MAX_GROUP), each with the bytes of its own
/// call and a workspace of its own.
///
/// # Errors
/// As [`backward`]; [`Error::Library`] for a network that shared memory does not hold.
pub fn backward_group(
    stream: &Arc<CudaStream>,
    networks: &[Backward<'_>],
    gradients: &mut [Gradients<'_>],
    workspaces: &mut [Workspace],
) -> Result<()> {
    at_least("gradients", Some(gradients.len()), networks.len())?;
    at_least("workspaces", Some(workspaces.len()), networks.len())?;
    let mut call = Call::on(stream, raw::error_string)?;
    let mut params = Vec::with_capacity(networks.len());
    let targets = gradients.iter_mut().zip(workspaces);
    for (network, (gradients, workspace)) in networks.iter().zip(targets) {
        params.push(network.place(&mut call, gradients, workspace)?);
    }
    // SAFETY: as in `backward`.
    call.run(|stream| unsafe { raw::backward_group_status(&params, stream) }.unwrap_or(-1))
}

/// Bytes of workspace that [`curiosity_step`] needs on the calling thread's current device.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn curiosity_workspace_bytes(
    network: &Network<'_>,
    batch: usize,
    inputs: &Curiosity<'_>,
    step: &Step<'_>,
) -> Result<usize> {
    raw::curiosity_workspace_bytes(&network.curiosity_params(batch, inputs, step))
}

/// Rewards, loss and gradients of a forward model: queues the work on the stream and returns.
///
/// # Errors
/// As [`backward`]. The network's residual must be off.
pub fn curiosity_step(
    stream: &Arc<CudaStream>,
    network: &Network<'_>,
    batch: usize,
    inputs: &Curiosity<'_>,
    step: &mut Step<'_>,
    workspace: &mut Workspace,
) -> Result<()> {
    raw::abi_version()?;
    no_residual(network)?;
    network.check()?;
    network.check_rows("state", &inputs.state, batch, inputs.state_dim)?;
    let action_dim = network.inputs.saturating_sub(inputs.state_dim);
    match &inputs.actions {
        Actions::Dense(rows) => network.check_rows("action", rows, batch, action_dim)?,
        Actions::Indexed(index) => at_least("action_index", Some(index.len()), batch)?,
    }
    network.check_rows("next_state", &inputs.next_state, batch, network.outputs)?;
    network.check_sums(&step.parameters)?;
    at_least("reward", length(step.reward.as_ref()), batch)?;
    at_least("loss", length(step.loss.as_ref()), 1)?;
    at_least("status", length(step.status.as_ref()), 1)?;
    let mut params = network.curiosity_params(batch, inputs, step);
    params.workspace_bytes = raw::curiosity_workspace_bytes(&params)?;
    let mut call = Call::on(stream, raw::error_string)?;
    params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    params.state = call.input("state", &inputs.state.data)?;
    match &inputs.actions {
        Actions::Dense(rows) => params.action = call.input("action", &rows.data)?,
        Actions::Indexed(index) => params.action_index = call.input("action_index", index)?,
    }
    params.next_state = call.input("next_state", &inputs.next_state.data)?;
    place_network!(params, call, network);
    let sums = &mut step.parameters;
    place_sums!(params, call, sums);
    params.reward = call.optional_output("reward", step.reward.as_mut())?;
    params.loss = call.optional_output("loss", step.loss.as_mut())?;
    params.status = call.optional_output("status", step.status.as_mut())?;
    // SAFETY: as in `backward`.
    call.run(|stream| unsafe { raw::curiosity_step_status(&params, stream) }.unwrap_or(-1))
}

/// The entry has no residual form.
fn no_residual(network: &Network<'_>) -> Result<()> {
    match network.residual {
        false => Ok(()),
        true => Err(Error::invalid("residual", "on", "off")),
    }
}

/// The head over three sources, with relu and sigmoid whatever the network says: queues the work on the stream and
/// returns.
///
/// # Errors
/// As [`forward`]. The network's residual must be off.
pub fn risk_forward(
    stream: &Arc<CudaStream>,
    network: &Network<'_>,
    batch: usize,
    inputs: &Risk<'_>,
    y: &mut RowsMut<'_>,
) -> Result<()> {
    raw::abi_version()?;
    no_residual(network)?;
    network.check()?;
    let isv_dim = network.inputs.saturating_sub(inputs.h_dim + 1);
    network.check_rows("h", &inputs.h, batch, inputs.h_dim)?;
    network.check_rows("error", &inputs.error, batch, 1)?;
    if let Some(isv) = &inputs.isv {
        network.check_rows("isv", isv, batch, isv_dim)?;
    }
    let y_extent = extent(batch, y.stride, network.outputs);
    at_least("y", Some(y.data.len()), y_extent)?;
    let mut call = Call::on(stream, raw::error_string)?;
    let mut params = ffi::mlp_risk_params {
        struct_size: size_of::<ffi::mlp_risk_params>() as u32,
        path: ffi::MLP_PATH_AUTO as i32,
        batch: int64(batch),
        h_dim: int64(inputs.h_dim),
        isv_dim: int64(isv_dim),
        hidden: int64(network.hidden),
        outputs: int64(network.outputs),
        h_stride: int64(inputs.h.stride),
        isv_stride: inputs.isv.as_ref().map_or(0, |isv| int64(isv.stride)),
        error_stride: int64(inputs.error.stride),
        y_stride: int64(y.stride),
        h: call.input("h", &inputs.h.data)?,
        isv: call.optional_input("isv", inputs.isv.as_ref().map(|isv| &isv.data))?,
        error: call.input("error", &inputs.error.data)?,
        w1: ptr::null(),
        b1: ptr::null(),
        w2: ptr::null(),
        b2: ptr::null(),
        y: call.output("y", &mut y.data)?,
    };
    place_network!(params, call, network);
    // SAFETY: as in `forward`.
    call.run(|stream| unsafe { raw::risk_forward_status(&params, stream) }.unwrap_or(-1))
}
