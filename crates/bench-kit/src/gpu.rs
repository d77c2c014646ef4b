//! A GPU to time on: one stream, graphs and events of the driver's API.

use std::cell::RefCell;
use std::ffi::c_void;

use parity::driver::Event;
use parity::{Address, Device as _, Stream};

use crate::Result;
use crate::device::{Device, DeviceInfo, RawGraph};

/// One GPU, with a stream that does not synchronise with the default stream.
pub struct Gpu {
    gpu: parity::Gpu,
    stream: Stream,
    info: DeviceInfo,
    // A slot a graph: ids stay valid while others are destroyed.
    graphs: RefCell<Vec<Option<parity::Graph>>>,
}

impl Gpu {
    /// Opens device `ordinal` and makes it current for this thread.
    ///
    /// # Errors
    /// [`crate::Error::is_no_device`] where there is none.
    pub fn open(ordinal: i32) -> Result<Self> {
        let gpu = parity::Gpu::open(ordinal)?;
        let stream = gpu.stream()?;
        let about = gpu.info();
        let info = DeviceInfo {
            name: about.name.clone(),
            sm_count: about.sm_count.unsigned_abs(),
            driver: parity::driver::release().unwrap_or_else(|| {
                format!("CUDA {}.{}", about.driver / 1000, about.driver % 1000 / 10)
            }),
        };
        Ok(Self {
            gpu,
            stream,
            info,
            graphs: RefCell::default(),
        })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        for graph in self.graphs.get_mut().drain(..).flatten() {
            // SAFETY: made by this device, and `timed` and `synchronize` have waited for it.
            unsafe { self.gpu.end_graph(graph) };
        }
        // SAFETY: made in `open`, ended once.
        unsafe { self.gpu.end_stream(self.stream) };
    }
}

// SAFETY: parity's GPU gives memory that is good until it is freed.
unsafe impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize) -> Result<*mut c_void> {
        Ok(self.gpu.allocate(bytes)? as *mut c_void)
    }

    unsafe fn free(&self, pointer: *mut c_void, bytes: usize) {
        // SAFETY: the caller promises it.
        unsafe { self.gpu.free(pointer as Address, bytes) };
    }

    unsafe fn upload(&self, to: *mut c_void, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { self.gpu.write(to as Address, bytes) }?;
        Ok(self.gpu.settle()?)
    }

    unsafe fn download(&self, from: *mut c_void, into: &mut [u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        Ok(unsafe { self.gpu.read(from as Address, into) }?)
    }

    fn stream(&self) -> *mut c_void {
        self.stream.0
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.gpu.synchronize(self.stream)?)
    }

    fn capture(&self, queue: &mut dyn FnMut() -> Result<()>) -> Result<RawGraph> {
        self.gpu.begin_capture(self.stream)?;
        let queued = queue();
        let graph = self.gpu.end_capture(self.stream);
        if let (Err(_), Ok(graph)) = (&queued, &graph) {
            // SAFETY: just made, never launched.
            unsafe { self.gpu.end_graph(*graph) };
        }
        // What the call said comes before what capture made of it.
        queued?;
        let graph = graph?;
        let mut graphs = self.graphs.borrow_mut();
        graphs.push(Some(graph));
        Ok(RawGraph {
            id: graphs.len() - 1,
            nodes: graph.nodes,
        })
    }

    fn replay(&self, graph: RawGraph) -> Result<()> {
        let graphs = self.graphs.borrow();
        let graph = graphs[graph.id].expect("a graph that was not destroyed");
        Ok(self.gpu.launch(graph, self.stream)?)
    }

    fn destroy(&self, graph: RawGraph) {
        if let Some(graph) = self.graphs.borrow_mut()[graph.id].take() {
            // A refusal shows at the next call; here it only means that there is nothing to wait for.
            let _ = self.gpu.synchronize(self.stream);
            // SAFETY: made by this device, waited for, taken out of its slot.
            unsafe { self.gpu.end_graph(graph) };
        }
    }

    fn timed(&self, count: usize, queue: &mut dyn FnMut(usize) -> Result<()>) -> Result<Vec<f64>> {
        let events = (0..=count)
            .map(|_| Event::new())
            .collect::<parity::Result<Vec<_>>>()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { events[0].record(self.stream.0) }?;
        for index in 0..count {
            queue(index)?;
            // SAFETY: as above.
            unsafe { events[index + 1].record(self.stream.0) }?;
        }
        events[count].synchronize()?;
        let between = |pair: &[Event]| Ok(f64::from(pair[0].elapsed_ms(&pair[1])?) * 1e3);
        events.windows(2).map(between).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error_and_no_panic() {
        let error = Gpu::open(4096).err().expect("nobody has so many GPUs");
        assert!(error.is_no_device(), "{error}");
    }
}
