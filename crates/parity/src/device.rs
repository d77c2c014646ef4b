//! Where a library runs: memory, streams and graphs, behind one trait for the GPU and the
//! simulator.

use crate::{Library, Result};
use serde::Serialize;
use std::ffi::c_void;

/// An address that kernels use.
pub type Address = u64;

/// A stream handle, passed to the library as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub *mut c_void);

// SAFETY: stream handles may be used from any thread, by the driver and by the simulator.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// A captured graph, ready to launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graph {
    /// What capture produced.
    pub(crate) graph: *mut c_void,
    /// What is launched.
    pub(crate) executable: *mut c_void,
    /// Nodes of every kind.
    pub nodes: usize,
    /// Nodes that are kernels.
    pub kernels: usize,
}

/// What kind of place a result comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A GPU.
    Gpu,
    /// The simulator: results are class `emulated` and validate nothing.
    Emulated,
}

/// What a device says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Info {
    /// GPU or emulated.
    pub kind: Kind,
    /// Product name.
    pub name: String,
    /// Compute capability as 10 * major + minor.
    pub capability: i32,
    /// Number of multiprocessors.
    pub sm_count: i32,
    /// The newest CUDA version of the driver, as 1000 * major + 10 * minor; 0 in the simulator.
    pub driver: i32,
    /// The device's UUID in hexadecimal; empty in the simulator.
    pub uuid: String,
}

/// How memory may be used, told to a checking simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The contents may be read before they are written.
    pub initialised: bool,
    /// It may be written.
    pub writable: bool,
}

/// An error left pending on purpose, which a library must neither report nor clear.
pub trait ForeignError {
    /// Whether it is still pending.
    fn is_pending(&self) -> bool;
}

/// A place where kernels run.
///
/// # Safety
/// Addresses from `allocate` must be good for reads and writes of their size by `read`, `write`
/// and `fill` until they are freed.
pub unsafe trait Device: Send + Sync {
    /// What it is.
    fn info(&self) -> &Info;

    /// Makes it current for the calling thread.
    ///
    /// # Errors
    /// The device's own.
    fn bind(&self) -> Result<()>;

    /// Memory of at least `bytes`, aligned to 256.
    ///
    /// # Errors
    /// The device's own.
    fn allocate(&self, bytes: usize) -> Result<Address>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `address` came from `allocate` with the same `bytes` and is not used afterwards.
    unsafe fn free(&self, address: Address, bytes: usize);

    /// Copies to the device.
    ///
    /// # Safety
    /// The range lies in one live allocation that no queued work uses.
    ///
    /// # Errors
    /// The device's own.
    unsafe fn write(&self, to: Address, bytes: &[u8]) -> Result<()>;

    /// Copies from the device.
    ///
    /// # Safety
    /// As [`Device::write`].
    ///
    /// # Errors
    /// The device's own.
    unsafe fn read(&self, from: Address, bytes: &mut [u8]) -> Result<()>;

    /// Fills with one byte.
    ///
    /// # Safety
    /// As [`Device::write`].
    ///
    /// # Errors
    /// The device's own.
    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<()>;

    /// Tells a checking simulator what kernels may do with a range. `None` withdraws it.
    fn declare(&self, _address: Address, _bytes: usize, _access: Option<Access>) {}

    /// Waits until copies and fills have landed: they are not ordered with created streams.
    ///
    /// # Errors
    /// The device's own.
    fn settle(&self) -> Result<()>;

    /// A stream that does not synchronise with the default stream.
    ///
    /// # Errors
    /// The device's own.
    fn stream(&self) -> Result<Stream>;

    /// Ends a stream.
    ///
    /// # Safety
    /// The stream came from this device and is not used afterwards.
    unsafe fn end_stream(&self, stream: Stream);

    /// Waits for a stream.
    ///
    /// # Errors
    /// The device's own, among them what a kernel on the stream did wrong.
    fn synchronize(&self, stream: Stream) -> Result<()>;

