//! The CUDA driver API, found by dlopen: the raw table, and the few objects made from it.
//!
//! The parity kit and the bench kit must run where no CUDA toolkit is, beside libraries that
//! carry their own runtime. The driver's API is all that is needed for memory, streams, graphs
//! and events.

use crate::library::owned;
use crate::{Error, Result};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

/// A status of the driver API; 0 is success.
pub type CUresult = c_int;
/// A device handle.
pub type CUdevice = c_int;
/// An address in device memory.
pub type CUdeviceptr = c_ulonglong;
/// An opaque handle: context, stream, event, graph, node.
pub type Handle = *mut c_void;

/// `CU_STREAM_NON_BLOCKING`: the stream does not synchronise with the legacy default stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
pub const CAPTURE_THREAD_LOCAL: c_int = 1;
/// `CU_GRAPH_NODE_TYPE_KERNEL`.
pub const NODE_KERNEL: c_int = 0;

/// Device attributes (`CUdevice_attribute`) that are asked for.
pub mod attribute {
    /// Number of multiprocessors.
    pub const MULTIPROCESSOR_COUNT: i32 = 16;
    /// Peak clock, in kHz.
    pub const CLOCK_RATE: i32 = 13;
    /// Peak memory clock, in kHz.
    pub const MEMORY_CLOCK_RATE: i32 = 36;
    /// Width of the memory bus, in bits.
    pub const GLOBAL_MEMORY_BUS_WIDTH: i32 = 37;
    /// Size of the L2 cache, in bytes.
    pub const L2_CACHE_SIZE: i32 = 38;
    /// Compute capability, major part.
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    /// Compute capability, minor part.
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
}

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal: fn($($type:ty),* $(,)?);)*) => {
        /// One function pointer per driver function that is used, by its exported symbol.
        #[allow(non_snake_case)]
        pub struct Table {
            $(
                #[doc = concat!("`", $symbol, "`")]
                pub $name: unsafe extern "C" fn($($type),*) -> CUresult,
            )*
            _library: Library,
        }

        impl Table {
            fn load(library: Library) -> std::result::Result<Table, &'static str> {
                Ok(Table {
                    $(
                        // SAFETY: the type is the symbol's prototype in cuda.h, and the library
                        // is kept beside the pointer.
                        $name: *unsafe {
                            library.get::<unsafe extern "C" fn($($type),*) -> CUresult>($symbol)
                        }.map_err(|_| $symbol)?,
                    )*
                    _library: library,
                })
            }
        }
    };
}

table! {
    cuDriverGetVersion = "cuDriverGetVersion": fn(*mut c_int);
    cuDeviceGetCount = "cuDeviceGetCount": fn(*mut c_int);
    cuDeviceGet = "cuDeviceGet": fn(*mut CUdevice, c_int);
    cuDeviceGetName = "cuDeviceGetName": fn(*mut c_char, c_int, CUdevice);
    cuDeviceGetUuid = "cuDeviceGetUuid": fn(*mut [u8; 16], CUdevice);
    cuDeviceGetAttribute = "cuDeviceGetAttribute": fn(*mut c_int, c_int, CUdevice);
    cuDeviceTotalMem = "cuDeviceTotalMem_v2": fn(*mut usize, CUdevice);
    cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain": fn(*mut Handle, CUdevice);
    cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease_v2": fn(CUdevice);
    cuCtxSetCurrent = "cuCtxSetCurrent": fn(Handle);
    cuCtxSynchronize = "cuCtxSynchronize": fn();
    cuMemGetInfo = "cuMemGetInfo_v2": fn(*mut usize, *mut usize);
    cuMemAlloc = "cuMemAlloc_v2": fn(*mut CUdeviceptr, usize);
    cuMemFree = "cuMemFree_v2": fn(CUdeviceptr);
    cuMemcpyHtoD = "cuMemcpyHtoD_v2": fn(CUdeviceptr, *const c_void, usize);
    cuMemcpyDtoH = "cuMemcpyDtoH_v2": fn(*mut c_void, CUdeviceptr, usize);
    cuMemcpyDtoDAsync = "cuMemcpyDtoDAsync_v2": fn(CUdeviceptr, CUdeviceptr, usize, Handle);
    cuMemsetD8 = "cuMemsetD8_v2": fn(CUdeviceptr, u8, usize);
    cuMemsetD8Async = "cuMemsetD8Async": fn(CUdeviceptr, u8, usize, Handle);
    cuStreamCreate = "cuStreamCreate": fn(*mut Handle, c_uint);
    cuStreamDestroy = "cuStreamDestroy_v2": fn(Handle);
    cuStreamSynchronize = "cuStreamSynchronize": fn(Handle);
    cuStreamWaitEvent = "cuStreamWaitEvent": fn(Handle, Handle, c_uint);
    cuStreamBeginCapture = "cuStreamBeginCapture_v2": fn(Handle, c_int);
    cuStreamEndCapture = "cuStreamEndCapture": fn(Handle, *mut Handle);
    cuGraphGetNodes = "cuGraphGetNodes": fn(Handle, *mut Handle, *mut usize);
    cuGraphNodeGetType = "cuGraphNodeGetType": fn(Handle, *mut c_int);
    cuGraphInstantiate = "cuGraphInstantiateWithFlags": fn(*mut Handle, Handle, c_ulonglong);
    cuGraphLaunch = "cuGraphLaunch": fn(Handle, Handle);
    cuGraphDestroy = "cuGraphDestroy": fn(Handle);
    cuGraphExecDestroy = "cuGraphExecDestroy": fn(Handle);
    cuEventCreate = "cuEventCreate": fn(*mut Handle, c_uint);
    cuEventRecord = "cuEventRecord": fn(Handle, Handle);
    cuEventSynchronize = "cuEventSynchronize": fn(Handle);
    cuEventElapsedTime = "cuEventElapsedTime": fn(*mut f32, Handle, Handle);
    cuEventDestroy = "cuEventDestroy_v2": fn(Handle);
    cuGetErrorString = "cuGetErrorString": fn(CUresult, *mut *const c_char);
}

