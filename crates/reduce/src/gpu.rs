//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use launch::Workspace;
//! use launch::cudarc::driver::CudaContext;
//! use reduce::gpu::{Columns, columns, columns_workspace_bytes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let gradient = stream.clone_htod(&vec![1.0f32; 4096 * 3])?;
//! let mut bias = stream.alloc_zeros::<f32>(3)?;
//! let problem = Columns::packed(gradient.as_view(), [4096, 3]);
//! let mut workspace = Workspace::new(&stream, columns_workspace_bytes(&problem)?)?;
//! columns(&stream, &problem, &mut bias.as_view_mut(), None, Some(&mut workspace))?;
//! println!("{:?}", stream.clone_dtoh(&bias)?);
//! # Ok(())
//! # }
//! ```
//!
//! Matrices of a group are known by address, in device memory: `red_columns_grouped` is
//! [`raw::sum`] alone.

use crate::raw::{Entry, Splines};
use crate::{Element, Sum, ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};
use launch::lengths::{at_least, extent};
use launch::{Call, Result, Workspace};
use std::ptr;
use std::sync::Arc;

/// Types of results of a matrix of `T`: f32, and `T` itself.
pub trait ResultOf<T: Element>: sealed::ResultOf<T> {}

impl ResultOf<f32> for f32 {}
impl ResultOf<half::bf16> for f32 {}
impl ResultOf<half::bf16> for half::bf16 {}
impl ResultOf<half::f16> for f32 {}
impl ResultOf<half::f16> for half::f16 {}

mod sealed {
    use crate::ffi;

    pub trait ResultOf<T> {
        /// The enumerator of `red_out`.
        const OUT: i32;
    }

    impl<T> ResultOf<T> for f32 {
        const OUT: i32 = ffi::RED_OUT_F32 as i32;
    }

    impl ResultOf<half::bf16> for half::bf16 {
        const OUT: i32 = ffi::RED_OUT_AS_X as i32;
    }

    impl ResultOf<half::f16> for half::f16 {
        const OUT: i32 = ffi::RED_OUT_AS_X as i32;
    }
}

/// What every sum has besides its terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// What sums are kept in.
    pub sum: Sum,
    /// Divides by the number of kept terms.
    pub mean: bool,
    /// Factor of the sum; finite.
    pub alpha: f32,
    /// Factor of what the output held; finite; 0: it is not read.
    pub beta: f32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sum: Sum::F32x2,
            mean: false,
            alpha: 1.0,
            beta: 0.0,
        }
    }
}

/// A sum over the rows of a matrix. Start from [`Columns::packed`] and change what differs.
pub struct Columns<'a, T: Element> {
    /// `[rows, cols]`, rows `ld` apart; with an index `[table_rows, cols]`.
    pub x: CudaView<'a, T>,
    /// Terms of a column.
    pub rows: usize,
    /// Columns. 0 queues nothing and succeeds.
    pub cols: usize,
    /// Elements between rows, at least `cols`.
    pub ld: usize,
    /// `[rows]`: a factor for each term.
    pub weights: Option<CudaView<'a, f32>>,
    /// `[rows]`: nonzero keeps a term.
    pub mask: Option<CudaView<'a, u8>>,
    /// `[rows]`: term r is this row of the table, of which there are so many.
    pub index: Option<(CudaView<'a, i32>, usize)>,
    /// The rest.
    pub options: Options,
}

impl<'a, T: Element> Columns<'a, T> {
    /// Packed rows, every one of them.
    pub fn packed(x: CudaView<'a, T>, [rows, cols]: [usize; 2]) -> Columns<'a, T> {
        Columns {
            x,
            rows,
            cols,
            ld: cols,
            weights: None,
            mask: None,
            index: None,
            options: Options::default(),
        }
    }

    fn params(&self, out: i32) -> ffi::red_sum_params {
        let mut params = params::<T>(out, [self.rows, self.cols, self.ld], &self.options);
        params.table_rows = int64(self.index.as_ref().map_or(0, |(_, rows)| *rows));
        // The library asks whether there is an index, and does not follow it here.
        params.index = match self.index {
            Some(_) => ptr::NonNull::dangling().as_ptr(),
            None => ptr::null(),
        };
        params
    }
}

/// Sums over runs of rows.
pub struct Segments<'a, T: Element> {
    /// `[rows, cols]`, rows `ld` apart.
    pub x: CudaView<'a, T>,
    /// Rows of x.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Elements between rows, at least `cols`.
    pub ld: usize,
    /// `[segments + 1]`, ascending from 0 or above to `rows`.
    pub offsets: CudaView<'a, i64>,
    /// The most rows of a segment.
    pub max_rows: usize,
    /// The rest.
    pub options: Options,
}

