//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use launch::cudarc::driver::CudaContext;
//! use rms_norm::gpu::{Norm, Outputs, Target, norm};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let x = stream.clone_htod(&[1.0f32; 3 * 64])?;
//! let gamma = stream.clone_htod(&[1.0f32; 64])?;
//! let mut y = stream.alloc_zeros::<f32>(3 * 64)?;
//! let problem = Norm::packed(x.as_view(), Some(gamma.as_view()), 3, 64, 1e-6);
//! norm(&stream, &problem, Outputs::only(Target::Same(y.as_view_mut())))?;
//! println!("{:?}", stream.clone_dtoh(&y)?);
//! # Ok(())
//! # }
//! ```
//!
//! Views of one buffer cannot be both an input and an output here, so in-place calls have types of
//! their own: [`Target::InPlace`] and [`Residual::InPlace`].

use crate::shape::{extent, packed, repeated_extent};
use crate::{Dtype, GammaMode, ResidualMode, ffi, raw};
use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice};
#[cfg(doc)]
use launch::Error;
use launch::lengths::at_least;
use launch::{Call, Result, Workspace};
use std::ptr;
use std::sync::Arc;

/// Element types of x.
pub trait Element: sealed::Element {}

impl Element for f32 {}
impl Element for half::bf16 {}
impl Element for half::f16 {}

/// Element types of gamma and add.
pub trait Weight: sealed::Element {}

impl Weight for f32 {}
impl Weight for half::bf16 {}
impl Weight for half::f16 {}

mod sealed {
    use crate::Dtype;

    pub trait Element {
        const DTYPE: Dtype;
    }

    impl Element for f32 {
        const DTYPE: Dtype = Dtype::F32;
    }

    impl Element for half::bf16 {
        const DTYPE: Dtype = Dtype::Bf16;
    }

    impl Element for half::f16 {
        const DTYPE: Dtype = Dtype::F16;
    }
}

/// A weight or an addend: what is stored, and its sizes, beyond which indices wrap around.
pub struct Repeated<'a, W: Weight> {
    /// From the first to the last element.
    pub elements: CudaView<'a, W>,
    /// Columns, rows, channels, samples.
    pub sizes: [usize; 4],
    /// Elements between rows, channels and samples.
    pub strides: [usize; 3],
}

impl<'a, W: Weight> Repeated<'a, W> {
    /// One row of `n` for all rows.
    pub fn row(elements: CudaView<'a, W>, n: usize) -> Self {
        Repeated {
            elements,
            sizes: [n, 1, 1, 1],
            strides: [n; 3],
        }
    }

    fn check(&self, argument: &'static str, n: usize) -> Result<()> {
        let needed = repeated_extent(self.sizes, self.strides, n);
        at_least(argument, Some(self.elements.len()), needed)
    }
}

/// The inputs of a call. Start from [`Norm::packed`] and change what differs.
pub struct Norm<'a, T: Element, W: Weight = T> {
    /// Columns, at least 1.
    pub n: usize,
    /// Rows of a channel, channels of a sample, samples. A 0 queues nothing and succeeds.
    pub rows: [usize; 3],
    /// What is normalised; `None` with [`Target::InPlace`], which brings it.
    pub x: Option<CudaView<'a, T>>,
    /// Elements between rows, channels and samples of x.
    pub x_strides: [usize; 3],
    /// The weight.
    pub gamma: Option<Repeated<'a, W>>,
    /// How it enters.
    pub gamma_mode: GammaMode,
    /// Added to the weighted row.
    pub add: Option<Repeated<'a, W>>,
    /// Inside the root; finite, at least 0.
    pub eps: f32,
    /// Elements between rows, channels and samples of y.
    pub y_strides: [usize; 3],
}

impl<'a, T: Element, W: Weight> Norm<'a, T, W> {
    /// Packed rows, one weight for all.
    pub fn packed(
        x: CudaView<'a, T>,
        gamma: Option<CudaView<'a, W>>,
        rows: usize,
        n: usize,
        eps: f32,
    ) -> Self {
        let rows = [rows, 1, 1];
        Norm {
            n,
            rows,
            x: Some(x),
            x_strides: packed(n, rows),
            gamma: gamma.map(|gamma| Repeated::row(gamma, n)),
            gamma_mode: GammaMode::Plain,
            add: None,
            eps,
            y_strides: packed(n, rows),
        }
    }

    fn total(&self) -> usize {
        self.rows
            .iter()
            .fold(1, |product: usize, &count| product.saturating_mul(count))
    }
}

