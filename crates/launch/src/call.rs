//! One call through a C ABI: bind, take all guards, call, check the status, release.

use crate::{Error, Result, Workspace, status};
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{
    CudaContext, CudaStream, DevicePtr, DevicePtrMut, DriverError, SyncOnDrop, result,
};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn driver_error(error: DriverError) -> Error {
    let message = match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => "unknown error".into(),
    };
    Error::Cuda {
        code: error.0 as i32,
        message,
    }
}

/// What the kernels' host code asks of a device, read once and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Its number, as CUDA counts devices in this process.
    pub ordinal: usize,
    /// Compute capability, major part.
    pub major: i32,
    /// Compute capability, minor part.
    pub minor: i32,
    /// Number of multiprocessors.
    pub sm_count: i32,
    /// The most shared memory one block can opt into, in bytes.
    pub shared_bytes_opt_in: i32,
    /// Size of the L2 cache, in bytes.
    pub l2_bytes: i32,
}

impl Device {
    /// Opens the primary context of device `ordinal`, answering [`Error::NoDevice`] where cudarc
    /// itself would panic for want of a driver.
    ///
    /// # Errors
    /// [`Error::NoDevice`], or [`Error::Cuda`] when the context cannot be had.
    pub fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
        let count = crate::probe()?.device_count;
        if usize::try_from(count).is_ok_and(|count| ordinal >= count) {
            return Err(Error::NoDevice {
                reason: format!("device {ordinal} was asked for and the driver shows {count}"),
            });
        }
        CudaContext::new(ordinal).map_err(driver_error)
    }

    /// The attributes of the device that `stream` belongs to.
    ///
    /// # Errors
    /// [`Error::Cuda`] when the driver does not answer.
    pub fn of(stream: &CudaStream) -> Result<Device> {
        static KNOWN: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
        let context = stream.context();
        let ordinal = context.ordinal();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = known.get(&ordinal) {
            return Ok(*device);
        }
        let ask = |attribute| context.attribute(attribute).map_err(driver_error);
        use CUdevice_attribute as A;
        let device = Device {
            ordinal,
            major: ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            sm_count: ask(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_bytes_opt_in: ask(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            l2_bytes: ask(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        };
        known.insert(ordinal, device);
        Ok(device)
    }
}

/// A call under preparation.
///
/// Each argument taken adds its guard, and [`Call::run`] drops the guards only after the foreign
/// function has queued its work: a guard dropped earlier lets another stream touch the memory
/// while the kernel still runs.
///
/// ```no_run
/// # fn ffi(_: *const f32, _: *mut f32, _: *mut std::ffi::c_void) -> i32 { 0 }
/// # fn text(code: i32) -> String { code.to_string() }
/// # fn example(stream: &std::sync::Arc<launch::cudarc::driver::CudaStream>,
/// #            x: &launch::cudarc::driver::CudaSlice<f32>,
/// #            y: &mut launch::cudarc::driver::CudaSlice<f32>) -> launch::Result<()> {
/// let mut call = launch::Call::on(stream, text)?;
/// let x = call.input("x", x)?;
/// let y = call.output("y", y)?;
/// call.run(|stream| ffi(x, y, stream))
/// # }
/// ```
pub struct Call<'a> {
    stream: &'a Arc<CudaStream>,
    describe: fn(c_int) -> String,
    guards: Vec<SyncOnDrop<'a>>,
}

impl<'a> Call<'a> {
    /// Binds the stream's context to this thread. `describe` is the library's error text.
    ///
    /// # Errors
    /// [`Error::Cuda`] when the context cannot be made current.
    pub fn on(stream: &'a Arc<CudaStream>, describe: fn(c_int) -> String) -> Result<Call<'a>> {
        // Not cudarc's bind_to_thread: that reports and clears an error some earlier operation
        // left pending, as if this call had failed.
        let ours = stream.context().cu_ctx();
        let current = result::ctx::get_current().map_err(driver_error)?;
        if current != Some(ours) {
            // SAFETY: the context is alive, the stream holds a reference to it.
            unsafe { result::ctx::set_current(ours) }.map_err(driver_error)?;
        }
        Ok(Call {
            stream,
            describe,
            guards: Vec::with_capacity(8),
        })
    }

    fn same_context(&self, argument: &'static str, other: &Arc<CudaStream>) -> Result<()> {
        if self.stream.context() == other.context() {
            return Ok(());
        }
        Err(Error::invalid(
            argument,
            format!("in a context of device {}", other.context().ordinal()),
            format!(
                "in the stream's, of device {}",
                self.stream.context().ordinal()
            ),
        ))
    }

    /// The address of a buffer that the kernel reads.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the buffer lives in another context than the stream.
    pub fn input<T, S: DevicePtr<T>>(
        &mut self,
        argument: &'static str,
        slice: &'a S,
    ) -> Result<*const T> {
        self.same_context(argument, slice.stream())?;
        let (pointer, guard) = slice.device_ptr(self.stream);
        self.guards.push(guard);
        Ok(pointer as *const T)
    }

    /// The address of a buffer that the kernel writes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the buffer lives in another context than the stream.
    pub fn output<T, S: DevicePtrMut<T>>(
        &mut self,
        argument: &'static str,
        slice: &'a mut S,
    ) -> Result<*mut T> {
        self.same_context(argument, slice.stream())?;
        let (pointer, guard) = slice.device_ptr_mut(self.stream);
        self.guards.push(guard);
        Ok(pointer as *mut T)
    }

    /// [`Call::input`] for an argument that may be left out (a null pointer to the library).
    ///
    /// # Errors
    /// As [`Call::input`].
    pub fn optional_input<T, S: DevicePtr<T>>(
        &mut self,
        argument: &'static str,
        slice: Option<&'a S>,
    ) -> Result<*const T> {
        slice.map_or(Ok(std::ptr::null()), |slice| self.input(argument, slice))
    }

    /// [`Call::output`] for an argument that may be left out (a null pointer to the library).
    ///
    /// # Errors
    /// As [`Call::output`].
    pub fn optional_output<T, S: DevicePtrMut<T>>(
        &mut self,
        argument: &'static str,
        slice: Option<&'a mut S>,
    ) -> Result<*mut T> {
        slice.map_or(Ok(std::ptr::null_mut()), |slice| {
            self.output(argument, slice)
        })
    }

    /// The address of a workspace that holds at least `bytes`. A null pointer when `bytes` is 0.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for a short workspace, [`Error::InvalidArgument`] for one that
    /// belongs to another stream: two streams in one workspace would meet in it.
    pub fn workspace(&mut self, workspace: &'a mut Workspace, bytes: usize) -> Result<*mut c_void> {
        if bytes == 0 {
            return Ok(std::ptr::null_mut());
        }
        workspace.check(self.stream, bytes)?;
        self.output("workspace", workspace.memory_mut())
            .map(<*mut u8>::cast)
    }

    /// Calls the library with the raw stream, checks its status and releases the guards.
    ///
    /// # Errors
    /// Whatever the library's status says.
    pub fn run(self, function: impl FnOnce(*mut c_void) -> c_int) -> Result<()> {
        let code = function(self.stream.cu_stream().cast());
        drop(self.guards);
        status(code, self.describe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_a_device_that_is_not_there_is_an_error_and_no_panic() {
        assert!(matches!(Device::open(4096), Err(Error::NoDevice { .. })));
        if crate::probe().is_err() {
            assert!(matches!(Device::open(0), Err(Error::NoDevice { .. })));
        }
    }
}
