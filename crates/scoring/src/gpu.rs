//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use launch::cudarc::driver::CudaContext;
//! use scoring::gpu::{Outputs, Problem, score};
//! use scoring::{DEFAULT_EPS, Similarity};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let queries = stream.clone_htod(&[1.0f32; 2 * 64])?;
//! let candidates = stream.clone_htod(&[1.0f32; 2 * 5 * 64])?;
//! let mut probabilities = stream.alloc_zeros::<f32>(2 * 5)?;
//! let problem = Problem {
//!     scale: 20.0,
//!     ..Problem::packed(
//!         Similarity::Cosine { eps: DEFAULT_EPS },
//!         queries.as_view(),
//!         candidates.as_view(),
//!         [2, 5, 64],
//!     )
//! };
//! let mut outputs =
//!     Outputs { probabilities: Some(probabilities.as_view_mut()), ..Outputs::default() };
//! score(&stream, &problem, &mut outputs, None)?;
//! println!("{:?}", stream.clone_dtoh(&probabilities)?);
//! # Ok(())
//! # }
//! ```

use crate::shape::Sizes;
use crate::{Element, Similarity, ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};
#[cfg(doc)]
use launch::Error;
use launch::lengths::at_least;
use launch::{Call, Result, Workspace};
use std::ptr;
use std::sync::Arc;

/// Where question `i` finds candidate `k`.
pub enum Layout<'a> {
    /// Row `k` of block `i` of candidates `[Q, K, D]`.
    Dense {
        /// Elements between blocks.
        question_stride: usize,
    },
    /// Row `offsets[i] + k` of candidates `[sum_k, D]`.
    Ragged {
        /// `[Q + 1]`, ascending from 0 or above to `sum_k`.
        offsets: CudaView<'a, i32>,
        /// Candidates in all.
        sum_k: usize,
    },
    /// Row `k` of candidates `[K, D]`.
    Shared,
    /// Row `indices[i * K + k]` of a table `[table_rows, D]`.
    Indexed {
        /// `[Q, K]`.
        indices: CudaView<'a, i32>,
        /// Rows of the table.
        table_rows: usize,
    },
    /// Row `indices[offsets[i] + k]` of a table `[table_rows, D]`.
    RaggedIndexed {
        /// `[sum_k]`.
        indices: CudaView<'a, i32>,
        /// `[Q + 1]`, ascending from 0 or above to `sum_k`.
        offsets: CudaView<'a, i32>,
        /// Indices in all.
        sum_k: usize,
        /// Rows of the table.
        table_rows: usize,
    },
}

/// The inputs of a call. Start from [`Problem::packed`] and change what differs.
pub struct Problem<'a, T: Element> {
    /// `[Q, D]`, rows `query_stride` apart.
    pub queries: CudaView<'a, T>,
    /// Rows `candidate_stride` apart, arranged as `layout` says.
    pub candidates: CudaView<'a, T>,
    /// Q. 0 queues nothing and succeeds.
    pub questions: usize,
    /// K, or with offsets an upper bound of each question's.
    pub max_k: usize,
    /// D.
    pub dim: usize,
    /// Elements between queries, at least D.
    pub query_stride: usize,
    /// Elements between candidates, at least D.
    pub candidate_stride: usize,
    /// How candidates are found.
    pub layout: Layout<'a>,
    /// Dot product or cosine.
    pub similarity: Similarity,
    /// Factor of the similarity: finite, above 0, with a finite inverse.
    pub scale: f32,
    /// Divisor of the scaled similarity: finite, above 0, with a finite inverse.
    pub temperature: f32,
    /// `[Q]`: in place of `scale`.
    pub scales: Option<CudaView<'a, f32>>,
    /// `[Q]`: in place of `temperature`.
    pub temperatures: Option<CudaView<'a, f32>>,
    /// Per candidate: nonzero keeps.
    pub mask: Option<CudaView<'a, u8>>,
    /// Per candidate: added to the logit.
    pub bias: Option<CudaView<'a, f32>>,
    /// `[Q]`: multiplied in place of the division by the query's norm (cosine).
    pub query_inverse_norms: Option<CudaView<'a, f32>>,
    /// Per stored candidate row: multiplied in place of the division by its norm (cosine).
    pub candidate_inverse_norms: Option<CudaView<'a, f32>>,
    /// Width of the top lists, at most [`MAX_TOP_K`](crate::MAX_TOP_K).
    pub top_k: usize,
}

