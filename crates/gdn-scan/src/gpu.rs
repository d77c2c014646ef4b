//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use gdn_scan::gpu::{Gates, Outputs, Problem, Sizes, step};
//! use gdn_scan::Norm;
//! use launch::cudarc::driver::CudaContext;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let sizes = Sizes { sequences: 1, key_heads: 16, value_heads: 32, key_dim: 128, value_dim: 128 };
//! let q = stream.clone_htod(&[1.0f32; 16 * 128])?;
//! let v = stream.clone_htod(&[1.0f32; 32 * 128])?;
//! let (decay, beta) = (stream.clone_htod(&[0.9f32; 32])?, stream.clone_htod(&[0.5f32; 32])?);
//! let mut state = stream.alloc_zeros::<f32>(32 * 128 * 128)?;
//! let mut out = stream.alloc_zeros::<f32>(32 * 128)?;
//! let gates = Gates::given(decay.as_view(), beta.as_view());
//! let mut problem = Problem::packed(sizes, 1, q.as_view(), q.as_view(), v.as_view(), gates);
//! problem.norm = Norm::EpsInside(1e-6);
//! let mut outputs = Outputs::new(state.as_view_mut(), out.as_view_mut());
//! step(&stream, &problem, &mut outputs)?;
//! println!("{:?}", stream.clone_dtoh(&out)?);
//! # Ok(())
//! # }
//! ```

use crate::raw::{self, Entry};
use crate::shape::{at_least, extent, product};
use crate::{Beta, Decay, Element, HeadMap, Layout, Norm, ffi};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};
#[cfg(doc)]
use launch::Error;
use launch::{Call, Result};
use std::ptr;
use std::sync::Arc;

/// The sizes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// B. 0 queues nothing and succeeds.
    pub sequences: usize,
    /// H.
    pub key_heads: usize,
    /// HV, a multiple of H.
    pub value_heads: usize,
    /// K, 1 to 256.
    pub key_dim: usize,
    /// V, 1 to 256.
    pub value_dim: usize,
}

impl Sizes {
    /// Elements of a sequence's state: the packed stride of slots and snapshots.
    pub fn state(&self) -> usize {
        product([self.value_heads, self.key_dim, self.value_dim])
    }
}

