//! The C ABI behind `Result`: device pointers and a stream, nothing checked that the library does
//! not check itself. The typed layer is `gpu`.

use crate::ffi;
use launch::Result;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The body of every function: what it does where the library was built, and the one answer where
/// it was not.
macro_rules! library {
    ($($argument:ident),* => $call:expr) => {{
        #[cfg(kernels_built)]
        {
            $call
        }
        #[cfg(not(kernels_built))]
        {
            $(let _ = $argument;)*
            Err(launch::Error::NotBuilt { library: "scoring", variable: "SCORING_LIB_DIR" })
        }
    }};
}

/// # Safety
/// `text` is a null-terminated string of static storage.
#[cfg_attr(not(kernels_built), allow(dead_code))]
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: the caller promises it.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// The number of the C ABI that the library speaks.
///
/// # Errors
/// [`NotBuilt`](launch::Error::NotBuilt) in documentation builds, as every function here.
pub fn abi_version() -> Result<u32> {
    // SAFETY: it takes nothing and has no state.
    library!(=> Ok(unsafe { ffi::cs_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::cs_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::cs_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// The library's sentence for a value of the status word.
///
/// # Errors
/// As [`abi_version`].
pub fn device_status_string(status: u32) -> Result<String> {
    // SAFETY: any value may be asked for; the answer has static storage.
    library!(status => Ok(unsafe { owned(ffi::cs_device_status_string(status)) }))
}

/// Bytes of workspace with which [`score`] is fastest; see `cs_score_workspace_bytes`.
///
/// # Errors
/// As [`abi_version`].
pub fn score_workspace_bytes(params: &ffi::cs_score_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars and follows no pointer.
    library!(params => Ok(unsafe { ffi::cs_score_workspace_bytes(params) }))
}

/// Queues `cs_score` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many
/// elements as the header says for the sizes in `params`. Inputs, outputs and workspace stay alive,
/// and nothing else writes them or reads the outputs, until the stream has done the work. The
/// workspace was zeroed once and is used by no call that may run at the same time. `stream` is a
/// `cudaStream_t` of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn score(params: &ffi::cs_score_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => launch::status(unsafe { ffi::cs_score(params, stream) }, error_string))
}

/// [`score`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`score`].
pub(crate) unsafe fn score_status(params: &ffi::cs_score_params, stream: *mut c_void) -> c_int {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> =
        library!(params, stream => Ok(unsafe { ffi::cs_score(params, stream) }));
    status.unwrap_or(-1)
}

/// The shapes and scalars of [`score_candidates_batch`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Q, at least 1.
    pub questions: c_int,
    /// K, 1 to 255.
    pub max_k: c_int,
    /// D, at least 1.
    pub dim: c_int,
    /// Factor of the similarity.
    pub scale: f32,
    /// Divisor of the scaled similarity.
    pub temperature: f32,
    /// Cosine with a floor of 1e-12, else dot product.
    pub normalize: bool,
}

/// Queues `cs_score_candidates_batch` on `stream`: queries `[Q, D]`, candidates `[Q, K, D]`,
/// probabilities `[Q, K]`, logits `[Q, K]` or null.
///
/// # Safety
/// As [`score`], for these four arrays.
///
/// # Errors
/// What the library's status says.
pub unsafe fn score_candidates_batch(
    queries: *const f32,
    candidates: *const f32,
    probabilities: *mut f32,
    logits: *mut f32,
    batch: &Batch,
    stream: *mut c_void,
) -> Result<()> {
    library!(queries, candidates, probabilities, logits, batch, stream => {
        // SAFETY: the caller promises all that the header asks for.
        let code = unsafe {
            ffi::cs_score_candidates_batch(
                queries,
                candidates,
                probabilities,
                logits,
                batch.questions,
                batch.max_k,
                batch.dim,
                batch.scale,
                batch.temperature,
                batch.normalize.into(),
                stream,
            )
        };
        launch::status(code, error_string)
    })
}