/// The outputs of a call, each on request, at least one. Per-candidate outputs are `[Q, K]`, or
/// `[sum_k]` with offsets.
#[derive(Default)]
pub struct Outputs<'a> {
    /// Per candidate.
    pub probabilities: Option<CudaViewMut<'a, f32>>,
    /// Per candidate.
    pub logits: Option<CudaViewMut<'a, f32>>,
    /// Per candidate.
    pub log_probabilities: Option<CudaViewMut<'a, f32>>,
    /// `[Q]`.
    pub log_sum_exp: Option<CudaViewMut<'a, f32>>,
    /// `[Q]`: the index in the question of the largest logit, lowest among equals; -1 for none.
    pub argmax: Option<CudaViewMut<'a, i32>>,
    /// `[Q, top_k]`: probabilities by falling logit; 0 in unused places.
    pub top_values: Option<CudaViewMut<'a, f32>>,
    /// `[Q, top_k]`: their indices in the question; -1 in unused places.
    pub top_indices: Option<CudaViewMut<'a, i32>>,
    /// `[Q]`: the sum of k * p_k.
    pub expected_index: Option<CudaViewMut<'a, f32>>,
    /// `[1]`: set where it is 0, when a value that only the device sees is bad;
    /// [`raw::device_status_string`] puts it in words.
    pub status: Option<CudaViewMut<'a, u32>>,
}

