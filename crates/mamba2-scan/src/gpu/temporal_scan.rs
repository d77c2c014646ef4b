//! The gated scan, forward and backward.

use super::{int64, length};
use crate::oracle::reference::Precision;
use crate::oracle::temporal_scan::Readout;
use crate::{ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut};
#[cfg(doc)]
use launch::Error;
use launch::lengths::{at_least, extent, product};
use launch::{Call, Result, Workspace};
use std::ptr;
use std::sync::Arc;

/// A scan's sizes and inputs; see `mamba2_scan.h`. Strides are in elements.
#[allow(missing_docs)]
pub struct TemporalScan<'a> {
    /// B.
    pub batch: usize,
    /// K, 1 to 64.
    pub steps: usize,
    /// H, 1 to 1024.
    pub features: usize,
    /// S, 1 to 64.
    pub states: usize,
    pub readout: Readout,
    /// Between samples of `history`.
    pub history_stride: usize,
    /// Between steps of a sample.
    pub step_stride: usize,
    /// Between samples of `current`.
    pub current_stride: usize,
    /// `[B, K, H]`
    pub history: CudaView<'a, f32>,
    /// `[B, H]`
    pub current: CudaView<'a, f32>,
    /// `[H, S]`: of the gate, the input, the readout.
    pub weights: [CudaView<'a, f32>; 3],
    /// `[S]`, in the same order.
    pub biases: [Option<CudaView<'a, f32>>; 3],
    /// `[B, S]`
    pub x0: Option<CudaView<'a, f32>>,
}

/// Where a scan's results go; at least one.
#[derive(Default)]
pub struct Outputs<'a> {
    /// `[B, S]`, `[B]` or `[B, H]`, as the readout says.
    pub out: Option<CudaViewMut<'a, f32>>,
    /// `[B, S]`: the state after the last step.
    pub final_state: Option<CudaViewMut<'a, f32>>,
}

/// Gradients that come in.
pub struct Upstream<'a> {
    /// Of the readout, shaped like it.
    pub d_out: CudaView<'a, f32>,
    /// `[B, S]`: of the final state.
    pub d_final: Option<CudaView<'a, f32>>,
}

