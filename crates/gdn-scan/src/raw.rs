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
            Err(launch::Error::NotBuilt { library: "gdn_scan", variable: "GDN_SCAN_LIB_DIR" })
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
    library!(=> Ok(unsafe { ffi::gdn_abi_version() }))
}

/// What the library was made of, as JSON: architectures, compiler, flags, digests of the sources.
///
/// # Errors
/// As [`abi_version`].
pub fn build_info() -> Result<String> {
    // SAFETY: it takes nothing and answers a string of static storage.
    library!(=> Ok(unsafe { owned(ffi::gdn_build_info()) }))
}

/// The library's sentence for a status code.
pub fn error_string(code: c_int) -> String {
    // SAFETY: any code may be asked for; the answer has static storage.
    let text: Result<String> = library!(code => Ok(unsafe { owned(ffi::gdn_error_string(code)) }));
    text.unwrap_or_else(|error| error.to_string())
}

/// The library's sentence for a value of the status word.
///
/// # Errors
/// As [`abi_version`].
pub fn device_status_string(status: u32) -> Result<String> {
    // SAFETY: any value may be asked for; the answer has static storage.
    library!(status => Ok(unsafe { owned(ffi::gdn_device_status_string(status)) }))
}

/// The path that [`scan`], or [`step`] for one token, takes on a device of this compute capability, as 10 * major + minor.
///
/// # Errors
/// What the library refuses.
pub fn path_for(
    params: &ffi::gdn_scan_params,
    one_token: bool,
    capability: c_int,
) -> Result<c_int> {
    library!(params, one_token, capability => {
        // SAFETY: it reads the struct's scalars and follows no pointer.
        let path = unsafe { ffi::gdn_path_for(params, one_token.into(), capability) };
        if path >= 1000 {
            launch::status(path, error_string)?;
        }
        Ok(path)
    })
}

/// Queues `gdn_scan` on `stream`.
///
/// # Safety
/// Every pointer in `params` that is not null is a device pointer of the stream's device to as many elements as the header
/// says for the sizes in `params`. Inputs and outputs stay alive, and nothing else writes them or reads the outputs, until the
/// stream has done the work. `stream` is a `cudaStream_t` of the calling thread's current context.
///
/// # Errors
/// What the library's status says.
pub unsafe fn scan(params: &ffi::gdn_scan_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => launch::status(unsafe { ffi::gdn_scan(params, stream) }, error_string))
}

/// Queues `gdn_step` on `stream`.
///
/// # Safety
/// As [`scan`].
///
/// # Errors
/// What the library's status says.
pub unsafe fn step(params: &ffi::gdn_scan_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => launch::status(unsafe { ffi::gdn_step(params, stream) }, error_string))
}

/// Queues `gdn_step_fast` on `stream`: within a tolerance.
///
/// # Safety
/// As [`scan`].
///
/// # Errors
/// What the library's status says.
pub unsafe fn step_fast(params: &ffi::gdn_scan_params, stream: *mut c_void) -> Result<()> {
    // SAFETY: the caller promises all that the header asks for.
    library!(params, stream => launch::status(unsafe { ffi::gdn_step_fast(params, stream) }, error_string))
}

/// The three entries of one params struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Scan,
    Step,
    StepFast,
}

/// Calls an entry, for a caller that makes its own error of the status. Without the library: -1.
///
/// # Safety
/// As [`scan`].
pub(crate) unsafe fn status_of(
    entry: Entry,
    params: &ffi::gdn_scan_params,
    stream: *mut c_void,
) -> c_int {
    let status: Result<c_int> = library!(entry, params, stream => {
        // SAFETY: the caller promises all that the header asks for.
        Ok(unsafe {
            match entry {
                Entry::Scan => ffi::gdn_scan(params, stream),
                Entry::Step => ffi::gdn_step(params, stream),
                Entry::StepFast => ffi::gdn_step_fast(params, stream),
            }
        })
    });
    status.unwrap_or(-1)
}

/// The arrays of [`step_f32`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedStep {
    /// `[n_v, d, d]`, row = key, updated in place.
    pub state: *mut f32,
    /// `[n_k, d]`, normalised.
    pub q: *const f32,
    /// `[n_k, d]`, normalised.
    pub k: *const f32,
    /// `[n_v, d]`.
    pub v: *const f32,
    /// `[n_v]`, the linear decay.
    pub g: *const f32,
    /// `[n_v]`.
    pub beta: *const f32,
    /// `[n_v, d]`.
    pub out: *mut f32,
    /// Value heads.
    pub n_v: c_int,
    /// Key heads; head h reads `h % n_k`.
    pub n_k: c_int,
    /// K and V, 1 to 256.
    pub d: c_int,
}

/// Queues `gdn_scan_step_f32` on `stream`.
///
/// # Safety
/// As [`scan`], for these arrays.
///
/// # Errors
/// What the library's status says.
pub unsafe fn step_f32(step: &SeedStep, stream: *mut c_void) -> Result<()> {
    library!(step, stream => {
        // SAFETY: the caller promises all that the header asks for.
        let code = unsafe {
            ffi::gdn_scan_step_f32(
                step.state, step.q, step.k, step.v, step.g, step.beta, step.out, step.n_v, step.n_k, step.d, stream,
            )
        };
        launch::status(code, error_string)
    })
}