/// The decay input.
pub enum DecayGate<'a, T: Element> {
    /// The factor itself, f32.
    Linear(CudaView<'a, f32>),
    /// Its logarithm, f32.
    Log(CudaView<'a, f32>),
    /// The raw gate a, with `[HV]` A_log and `[HV]` (or `[HV, K]`) dt_bias.
    Raw {
        /// `[rows, HV]`, or `[rows, HV, K]` with a decay per key.
        a: CudaView<'a, T>,
        /// `[HV]`.
        a_log: CudaView<'a, f32>,
        /// `[HV]`, or `[HV, K]` with a decay per key.
        dt_bias: CudaView<'a, f32>,
    },
}

/// The beta input.
pub enum BetaGate<'a, T: Element> {
    /// beta itself, f32.
    Given(CudaView<'a, f32>),
    /// The raw gate b: `sigmoid(b)`.
    Sigmoid(CudaView<'a, T>),
    /// The raw gate b: `2 * sigmoid(b)`.
    TwiceSigmoid(CudaView<'a, T>),
}

/// Both gates, with the elements between their rows.
pub struct Gates<'a, T: Element> {
    /// The decay.
    pub decay: DecayGate<'a, T>,
    /// Whether there is one decay for each key (KDA).
    pub key_decay: bool,
    /// Elements between rows of the decay; `None`: packed.
    pub decay_stride: Option<usize>,
    /// beta.
    pub beta: BetaGate<'a, T>,
    /// Elements between rows of beta; `None`: packed.
    pub beta_stride: Option<usize>,
}

impl<'a, T: Element> Gates<'a, T> {
    /// One linear decay and one beta a head, packed.
    pub fn given(decay: CudaView<'a, f32>, beta: CudaView<'a, f32>) -> Gates<'a, T> {
        Gates {
            decay: DecayGate::Linear(decay),
            key_decay: false,
            decay_stride: None,
            beta: BetaGate::Given(beta),
            beta_stride: None,
        }
    }
}

/// The inputs of a call. Start from [`Problem::packed`] and change what differs.
pub struct Problem<'a, T: Element, S: Element> {
    /// B, H, HV, K, V.
    pub sizes: Sizes,
    /// T, or with `cu_seqlens` a bound of every sequence's; a step does not look at it.
    pub max_t: usize,
    /// `[rows, H, K]`.
    pub q: CudaView<'a, T>,
    /// `[rows, H, K]`.
    pub k: CudaView<'a, T>,
    /// `[rows, HV, V]`.
    pub v: CudaView<'a, T>,
    /// Decay and beta.
    pub gates: Gates<'a, T>,
    /// Elements between rows of q, at least H K.
    pub q_stride: usize,
    /// Elements between rows of k, at least H K.
    pub k_stride: usize,
    /// Elements between rows of v, at least HV V.
    pub v_stride: usize,
    /// Elements between rows of o, at least HV V.
    pub out_stride: usize,
    /// `[B + 1]` and the rows in all: sequence i has rows `cu_seqlens[i]..cu_seqlens[i + 1]`.
    pub cu_seqlens: Option<(CudaView<'a, i32>, usize)>,
    /// Slots of the state pool.
    pub slots: usize,
    /// Elements between slots.
    pub slot_stride: usize,
    /// `[B]`: where each sequence starts from; negative: from zeros.
    pub slots_in: Option<CudaView<'a, i32>>,
    /// `[B]`: where each sequence's state goes; negative: nowhere.
    pub slots_out: Option<CudaView<'a, i32>>,
    /// A second pool of the same shape, where states are read.
    pub state_source: Option<CudaView<'a, S>>,
    /// Of states and snapshots.
    pub layout: Layout,
    /// From value heads to key heads.
    pub head_map: HeadMap,
    /// What is done to q and k.
    pub norm: Norm,
    /// Factor of o; `None`: `1.0f32 / sqrt(K)`.
    pub scale: Option<f32>,
}

/// The outputs of a call.
pub struct Outputs<'a, T: Element, S: Element> {
    /// `[slots]`, updated in place.
    pub state: CudaViewMut<'a, S>,
    /// `[rows, HV, V]`.
    pub out: CudaViewMut<'a, T>,
    /// States after tokens, and of how many of each sequence's last ones: 0 for all.
    pub snapshots: Option<(CudaViewMut<'a, S>, usize)>,
    /// `[1]`: set where it is 0, when a value that only the device sees is bad; [`raw::device_status_string`] puts it in words.
    pub status: Option<CudaViewMut<'a, u32>>,
}

impl<'a, T: Element, S: Element> Outputs<'a, T, S> {
    /// State and o alone.
    pub fn new(state: CudaViewMut<'a, S>, out: CudaViewMut<'a, T>) -> Outputs<'a, T, S> {
        Outputs {
            state,
            out,
            snapshots: None,
            status: None,
        }
    }
}

/// A count as the C ABI takes it: what does not fit is beyond every limit of the library, which then names it.
fn int64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn length<T>(slice: Option<&impl DeviceSlice<T>>) -> Option<usize> {
    slice.map(DeviceSlice::len)
}