/// Where y goes, and as what.
pub enum Target<'a, T: Element> {
    /// In x's type.
    Same(CudaViewMut<'a, T>),
    /// In f32 (of bf16 x).
    F32(CudaViewMut<'a, f32>),
    /// Over x, which this is.
    InPlace(CudaViewMut<'a, T>),
    /// Quantised, divided by one scale.
    ByTensor {
        /// The codes.
        y: CudaViewMut<'a, u8>,
        /// [`Dtype::Fp8`] or [`Dtype::Int8`].
        dtype: Dtype,
        /// `[1]`: the divisor.
        scale: CudaView<'a, f32>,
    },
    /// Quantised, divided by a scale for each row.
    ByToken {
        /// The codes.
        y: CudaViewMut<'a, u8>,
        /// [`Dtype::Fp8`] or [`Dtype::Int8`].
        dtype: Dtype,
        /// The scales, written.
        scales: CudaViewMut<'a, f32>,
        /// The least of them: finite, above 0.
        min_scale: f32,
    },
}

/// What is added to x before, in x's type (`R = T`) or in f32.
pub enum Residual<'a, R: Weight> {
    /// Read, and the sum written elsewhere or nowhere.
    Apart {
        /// The residual.
        input: CudaView<'a, R>,
        /// x + residual.
        output: Option<CudaViewMut<'a, R>>,
    },
    /// The sum takes the residual's place.
    InPlace(CudaViewMut<'a, R>),
}

/// The outputs of a call.
pub struct Outputs<'a, T: Element, R: Weight = T> {
    /// y.
    pub y: Target<'a, T>,
    /// The residual stream, packed.
    pub residual: Option<Residual<'a, R>>,
    /// What is normalised with a residual.
    pub residual_mode: ResidualMode,
    /// The scale of each row.
    pub rstd: Option<CudaViewMut<'a, f32>>,
}

impl<'a, T: Element + Weight> Outputs<'a, T, T> {
    /// y alone.
    pub fn only(y: Target<'a, T>) -> Self {
        Outputs {
            y,
            residual: None,
            residual_mode: ResidualMode::Unrounded,
            rstd: None,
        }
    }
}

// What does not fit is beyond every limit of the library, which then names it.
fn int64(x: usize) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}

/// The params struct with every pointer null.
fn params<T: Element, W: Weight>(problem: &Norm<'_, T, W>) -> ffi::rms_norm_params {
    let some_zero = problem.rows.contains(&0);
    let repeated = |r: Option<&Repeated<'_, W>>| {
        r.map_or(([0; 4], [0; 3]), |r| {
            (r.sizes.map(int64), r.strides.map(int64))
        })
    };
    let (gamma_sizes, gamma_strides) = repeated(problem.gamma.as_ref());
    let (add_sizes, add_strides) = repeated(problem.add.as_ref());
    let dtype = T::DTYPE.code();
    ffi::rms_norm_params {
        struct_size: size_of::<ffi::rms_norm_params>() as u32,
        x_dtype: dtype,
        gamma_dtype: W::DTYPE.code(),
        y_dtype: dtype,
        residual_dtype: dtype,
        gamma_mode: problem.gamma_mode.code(),
        residual_mode: 0,
        quantisation: 0,
        path: 0,
        eps: problem.eps,
        min_scale: 0.0,
        reserved: 0.0,
        n: int64(problem.n),
        // No channels are no rows: the library takes 0 channels for one.
        rows: if some_zero { 0 } else { int64(problem.rows[0]) },
        channels: int64(problem.rows[1]),
        samples: int64(problem.rows[2]),
        gamma_sizes,
        add_sizes,
        x_strides: problem.x_strides.map(int64),
        residual_strides: [0; 3],
        gamma_strides,
        add_strides,
        y_strides: problem.y_strides.map(int64),
        residual_out_strides: [0; 3],
        x: ptr::null(),
        residual: ptr::null(),
        gamma: ptr::null(),
        add: ptr::null(),
        tensor_scale: ptr::null(),
        y: ptr::null_mut(),
        residual_out: ptr::null_mut(),
        token_scales: ptr::null_mut(),
        rstd: ptr::null_mut(),
    }
}

