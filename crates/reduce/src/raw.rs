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
            Err(launch::Error::NotBuilt { library: "reduce", variable: "REDUCE_LIB_DIR" })
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
    library!(=> Ok(unsafe { ffi::red_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::red_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::red_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// The library's sentence for a value of the status word.
///
/// # Errors
/// As [`abi_version`].
pub fn device_status_string(status: u32) -> Result<String> {
    // SAFETY: any value may be asked for; the answer has static storage.
    library!(status => Ok(unsafe { owned(ffi::red_device_status_string(status)) }))
}

/// The four sums, which share a params struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// `red_columns`
    Columns,
    /// `red_columns_grouped`
    Grouped,
    /// `red_rows`
    Rows,
    /// `red_segments`
    Segments,
}

/// Bytes of workspace with which a sum is fastest; see `red_*_workspace_bytes`.
///
/// # Errors
/// As [`abi_version`].
pub fn workspace_bytes(entry: Entry, params: &ffi::red_sum_params) -> Result<usize> {
    library!(entry, params => Ok({
        // SAFETY: each reads the struct's scalars and follows no pointer.
        unsafe {
            match entry {
                Entry::Columns => ffi::red_columns_workspace_bytes(params),
                Entry::Grouped => ffi::red_columns_grouped_workspace_bytes(params),
                Entry::Rows => ffi::red_rows_workspace_bytes(params),
                Entry::Segments => ffi::red_segments_workspace_bytes(params),
            }
        }
    }))
}

/// Queues a sum on `stream`.
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
pub unsafe fn sum(entry: Entry, params: &ffi::red_sum_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(unsafe { sum_status(entry, params, stream) }, error_string)
}

/// [`sum`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`sum`].
pub(crate) unsafe fn sum_status(
    entry: Entry,
    params: &ffi::red_sum_params,
    stream: *mut c_void,
) -> c_int {
    let status: Result<c_int> = library!(entry, params, stream => Ok({
        // SAFETY: the caller promises all that the header asks for.
        unsafe {
            match entry {
                Entry::Columns => ffi::red_columns(params, stream),
                Entry::Grouped => ffi::red_columns_grouped(params, stream),
                Entry::Rows => ffi::red_rows(params, stream),
                Entry::Segments => ffi::red_segments(params, stream),
            }
        }
    }));
    status.unwrap_or(-1)
}

/// Bytes of workspace with which [`moments`] is fastest.
///
/// # Errors
/// As [`abi_version`].
pub fn moments_workspace_bytes(params: &ffi::red_moments_params) -> Result<usize> {
    // SAFETY: it reads the struct's scalars and follows no pointer.
    library!(params => Ok(unsafe { ffi::red_moments_workspace_bytes(params) }))
}

/// Queues `red_moments` on `stream`.
///
/// # Safety
/// As [`sum`].
///
/// # Errors
/// What the library's status says.
pub unsafe fn moments(params: &ffi::red_moments_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    launch::status(unsafe { moments_status(params, stream) }, error_string)
}

/// [`moments`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`sum`].
pub(crate) unsafe fn moments_status(
    params: &ffi::red_moments_params,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller promises all that the header asks for.
    let status: Result<c_int> =
        library!(params, stream => Ok(unsafe { ffi::red_moments(params, stream) }));
    status.unwrap_or(-1)
}

/// The sizes of [`kan_spline_grad`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splines {
    /// The batch.
    pub rows: i64,
    /// Inputs of the layer.
    pub inputs: i64,
    /// Outputs of the layer.
    pub outputs: i64,
    /// Intervals of the grid; there are three more splines and seven more knots.
    pub intervals: i64,
}

/// Bytes of workspace with which [`kan_spline_grad`] is fastest.
///
/// # Errors
/// As [`abi_version`].
pub fn kan_spline_grad_workspace_bytes(s: Splines) -> Result<usize> {
    // SAFETY: it takes sizes alone.
    library!(s => Ok(unsafe {
        ffi::red_kan_spline_grad_workspace_bytes(s.rows, s.inputs, s.outputs, s.intervals)
    }))
}

/// Queues `red_kan_spline_grad_f32` on `stream`: x `[rows, inputs]`, dy `[rows, outputs]`, knots
/// `[intervals + 7]`, out `[inputs, intervals + 3, outputs]`; the workspace and its bytes.
///
/// # Safety
/// As [`sum`], for these arrays.
///
/// # Errors
/// What the library's status says.
pub unsafe fn kan_spline_grad(
    [x, dy, knots]: [*const f32; 3],
    out: *mut f32,
    s: Splines,
    workspace: (*mut c_void, usize),
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    let status = unsafe { kan_spline_grad_status([x, dy, knots], out, s, workspace, stream) };
    launch::status(status, error_string)
}

/// [`kan_spline_grad`] for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`sum`], for these arrays.
pub(crate) unsafe fn kan_spline_grad_status(
    [x, dy, knots]: [*const f32; 3],
    out: *mut f32,
    s: Splines,
    workspace: (*mut c_void, usize),
    stream: *mut c_void,
) -> c_int {
    let status: Result<c_int> = library!(x, dy, knots, out, s, workspace, stream => Ok({
        // SAFETY: the caller promises all that the header asks for.
        unsafe {
            ffi::red_kan_spline_grad_f32(
                x, dy, knots, out, s.rows, s.inputs, s.outputs, s.intervals,
                workspace.0, workspace.1, stream,
            )
        }
    }));
    status.unwrap_or(-1)
}

/// Queues `red_iqn_bias_grad_f32`: x `[rows, cols]`, packed, to out `[cols]`.
///
/// # Safety
/// As [`sum`], for these arrays.
///
/// # Errors
/// What the library's status says.
pub unsafe fn iqn_bias_grad(
    x: *const f32,
    out: *mut f32,
    [rows, cols]: [i64; 2],
    workspace: (*mut c_void, usize),
    stream: *mut c_void,
) -> Result<()> {
    let (space, bytes) = workspace;
    library!(x, out, rows, cols, space, bytes, stream => {
        // SAFETY: the caller promises all that the header asks for.
        let code = unsafe { ffi::red_iqn_bias_grad_f32(x, out, rows, cols, space, bytes, stream) };
        launch::status(code, error_string)
    })
}

/// Queues `red_kan_grad_f32`: x `[rows, cols]`, packed, to out `[cols]`.
///
/// # Safety
/// As [`sum`], for these arrays.
///
/// # Errors
/// What the library's status says.
pub unsafe fn kan_grad(
    x: *const f32,
    out: *mut f32,
    [rows, cols]: [i64; 2],
    workspace: (*mut c_void, usize),
    stream: *mut c_void,
) -> Result<()> {
    let (space, bytes) = workspace;
    library!(x, out, rows, cols, space, bytes, stream => {
        // SAFETY: the caller promises all that the header asks for.
        let code = unsafe { ffi::red_kan_grad_f32(x, out, rows, cols, space, bytes, stream) };
        launch::status(code, error_string)
    })
}
