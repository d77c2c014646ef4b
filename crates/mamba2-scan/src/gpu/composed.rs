//! The gated scan composed of cuBLAS products and a light scan between them: the design that the fused kernels
//! replace, done well, and the path for sizes that they refuse. Any K, H and S.
//!
//! Class tolerance: products are cuBLAS's in f32, in its own order of sums, which changes with its version, the device
//! and the sizes; the scans between them are exact. Several graph nodes a call: forward two that lay the weights side
//! by side, two products (one for each step in place of the first where the history has gaps between its samples), the
//! scan, and two for the sum readout; backward five and up to eleven for what is asked for. cuBLAS may take two for a
//! product.
//!
//! All memory is the caller's, cuBLAS's own workspace included: a call allocates nothing and can be captured into a
//! graph, after one that was not (cuBLAS loads its kernels when they are first needed) and with cudarc's event tracking
//! disabled: what was recorded before a capture cannot be waited for inside it.
//!
//! ```no_run
//! use launch::{Workspace, cudarc::driver::CudaContext};
//! use mamba2_scan::gpu::composed::{self, Composed};
//! use mamba2_scan::gpu::{Outputs, TemporalScan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let sizes @ [batch, steps, features, states] = [4, 100, 2048, 128];
//! let history = stream.clone_htod(&vec![0.1f32; batch * steps * features])?;
//! let current = stream.clone_htod(&vec![0.1f32; batch * features])?;
//! let weights = stream.clone_htod(&vec![0.01f32; features * states])?;
//! let mut out = stream.alloc_zeros::<f32>(batch * states)?;
//! let mut workspace = Workspace::new(&stream, composed::scan_workspace_bytes(sizes))?;
//! let mut composed = Composed::new(&stream)?;
//! let weights = [weights.as_view(), weights.as_view(), weights.as_view()];
//! let scan = TemporalScan::packed(sizes, history.as_view(), current.as_view(), weights);
//! let mut outputs = Outputs { out: Some(out.as_view_mut()), final_state: None };
//! composed.temporal_scan(&scan, &mut outputs, &mut workspace)?;
//! # Ok(())
//! # }
//! ```

use super::{Gradients, Outputs, TemporalScan, Upstream, length};
use crate::compose::{self, Engine, Inputs, Matrix, Product, Sum, Targets};
use crate::{Error, Result, ffi, raw};
use cudarc::cublas::{result, sys};
use cudarc::driver::CudaStream;
use cudarc::driver::sys as driver;
use launch::lengths::{at_least, extent, product};
use launch::{Call, Workspace};
use libloading::Library;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// What cuBLAS is given of a workspace: what NVIDIA recommends for compute capability 9.0 and later.
pub const CUBLAS_WORKSPACE_BYTES: usize = 32 << 20;

/// What the steps call.
const SYMBOLS: [&str; 7] = [
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetWorkspace_v2",
    "cublasSetMathMode",
    "cublasSgemm_v2_64",
    "cublasSgeam_64",
];

fn foreign(message: impl Into<String>) -> Error {
    Error::Foreign {
        library: "cuBLAS",
        message: message.into(),
    }
}

/// Opens the first of `names` that there is and asks it for every function that is needed.
fn open(names: &[String]) -> Result<Library> {
    let mut refusal = String::new();
    let library = names
        .iter()
        .find_map(|name| {
            // SAFETY: loading cuBLAS runs its constructors, which have no preconditions.
            unsafe { Library::new(name) }
                .map_err(|error| refusal = error.to_string())
                .ok()
        })
        .ok_or_else(|| foreign(format!("could not be loaded ({refusal})")))?;
    for symbol in SYMBOLS {
        // SAFETY: it is looked for and not called.
        if unsafe { library.get::<*const c_void>(symbol) }.is_err() {
            return Err(foreign(format!("has no {symbol}; 12.0 or later is needed")));
        }
    }
    Ok(library)
}

/// Asks whether cuBLAS can be loaded, without a device. cudarc, which loads it again by the same names in the same
/// order, would panic where it is missing.
///
/// # Errors
/// [`Error::Foreign`] with what is missing.
pub fn probe() -> Result<()> {
    static ANSWER: OnceLock<Result<()>> = OnceLock::new();
    let ask = || {
        let major = driver::CUDA_VERSION / 1000;
        let names = ["libcublas.so".into(), format!("libcublas.so.{major}")];
        // Stays loaded: cudarc is about to use it.
        open(&names).map(std::mem::forget)
    };
    ANSWER.get_or_init(ask).clone()
}