impl<'a, T: Element, S: Element> Problem<'a, T, S> {
    /// Packed rows, each sequence in its own slot, grouped heads, the default scale, no norm.
    pub fn packed(
        sizes: Sizes,
        tokens: usize,
        q: CudaView<'a, T>,
        k: CudaView<'a, T>,
        v: CudaView<'a, T>,
        gates: Gates<'a, T>,
    ) -> Problem<'a, T, S> {
        let keys = product([sizes.key_heads, sizes.key_dim]);
        let values = product([sizes.value_heads, sizes.value_dim]);
        Problem {
            sizes,
            max_t: tokens,
            q,
            k,
            v,
            gates,
            q_stride: keys,
            k_stride: keys,
            v_stride: values,
            out_stride: values,
            cu_seqlens: None,
            slots: sizes.sequences,
            slot_stride: sizes.state(),
            slots_in: None,
            slots_out: None,
            state_source: None,
            layout: Layout::Kv,
            head_map: HeadMap::Grouped,
            norm: Norm::None,
            scale: None,
        }
    }

    fn rows(&self) -> usize {
        match &self.cu_seqlens {
            Some((_, rows)) => *rows,
            None => product([self.sizes.sequences, self.max_t]),
        }
    }

    fn pool(&self) -> usize {
        extent(self.slots, self.slot_stride, self.sizes.state())
    }

    /// Decays of a row.
    fn decays(&self) -> usize {
        let keys = if self.gates.key_decay {
            self.sizes.key_dim
        } else {
            1
        };
        product([self.sizes.value_heads, keys])
    }

    /// Every buffer must hold what the sizes say.
    fn check(&self, rows: usize) -> Result<()> {
        let Sizes {
            sequences,
            key_heads,
            value_heads,
            key_dim,
            value_dim,
        } = self.sizes;
        let decays = self.decays();
        let keys = product([key_heads, key_dim]);
        let values = product([value_heads, value_dim]);
        at_least("q", Some(self.q.len()), extent(rows, self.q_stride, keys))?;
        at_least("k", Some(self.k.len()), extent(rows, self.k_stride, keys))?;
        at_least("v", Some(self.v.len()), extent(rows, self.v_stride, values))?;
        let stride = self.gates.decay_stride.unwrap_or(decays);
        let g = match &self.gates.decay {
            DecayGate::Linear(g) | DecayGate::Log(g) => g.len(),
            DecayGate::Raw { a, a_log, dt_bias } => {
                at_least("a_log", Some(a_log.len()), value_heads)?;
                at_least("dt_bias", Some(dt_bias.len()), decays)?;
                a.len()
            }
        };
        at_least("g", Some(g), extent(rows, stride, decays))?;
        let stride = self.gates.beta_stride.unwrap_or(value_heads);
        let beta = match &self.gates.beta {
            BetaGate::Given(beta) => beta.len(),
            BetaGate::Sigmoid(b) | BetaGate::TwiceSigmoid(b) => b.len(),
        };
        at_least("beta", Some(beta), extent(rows, stride, value_heads))?;
        let offsets = self.cu_seqlens.as_ref().map(|(offsets, _)| offsets.len());
        at_least("cu_seqlens", offsets, sequences.saturating_add(1))?;
        at_least("slots_in", length(self.slots_in.as_ref()), sequences)?;
        at_least("slots_out", length(self.slots_out.as_ref()), sequences)?;
        at_least(
            "state_source",
            length(self.state_source.as_ref()),
            self.pool(),
        )
    }

    /// The params struct with every pointer null.
    fn params(&self) -> ffi::gdn_scan_params {
        let decay = match self.gates.decay {
            DecayGate::Linear(_) => Decay::Linear,
            DecayGate::Log(_) => Decay::Log,
            DecayGate::Raw { .. } => Decay::Gate,
        };
        let beta = match self.gates.beta {
            BetaGate::Given(_) => Beta::Given,
            BetaGate::Sigmoid(_) => Beta::Sigmoid,
            BetaGate::TwiceSigmoid(_) => Beta::TwiceSigmoid,
        };
        ffi::gdn_scan_params {
            struct_size: size_of::<ffi::gdn_scan_params>() as u32,
            dtype: T::DTYPE.code(),
            state_dtype: S::DTYPE.code(),
            layout: self.layout.code(),
            head_map: self.head_map.code(),
            decay_form: decay.code(),
            beta_form: beta.code(),
            norm: self.norm.code(),
            key_decay: self.gates.key_decay.into(),
            path: ffi::GDN_PATH_AUTO as i32,
            has_scale: self.scale.is_some().into(),
            scale: self.scale.unwrap_or(0.0),
            norm_eps: self.norm.eps(),
            reserved: 0,
            sequences: int64(self.sizes.sequences),
            key_heads: int64(self.sizes.key_heads),
            value_heads: int64(self.sizes.value_heads),
            key_dim: int64(self.sizes.key_dim),
            value_dim: int64(self.sizes.value_dim),
            total_t: self.cu_seqlens.as_ref().map_or(0, |(_, rows)| int64(*rows)),
            max_t: int64(self.max_t),
            slots: int64(self.slots),
            slot_stride: int64(self.slot_stride),
            q_stride: int64(self.q_stride),
            k_stride: int64(self.k_stride),
            v_stride: int64(self.v_stride),
            out_stride: int64(self.out_stride),
            g_stride: self.gates.decay_stride.map_or(0, int64),
            beta_stride: self.gates.beta_stride.map_or(0, int64),
            snapshot_count: 0,
            snapshot_rows: 0,
            state: ptr::null_mut(),
            state_source: ptr::null(),
            slots_in: ptr::null(),
            slots_out: ptr::null(),
            cu_seqlens: ptr::null(),
            q: ptr::null(),
            k: ptr::null(),
            v: ptr::null(),
            g: ptr::null(),
            beta: ptr::null(),
            a_log: ptr::null(),
            dt_bias: ptr::null(),
            out: ptr::null_mut(),
            snapshots: ptr::null_mut(),
            status: ptr::null_mut(),
        }
    }
}

