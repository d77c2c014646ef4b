//! What timing needs of a device. The GPU implements it through the driver API; tests implement it
//! with host memory and a clock that they move themselves.

use std::ffi::c_void;

use crate::Result;

/// What the device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The product's name, e.g. `NVIDIA H200`.
    pub name: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// The driver: its own version where that can be had, else the CUDA version that it offers.
    pub driver: String,
}

impl DeviceInfo {
    /// The folder of this GPU's results: the name in lower case, words joined by dashes.
    pub fn slug(&self) -> String {
        let lower = self.name.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect();
        words.join("-")
    }
}

/// A graph that was captured and is ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawGraph {
    /// The implementation's own number for it.
    pub id: usize,
    /// How many nodes it has.
    pub nodes: usize,
}

/// Memory, one stream, graphs and events.
///
/// # Safety
/// Memory from `allocate` is good for uploads and downloads of its size until it is freed.
pub unsafe trait Device {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Memory of at least `bytes`, aligned to 256; `bytes` is at least 1.
    ///
    /// # Errors
    /// The device's own.
    fn allocate(&self, bytes: usize) -> Result<*mut c_void>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `pointer` came from `allocate` with the same `bytes`; nothing uses it any more.
    unsafe fn free(&self, pointer: *mut c_void, bytes: usize);

    /// Copies to the device and waits.
    ///
    /// # Safety
    /// The range lies in one live allocation that no queued work uses.
    ///
    /// # Errors
    /// The device's own.
    unsafe fn upload(&self, to: *mut c_void, bytes: &[u8]) -> Result<()>;

    /// Copies from the device.
    ///
    /// # Safety
    /// As [`Device::upload`].
    ///
    /// # Errors
    /// The device's own.
    unsafe fn download(&self, from: *mut c_void, into: &mut [u8]) -> Result<()>;

    /// The stream that calls are queued on; never the default stream.
    fn stream(&self) -> *mut c_void;

    /// Waits for the stream.
    ///
    /// # Errors
    /// The device's own, among them what a kernel did wrong.
    fn synchronize(&self) -> Result<()>;

    /// Runs `queue` while the stream records, and makes a graph of what it queued.
    ///
    /// # Errors
    /// Those of `queue`, and the device's own.
    fn capture(&self, queue: &mut dyn FnMut() -> Result<()>) -> Result<RawGraph>;

    /// Queues a graph.
    ///
    /// # Errors
    /// The device's own.
    fn replay(&self, graph: RawGraph) -> Result<()>;

    /// Gives a graph back once the stream is done with it.
    fn destroy(&self, graph: RawGraph);

    /// Calls `queue` with 0, 1, .. `count - 1`, with an event before, between and after; then waits.
    /// Returns the `count` times between events in microseconds. Nothing waits in between, so that
    /// the device runs without gaps once the host is ahead of it.
    ///
    /// # Errors
    /// Those of `queue`, and the device's own.
    fn timed(&self, count: usize, queue: &mut dyn FnMut(usize) -> Result<()>) -> Result<Vec<f64>>;
}

/// Device memory that is given back when it goes out of scope.
pub(crate) struct Memory<'d> {
    device: &'d dyn Device,
    pointer: *mut c_void,
    bytes: usize,
}

impl<'d> Memory<'d> {
    /// Fresh memory; an empty buffer gets one byte, so that its pointer is never null.
    pub(crate) fn new(device: &'d dyn Device, bytes: usize) -> Result<Self> {
        let bytes = bytes.max(1);
        Ok(Self {
            device,
            pointer: device.allocate(bytes)?,
            bytes,
        })
    }

    pub(crate) fn with(device: &'d dyn Device, contents: &[u8]) -> Result<Self> {
        let memory = Self::new(device, contents.len())?;
        memory.upload(0, contents)?;
        Ok(memory)
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn upload(&self, offset: usize, contents: &[u8]) -> Result<()> {
        assert!(
            offset + contents.len() <= self.bytes,
            "an upload beyond its allocation"
        );
        if contents.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked, and nothing is queued while buffers are filled.
        unsafe {
            self.device
                .upload(self.pointer.wrapping_byte_add(offset), contents)
        }
    }

    pub(crate) fn download(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        // SAFETY: the range is this allocation; callers synchronise before they look.
        unsafe { self.device.download(self.pointer, &mut bytes) }?;
        Ok(bytes)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        unsafe { self.device.free(self.pointer, self.bytes) };
    }
}

/// A graph that is given back when it goes out of scope.
pub(crate) struct Graph<'d> {
    device: &'d dyn Device,
    raw: RawGraph,
}

impl<'d> Graph<'d> {
    pub(crate) fn capture(
        device: &'d dyn Device,
        queue: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        Ok(Self {
            device,
            raw: device.capture(queue)?,
        })
    }

    pub(crate) fn nodes(&self) -> usize {
        self.raw.nodes
    }

    pub(crate) fn replay(&self) -> Result<()> {
        self.device.replay(self.raw)
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        self.device.destroy(self.raw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_name_becomes_a_folder_name() {
        let name = "NVIDIA GeForce RTX 4090 (Laptop)".to_string();
        let info = DeviceInfo {
            name,
            sm_count: 1,
            driver: String::new(),
        };
        assert_eq!(info.slug(), "nvidia-geforce-rtx-4090-laptop");
    }
}