/// Bytes of workspace that [`Composed::temporal_scan`] needs for B, K, H, S; `usize::MAX` for sizes beyond memory.
pub fn scan_workspace_bytes(sizes: [usize; 4]) -> usize {
    workspace_bytes(sizes, false)
}

/// Bytes of workspace that [`Composed::scan_backward`] needs, likewise.
pub fn backward_workspace_bytes(sizes: [usize; 4]) -> usize {
    workspace_bytes(sizes, true)
}

fn workspace_bytes(sizes: [usize; 4], backward: bool) -> usize {
    compose::scratch_elements(sizes, backward)
        .saturating_mul(size_of::<f32>())
        .saturating_add(CUBLAS_WORKSPACE_BYTES)
}

/// A cuBLAS handle of one stream, which runs composed scans on it. Its creation allocates; make it before a graph
/// capture, not during it.
pub struct Composed {
    handle: sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

// SAFETY: a handle may be used by any thread, one at a time; every use takes `&mut`.
unsafe impl Send for Composed {}

impl Composed {
    /// A handle for calls on `stream`.
    ///
    /// # Errors
    /// [`Error::Foreign`] where cuBLAS is missing or fails; [`Error::NotBuilt`] in documentation builds.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Composed> {
        raw::abi_version()?;
        probe()?;
        let call = Call::on(stream, raw::error_string)?;
        let mut made = Err(foreign("was not asked"));
        call.run(|raw_stream| {
            made = (|| {
                let handle = result::create_handle().map_err(|error| foreign(error.to_string()))?;
                let composed = Composed {
                    handle,
                    stream: stream.clone(),
                };
                // SAFETY: the handle was just made, and the stream is alive.
                unsafe {
                    blas(sys::cublasSetStream_v2(handle, raw_stream.cast()))?;
                    // f32 products whatever the process prefers; without atomics, which is the default.
                    let exact = sys::cublasMath_t::CUBLAS_DEFAULT_MATH;
                    blas(sys::cublasSetMathMode(handle, exact))?;
                }
                Ok(composed)
            })();
            0
        })?;
        made
    }

    /// The stream that calls are queued on.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// [`temporal_scan`](super::temporal_scan()) of any size: queues the work on the stream and returns.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a buffer or workspace that is too short, [`Error::InvalidArgument`] for sizes and
    /// strides out of range and a workspace of another stream, each before anything is queued. [`Error::Foreign`] when
    /// cuBLAS fails, [`Error::Cuda`] when a launch fails: the outputs are then undefined.
    pub fn temporal_scan(
        &mut self,
        scan: &TemporalScan<'_>,
        outputs: &mut Outputs<'_>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        scan.check()?;
        check_sizes(scan)?;
        at_least("out", length(outputs.out.as_ref()), scan.readout_elements())?;
        let last = length(outputs.final_state.as_ref());
        at_least("final_state", last, scan.contexts())?;
        if outputs.out.is_none() && outputs.final_state.is_none() {
            return Err(Error::invalid("out", "left out", "given, or final_state"));
        }
        let bytes = scan_workspace_bytes(sizes(scan));
        let mut call = Call::on(&self.stream, raw::error_string)?;
        let memory = call.workspace(workspace, bytes)?;
        let inputs = inputs(&mut call, scan)?;
        let out = call.optional_output("out", outputs.out.as_mut())?;
        let last = call.optional_output("final_state", outputs.final_state.as_mut())?;
        queue(self.handle, call, memory, |engine, scratch| {
            // SAFETY: every pointer is of a live buffer in the stream's context, at least as long as the sizes say,
            // and its guard is held until the work is queued.
            unsafe { compose::forward(engine, &inputs, out, last, scratch) }
        })
    }