/// Normalises every row: queues the work on the stream and returns.
///
/// # Errors
/// [`Error::ShapeMismatch`] for a buffer that is too short; [`Error::InvalidArgument`] where x is
/// given twice or not at all; [`Error::Library`] for sizes, strides, types and scalars that the
/// header does not allow; each before anything is queued. [`Error::Cuda`] when the launch fails.
pub fn norm<T: Element, W: Weight, R: Weight>(
    stream: &Arc<CudaStream>,
    problem: &Norm<'_, T, W>,
    mut outputs: Outputs<'_, T, R>,
) -> Result<()> {
    raw::abi_version()?;
    let (n, total) = (problem.n, problem.total());
    let x_extent = extent(n, problem.rows, problem.x_strides);
    let y_extent = extent(n, problem.rows, problem.y_strides);
    let rows_extent = extent(n, problem.rows, packed(n, problem.rows));
    let mut p = params(problem);
    let mut call = Call::on(stream, raw::error_string)?;

    let in_place = matches!(outputs.y, Target::InPlace(_));
    if in_place == problem.x.is_some() {
        return Err(launch::Error::invalid(
            "x",
            if in_place {
                "given beside y"
            } else {
                "missing"
            },
            if in_place {
                "None where y is in place"
            } else {
                "given"
            },
        ));
    }
    if let Some(x) = &problem.x {
        at_least("x", Some(x.len()), x_extent)?;
        p.x = call.input("x", x)?.cast();
    }
    if let Some(gamma) = &problem.gamma {
        gamma.check("gamma", problem.n)?;
        p.gamma = call.input("gamma", &gamma.elements)?.cast();
    }
    if let Some(add) = &problem.add {
        add.check("add", problem.n)?;
        p.add = call.input("add", &add.elements)?.cast();
    }
    match &mut outputs.y {
        Target::Same(y) => {
            at_least("y", Some(y.len()), y_extent)?;
            p.y = call.output("y", y)?.cast();
        }
        Target::F32(y) => {
            at_least("y", Some(y.len()), y_extent)?;
            p.y_dtype = Dtype::F32.code();
            p.y = call.output("y", y)?.cast();
        }
        Target::InPlace(y) => {
            at_least("y", Some(y.len()), x_extent.max(y_extent))?;
            p.y = call.output("y", y)?.cast();
            p.x = p.y;
        }
        Target::ByTensor { y, dtype, scale } => {
            at_least("y", Some(y.len()), y_extent)?;
            at_least("scale", Some(scale.len()), 1)?;
            p.quantisation = ffi::RMS_QUANT_TENSOR as i32;
            p.y_dtype = dtype.code();
            p.y = call.output("y", y)?.cast();
            p.tensor_scale = call.input("scale", scale)?;
        }
        Target::ByToken {
            y,
            dtype,
            scales,
            min_scale,
        } => {
            at_least("y", Some(y.len()), y_extent)?;
            at_least("scales", Some(scales.len()), total)?;
            p.quantisation = ffi::RMS_QUANT_TOKEN as i32;
            p.y_dtype = dtype.code();
            p.min_scale = *min_scale;
            p.y = call.output("y", y)?.cast();
            p.token_scales = call.output("scales", scales)?;
        }
    }
    p.residual_dtype = R::DTYPE.code();
    p.residual_mode = outputs.residual_mode.code();
    match &mut outputs.residual {
        None => {}
        Some(Residual::Apart { input, output }) => {
            at_least("residual", Some(input.len()), rows_extent)?;
            at_least(
                "residual_out",
                output.as_ref().map(DeviceSlice::len),
                rows_extent,
            )?;
            p.residual = call.input("residual", input)?.cast();
            p.residual_out = call
                .optional_output("residual_out", output.as_mut())?
                .cast();
        }
        Some(Residual::InPlace(both)) => {
            at_least("residual", Some(both.len()), rows_extent)?;
            p.residual_out = call.output("residual", both)?.cast();
            p.residual = p.residual_out;
        }
    }
    if let Some(rstd) = &mut outputs.rstd {
        at_least("rstd", Some(rstd.len()), total)?;
        p.rstd = call.output("rstd", rstd)?;
    }
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the
    // sizes say, and its guard is held until the work is queued.
    call.run(|stream| unsafe { raw::norm_status(&p, stream) })
}

/// Normalises every row with the operations of llama.cpp: f32, subnormals count as zero. `sums` gets
/// the sums of squares, `rstd` the scales.
///
/// # Errors
/// As [`norm`].
pub fn norm_ggml(
    stream: &Arc<CudaStream>,
    problem: &Norm<'_, f32, f32>,
    y: &mut CudaViewMut<'_, f32>,
    sums: Option<&mut CudaViewMut<'_, f32>>,
    rstd: Option<&mut CudaViewMut<'_, f32>>,
) -> Result<()> {
    raw::abi_version()?;
    let total = problem.total();
    let mut p = params(problem);
    let mut call = Call::on(stream, raw::error_string)?;
    let Some(x) = &problem.x else {
        return Err(launch::Error::invalid("x", "missing", "given"));
    };
    at_least(
        "x",
        Some(x.len()),
        extent(problem.n, problem.rows, problem.x_strides),
    )?;
    at_least(
        "y",
        Some(y.len()),
        extent(problem.n, problem.rows, problem.y_strides),
    )?;
    at_least("sums", sums.as_ref().map(|s| s.len()), total)?;
    at_least("rstd", rstd.as_ref().map(|s| s.len()), total)?;
    p.x = call.input("x", x)?.cast();
    if let Some(gamma) = &problem.gamma {
        gamma.check("gamma", problem.n)?;
        p.gamma = call.input("gamma", &gamma.elements)?.cast();
    }
    if let Some(add) = &problem.add {
        add.check("add", problem.n)?;
        p.add = call.input("add", &add.elements)?.cast();
    }
    p.y = call.output("y", y)?.cast();
    let sums = call.optional_output("sums", sums)?;
    p.rstd = call.optional_output("rstd", rstd)?;
    // SAFETY: as in `norm`.
    call.run(|stream| unsafe { raw::norm_ggml_status(&p, sums, stream) })
}

