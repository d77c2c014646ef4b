//! Mamba-2's decode step.

use super::{int64, length};
use crate::{Io, State, ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut};
#[cfg(doc)]
use launch::Error;
use launch::lengths::{at_least, extent, product};
use launch::{Call, Result};
use std::ptr;
use std::sync::Arc;

/// What decays the state.
pub enum Decay<'a> {
    /// `[H]`: A itself.
    A(CudaView<'a, f32>),
    /// `[H]`: `ln(-A)`, so that a trained value is taken as it stands at every call.
    Log(CudaView<'a, f32>),
}

/// The steps of a call, `[B, H]`, or `[B, H, P]` if `per_channel`.
pub enum Step<'a> {
    /// In f32.
    F32(CudaView<'a, f32>),
    /// In bfloat16.
    Bf16(CudaView<'a, half::bf16>),
}

/// The least and the largest step, after softplus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    /// Not NaN, at most `max`.
    pub min: f32,
    /// Not NaN.
    pub max: f32,
}

/// Where sequences have their states.
#[derive(Default)]
pub struct Slots<'a> {
    /// `[B]`: negative for a zero start. `None`: slot `b`.
    pub from: Option<CudaView<'a, i32>>,
    /// `[B]`: negative for a state that is not stored. `None`: where it started.
    pub to: Option<CudaView<'a, i32>>,
}

/// A step's sizes and inputs; see `mamba2_scan.h`. Strides are in elements, between sequences or slots.
#[allow(missing_docs)]
pub struct StateUpdate<'a, T: Io> {
    /// B. 0 queues nothing and succeeds.
    pub batch: usize,
    /// H, a multiple of `groups`.
    pub heads: usize,
    /// G.
    pub groups: usize,
    /// P: rows of a head.
    pub head_dim: usize,
    /// N: elements of a row.
    pub state_dim: usize,
    /// States of the pool.
    pub pool: usize,
    pub slot_stride: usize,
    pub x_stride: usize,
    pub dt_stride: usize,
    pub b_stride: usize,
    pub c_stride: usize,
    pub z_stride: usize,
    pub y_stride: usize,
    pub slots: Slots<'a>,
    /// `[B, H, P]`.
    pub x: CudaView<'a, T>,
    pub dt: Step<'a>,
    /// `dt` is `[B, H, P]`.
    pub dt_per_channel: bool,
    /// `[H]`, added to `dt`.
    pub dt_bias: Option<CudaView<'a, f32>>,
    /// Apply softplus to it.
    pub softplus: bool,
    pub clamp: Option<Clamp>,
    pub decay: Decay<'a>,
    /// `[B, G, N]`.
    pub b: CudaView<'a, T>,
    /// `[B, G, N]`.
    pub c: CudaView<'a, T>,
    /// `[H]`, or `[H, P]` if `d_per_channel`.
    pub d: Option<CudaView<'a, f32>>,
    /// `d` is `[H, P]`.
    pub d_per_channel: bool,
    /// `[B, H, P]`.
    pub z: Option<CudaView<'a, T>>,
}

impl<'a, T: Io> StateUpdate<'a, T> {
    /// Packed arrays, a slot for each sequence, nothing optional. Sizes: B, H, G, P, N.
    pub fn packed(
        [batch, heads, groups, head_dim, state_dim]: [usize; 5],
        x: CudaView<'a, T>,
        dt: Step<'a>,
        decay: Decay<'a>,
        [b, c]: [CudaView<'a, T>; 2],
    ) -> StateUpdate<'a, T> {
        let channels = heads.saturating_mul(head_dim);
        let of_groups = groups.saturating_mul(state_dim);
        StateUpdate {
            batch,
            heads,
            groups,
            head_dim,
            state_dim,
            pool: batch,
            slot_stride: channels.saturating_mul(state_dim),
            x_stride: channels,
            dt_stride: heads,
            b_stride: of_groups,
            c_stride: of_groups,
            z_stride: channels,
            y_stride: channels,
            slots: Slots::default(),
            x,
            dt,
            dt_per_channel: false,
            dt_bias: None,
            softplus: false,
            clamp: None,
            decay,
            b,
            c,
            d: None,
            d_per_channel: false,
            z: None,
        }
    }