fn run<T: Element, S: Element>(
    entry: Entry,
    stream: &Arc<CudaStream>,
    problem: &Problem<'_, T, S>,
    outputs: &mut Outputs<'_, T, S>,
) -> Result<()> {
    raw::abi_version()?;
    let sizes = &problem.sizes;
    let rows = match entry {
        Entry::Scan => problem.rows(),
        // Whatever max_t says.
        Entry::Step | Entry::StepFast => sizes.sequences,
    };
    problem.check(rows)?;
    let values = product([sizes.value_heads, sizes.value_dim]);
    at_least("state", Some(outputs.state.len()), problem.pool())?;
    let out = extent(rows, problem.out_stride, values);
    at_least("out", Some(outputs.out.len()), out)?;
    at_least("status", length(outputs.status.as_ref()), 1)?;
    let mut params = problem.params();
    let mut call = Call::on(stream, raw::error_string)?;
    params.state = call.output("state", &mut outputs.state)?.cast();
    params.out = call.output("out", &mut outputs.out)?.cast();
    if let Some((snapshots, count)) = &mut outputs.snapshots {
        params.snapshot_count = int64(*count);
        // The library says whether these rows are enough.
        params.snapshot_rows = int64(snapshots.len() / sizes.state().max(1));
        params.snapshots = call.output("snapshots", snapshots)?.cast();
    }
    params.status = call.optional_output("status", outputs.status.as_mut())?;
    params.q = call.input("q", &problem.q)?.cast();
    params.k = call.input("k", &problem.k)?.cast();
    params.v = call.input("v", &problem.v)?.cast();
    params.g = match &problem.gates.decay {
        DecayGate::Linear(g) | DecayGate::Log(g) => call.input("g", g)?.cast(),
        DecayGate::Raw { a, a_log, dt_bias } => {
            params.a_log = call.input("a_log", a_log)?;
            params.dt_bias = call.input("dt_bias", dt_bias)?;
            call.input("g", a)?.cast()
        }
    };
    params.beta = match &problem.gates.beta {
        BetaGate::Given(beta) => call.input("beta", beta)?.cast(),
        BetaGate::Sigmoid(b) | BetaGate::TwiceSigmoid(b) => call.input("beta", b)?.cast(),
    };
    let offsets = problem.cu_seqlens.as_ref().map(|(offsets, _)| offsets);
    params.cu_seqlens = call.optional_input("cu_seqlens", offsets)?;
    params.slots_in = call.optional_input("slots_in", problem.slots_in.as_ref())?;
    params.slots_out = call.optional_input("slots_out", problem.slots_out.as_ref())?;
    params.state_source = call
        .optional_input("state_source", problem.state_source.as_ref())?
        .cast();
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the sizes say, and its guard is
    // held until the work is queued.
    call.run(|stream| unsafe { raw::status_of(entry, &params, stream) })
}

/// `max_t` tokens of each sequence, or those that `cu_seqlens` say: queues the work on the stream and returns.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes, strides and scalars out of range and
/// for outputs that overlap; each before anything is queued. [`Error::Cuda`] when the launch fails.
pub fn scan<T: Element, S: Element>(
    stream: &Arc<CudaStream>,
    problem: &Problem<'_, T, S>,
    outputs: &mut Outputs<'_, T, S>,
) -> Result<()> {
    run(Entry::Scan, stream, problem, outputs)
}

/// One token of each sequence, whatever `max_t` says.
///
/// # Errors
/// As [`scan`], and for `cu_seqlens`.
pub fn step<T: Element, S: Element>(
    stream: &Arc<CudaStream>,
    problem: &Problem<'_, T, S>,
    outputs: &mut Outputs<'_, T, S>,
) -> Result<()> {
    run(Entry::Step, stream, problem, outputs)
}

/// [`step`] within a tolerance; see `gdn_step_fast`.
///
/// # Errors
/// As [`step`].
pub fn step_fast<T: Element, S: Element>(
    stream: &Arc<CudaStream>,
    problem: &Problem<'_, T, S>,
    outputs: &mut Outputs<'_, T, S>,
) -> Result<()> {
    run(Entry::StepFast, stream, problem, outputs)
}