    /// Begins capture in thread-local mode.
    ///
    /// # Errors
    /// The device's own.
    fn begin_capture(&self, stream: Stream) -> Result<()>;

    /// Ends capture and instantiates the graph.
    ///
    /// # Errors
    /// The device's own, among them a capture that the library broke.
    fn end_capture(&self, stream: Stream) -> Result<Graph>;

    /// Queues a graph.
    ///
    /// # Errors
    /// The device's own.
    fn launch(&self, graph: Graph, stream: Stream) -> Result<()>;

    /// Frees a graph.
    ///
    /// # Safety
    /// The graph came from this device, is not running and is not used afterwards.
    unsafe fn end_graph(&self, graph: Graph);

    /// Breaks a capture on `stream` so that the next launch on it must fail, where the device can.
    ///
    /// # Errors
    /// The device's own.
    fn break_capture(&self, _stream: Stream) -> Result<bool> {
        Ok(false)
    }

    /// Leaves an error pending as another library would, where the device can.
    fn leave_error(&self) -> Option<Box<dyn ForeignError>> {
        None
    }

    /// What the device itself found wrong since it was last asked (races, wild accesses), if it
    /// looks for such things.
    fn findings(&self) -> Option<String> {
        None
    }
}

/// Memory that frees itself.
pub(crate) struct Memory<'d> {
    device: &'d dyn Device,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
}

impl<'d> Memory<'d> {
    pub(crate) fn new(device: &'d dyn Device, bytes: usize) -> Result<Memory<'d>> {
        let bytes = bytes.max(1);
        Ok(Memory {
            device,
            address: device.allocate(bytes)?,
            bytes,
        })
    }

    pub(crate) fn contents(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        // SAFETY: the range is this allocation, and callers synchronise before they look.
        unsafe { self.device.read(self.address, &mut bytes) }?;
        Ok(bytes)
    }

    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        assert!(
            offset + bytes.len() <= self.bytes,
            "a read beyond its allocation"
        );
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked, and callers synchronise before they look.
        unsafe { self.device.read(self.address + offset as Address, bytes) }
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        assert!(
            offset + bytes.len() <= self.bytes,
            "a write beyond its allocation"
        );
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked, and callers write before they queue.
        unsafe { self.device.write(self.address + offset as Address, bytes) }
    }

    pub(crate) fn fill(&self, offset: usize, byte: u8, bytes: usize) -> Result<()> {
        assert!(offset + bytes <= self.bytes, "a fill beyond its allocation");
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range was checked, and callers fill before they queue.
        unsafe {
            self.device
                .fill(self.address + offset as Address, byte, bytes)
        }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        unsafe { self.device.free(self.address, self.bytes) };
    }
}

/// A stream that ends itself.
pub(crate) struct OwnedStream<'d> {
    device: &'d dyn Device,
    pub(crate) stream: Stream,
}

impl<'d> OwnedStream<'d> {
    pub(crate) fn new(device: &'d dyn Device) -> Result<OwnedStream<'d>> {
        Ok(OwnedStream {
            device,
            stream: device.stream()?,
        })
    }
}

impl Drop for OwnedStream<'_> {
    fn drop(&mut self) {
        // SAFETY: created in `new`, ended once.
        unsafe { self.device.end_stream(self.stream) };
    }
}

/// A graph that frees itself.
pub(crate) struct OwnedGraph<'d> {
    device: &'d dyn Device,
    pub(crate) graph: Graph,
}

impl<'d> OwnedGraph<'d> {
    pub(crate) fn new(device: &'d dyn Device, graph: Graph) -> OwnedGraph<'d> {
        OwnedGraph { device, graph }
    }
}

impl Drop for OwnedGraph<'_> {
    fn drop(&mut self) {
        // SAFETY: every launch was waited for or failed; freed once.
        unsafe { self.device.end_graph(self.graph) };
    }
}

/// Whether a library was built for the simulator.
pub fn is_simulated(library: &Library) -> bool {
    library.exports("sim_stream_create")
}