impl<T: Element> Segments<'_, T> {
    fn count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn params(&self, out: i32) -> ffi::red_sum_params {
        ffi::red_sum_params {
            count: int64(self.count()),
            max_rows: int64(self.max_rows),
            ..params::<T>(out, [self.rows, self.cols, self.ld], &self.options)
        }
    }
}

/// Sums over the last dimension.
pub struct Rows<'a, T: Element> {
    /// `[rows, cols]`, rows `ld` apart.
    pub x: CudaView<'a, T>,
    /// Rows: sums.
    pub rows: usize,
    /// Terms of a sum.
    pub cols: usize,
    /// Elements between rows, at least `cols`.
    pub ld: usize,
    /// The rest.
    pub options: Options,
}

// What does not fit is beyond every limit of the library, which then names it.
fn int64(x: usize) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}

/// The params struct with every pointer null.
fn params<T: Element>(
    out: i32,
    [rows, cols, ld]: [usize; 3],
    options: &Options,
) -> ffi::red_sum_params {
    ffi::red_sum_params {
        struct_size: size_of::<ffi::red_sum_params>() as u32,
        dtype: T::DTYPE,
        out_dtype: out,
        accumulator: options.sum.code(),
        path: ffi::RED_PATH_AUTO as i32,
        splits: 0,
        mean: options.mean.into(),
        reserved: 0,
        rows: int64(rows),
        cols: int64(cols),
        ld: int64(ld),
        table_rows: 0,
        count: 0,
        max_rows: 0,
        alpha: options.alpha,
        beta: options.beta,
        x: ptr::null(),
        weights: ptr::null(),
        mask: ptr::null(),
        index: ptr::null(),
        offsets: ptr::null(),
        matrices: ptr::null(),
        out: ptr::null_mut(),
        status: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_bytes: 0,
    }
}

fn length<T>(slice: Option<&impl DeviceSlice<T>>) -> Option<usize> {
    slice.map(DeviceSlice::len)
}

/// Bytes of workspace with which [`columns`] is fastest on this problem; 0 where none helps.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn columns_workspace_bytes<T: Element>(problem: &Columns<'_, T>) -> Result<usize> {
    raw::workspace_bytes(Entry::Columns, &problem.params(0))
}

/// Bytes of workspace with which [`segments`] is fastest on this problem; 0 where none helps.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn segments_workspace_bytes<T: Element>(problem: &Segments<'_, T>) -> Result<usize> {
    raw::workspace_bytes(Entry::Segments, &problem.params(0))
}

/// Bytes of workspace with which [`rows`] is fastest on this problem; 0 where none helps.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn rows_workspace_bytes<T: Element>(problem: &Rows<'_, T>) -> Result<usize> {
    let shape = [problem.rows, problem.cols, problem.ld];
    raw::workspace_bytes(Entry::Rows, &params::<T>(0, shape, &problem.options))
}

