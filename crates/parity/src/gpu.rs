//! The GPU, through the driver's API.

use crate::device::{Address, Device, ForeignError, Graph, Info, Kind, Stream};
use crate::driver::{
    self, CAPTURE_THREAD_LOCAL, NODE_KERNEL, STREAM_NON_BLOCKING, Table, attribute,
};
use crate::{Result, driver_call};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// One GPU and its primary context, which a library's own CUDA runtime shares.
pub struct Gpu {
    table: &'static Table,
    device: driver::CUdevice,
    context: driver::Handle,
    info: Info,
}

// SAFETY: contexts may be made current on any thread; the table is immutable.
unsafe impl Send for Gpu {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Opens device `ordinal` and makes it current for the calling thread.
    ///
    /// # Errors
    /// [`crate::Error::NoDevice`] where there is none, [`crate::Error::Driver`] where it refuses.
    pub fn open(ordinal: i32) -> Result<Gpu> {
        let table = driver::table()?;
        let (mut count, mut version, mut device) = (0, 0, 0);
        let mut context = std::ptr::null_mut();
        let mut name = [0; 256];
        let mut uuid = [0; 16];
        // SAFETY: out pointers are valid; the name buffer's size is passed with it.
        unsafe {
            driver_call!(table, cuDeviceGetCount(&mut count))?;
            if ordinal < 0 || ordinal >= count {
                return Err(crate::Error::NoDevice(launch::Error::NoDevice {
                    reason: format!("device {ordinal} was asked for and the driver shows {count}"),
                }));
            }
            driver_call!(table, cuDriverGetVersion(&mut version))?;
            driver_call!(table, cuDeviceGet(&mut device, ordinal))?;
            driver_call!(
                table,
                cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device)
            )?;
            driver_call!(table, cuDeviceGetUuid(&mut uuid, device))?;
        }
        let ask = |attribute| -> Result<i32> {
            let mut value = 0;
            // SAFETY: the out pointer is valid.
            unsafe { driver_call!(table, cuDeviceGetAttribute(&mut value, attribute, device)) }?;
            Ok(value)
        };
        let info = Info {
            kind: Kind::Gpu,
            // SAFETY: the driver null-terminates the name within the buffer.
            name: unsafe { CStr::from_ptr(name.as_ptr()) }
                .to_string_lossy()
                .into_owned(),
            capability: 10 * ask(attribute::COMPUTE_CAPABILITY_MAJOR)?
                + ask(attribute::COMPUTE_CAPABILITY_MINOR)?,
            sm_count: ask(attribute::MULTIPROCESSOR_COUNT)?,
            driver: version,
            uuid: uuid.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        // SAFETY: the out pointer is valid; released in drop.
        unsafe { driver_call!(table, cuDevicePrimaryCtxRetain(&mut context, device)) }?;
        let gpu = Gpu {
            table,
            device,
            context,
            info,
        };
        gpu.bind()?;
        Ok(gpu)
    }