/// Where gradients go; those left out are not computed; at least one.
#[derive(Default)]
pub struct Gradients<'a> {
    /// `[H, S]` each: gate, input, readout. They become `beta` times what was there, and the sum.
    pub weights: [Option<CudaViewMut<'a, f32>>; 3],
    /// `[S]` each, likewise.
    pub biases: [Option<CudaViewMut<'a, f32>>; 3],
    /// 0 for sums alone, whatever was there.
    pub beta: f32,
    /// `[B, K, H]`
    pub history: Option<CudaViewMut<'a, f32>>,
    /// `[B, H]`
    pub current: Option<CudaViewMut<'a, f32>>,
    /// `[B, S]`
    pub x0: Option<CudaViewMut<'a, f32>>,
}

impl<'a> TemporalScan<'a> {
    /// Packed arrays, no biases, a zero start, the contexts as they are. Sizes: B, K, H, S.
    pub fn packed(
        [batch, steps, features, states]: [usize; 4],
        history: CudaView<'a, f32>,
        current: CudaView<'a, f32>,
        weights: [CudaView<'a, f32>; 3],
    ) -> TemporalScan<'a> {
        TemporalScan {
            batch,
            steps,
            features,
            states,
            readout: Readout::Context,
            history_stride: product(&[steps, features]),
            step_stride: features,
            current_stride: features,
            history,
            current,
            weights,
            biases: [None, None, None],
            x0: None,
        }
    }

    fn matrix(&self) -> usize {
        product(&[self.features, self.states])
    }

    pub(super) fn contexts(&self) -> usize {
        product(&[self.batch, self.states])
    }

    pub(super) fn readout_elements(&self) -> usize {
        match self.readout {
            Readout::Context => self.contexts(),
            Readout::Sum => self.batch,
            Readout::TileAdd => product(&[self.batch, self.features]),
        }
    }

    fn readout_enumerator(&self) -> i32 {
        let readout = match self.readout {
            Readout::Context => ffi::M2_READOUT_CONTEXT,
            Readout::Sum => ffi::M2_READOUT_SUM,
            Readout::TileAdd => ffi::M2_READOUT_TILE_ADD,
        };
        readout as i32
    }

    /// Every input must hold what the sizes say.
    pub(super) fn check(&self) -> Result<()> {
        let steps = (self.steps, self.step_stride);
        let history = extent(self.features, &[steps, (self.batch, self.history_stride)]);
        let current = extent(self.features, &[(self.batch, self.current_stride)]);
        at_least("history", Some(self.history.len()), history)?;
        at_least("current", Some(self.current.len()), current)?;
        for (name, weights) in ["w_a", "w_b", "w_c"].into_iter().zip(&self.weights) {
            at_least(name, Some(weights.len()), self.matrix())?;
        }
        for (name, bias) in ["bias_a", "bias_b", "bias_c"].into_iter().zip(&self.biases) {
            at_least(name, length(bias.as_ref()), self.states)?;
        }
        at_least("x0", length(self.x0.as_ref()), self.contexts())
    }

    /// Every buffer of a backward call likewise.
    pub(super) fn check_backward(
        &self,
        upstream: &Upstream<'_>,
        gradients: &Gradients<'_>,
    ) -> Result<()> {
        self.check()?;
        at_least("d_out", Some(upstream.d_out.len()), self.readout_elements())?;
        let contexts = self.contexts();
        at_least("d_final", length(upstream.d_final.as_ref()), contexts)?;
        for (name, sums) in ["d_w_a", "d_w_b", "d_w_c"]
            .into_iter()
            .zip(&gradients.weights)
        {
            at_least(name, length(sums.as_ref()), self.matrix())?;
        }
        let names = ["d_bias_a", "d_bias_b", "d_bias_c"];
        for (name, sums) in names.into_iter().zip(&gradients.biases) {
            at_least(name, length(sums.as_ref()), self.states)?;
        }
        let history = product(&[self.batch, self.steps, self.features]);
        at_least("d_history", length(gradients.history.as_ref()), history)?;
        let current = product(&[self.batch, self.features]);
        at_least("d_current", length(gradients.current.as_ref()), current)?;
        at_least("d_x0", length(gradients.x0.as_ref()), contexts)
    }

    fn backward_params(&self, gradients: &Gradients<'_>) -> ffi::m2_scan_backward_params {
        // Not null where a gradient is asked for: what the size of the workspace depends on.
        let asked = |view: Option<&CudaViewMut<'_, f32>>| match view {
            Some(_) => ptr::dangling_mut(),
            None => ptr::null_mut(),
        };
        let [d_w_a, d_w_b, d_w_c] = [0, 1, 2].map(|i| asked(gradients.weights[i].as_ref()));
        let [d_bias_a, d_bias_b, d_bias_c] = [0, 1, 2].map(|i| asked(gradients.biases[i].as_ref()));
        ffi::m2_scan_backward_params {
            struct_size: size_of::<ffi::m2_scan_backward_params>() as u32,
            readout: self.readout_enumerator(),
            path: ffi::M2_BACKWARD_AUTO as i32,
            beta: gradients.beta,
            batch: int64(self.batch),
            steps: int64(self.steps),
            features: int64(self.features),
            states: int64(self.states),
            history_stride: int64(self.history_stride),
            step_stride: int64(self.step_stride),
            current_stride: int64(self.current_stride),
            history: ptr::null(),
            current: ptr::null(),
            w_a: ptr::null(),
            w_b: ptr::null(),
            w_c: ptr::null(),
            bias_a: ptr::null(),
            bias_b: ptr::null(),
            bias_c: ptr::null(),
            x0: ptr::null(),
            d_out: ptr::null(),
            d_final: ptr::null(),
            d_w_a,
            d_w_b,
            d_w_c,
            d_bias_a,
            d_bias_b,
            d_bias_c,
            d_history: asked(gradients.history.as_ref()),
            d_current: asked(gradients.current.as_ref()),
            d_x0: asked(gradients.x0.as_ref()),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }
}

/// Scans every sample: queues the work on the stream and returns.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes and strides out of range, and
/// for outputs that overlap; each before anything is queued. [`Error::Cuda`] when the launch fails.
pub fn temporal_scan(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    outputs: &mut Outputs<'_>,
) -> Result<()> {
    forward(stream, scan, None, outputs)
}

/// [`temporal_scan`] on tensor cores, within the bounds of `mamba2_scan.h`; see `m2_temporal_scan_fast_f32`.
///
/// # Errors
/// As [`temporal_scan`].
pub fn temporal_scan_fast(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    precision: Precision,
    outputs: &mut Outputs<'_>,
) -> Result<()> {
    forward(stream, scan, Some(precision), outputs)
}

fn precision_enumerator(precision: Precision) -> i32 {
    let precision = match precision {
        Precision::ThreeTf32 => ffi::M2_PRECISION_3XTF32,
        Precision::Tf32 => ffi::M2_PRECISION_TF32,
    };
    precision as i32
}

/// Exact without a precision.
fn forward(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    precision: Option<Precision>,
    outputs: &mut Outputs<'_>,
) -> Result<()> {
    raw::abi_version()?;
    scan.check()?;
    at_least("out", length(outputs.out.as_ref()), scan.readout_elements())?;
    at_least(
        "final_state",
        length(outputs.final_state.as_ref()),
        scan.contexts(),
    )?;
    let mut call = Call::on(stream, raw::error_string)?;
    let params = ffi::m2_temporal_scan_params {
        struct_size: size_of::<ffi::m2_temporal_scan_params>() as u32,
        readout: scan.readout_enumerator(),
        batch: int64(scan.batch),
        steps: int64(scan.steps),
        features: int64(scan.features),
        states: int64(scan.states),
        history_stride: int64(scan.history_stride),
        step_stride: int64(scan.step_stride),
        current_stride: int64(scan.current_stride),
        history: call.input("history", &scan.history)?,
        current: call.input("current", &scan.current)?,
        w_a: call.input("w_a", &scan.weights[0])?,
        w_b: call.input("w_b", &scan.weights[1])?,
        w_c: call.input("w_c", &scan.weights[2])?,
        bias_a: call.optional_input("bias_a", scan.biases[0].as_ref())?,
        bias_b: call.optional_input("bias_b", scan.biases[1].as_ref())?,
        bias_c: call.optional_input("bias_c", scan.biases[2].as_ref())?,
        x0: call.optional_input("x0", scan.x0.as_ref())?,
        out: call.optional_output("out", outputs.out.as_mut())?,
        final_state: call.optional_output("final_state", outputs.final_state.as_mut())?,
    };
    // Every pointer is of a live buffer in the stream's context, at least as long as the sizes say, and its guard is
    // held until the work is queued.
    call.run(|stream| {
        let status = match precision.map(precision_enumerator) {
            // SAFETY: as said above.
            None => unsafe { raw::temporal_scan_status(&params, stream) },
            // SAFETY: as said above.
            Some(x) => unsafe { raw::temporal_scan_fast_status(&params, x, stream) },
        };
        status.unwrap_or(-1)
    })
}

/// Bytes of workspace that [`scan_backward`] needs for these sizes and gradients.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn scan_backward_workspace_bytes(
    scan: &TemporalScan<'_>,
    gradients: &Gradients<'_>,
) -> Result<usize> {
    raw::scan_backward_workspace_bytes(&scan.backward_params(gradients))
}