impl<'a, T: Element> Problem<'a, T> {
    /// Packed rows in blocks, scale and temperature 1, nothing optional.
    pub fn packed(
        similarity: Similarity,
        queries: CudaView<'a, T>,
        candidates: CudaView<'a, T>,
        [questions, max_k, dim]: [usize; 3],
    ) -> Problem<'a, T> {
        Problem {
            queries,
            candidates,
            questions,
            max_k,
            dim,
            query_stride: dim,
            candidate_stride: dim,
            layout: Layout::Dense {
                question_stride: max_k.saturating_mul(dim),
            },
            similarity,
            scale: 1.0,
            temperature: 1.0,
            scales: None,
            temperatures: None,
            mask: None,
            bias: None,
            query_inverse_norms: None,
            candidate_inverse_norms: None,
            top_k: 0,
        }
    }

    fn sizes(&self) -> Sizes {
        let all = self.questions.saturating_mul(self.max_k);
        let (positions, rows, question_stride) = match self.layout {
            Layout::Dense { question_stride } => (all, all, Some(question_stride)),
            Layout::Shared => (all, self.max_k, None),
            Layout::Ragged { sum_k, .. } => (sum_k, sum_k, None),
            Layout::Indexed { table_rows, .. } => (all, table_rows, None),
            Layout::RaggedIndexed {
                sum_k, table_rows, ..
            } => (sum_k, table_rows, None),
        };
        Sizes {
            questions: self.questions,
            max_k: self.max_k,
            dim: self.dim,
            top_k: self.top_k,
            query_stride: self.query_stride,
            candidate_stride: self.candidate_stride,
            question_stride,
            rows,
            positions,
        }
    }

    fn offsets(&self) -> Option<&CudaView<'a, i32>> {
        match &self.layout {
            Layout::Ragged { offsets, .. } | Layout::RaggedIndexed { offsets, .. } => Some(offsets),
            _ => None,
        }
    }

    fn indices(&self) -> Option<&CudaView<'a, i32>> {
        match &self.layout {
            Layout::Indexed { indices, .. } | Layout::RaggedIndexed { indices, .. } => {
                Some(indices)
            }
            _ => None,
        }
    }

    /// Every buffer must hold what the sizes say.
    fn check(&self, sizes: &Sizes) -> Result<()> {
        at_least("queries", Some(self.queries.len()), sizes.query_elements())?;
        at_least(
            "candidates",
            Some(self.candidates.len()),
            sizes.candidate_elements(),
        )?;
        let Sizes {
            questions,
            positions,
            rows,
            ..
        } = *sizes;
        at_least(
            "offsets",
            length(self.offsets()),
            questions.saturating_add(1),
        )?;
        at_least("indices", length(self.indices()), positions)?;
        at_least("mask", length(self.mask.as_ref()), positions)?;
        at_least("bias", length(self.bias.as_ref()), positions)?;
        at_least("scales", length(self.scales.as_ref()), questions)?;
        at_least(
            "temperatures",
            length(self.temperatures.as_ref()),
            questions,
        )?;
        at_least(
            "query_inverse_norms",
            length(self.query_inverse_norms.as_ref()),
            questions,
        )?;
        at_least(
            "candidate_inverse_norms",
            length(self.candidate_inverse_norms.as_ref()),
            rows,
        )
    }

    /// The params struct with every pointer null.
    fn params(&self, sizes: &Sizes) -> ffi::cs_score_params {
        let (layout, sum_k, table_rows) = match self.layout {
            Layout::Dense { .. } => (ffi::CS_DENSE, 0, 0),
            Layout::Shared => (ffi::CS_SHARED, 0, 0),
            Layout::Ragged { sum_k, .. } => (ffi::CS_RAGGED, sum_k, 0),
            Layout::Indexed { table_rows, .. } => (ffi::CS_INDEXED, 0, table_rows),
            Layout::RaggedIndexed {
                sum_k, table_rows, ..
            } => (ffi::CS_INDEXED, sum_k, table_rows),
        };
        let (similarity, eps) = match self.similarity {
            Similarity::Dot => (ffi::CS_DOT, 0.0),
            Similarity::Cosine { eps } => (ffi::CS_COSINE, eps),
        };
        // What does not fit is beyond every limit of the library, which then names it.
        let int64 = |x: usize| i64::try_from(x).unwrap_or(i64::MAX);
        ffi::cs_score_params {
            struct_size: size_of::<ffi::cs_score_params>() as u32,
            dtype: T::DTYPE,
            similarity: similarity as i32,
            layout: layout as i32,
            path: ffi::CS_PATH_AUTO as i32,
            top_k: i32::try_from(self.top_k).unwrap_or(i32::MAX),
            questions: int64(self.questions),
            max_k: int64(self.max_k),
            sum_k: int64(sum_k),
            table_rows: int64(table_rows),
            dim: int64(self.dim),
            query_stride: int64(self.query_stride),
            candidate_stride: int64(self.candidate_stride),
            question_stride: int64(sizes.question_stride.unwrap_or(0)),
            scale: self.scale,
            temperature: self.temperature,
            eps,
            reserved: 0.0,
            queries: ptr::null(),
            candidates: ptr::null(),
            offsets: ptr::null(),
            indices: ptr::null(),
            mask: ptr::null(),
            bias: ptr::null(),
            scales: ptr::null(),
            temperatures: ptr::null(),
            query_inverse_norms: ptr::null(),
            candidate_inverse_norms: ptr::null(),
            probabilities: ptr::null_mut(),
            logits: ptr::null_mut(),
            log_probabilities: ptr::null_mut(),
            log_sum_exp: ptr::null_mut(),
            argmax: ptr::null_mut(),
            top_values: ptr::null_mut(),
            top_indices: ptr::null_mut(),
            expected_index: ptr::null_mut(),
            status: ptr::null_mut(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
        }
    }
}

fn length<T>(slice: Option<&impl DeviceSlice<T>>) -> Option<usize> {
    slice.map(DeviceSlice::len)
}