    /// [`scan_backward`](super::scan_backward()) of any size: queues the work on the stream and returns.
    ///
    /// # Errors
    /// As [`Composed::temporal_scan`].
    pub fn scan_backward(
        &mut self,
        scan: &TemporalScan<'_>,
        upstream: &Upstream<'_>,
        gradients: &mut Gradients<'_>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        scan.check_backward(upstream, gradients)?;
        check_sizes(scan)?;
        let parameters = gradients.weights.iter().chain(&gradients.biases);
        let others = [&gradients.history, &gradients.current, &gradients.x0];
        if parameters.chain(others).all(Option::is_none) {
            return Err(Error::invalid("gradients", "all left out", "one at least"));
        }
        if !gradients.beta.is_finite() {
            return Err(Error::invalid("beta", gradients.beta, "finite"));
        }
        let bytes = backward_workspace_bytes(sizes(scan));
        let mut call = Call::on(&self.stream, raw::error_string)?;
        let memory = call.workspace(workspace, bytes)?;
        let inputs = inputs(&mut call, scan)?;
        let d_out = call.input("d_out", &upstream.d_out)?;
        let d_final = call.optional_input("d_final", upstream.d_final.as_ref())?;
        let [w_a, w_b, w_c] = &mut gradients.weights;
        let [bias_a, bias_b, bias_c] = &mut gradients.biases;
        let targets = Targets {
            weights: [
                call.optional_output("d_w_a", w_a.as_mut())?,
                call.optional_output("d_w_b", w_b.as_mut())?,
                call.optional_output("d_w_c", w_c.as_mut())?,
            ],
            biases: [
                call.optional_output("d_bias_a", bias_a.as_mut())?,
                call.optional_output("d_bias_b", bias_b.as_mut())?,
                call.optional_output("d_bias_c", bias_c.as_mut())?,
            ],
            beta: gradients.beta,
            history: call.optional_output("d_history", gradients.history.as_mut())?,
            current: call.optional_output("d_current", gradients.current.as_mut())?,
            x0: call.optional_output("d_x0", gradients.x0.as_mut())?,
        };
        queue(self.handle, call, memory, |engine, scratch| {
            // SAFETY: as in `temporal_scan`.
            unsafe { compose::backward(engine, &inputs, d_out, d_final, &targets, scratch) }
        })
    }
}

