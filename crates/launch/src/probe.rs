//! Finding the driver without linking to it.
//!
//! cudarc panics where libcuda is missing, and its own presence check disappears when another
//! crate of the graph turns on dynamic linking. So the question is asked here, by dlopen.

use crate::{Error, Result};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;

/// The file names the driver goes by. Containers often lack the unversioned one.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// What the driver says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverInfo {
    /// The newest CUDA version this driver supports, as 1000 * major + 10 * minor.
    pub cuda_version: i32,
    /// How many devices it shows to this process (at least one).
    pub device_count: i32,
}

fn no_device(reason: impl Into<String>) -> Error {
    Error::NoDevice {
        reason: reason.into(),
    }
}

/// Opens the driver library and initialises it.
///
/// # Errors
/// [`Error::NoDevice`] when there is no driver, or when it refuses to initialise.
pub fn open_driver() -> Result<Library> {
    open_driver_named(&DRIVER_NAMES)
}

fn open_driver_named(names: &[&str]) -> Result<Library> {
    let mut refusal = String::new();
    let library = names
        .iter()
        .find_map(|name| {
            // SAFETY: loading the NVIDIA driver runs its constructors, which have no
            // preconditions; nothing else is loaded under these names.
            unsafe { Library::new(*name) }
                .map_err(|error| refusal = error.to_string())
                .ok()
        })
        .ok_or_else(|| {
            no_device(format!(
                "the NVIDIA driver library could not be loaded ({refusal})"
            ))
        })?;
    type Init = unsafe extern "C" fn(u32) -> c_int;
    // SAFETY: the type is cuInit's documented prototype.
    let init = unsafe { library.get::<Init>("cuInit") }
        .map_err(|_| no_device("the driver library has no cuInit"))?;
    // SAFETY: cuInit takes a flags word that must be 0.
    let code = unsafe { init(0) };
    if code != 0 {
        return Err(no_device(format!(
            "the driver did not initialise: {} (code {code})",
            error_text(&library, code)
        )));
    }
    Ok(library)
}

fn error_text(library: &Library, code: c_int) -> String {
    type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: the type is cuGetErrorString's documented prototype.
    let Ok(get) = (unsafe { library.get::<GetErrorString>("cuGetErrorString") }) else {
        return "unknown error".into();
    };
    // SAFETY: the out pointer is valid for the call.
    let found = unsafe { get(code, &mut text) };
    if found != 0 || text.is_null() {
        return "unknown error".into();
    }
    // SAFETY: the driver returned a static, null-terminated string.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Asks whether this process can use a CUDA device, without panicking and without cudarc.
///
/// # Errors
/// [`Error::NoDevice`] with one sentence saying what is missing.
pub fn probe() -> Result<DriverInfo> {
    // Stays loaded: others in the process are about to use the driver, and it is not made to be
    // loaded and unloaded again and again.
    let library = ManuallyDrop::new(open_driver()?);
    let ask = |name: &str| -> Result<c_int> {
        type Ask = unsafe extern "C" fn(*mut c_int) -> c_int;
        // SAFETY: both functions asked for here take one out pointer to int.
        let function = unsafe { library.get::<Ask>(name) }
            .map_err(|_| no_device(format!("the driver library has no {name}")))?;
        let mut value = 0;
        // SAFETY: the out pointer is valid for the call.
        match unsafe { function(&mut value) } {
            0 => Ok(value),
            code => Err(no_device(format!("{name}: {}", error_text(&library, code)))),
        }
    };
    let info = DriverInfo {
        cuda_version: ask("cuDriverGetVersion")?,
        device_count: ask("cuDeviceGetCount")?,
    };
    if info.device_count < 1 {
        return Err(no_device("the driver shows no device to this process"));
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_an_error_of_one_sentence() {
        let error = open_driver_named(&["libcuda-that-does-not-exist.so.1"]).unwrap_err();
        let Error::NoDevice { reason } = &error else {
            panic!("was {error:?}")
        };
        assert!(reason.contains("could not be loaded"), "{reason}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_that_is_no_driver_is_an_error() {
        // libc is present wherever these tests run, and has no cuInit.
        let error = open_driver_named(&["libc.so.6"]).unwrap_err();
        assert_eq!(error, no_device("the driver library has no cuInit"));
    }

    #[test]
    fn the_probe_answers_on_every_machine() {
        match probe() {
            Ok(info) => assert!(info.device_count >= 1 && info.cuda_version >= 11000),
            Err(Error::NoDevice { reason }) => assert!(!reason.is_empty()),
            Err(other) => panic!("the probe must answer NoDevice, was {other:?}"),
        }
    }
}