/// Sums every column: queues the work on the stream and returns.
///
/// A workspace belongs to one stream; [`columns_workspace_bytes`] says how large it must be.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::Library`] for sizes, strides
/// and scalars out of range and for an output that overlaps an input; each before anything is
/// queued. [`Error::Cuda`] when the launch fails.
pub fn columns<T: Element, O: ResultOf<T>>(
    stream: &Arc<CudaStream>,
    problem: &Columns<'_, T>,
    out: &mut CudaViewMut<'_, O>,
    status: Option<&mut CudaViewMut<'_, u32>>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    let stored = problem
        .index
        .as_ref()
        .map_or(problem.rows, |(_, rows)| *rows);
    at_least(
        "x",
        Some(problem.x.len()),
        extent(problem.cols, &[(stored, problem.ld)]),
    )?;
    at_least("weights", length(problem.weights.as_ref()), problem.rows)?;
    at_least("mask", length(problem.mask.as_ref()), problem.rows)?;
    at_least(
        "index",
        length(problem.index.as_ref().map(|(i, _)| i)),
        problem.rows,
    )?;
    at_least("out", Some(out.len()), problem.cols)?;
    at_least("status", length(status.as_deref()), 1)?;
    let mut params = problem.params(O::OUT);
    let mut call = Call::on(stream, raw::error_string)?;
    if let Some(workspace) = workspace {
        params.workspace_bytes = raw::workspace_bytes(Entry::Columns, &params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    }
    params.x = call.input("x", &problem.x)?.cast();
    params.weights = call.optional_input("weights", problem.weights.as_ref())?;
    params.mask = call.optional_input("mask", problem.mask.as_ref())?;
    params.index = call.optional_input("index", problem.index.as_ref().map(|(i, _)| i))?;
    params.out = call.output("out", out)?.cast();
    params.status = call.optional_output("status", status)?;
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the
    // sizes say, and its guard is held until the work is queued.
    call.run(|stream| unsafe { raw::sum_status(Entry::Columns, &params, stream) })
}

/// Sums every segment's rows, to `[segments, cols]`: queues the work on the stream and returns.
///
/// # Errors
/// As [`columns`].
pub fn segments<T: Element, O: ResultOf<T>>(
    stream: &Arc<CudaStream>,
    problem: &Segments<'_, T>,
    out: &mut CudaViewMut<'_, O>,
    status: Option<&mut CudaViewMut<'_, u32>>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    at_least(
        "x",
        Some(problem.x.len()),
        extent(problem.cols, &[(problem.rows, problem.ld)]),
    )?;
    at_least("offsets", Some(problem.offsets.len()), 1)?;
    at_least(
        "out",
        Some(out.len()),
        problem.count().saturating_mul(problem.cols),
    )?;
    at_least("status", length(status.as_deref()), 1)?;
    let mut params = problem.params(O::OUT);
    let mut call = Call::on(stream, raw::error_string)?;
    if let Some(workspace) = workspace {
        params.workspace_bytes = raw::workspace_bytes(Entry::Segments, &params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    }
    params.x = call.input("x", &problem.x)?.cast();
    params.offsets = call.input("offsets", &problem.offsets)?;
    params.out = call.output("out", out)?.cast();
    params.status = call.optional_output("status", status)?;
    // SAFETY: as in `columns`.
    call.run(|stream| unsafe { raw::sum_status(Entry::Segments, &params, stream) })
}

/// Sums every row: queues the work on the stream and returns.
///
/// # Errors
/// As [`columns`].
pub fn rows<T: Element, O: ResultOf<T>>(
    stream: &Arc<CudaStream>,
    problem: &Rows<'_, T>,
    out: &mut CudaViewMut<'_, O>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    at_least(
        "x",
        Some(problem.x.len()),
        extent(problem.cols, &[(problem.rows, problem.ld)]),
    )?;
    at_least("out", Some(out.len()), problem.rows)?;
    let shape = [problem.rows, problem.cols, problem.ld];
    let mut params = params::<T>(O::OUT, shape, &problem.options);
    let mut call = Call::on(stream, raw::error_string)?;
    if let Some(workspace) = workspace {
        params.workspace_bytes = raw::workspace_bytes(Entry::Rows, &params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    }
    params.x = call.input("x", &problem.x)?.cast();
    params.out = call.output("out", out)?.cast();
    // SAFETY: as in `columns`.
    call.run(|stream| unsafe { raw::sum_status(Entry::Rows, &params, stream) })
}

/// What [`moments`] is asked for: each output of one element, on request, at least one.
#[derive(Default)]
pub struct Moments<'a> {
    /// The sum of squares.
    pub sum_squares: Option<CudaViewMut<'a, f32>>,
    /// Its root.
    pub norm: Option<CudaViewMut<'a, f32>>,
    /// The largest magnitude that is not NaN.
    pub max_abs: Option<CudaViewMut<'a, f32>>,
    /// The number of NaNs and infinities.
    pub non_finite: Option<CudaViewMut<'a, i64>>,
}