impl Drop for Composed {
    fn drop(&mut self) {
        // There is nobody to tell of a failure.
        if Call::on(&self.stream, raw::error_string).is_ok() {
            // SAFETY: the handle was created by `new` and is used no more.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}

fn sizes(scan: &TemporalScan<'_>) -> [usize; 4] {
    [scan.batch, scan.steps, scan.features, scan.states]
}

/// The limits that the library's scans have, and strides that step over what lies between.
fn check_sizes(scan: &TemporalScan<'_>) -> Result<()> {
    let [batch, steps, features, states] = sizes(scan);
    let most = ffi::M2_MAX_COMPOSED as usize;
    for (name, size) in [("steps", steps), ("features", features), ("states", states)] {
        if size == 0 || size > most {
            return Err(Error::invalid(name, size, format!("1 to {most}")));
        }
    }
    let projections = product(&[batch, steps, 2, states]);
    let row = features.max(states).max(steps);
    if projections.max(product(&[batch, row])) > most {
        let limit = format!("such that no array has more than {most} elements");
        return Err(Error::invalid("batch", batch, limit));
    }
    let sample = extent(features, &[(steps, scan.step_stride)]);
    for (name, stride, least) in [
        ("step_stride", scan.step_stride, features),
        ("history_stride", scan.history_stride, sample),
        ("current_stride", scan.current_stride, features),
    ] {
        // Beyond 2^60, where buffers of more than one row are too short anyway, products pass 64 bits.
        if stride < least || stride > 1 << 60 {
            return Err(Error::invalid(name, stride, format!("at least {least}")));
        }
    }
    Ok(())
}

fn inputs<'a>(call: &mut Call<'a>, scan: &'a TemporalScan<'_>) -> Result<Inputs> {
    let [w_a, w_b, w_c] = &scan.weights;
    let [bias_a, bias_b, bias_c] = &scan.biases;
    Ok(Inputs {
        batch: scan.batch,
        steps: scan.steps,
        features: scan.features,
        states: scan.states,
        readout: scan.readout,
        history_stride: scan.history_stride,
        step_stride: scan.step_stride,
        current_stride: scan.current_stride,
        history: call.input("history", &scan.history)?,
        current: call.input("current", &scan.current)?,
        weights: [
            call.input("w_a", w_a)?,
            call.input("w_b", w_b)?,
            call.input("w_c", w_c)?,
        ],
        biases: [
            call.optional_input("bias_a", bias_a.as_ref())?,
            call.optional_input("bias_b", bias_b.as_ref())?,
            call.optional_input("bias_c", bias_c.as_ref())?,
        ],
        x0: call.optional_input("x0", scan.x0.as_ref())?,
    })
}

/// Gives cuBLAS the first part of the memory, and the steps the rest.
fn queue(
    handle: sys::cublasHandle_t,
    call: Call<'_>,
    memory: *mut c_void,
    steps: impl FnOnce(&mut Device, *mut f32) -> Result<()>,
) -> Result<()> {
    let mut queued = Ok(());
    call.run(|stream| {
        // SAFETY: the workspace is live, of the handle's stream, and longer than this.
        let given = unsafe { sys::cublasSetWorkspace_v2(handle, memory, CUBLAS_WORKSPACE_BYTES) };
        queued = blas(given).and_then(|()| {
            let scratch = memory.wrapping_byte_add(CUBLAS_WORKSPACE_BYTES);
            steps(&mut Device { handle, stream }, scratch.cast())
        });
        0
    })?;
    queued
}

fn blas(status: sys::cublasStatus_t) -> Result<()> {
    status.result().map_err(|error| foreign(error.to_string()))
}

fn cuda(status: driver::CUresult) -> Result<()> {
    status.result().map_err(|error| Error::Cuda {
        code: error.0 as i32,
        message: error.to_string(),
    })
}

/// cuBLAS and the library, on a handle's stream.
struct Device {
    handle: sys::cublasHandle_t,
    stream: *mut c_void,
}

/// What BLAS, which has matrices by columns, makes of it: a matrix by rows is its transpose to it.
fn operation(matrix: Matrix) -> sys::cublasOperation_t {
    if matrix.transposed {
        sys::cublasOperation_t::CUBLAS_OP_T
    } else {
        sys::cublasOperation_t::CUBLAS_OP_N
    }
}

impl Engine for Device {
    unsafe fn product(&mut self, p: Product) -> Result<()> {
        // By columns it is to^T = b^T a^T.
        // SAFETY: the caller promises it; the scalars are read before the call returns.
        blas(unsafe {
            sys::cublasSgemm_v2_64(
                self.handle,
                operation(p.b),
                operation(p.a),
                p.columns as i64,
                p.rows as i64,
                p.inner as i64,
                &1.0,
                p.b.at,
                p.b.pitch as i64,
                p.a.at,
                p.a.pitch as i64,
                &p.beta,
                p.to,
                p.pitch as i64,
            )
        })
    }

    unsafe fn sum(&mut self, p: Sum) -> Result<()> {
        // SAFETY: as above.
        blas(unsafe {
            sys::cublasSgeam_64(
                self.handle,
                operation(p.a),
                sys::cublasOperation_t::CUBLAS_OP_N,
                p.columns as i64,
                p.rows as i64,
                &p.alpha,
                p.a.at,
                p.a.pitch as i64,
                &p.beta,
                p.to,
                p.pitch as i64,
                p.to,
                p.pitch as i64,
            )
        })
    }

    unsafe fn fill(&mut self, to: *mut f32, value: f32, count: usize) -> Result<()> {
        let (to, stream) = (to as driver::CUdeviceptr, self.stream.cast());
        // SAFETY: as above.
        cuda(unsafe { driver::cuMemsetD32Async(to, value.to_bits(), count, stream) })
    }

    unsafe fn copy(&mut self, to: *mut f32, from: *const f32, count: usize) -> Result<()> {
        let (to, from) = (to as driver::CUdeviceptr, from as driver::CUdeviceptr);
        let bytes = count * size_of::<f32>();
        // SAFETY: as above.
        cuda(unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes, self.stream.cast()) })
    }

    unsafe fn scan(&mut self, p: &ffi::m2_composed_scan_params) -> Result<()> {
        // SAFETY: as above.
        unsafe { raw::composed_scan(p, self.stream) }
    }

    unsafe fn scan_backward(&mut self, p: &ffi::m2_composed_scan_backward_params) -> Result<()> {
        // SAFETY: as above.
        unsafe { raw::composed_scan_backward(p, self.stream) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_names_it() {
        let error = open(&["libcublas-that-does-not-exist.so".into()]).unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
        assert!(error.to_string().starts_with("cuBLAS: could not be loaded"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_that_is_not_cublas_is_an_error() {
        let error = open(&["libc.so.6".into()]).unwrap_err();
        assert!(
            error.to_string().starts_with("cuBLAS: has no cublas"),
            "{error}"
        );
    }
}
