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
            Err(launch::Error::NotBuilt { library: "mlp", variable: "MLP_LIB_DIR" })
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
    library!(=> Ok(unsafe { ffi::mlp_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::mlp_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::mlp_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// The library's sentence for a value of the status word.
///
/// # Errors
/// As [`abi_version`].
pub fn device_status_string(status: u32) -> Result<String> {
    // SAFETY: any value may be asked for; the answer has static storage.
    library!(status => Ok(unsafe { owned(ffi::mlp_device_status_string(status)) }))
}

/// Queues `mlp_forward_f32` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the
/// header says for the sizes in `params`. They stay alive, and nothing else writes them or reads outputs, until the
/// stream has done the work; a workspace is used by no call that may run at the same time. `stream` is a `cudaStream_t`
/// of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn forward(params: &ffi::mlp_forward_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(unsafe { forward_status(params, stream)? }, error_string)
}

/// [`forward`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`forward`].
pub(crate) unsafe fn forward_status(
    params: &ffi::mlp_forward_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::mlp_forward_f32(params, stream) }))
}

/// Queues `mlp_forward_group_f32` on `stream`.
///
/// # Safety
/// As [`forward`], for each of the networks; no buffer that one of them writes overlaps any of another.
///
/// # Errors
/// What the library's status says.
pub unsafe fn forward_group(params: &[ffi::mlp_forward_params], stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { forward_group_status(params, stream)? },
        error_string,
    )
}

/// [`forward_group`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`forward_group`].
pub(crate) unsafe fn forward_group_status(
    params: &[ffi::mlp_forward_params],
    stream: *mut c_void,
) -> Result<c_int> {
    let count = i32::try_from(params.len()).unwrap_or(i32::MAX);
    // SAFETY: the caller promises all that the header asks for.
    library!(params, count, stream => Ok(unsafe { ffi::mlp_forward_group_f32(params.as_ptr(), count, stream) }))
}

/// Bytes of workspace that [`backward`] needs on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn backward_workspace_bytes(params: &ffi::mlp_backward_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars, and compares its pointers with null.
    library!(params => Ok(unsafe { ffi::mlp_backward_workspace_bytes(params) }))
}

/// Graph nodes of [`backward`] on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn backward_nodes(params: &ffi::mlp_backward_params) -> Result<c_int> {
    // SAFETY: as above.
    library!(params => Ok(unsafe { ffi::mlp_backward_nodes(params) }))
}

/// Queues `mlp_backward_f32` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the
/// header says for the sizes in `params`. They stay alive, and nothing else writes them or reads outputs, until the
/// stream has done the work; a workspace is used by no call that may run at the same time. `stream` is a `cudaStream_t`
/// of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn backward(params: &ffi::mlp_backward_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(unsafe { backward_status(params, stream)? }, error_string)
}

/// [`backward`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`backward`].
pub(crate) unsafe fn backward_status(
    params: &ffi::mlp_backward_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::mlp_backward_f32(params, stream) }))
}

/// Queues `mlp_backward_group_f32` on `stream`.
///
/// # Safety
/// As [`backward`], for each of the networks; no buffer that one of them writes overlaps any of another.
///
/// # Errors
/// What the library's status says.
pub unsafe fn backward_group(
    params: &[ffi::mlp_backward_params],
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { backward_group_status(params, stream)? },
        error_string,
    )
}

/// [`backward_group`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`backward_group`].
pub(crate) unsafe fn backward_group_status(
    params: &[ffi::mlp_backward_params],
    stream: *mut c_void,
) -> Result<c_int> {
    let count = i32::try_from(params.len()).unwrap_or(i32::MAX);
    // SAFETY: the caller promises all that the header asks for.
    library!(params, count, stream => Ok(unsafe { ffi::mlp_backward_group_f32(params.as_ptr(), count, stream) }))
}

/// Bytes of workspace that [`curiosity_step`] needs on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn curiosity_workspace_bytes(params: &ffi::mlp_curiosity_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars, and compares its pointers with null.
    library!(params => Ok(unsafe { ffi::mlp_curiosity_workspace_bytes(params) }))
}

/// Graph nodes of [`curiosity_step`] on the calling thread's current device.
///
/// # Errors
/// As [`abi_version`].
pub fn curiosity_nodes(params: &ffi::mlp_curiosity_params) -> Result<c_int> {
    // SAFETY: as above.
    library!(params => Ok(unsafe { ffi::mlp_curiosity_nodes(params) }))
}

/// Queues `mlp_curiosity_step_f32` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the
/// header says for the sizes in `params`. They stay alive, and nothing else writes them or reads outputs, until the
/// stream has done the work; a workspace is used by no call that may run at the same time. `stream` is a `cudaStream_t`
/// of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn curiosity_step(
    params: &ffi::mlp_curiosity_params,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { curiosity_step_status(params, stream)? },
        error_string,
    )
}

/// [`curiosity_step`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`curiosity_step`].
pub(crate) unsafe fn curiosity_step_status(
    params: &ffi::mlp_curiosity_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::mlp_curiosity_step_f32(params, stream) }))
}

/// Queues `mlp_risk_forward_f32` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the
/// header says for the sizes in `params`. They stay alive, and nothing else writes them or reads outputs, until the
/// stream has done the work; a workspace is used by no call that may run at the same time. `stream` is a `cudaStream_t`
/// of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn risk_forward(params: &ffi::mlp_risk_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(
        unsafe { risk_forward_status(params, stream)? },
        error_string,
    )
}

/// [`risk_forward`] for a caller that makes its own error of the status.
///
/// # Safety
/// As [`risk_forward`].
pub(crate) unsafe fn risk_forward_status(
    params: &ffi::mlp_risk_params,
    stream: *mut c_void,
) -> Result<c_int> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => Ok(unsafe { ffi::mlp_risk_forward_f32(params, stream) }))
}
