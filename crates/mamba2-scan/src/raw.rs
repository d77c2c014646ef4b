//! The C ABI behind `Result`: device pointers and a stream, nothing checked that the library does not check itself. The
//! typed layer is `gpu`.

use crate::ffi;
use launch::Result;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The body of every function: what it does where the library was built, and the one answer where it was not.
macro_rules! library {
    ($($argument:ident),* => $call:expr) => {{
        #[cfg(kernels_built)]
        {
            $call
        }
        #[cfg(not(kernels_built))]
        {
            $(let _ = $argument;)*
            Err(launch::Error::NotBuilt { library: "mamba2_scan", variable: "MAMBA2_SCAN_LIB_DIR" })
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
    library!(=> Ok(unsafe { ffi::m2_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::m2_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::m2_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// The library's sentence for a value of the status word.
///
/// # Errors
/// As [`abi_version`].
pub fn device_status_string(status: u32) -> Result<String> {
    // SAFETY: any value may be asked for; the answer has static storage.
    library!(status => Ok(unsafe { owned(ffi::m2_device_status_string(status)) }))
}

/// Queues `m2_state_update` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the
/// header says for the sizes in `params`. They stay alive, and nothing else writes them or reads state and outputs,
/// until the stream has done the work. `stream` is a `cudaStream_t` of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn state_update(
    params: &ffi::m2_state_update_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { state_update_status(params, stream)? },
        error_string,
    )
}

/// [`state_update`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`state_update`].
pub(crate) unsafe fn state_update_status(
    params: &ffi::m2_state_update_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::m2_state_update(params, stream) }))
}

/// Queues `m2_temporal_scan_f32` on `stream`.
///
/// # Safety
/// As [`state_update`], for these params.
///
/// # Errors
/// What the library's status says.
pub unsafe fn temporal_scan(
    params: &ffi::m2_temporal_scan_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { temporal_scan_status(params, stream)? },
        error_string,
    )
}

/// [`temporal_scan`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`state_update`].
pub(crate) unsafe fn temporal_scan_status(
    params: &ffi::m2_temporal_scan_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::m2_temporal_scan_f32(params, stream) }))
}

/// Bytes of workspace that [`scan_backward`] needs; see `m2_scan_backward_workspace_bytes`.
///
/// # Errors
/// As [`abi_version`].
pub fn scan_backward_workspace_bytes(params: &ffi::m2_scan_backward_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars, and compares its pointers with null.
    library!(params => Ok(unsafe { ffi::m2_scan_backward_workspace_bytes(params) }))
}

/// Graph nodes of [`scan_backward`] on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn scan_backward_nodes(params: &ffi::m2_scan_backward_params) -> Result<c_int> {
    // SAFETY: as above.
    library!(params => Ok(unsafe { ffi::m2_scan_backward_nodes(params) }))
}

/// Queues `m2_scan_backward_f32` on `stream`.
///
/// # Safety
/// As [`state_update`], for these params; the workspace is used by no call that may run at the same time.
///
/// # Errors
/// What the library's status says.
pub unsafe fn scan_backward(
    params: &ffi::m2_scan_backward_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { scan_backward_status(params, stream)? },
        error_string,
    )
}

/// [`scan_backward`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`scan_backward`].
pub(crate) unsafe fn scan_backward_status(
    params: &ffi::m2_scan_backward_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::m2_scan_backward_f32(params, stream) }))
}

/// Queues `m2_temporal_scan_fast_f32` on `stream`; `precision` is an enumerator of `m2_precision`.
///
/// # Safety
/// As [`state_update`], for these params.
///
/// # Errors
/// What the library's status says.
pub unsafe fn temporal_scan_fast(
    params: &ffi::m2_temporal_scan_params,
    precision: i32,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { temporal_scan_fast_status(params, precision, stream)? },
        error_string,
    )
}

/// [`temporal_scan_fast`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`state_update`].
pub(crate) unsafe fn temporal_scan_fast_status(
    params: &ffi::m2_temporal_scan_params,
    precision: i32,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, precision, stream => Ok(unsafe {
        ffi::m2_temporal_scan_fast_f32(params, precision, stream)
    }))
}

/// Graph nodes of [`scan_backward_fast`] on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn scan_backward_fast_nodes(params: &ffi::m2_scan_backward_params) -> Result<c_int> {
    // SAFETY: it reads the struct's scalars, and compares its pointers with null.
    library!(params => Ok(unsafe { ffi::m2_scan_backward_fast_nodes(params) }))
}

/// Queues `m2_scan_backward_fast_f32` on `stream`; its workspace is that of [`scan_backward`].
///
/// # Safety
/// As [`scan_backward`].
///
/// # Errors
/// What the library's status says.
pub unsafe fn scan_backward_fast(
    params: &ffi::m2_scan_backward_params,
    precision: i32,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { scan_backward_fast_status(params, precision, stream)? },
        error_string,
    )
}

/// [`scan_backward_fast`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`scan_backward`].
pub(crate) unsafe fn scan_backward_fast_status(
    params: &ffi::m2_scan_backward_params,
    precision: i32,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, precision, stream => Ok(unsafe {
        ffi::m2_scan_backward_fast_f32(params, precision, stream)
    }))
}

/// Queues `m2_composed_scan_f32` on `stream`.
///
/// # Safety
/// As [`state_update`], for these params.
///
/// # Errors
/// What the library's status says.
pub unsafe fn composed_scan(
    params: &ffi::m2_composed_scan_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> = library!(params, stream => Ok(unsafe {
        ffi::m2_composed_scan_f32(params, stream)
    }));
    launch::status(status?, error_string)
}

/// Queues `m2_composed_scan_backward_f32` on `stream`.
///
/// # Safety
/// As [`state_update`], for these params.
///
/// # Errors
/// What the library's status says.
pub unsafe fn composed_scan_backward(
    params: &ffi::m2_composed_scan_backward_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> = library!(params, stream => Ok(unsafe {
        ffi::m2_composed_scan_backward_f32(params, stream)
    }));
    launch::status(status?, error_string)
}