/// The driver's table, opened and initialised once per process.
///
/// # Errors
/// [`Error::NoDevice`] where there is no driver, or one that lacks a function used here.
pub fn table() -> Result<&'static Table> {
    static TABLE: OnceLock<std::result::Result<Table, launch::Error>> = OnceLock::new();
    TABLE
        .get_or_init(|| {
            Table::load(launch::open_driver()?).map_err(|symbol| launch::Error::NoDevice {
                reason: format!("the driver is too old: it has no {symbol}"),
            })
        })
        .as_ref()
        .map_err(|error| Error::NoDevice(error.clone()))
}

impl Table {
    /// Turns a status into a result that names the call.
    ///
    /// # Errors
    /// [`Error::Driver`] for every status but 0.
    pub fn check(&self, call: &'static str, code: CUresult) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        Err(Error::Driver {
            call,
            code,
            message: self.error_string(code),
        })
    }

    /// The driver's text for a status.
    pub fn error_string(&self, code: CUresult) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the out pointer is valid, and what it receives is null or a static string.
        let text = unsafe {
            (self.cuGetErrorString)(code, &mut text);
            owned(text)
        };
        text.unwrap_or_else(|| "unknown error".into())
    }
}

/// The driver's release, such as `580.159.03`: what support tables and bug reports go by. The
/// driver API only tells which CUDA version it supports.
pub fn release() -> Option<String> {
    let read = |path| std::fs::read_to_string(path).ok();
    read("/sys/module/nvidia/version")
        .or_else(|| read("/proc/driver/nvidia/version"))
        .and_then(|text| find_release(&text))
        .or_else(release_from_management_library)
}

/// The first word that is numbers and dots.
fn find_release(text: &str) -> Option<String> {
    text.split_whitespace()
        .find(|word| {
            let mut parts = word.split('.');
            parts.clone().count() >= 2
                && parts
                    .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .map(str::to_owned)
}

/// Containers often hide both files and mount the management library.
fn release_from_management_library() -> Option<String> {
    type Init = unsafe extern "C" fn() -> c_int;
    type Version = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
    let mut text = [0; 96];
    // SAFETY: the types are the prototypes in nvml.h; the buffer's size is passed with it, and
    // the library null-terminates what it writes.
    unsafe {
        let library = Library::new("libnvidia-ml.so.1").ok()?;
        let init = library.get::<Init>("nvmlInit_v2").ok()?;
        let version = library.get::<Version>("nvmlSystemGetDriverVersion").ok()?;
        if init() != 0 || version(text.as_mut_ptr(), text.len() as c_uint) != 0 {
            return None;
        }
        find_release(&owned(text.as_ptr())?)
    }
}

/// Calls a function of the table and checks its status, naming the function in the error.
///
/// `driver_call!(table, cuMemFree(pointer))` is a `Result<()>`; it stands in an unsafe block.
#[macro_export]
macro_rules! driver_call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $table.check(stringify!($function), ($table.$function)($($argument),*))
    };
}

/// A timing event.
#[derive(Debug)]
pub struct Event {
    handle: Handle,
}

// SAFETY: the driver's event functions may be called from any thread.
unsafe impl Send for Event {}

impl Event {
    /// An event that records times.
    ///
    /// # Errors
    /// [`Error::NoDevice`] or [`Error::Driver`].
    pub fn new() -> Result<Event> {
        let table = table()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the out pointer is valid; flags 0 is a timing event.
        unsafe { driver_call!(table, cuEventCreate(&mut handle, 0)) }?;
        Ok(Event { handle })
    }

    /// Records it on a stream.
    ///
    /// # Safety
    /// `stream` is a live stream of the current context.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub unsafe fn record(&self, stream: Handle) -> Result<()> {
        // SAFETY: the event is alive, the caller promises the stream.
        unsafe { driver_call!(table()?, cuEventRecord(self.handle, stream)) }
    }

    /// Waits for it on the host.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is alive.
        unsafe { driver_call!(table()?, cuEventSynchronize(self.handle)) }
    }

    /// Milliseconds from this event to `end`, both completed.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, the out pointer is valid.
        unsafe {
            driver_call!(
                table()?,
                cuEventElapsedTime(&mut milliseconds, self.handle, end.handle)
            )
        }?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(table) = table() {
            // SAFETY: the event was created here and is destroyed once; a refusal cannot be
            // reported from a drop.
            unsafe { (table.cuEventDestroy)(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_gets_an_error_and_no_panic() {
        match table() {
            Ok(table) => assert!(!table.error_string(1).is_empty()),
            Err(error) => {
                assert!(matches!(error, Error::NoDevice(_)));
                assert!(error.to_string().starts_with("no CUDA device: "), "{error}");
            }
        }
    }

    #[test]
    fn the_release_is_found_in_the_files_text() {
        let proc = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Nov 1";
        assert_eq!(find_release(proc).as_deref(), Some("580.159.03"));
        assert_eq!(find_release("570.86\n").as_deref(), Some("570.86"));
        assert_eq!(find_release("no version. here 12 .5"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_driver_without_a_needed_function_is_named() {
        // SAFETY: libc has no constructor with preconditions.
        let libc = unsafe { Library::new("libc.so.6") }.unwrap();
        assert_eq!(Table::load(libc).err(), Some("cuDriverGetVersion"));
    }
}
