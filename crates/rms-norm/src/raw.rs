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
            Err(launch::Error::NotBuilt { library: "rms_norm", variable: "RMS_NORM_LIB_DIR" })
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
    library!(=> Ok(unsafe { ffi::rms_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::rms_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::rms_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// How [`norm`] would run these params on a device; see `rms_norm_plan`.
///
/// # Errors
/// What the library's status says of the arguments.
pub fn plan(
    params: &ffi::rms_norm_params,
    capability: i32,
    multiprocessors: i32,
) -> Result<ffi::rms_plan> {
    library!(params, capability, multiprocessors => {
        let mut plan = ffi::rms_plan { path: 0, kind: 0, vector: 0, threads: 0, blocks: 0 };
        // SAFETY: it reads the struct, follows no pointer in it, and writes the plan.
        let code = unsafe { ffi::rms_norm_plan(params, capability, multiprocessors, &mut plan) };
        launch::status(code, error_string).map(|()| plan)
    })
}

/// Queues `rms_norm` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many
/// elements as the header says for the sizes and strides in `params`. They stay alive, and nothing
/// else writes them or reads the outputs, until the stream has done the work. `stream` is a
/// `cudaStream_t` of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn norm(params: &ffi::rms_norm_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => launch::status(unsafe { ffi::rms_norm(params, stream) }, error_string))
}

/// [`norm`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`norm`].
pub(crate) unsafe fn norm_status(params: &ffi::rms_norm_params, stream: *mut c_void) -> c_int {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> =
        library!(params, stream => Ok(unsafe { ffi::rms_norm(params, stream) }));
    status.unwrap_or(-1)
}

/// Queues `rms_norm_ggml` on `stream`; `sums` may be null.
///
/// # Safety
/// As [`norm`], for `sums` too.
///
/// # Errors
/// What the library's status says.
pub unsafe fn norm_ggml(
    params: &ffi::rms_norm_params,
    sums: *mut f32,
    stream: *mut c_void,
) -> Result<()> {
    library!(params, sums, stream => {
        // SAFETY: the caller promises all that the header asks for.
        launch::status(unsafe { ffi::rms_norm_ggml(params, sums, stream) }, error_string)
    })
}

/// [`norm_ggml`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`norm_ggml`].
pub(crate) unsafe fn norm_ggml_status(
    params: &ffi::rms_norm_params,
    sums: *mut f32,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> =
        library!(params, sums, stream => Ok(unsafe { ffi::rms_norm_ggml(params, sums, stream) }));
    status.unwrap_or(-1)
}

/// Bytes of workspace that [`backward`] needs; 0 for params that it refuses.
///
/// # Errors
/// As [`abi_version`].
pub fn backward_workspace_bytes(params: &ffi::rms_norm_backward_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars and follows no pointer.
    library!(params => Ok(unsafe { ffi::rms_norm_backward_workspace_bytes(params) }))
}

/// Queues `rms_norm_backward` on `stream`.
///
/// # Safety
/// As [`norm`], for the pointers of these params; the workspace has as many bytes as they say.
///
/// # Errors
/// What the library's status says.
pub unsafe fn backward(params: &ffi::rms_norm_backward_params, stream: *mut c_void) -> Result<()> {
    library!(params, stream => {
        // SAFETY: the caller promises all that the header asks for.
        launch::status(unsafe { ffi::rms_norm_backward(params, stream) }, error_string)
    })
}

/// [`backward`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`backward`].
pub(crate) unsafe fn backward_status(
    params: &ffi::rms_norm_backward_params,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> =
        library!(params, stream => Ok(unsafe { ffi::rms_norm_backward(params, stream) }));
    status.unwrap_or(-1)
}