    fn channels(&self) -> usize {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Every buffer must hold what the sizes say.
    fn check(&self, state: usize, y: usize) -> Result<()> {
        let batch = self.batch;
        let channels = self.channels();
        let of_groups = self.groups.saturating_mul(self.state_dim);
        let of_dt = if self.dt_per_channel {
            channels
        } else {
            self.heads
        };
        let of_d = if self.d_per_channel {
            channels
        } else {
            self.heads
        };
        let dt = match &self.dt {
            Step::F32(dt) => dt.len(),
            Step::Bf16(dt) => dt.len(),
        };
        let decay = match &self.decay {
            Decay::A(a) | Decay::Log(a) => a.len(),
        };
        let of_slot = product(&[channels, self.state_dim]);
        let x = extent(channels, &[(batch, self.x_stride)]);
        at_least("x", Some(self.x.len()), x)?;
        at_least("dt", Some(dt), extent(of_dt, &[(batch, self.dt_stride)]))?;
        at_least("a", Some(decay), self.heads)?;
        let b = extent(of_groups, &[(batch, self.b_stride)]);
        at_least("b", Some(self.b.len()), b)?;
        let c = extent(of_groups, &[(batch, self.c_stride)]);
        at_least("c", Some(self.c.len()), c)?;
        at_least("dt_bias", length(self.dt_bias.as_ref()), self.heads)?;
        at_least("d", length(self.d.as_ref()), of_d)?;
        let z = extent(channels, &[(batch, self.z_stride)]);
        at_least("z", length(self.z.as_ref()), z)?;
        at_least("slots_in", length(self.slots.from.as_ref()), batch)?;
        at_least("slots_out", length(self.slots.to.as_ref()), batch)?;
        at_least(
            "state",
            Some(state),
            extent(of_slot, &[(self.pool, self.slot_stride)]),
        )?;
        at_least("y", Some(y), extent(channels, &[(batch, self.y_stride)]))
    }

    /// The params struct with every pointer null.
    fn params(&self, state_dtype: i32) -> ffi::m2_state_update_params {
        let clamp = self.clamp.unwrap_or(Clamp { min: 0.0, max: 0.0 });
        ffi::m2_state_update_params {
            struct_size: size_of::<ffi::m2_state_update_params>() as u32,
            state_dtype,
            io_dtype: T::DTYPE,
            dt_dtype: match self.dt {
                Step::F32(_) => ffi::M2_F32,
                Step::Bf16(_) => ffi::M2_BF16,
            } as i32,
            path: ffi::M2_UPDATE_AUTO as i32,
            decay: match self.decay {
                Decay::A(_) => ffi::M2_DECAY_A,
                Decay::Log(_) => ffi::M2_DECAY_A_LOG,
            } as i32,
            dt_softplus: self.softplus.into(),
            dt_clamp: self.clamp.is_some().into(),
            dt_per_channel: self.dt_per_channel.into(),
            d_per_channel: self.d_per_channel.into(),
            batch: int64(self.batch),
            heads: int64(self.heads),
            groups: int64(self.groups),
            head_dim: int64(self.head_dim),
            state_dim: int64(self.state_dim),
            slots: int64(self.pool),
            slot_stride: int64(self.slot_stride),
            x_stride: int64(self.x_stride),
            dt_stride: int64(self.dt_stride),
            b_stride: int64(self.b_stride),
            c_stride: int64(self.c_stride),
            z_stride: int64(self.z_stride),
            y_stride: int64(self.y_stride),
            dt_min: clamp.min,
            dt_max: clamp.max,
            state: ptr::null_mut(),
            slots_in: ptr::null(),
            slots_out: ptr::null(),
            x: ptr::null(),
            dt: ptr::null(),
            a: ptr::null(),
            dt_bias: ptr::null(),
            b: ptr::null(),
            c: ptr::null(),
            d: ptr::null(),
            z: ptr::null(),
            y: ptr::null_mut(),
            status: ptr::null_mut(),
        }
    }
}

/// Updates `state`, `[pool, H, P, N]`, in place and fills `y`, `[B, H, P]`: queues the work on the stream and returns.
/// `status`, `[1]`, is set where it is 0 when a slot lies beyond the pool; [`raw::device_status_string`] puts it in
/// words.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes, strides and scalars out of
/// range and for outputs that overlap; each before anything is queued. [`Error::Cuda`] when the launch fails.
pub fn state_update<S: State, T: Io>(
    stream: &Arc<CudaStream>,
    step: &StateUpdate<'_, T>,
    state: &mut CudaViewMut<'_, S>,
    y: &mut CudaViewMut<'_, T>,
    status: Option<&mut CudaViewMut<'_, u32>>,
) -> Result<()> {
    raw::abi_version()?;
    step.check(state.len(), y.len())?;
    at_least("status", status.as_ref().map(|status| status.len()), 1)?;
    let mut params = step.params(S::DTYPE);
    let mut call = Call::on(stream, raw::error_string)?;
    params.x = call.input("x", &step.x)?.cast();
    params.dt = match &step.dt {
        Step::F32(dt) => call.input("dt", dt)?.cast(),
        Step::Bf16(dt) => call.input("dt", dt)?.cast(),
    };
    params.a = match &step.decay {
        Decay::A(a) | Decay::Log(a) => call.input("a", a)?,
    };
    params.dt_bias = call.optional_input("dt_bias", step.dt_bias.as_ref())?;
    params.b = call.input("b", &step.b)?.cast();
    params.c = call.input("c", &step.c)?.cast();
    params.d = call.optional_input("d", step.d.as_ref())?;
    params.z = call.optional_input("z", step.z.as_ref())?.cast();
    params.slots_in = call.optional_input("slots_in", step.slots.from.as_ref())?;
    params.slots_out = call.optional_input("slots_out", step.slots.to.as_ref())?;
    params.state = call.output("state", state)?.cast();
    params.y = call.output("y", y)?.cast();
    params.status = call.optional_output("status", status)?;
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the sizes say, and its
    // guard is held until the work is queued.
    call.run(|stream| unsafe { raw::state_update_status(&params, stream) }.unwrap_or(-1))
}