fn moments_params<T: Element>(count: usize, sum: Sum) -> ffi::red_moments_params {
    ffi::red_moments_params {
        struct_size: size_of::<ffi::red_moments_params>() as u32,
        dtype: T::DTYPE,
        accumulator: sum.code(),
        splits: 0,
        rows: int64(count),
        x: ptr::null(),
        sum_squares: ptr::null_mut(),
        norm: ptr::null_mut(),
        max_abs: ptr::null_mut(),
        non_finite: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_bytes: 0,
    }
}

/// Bytes of workspace with which [`moments`] is fastest for so many elements.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn moments_workspace_bytes<T: Element>(count: usize) -> Result<usize> {
    raw::moments_workspace_bytes(&moments_params::<T>(count, Sum::F32x2))
}

/// Norm, largest magnitude and non-finite elements of a slice: queues the work on the stream and returns.
/// `sum` is [`Sum::F32x2`] or [`Sum::F64`].
///
/// # Errors
/// As [`columns`].
pub fn moments<T: Element>(
    stream: &Arc<CudaStream>,
    x: &CudaView<'_, T>,
    sum: Sum,
    out: &mut Moments<'_>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    at_least("sum_squares", length(out.sum_squares.as_ref()), 1)?;
    at_least("norm", length(out.norm.as_ref()), 1)?;
    at_least("max_abs", length(out.max_abs.as_ref()), 1)?;
    at_least("non_finite", length(out.non_finite.as_ref()), 1)?;
    let mut params = moments_params::<T>(x.len(), sum);
    let mut call = Call::on(stream, raw::error_string)?;
    if let Some(workspace) = workspace {
        params.workspace_bytes = raw::moments_workspace_bytes(&params)?;
        params.workspace = call.workspace(workspace, params.workspace_bytes)?;
    }
    params.x = call.input("x", x)?.cast();
    params.sum_squares = call.optional_output("sum_squares", out.sum_squares.as_mut())?;
    params.norm = call.optional_output("norm", out.norm.as_mut())?;
    params.max_abs = call.optional_output("max_abs", out.max_abs.as_mut())?;
    params.non_finite = call.optional_output("non_finite", out.non_finite.as_mut())?;
    // SAFETY: as in `columns`.
    call.run(|stream| unsafe { raw::moments_status(&params, stream) })
}

/// Bytes of workspace with which [`kan_spline_grad`] is fastest.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn kan_spline_grad_workspace_bytes(
    [rows, inputs, outputs]: [usize; 3],
    knots: usize,
) -> Result<usize> {
    raw::kan_spline_grad_workspace_bytes(splines([rows, inputs, outputs], knots))
}

fn splines([rows, inputs, outputs]: [usize; 3], knots: usize) -> Splines {
    Splines {
        rows: int64(rows),
        inputs: int64(inputs),
        outputs: int64(outputs),
        // Fewer knots than an interval has are no intervals, which the library refuses.
        intervals: int64(knots.saturating_sub(7)),
    }
}

/// The gradient of spline coefficients: x `[rows, inputs]`, dy `[rows, outputs]`, all of `knots`, to out
/// `[inputs, knots - 4, outputs]`. Queues the work on the stream and returns.
///
/// # Errors
/// As [`columns`].
pub fn kan_spline_grad(
    stream: &Arc<CudaStream>,
    [x, dy, knots]: [&CudaView<'_, f32>; 3],
    [rows, inputs, outputs]: [usize; 3],
    out: &mut CudaViewMut<'_, f32>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    let results = inputs
        .saturating_mul(outputs)
        .saturating_mul(knots.len().saturating_sub(4));
    at_least("x", Some(x.len()), rows.saturating_mul(inputs))?;
    at_least("dy", Some(dy.len()), rows.saturating_mul(outputs))?;
    at_least("out", Some(out.len()), results)?;
    let sizes = splines([rows, inputs, outputs], knots.len());
    let mut call = Call::on(stream, raw::error_string)?;
    let mut space = (ptr::null_mut(), 0);
    if let Some(workspace) = workspace {
        let bytes = raw::kan_spline_grad_workspace_bytes(sizes)?;
        space = (call.workspace(workspace, bytes)?, bytes);
    }
    let inputs = [
        call.input("x", x)?,
        call.input("dy", dy)?,
        call.input("knots", knots)?,
    ];
    let out = call.output("out", out)?;
    // SAFETY: as in `columns`.
    call.run(|stream| unsafe { raw::kan_spline_grad_status(inputs, out, sizes, space, stream) })
}