/// The inputs of a backward call, packed rows.
pub struct Backward<'a, T: Element, W: Weight = T> {
    /// Columns, at least 1.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// The forward call's input.
    pub x: CudaView<'a, T>,
    /// The weight.
    pub gamma: Option<CudaView<'a, W>>,
    /// How it entered: [`GammaMode::Plain`] or [`GammaMode::OnePlus`].
    pub gamma_mode: GammaMode,
    /// The gradient of y.
    pub dy: CudaView<'a, T>,
    /// The forward call's scales; without them they are computed again.
    pub rstd: Option<CudaView<'a, f32>>,
    /// Inside the root.
    pub eps: f32,
}

/// The gradients of x and of the weight, each on request, at least one; the second needs a workspace
/// of [`backward_workspace_bytes`].
///
/// # Errors
/// As [`norm`].
pub fn backward<T: Element, W: Weight>(
    stream: &Arc<CudaStream>,
    problem: &Backward<'_, T, W>,
    dx: Option<&mut CudaViewMut<'_, T>>,
    dgamma: Option<&mut CudaViewMut<'_, W>>,
    workspace: Option<&mut Workspace>,
) -> Result<()> {
    raw::abi_version()?;
    let count = problem.rows.saturating_mul(problem.n);
    at_least("x", Some(problem.x.len()), count)?;
    at_least("dy", Some(problem.dy.len()), count)?;
    let length = problem.gamma.as_ref().map(DeviceSlice::len);
    at_least("gamma", length, problem.n)?;
    let length = problem.rstd.as_ref().map(DeviceSlice::len);
    at_least("rstd", length, problem.rows)?;
    at_least("dx", dx.as_ref().map(|x| x.len()), count)?;
    at_least("dgamma", dgamma.as_ref().map(|x| x.len()), problem.n)?;
    let mut call = Call::on(stream, raw::error_string)?;
    let mut p = backward_params(problem);
    p.x = call.input("x", &problem.x)?.cast();
    p.dy = call.input("dy", &problem.dy)?.cast();
    p.gamma = call.optional_input("gamma", problem.gamma.as_ref())?.cast();
    p.rstd = call.optional_input("rstd", problem.rstd.as_ref())?;
    p.dx = call.optional_output("dx", dx)?.cast();
    p.dgamma = call.optional_output("dgamma", dgamma)?.cast();
    if let Some(workspace) = workspace {
        p.workspace_bytes = raw::backward_workspace_bytes(&p)?;
        p.workspace = call.workspace(workspace, p.workspace_bytes)?;
    }
    // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the
    // sizes say, and its guard is held until the work is queued.
    call.run(|stream| unsafe { raw::backward_status(&p, stream) })
}

/// Bytes of workspace with which [`backward`] makes the gradient of the weight.
///
/// # Errors
/// [`Error::NotBuilt`] in documentation builds.
pub fn backward_workspace_bytes<T: Element, W: Weight>(
    problem: &Backward<'_, T, W>,
) -> Result<usize> {
    let mut p = backward_params(problem);
    // Sizes alone count, and whether there are scales and a gradient to make.
    p.dgamma = ptr::NonNull::dangling().as_ptr();
    p.rstd = match problem.rstd {
        Some(_) => ptr::NonNull::dangling().as_ptr(),
        None => ptr::null(),
    };
    raw::backward_workspace_bytes(&p)
}

/// The params struct with every pointer null.
fn backward_params<T: Element, W: Weight>(
    problem: &Backward<'_, T, W>,
) -> ffi::rms_norm_backward_params {
    ffi::rms_norm_backward_params {
        struct_size: size_of::<ffi::rms_norm_backward_params>() as u32,
        x_dtype: T::DTYPE.code(),
        gamma_dtype: W::DTYPE.code(),
        gamma_mode: problem.gamma_mode.code(),
        eps: problem.eps,
        reserved: 0.0,
        n: int64(problem.n),
        rows: int64(problem.rows),
        x_stride: 0,
        dy_stride: 0,
        dx_stride: 0,
        x: ptr::null(),
        gamma: ptr::null(),
        dy: ptr::null(),
        rstd: ptr::null(),
        dx: ptr::null_mut(),
        dgamma: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_bytes: 0,
    }
}