    /// A device attribute by its number in `cuda.h`.
    ///
    /// # Errors
    /// [`crate::Error::Driver`].
    pub fn attribute(&self, attribute: i32) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the out pointer is valid.
        unsafe {
            driver_call!(
                self.table,
                cuDeviceGetAttribute(&mut value, attribute, self.device)
            )
        }?;
        Ok(value)
    }

    /// Free and total device memory, in bytes.
    ///
    /// # Errors
    /// [`crate::Error::Driver`].
    pub fn memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the out pointers are valid.
        unsafe { driver_call!(self.table, cuMemGetInfo(&mut free, &mut total)) }?;
        Ok((free, total))
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`; a refusal cannot be reported from a drop.
        unsafe { (self.table.cuDevicePrimaryCtxRelease)(self.device) };
    }
}

// SAFETY: addresses are device memory of the primary context, which lives as long as `self`.
unsafe impl Device for Gpu {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&self) -> Result<()> {
        // SAFETY: the context is retained.
        unsafe { driver_call!(self.table, cuCtxSetCurrent(self.context)) }
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        let mut address = 0;
        // SAFETY: the out pointer is valid.
        unsafe { driver_call!(self.table, cuMemAlloc(&mut address, bytes)) }?;
        Ok(address)
    }

    unsafe fn free(&self, address: Address, _bytes: usize) {
        // SAFETY: the caller promises the address; cuMemFree waits for the device.
        unsafe { (self.table.cuMemFree)(address) };
    }

    unsafe fn write(&self, to: Address, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe {
            driver_call!(
                self.table,
                cuMemcpyHtoD(to, bytes.as_ptr().cast(), bytes.len())
            )
        }
    }

    unsafe fn read(&self, from: Address, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe {
            driver_call!(
                self.table,
                cuMemcpyDtoH(bytes.as_mut_ptr().cast(), from, bytes.len())
            )
        }
    }

    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { driver_call!(self.table, cuMemsetD8(to, byte, bytes)) }
    }

    fn settle(&self) -> Result<()> {
        // SAFETY: no arguments.
        unsafe { driver_call!(self.table, cuCtxSynchronize()) }
    }

    fn stream(&self) -> Result<Stream> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        unsafe { driver_call!(self.table, cuStreamCreate(&mut stream, STREAM_NON_BLOCKING)) }?;
        Ok(Stream(stream))
    }

    unsafe fn end_stream(&self, stream: Stream) {
        // SAFETY: the caller promises the stream.
        unsafe { (self.table.cuStreamDestroy)(stream.0) };
    }

    fn synchronize(&self, stream: Stream) -> Result<()> {
        // SAFETY: streams handed out here are alive until they are ended.
        unsafe { driver_call!(self.table, cuStreamSynchronize(stream.0)) }
    }

    fn begin_capture(&self, stream: Stream) -> Result<()> {
        // SAFETY: as in `synchronize`.
        unsafe {
            driver_call!(
                self.table,
                cuStreamBeginCapture(stream.0, CAPTURE_THREAD_LOCAL)
            )
        }
    }

    fn end_capture(&self, stream: Stream) -> Result<Graph> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        unsafe { driver_call!(self.table, cuStreamEndCapture(stream.0, &mut graph)) }?;
        let counted = self.count(graph);
        let mut executable = std::ptr::null_mut();
        let instantiated = counted.and_then(|counts| {
            // SAFETY: the graph is alive, the out pointer is valid.
            unsafe { driver_call!(self.table, cuGraphInstantiate(&mut executable, graph, 0)) }?;
            Ok(counts)
        });
        match instantiated {
            Ok((nodes, kernels)) => Ok(Graph {
                graph,
                executable,
                nodes,
                kernels,
            }),
            Err(error) => {
                // SAFETY: the graph was just made and is used by nobody.
                unsafe { (self.table.cuGraphDestroy)(graph) };
                Err(error)
            }
        }
    }

    fn launch(&self, graph: Graph, stream: Stream) -> Result<()> {
        // SAFETY: both are alive until they are ended.
        unsafe { driver_call!(self.table, cuGraphLaunch(graph.executable, stream.0)) }
    }

    unsafe fn end_graph(&self, graph: Graph) {
        // SAFETY: the caller promises the graph.
        unsafe {
            (self.table.cuGraphExecDestroy)(graph.executable);
            (self.table.cuGraphDestroy)(graph.graph);
        }
    }

    fn break_capture(&self, stream: Stream) -> Result<bool> {
        self.begin_capture(stream)?;
        // SAFETY: a synchronisation is forbidden while the stream captures: the driver refuses it
        // and invalidates the capture, and every later launch on the stream must fail.
        let refused = unsafe { (self.table.cuStreamSynchronize)(stream.0) };
        Ok(refused != 0)
    }

    fn leave_error(&self) -> Option<Box<dyn ForeignError>> {
        RuntimeError::provoke().map(|error| Box::new(error) as Box<dyn ForeignError>)
    }
}

impl Gpu {
    /// Nodes of a graph: all of them, and the kernels among them.
    fn count(&self, graph: driver::Handle) -> Result<(usize, usize)> {
        let mut count = 0;
        // SAFETY: a null array asks for the number.
        unsafe {
            driver_call!(
                self.table,
                cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count)
            )
        }?;
        let mut nodes = vec![std::ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the array has `count` places.
            unsafe {
                driver_call!(
                    self.table,
                    cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count)
                )
            }?;
        }
        let mut kernels = 0;
        for node in nodes {
            let mut kind = 0;
            // SAFETY: the node belongs to the live graph, the out pointer is valid.
            unsafe { driver_call!(self.table, cuGraphNodeGetType(node, &mut kind)) }?;
            kernels += usize::from(kind == NODE_KERNEL);
        }
        Ok((count, kernels))
    }
}

/// An error pending in a shared CUDA runtime of this process, as another library would leave it.
struct RuntimeError {
    library: &'static libloading::Library,
    code: c_int,
}

/// Where a shared runtime may be.
const RUNTIMES: [&str; 4] = [
    "libcudart.so.13",
    "libcudart.so.12",
    "libcudart.so",
    "/usr/local/cuda/lib64/libcudart.so",
];

/// A shared runtime of this machine, kept loaded: it holds on to the driver.
fn shared_runtime() -> Option<&'static libloading::Library> {
    static RUNTIME: OnceLock<Option<libloading::Library>> = OnceLock::new();
    let open = || {
        RUNTIMES
            .into_iter()
            // SAFETY: the CUDA runtime's constructors have no preconditions.
            .find_map(|name| unsafe { libloading::Library::new(name) }.ok())
    };
    RUNTIME.get_or_init(open).as_ref()
}

type LastError = unsafe extern "C" fn() -> c_int;

impl RuntimeError {
    /// `None` where no shared runtime is installed: nothing then can be pending in one.
    fn provoke() -> Option<RuntimeError> {
        let library = shared_runtime()?;
        type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int;
        let mut byte = 0u8;
        let pointer = (&raw mut byte).cast::<c_void>();
        // SAFETY: the type is cudaMemcpy's prototype. Kind 99 does not exist, so the runtime
        // refuses before it touches memory, and records the refusal as this thread's last error.
        let code = unsafe {
            let memcpy = library.get::<Memcpy>("cudaMemcpy").ok()?;
            memcpy(pointer, pointer, 1, 99)
        };
        (code != 0).then_some(RuntimeError { library, code })
    }

    fn ask(&self, function: &str) -> c_int {
        // SAFETY: cudaPeekAtLastError and cudaGetLastError take nothing and return an int.
        unsafe {
            self.library
                .get::<LastError>(function)
                .map_or(0, |function| function())
        }
    }
}

impl ForeignError for RuntimeError {
    fn is_pending(&self) -> bool {
        self.ask("cudaPeekAtLastError") == self.code
    }
}

impl Drop for RuntimeError {
    fn drop(&mut self) {
        // Clears the error that this test left behind.
        self.ask("cudaGetLastError");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error_and_no_panic() {
        assert!(matches!(Gpu::open(4096), Err(crate::Error::NoDevice(_))));
        assert!(matches!(Gpu::open(-1), Err(crate::Error::NoDevice(_))));
    }
}