/// The gradients of a scan: queues the work on the stream and returns.
///
/// # Errors
/// As [`temporal_scan`]; and for a workspace that is too short or belongs to another stream.
pub fn scan_backward(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    upstream: &Upstream<'_>,
    gradients: &mut Gradients<'_>,
    workspace: &mut Workspace,
) -> Result<()> {
    backward(stream, scan, upstream, None, gradients, workspace)
}

/// [`scan_backward`] on tensor cores, within the bounds of `mamba2_scan.h`; see `m2_scan_backward_fast_f32`. Its
/// workspace is that of [`scan_backward_workspace_bytes`].
///
/// # Errors
/// As [`scan_backward`].
pub fn scan_backward_fast(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    upstream: &Upstream<'_>,
    precision: Precision,
    gradients: &mut Gradients<'_>,
    workspace: &mut Workspace,
) -> Result<()> {
    backward(
        stream,
        scan,
        upstream,
        Some(precision),
        gradients,
        workspace,
    )
}

/// Exact without a precision.
fn backward(
    stream: &Arc<CudaStream>,
    scan: &TemporalScan<'_>,
    upstream: &Upstream<'_>,
    precision: Option<Precision>,
    gradients: &mut Gradients<'_>,
    workspace: &mut Workspace,
) -> Result<()> {
    raw::abi_version()?;
    scan.check_backward(upstream, gradients)?;
    let mut params = scan.backward_params(gradients);
    params.workspace_bytes = raw::scan_backward_workspace_bytes(&params)?;
    let mut call = Call::on(stream, raw::error_string)?;
    params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    params.history = call.input("history", &scan.history)?;
    params.current = call.input("current", &scan.current)?;
    params.w_a = call.input("w_a", &scan.weights[0])?;
    params.w_b = call.input("w_b", &scan.weights[1])?;
    params.w_c = call.input("w_c", &scan.weights[2])?;
    params.bias_a = call.optional_input("bias_a", scan.biases[0].as_ref())?;
    params.bias_b = call.optional_input("bias_b", scan.biases[1].as_ref())?;
    params.bias_c = call.optional_input("bias_c", scan.biases[2].as_ref())?;
    params.x0 = call.optional_input("x0", scan.x0.as_ref())?;
    params.d_out = call.input("d_out", &upstream.d_out)?;
    params.d_final = call.optional_input("d_final", upstream.d_final.as_ref())?;
    let [d_w_a, d_w_b, d_w_c] = &mut gradients.weights;
    params.d_w_a = call.optional_output("d_w_a", d_w_a.as_mut())?;
    params.d_w_b = call.optional_output("d_w_b", d_w_b.as_mut())?;
    params.d_w_c = call.optional_output("d_w_c", d_w_c.as_mut())?;
    let [d_bias_a, d_bias_b, d_bias_c] = &mut gradients.biases;
    params.d_bias_a = call.optional_output("d_bias_a", d_bias_a.as_mut())?;
    params.d_bias_b = call.optional_output("d_bias_b", d_bias_b.as_mut())?;
    params.d_bias_c = call.optional_output("d_bias_c", d_bias_c.as_mut())?;
    params.d_history = call.optional_output("d_history", gradients.history.as_mut())?;
    params.d_current = call.optional_output("d_current", gradients.current.as_mut())?;
    params.d_x0 = call.optional_output("d_x0", gradients.x0.as_mut())?;
    // As in `forward`; the workspace has the size that the library asks for.
    call.run(|stream| {
        let status = match precision.map(precision_enumerator) {
            // SAFETY: as said above.
            None => unsafe { raw::scan_backward_status(&params, stream) },
            // SAFETY: as said above.
            Some(x) => unsafe { raw::scan_backward_fast_status(&params, x, stream) },
        };
        status.unwrap_or(-1)
    })
}