impl Outputs<'_> {
    fn check(&self, sizes: &Sizes) -> Result<()> {
        let Sizes {
            questions,
            positions,
            ..
        } = *sizes;
        let top = sizes.top_elements();
        at_least(
            "probabilities",
            length(self.probabilities.as_ref()),
            positions,
        )?;
        at_least("logits", length(self.logits.as_ref()), positions)?;
        at_least(
            "log_probabilities",
            length(self.log_probabilities.as_ref()),
            positions,
        )?;
        at_least("log_sum_exp", length(self.log_sum_exp.as_ref()), questions)?;
        at_least("argmax", length(self.argmax.as_ref()), questions)?;
        at_least("top_values", length(self.top_values.as_ref()), top)?;
        at_least("top_indices", length(self.top_indices.as_ref()), top)?;
        at_least(
            "expected_index",
            length(self.expected_index.as_ref()),
            questions,
        )?;
        at_least("status", length(self.status.as_ref()), 1)
    }
}

/// Bytes of workspace with which [`score`] is fastest on this problem; 0 where none helps. Up to
/// [`MAX_ONE_NODE_K`](crate::MAX_ONE_NODE_K) candidates it is optional, beyond it is required.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn workspace_bytes<T: Element>(problem: &Problem<'_, T>) -> Result<usize> {
    raw::score_workspace_bytes(&problem.params(&problem.sizes()))
}

/// Scores every question: queues the work on the stream and returns.
///
/// A workspace belongs to one stream; [`workspace_bytes`] says how large it must be.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes, strides
/// and scalars out of range, for outputs that overlap, and for a missing workspace; each before
/// anything is queued. [`Error::Cuda`] when the launch fails.
pub fn score<T: Element>(
    stream: &Arc<CudaStream>,
    problem: &Problem<'_, T>,
    outputs: &mut Outputs<'_>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    let sizes = problem.sizes();
    problem.check(&sizes)?;
    outputs.check(&sizes)?;
    let mut params = problem.params(&sizes);
    let mut call = Call::on(stream, raw::error_string)?;
    if let Some(workspace) = workspace {
        params.workspace_bytes = raw::score_workspace_bytes(&params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    }
    params.queries = call.input("queries", &problem.queries)?.cast();
    params.candidates = call.input("candidates", &problem.candidates)?.cast();
    params.offsets = call.optional_input("offsets", problem.offsets())?;
    params.indices = call.optional_input("indices", problem.indices())?;
    params.mask = call.optional_input("mask", problem.mask.as_ref())?;
    params.bias = call.optional_input("bias", problem.bias.as_ref())?;
    params.scales = call.optional_input("scales", problem.scales.as_ref())?;
    params.temperatures = call.optional_input("temperatures", problem.temperatures.as_ref())?;
    params.query_inverse_norms =
        call.optional_input("query_inverse_norms", problem.query_inverse_norms.as_ref())?;
    params.candidate_inverse_norms = call.optional_input(
        "candidate_inverse_norms",
        problem.candidate_inverse_norms.as_ref(),
    )?;
    params.probabilities = call.optional_output("probabilities", outputs.probabilities.as_mut())?;
    params.logits = call.optional_output("logits", outputs.logits.as_mut())?;
    params.log_probabilities =
        call.optional_output("log_probabilities", outputs.log_probabilities.as_mut())?;
    params.log_sum_exp = call.optional_output("log_sum_exp", outputs.log_sum_exp.as_mut())?;
    params.argmax = call.optional_output("argmax", outputs.argmax.as_mut())?;
    params.top_values = call.optional_output("top_values", outputs.top_values.as_mut())?;
    params.top_indices = call.optional_output("top_indices", outputs.top_indices.as_mut())?;
    params.expected_index =
        call.optional_output("expected_index", outputs.expected_index.as_mut())?;
    params.status = call.optional_output("status", outputs.status.as_mut())?;
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the
    // sizes say, and its guard is held until the work is queued.
    call.run(|stream| unsafe { raw::score_status(&params, stream) })
}
