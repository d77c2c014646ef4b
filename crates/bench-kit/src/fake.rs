//! A device of host memory and a clock that kernels move: what is tested is the timing, not the time.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

use crate::Result;
use crate::device::{Device, DeviceInfo, RawGraph};

/// What a kernel does when it runs. It may take longer or shorter each time.
pub(crate) type Work = Rc<dyn Fn() -> f64>;

#[derive(Clone)]
struct Op {
    us: f64,
    work: Work,
}

#[derive(Default)]
struct Stream {
    clock_us: f64,
    recording: Option<Vec<Op>>,
}

/// A kernel without effect and without extra time.
pub(crate) fn quiet() -> Work {
    Rc::new(|| 0.0)
}

/// Queues a kernel that lasts `us` and what `work` adds. Records it where the stream captures.
///
/// # Safety
/// `stream` is the stream of a live [`Fake`].
pub(crate) unsafe fn queue(stream: *mut c_void, us: f64, work: Work) {
    // SAFETY: the caller promises it; the cell guards against overlap.
    let cell = unsafe { &*stream.cast::<RefCell<Stream>>() };
    let op = Op { us, work };
    if let Some(recording) = &mut cell.borrow_mut().recording {
        recording.push(op);
        return;
    }
    run(cell, &op);
}

fn run(cell: &RefCell<Stream>, op: &Op) {
    let us = op.us + (op.work)();
    cell.borrow_mut().clock_us += us;
}

/// The device.
pub(crate) struct Fake {
    info: DeviceInfo,
    stream: Box<RefCell<Stream>>,
    graphs: RefCell<Vec<Option<Vec<Op>>>>,
    live: RefCell<BTreeMap<usize, usize>>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self {
            info: DeviceInfo {
                name: "Fake One".into(),
                sm_count: 4,
                driver: "1.0".into(),
            },
            stream: Box::default(),
            graphs: RefCell::default(),
            live: RefCell::default(),
        }
    }

    /// Every allocation and graph was given back, and no capture is open.
    pub(crate) fn assert_clean(&self) {
        assert!(self.live.borrow().is_empty(), "memory was not freed");
        assert!(
            self.graphs.borrow().iter().all(Option::is_none),
            "a graph was not destroyed"
        );
        assert!(
            self.stream.borrow().recording.is_none(),
            "a capture was left open"
        );
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 256).expect("a sane size")
    }
}

// SAFETY: memory is the host's own.
unsafe impl Device for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize) -> Result<*mut c_void> {
        assert!(bytes > 0);
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc(Self::layout(bytes)) };
        self.live.borrow_mut().insert(pointer as usize, bytes);
        Ok(pointer.cast())
    }

    unsafe fn free(&self, pointer: *mut c_void, bytes: usize) {
        assert_eq!(
            self.live.borrow_mut().remove(&(pointer as usize)),
            Some(bytes)
        );
        // SAFETY: allocated above with this layout, removed from the live ones once.
        unsafe { dealloc(pointer.cast(), Self::layout(bytes)) };
    }

    unsafe fn upload(&self, to: *mut c_void, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { to.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    unsafe fn download(&self, from: *mut c_void, into: &mut [u8]) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { from.cast::<u8>().copy_to(into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn stream(&self) -> *mut c_void {
        (&raw const *self.stream).cast_mut().cast()
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn capture(&self, queue: &mut dyn FnMut() -> Result<()>) -> Result<RawGraph> {
        self.stream.borrow_mut().recording = Some(Vec::new());
        let queued = queue();
        let ops = self
            .stream
            .borrow_mut()
            .recording
            .take()
            .expect("it was recording");
        queued?;
        let mut graphs = self.graphs.borrow_mut();
        let graph = RawGraph {
            id: graphs.len(),
            nodes: ops.len(),
        };
        graphs.push(Some(ops));
        Ok(graph)
    }

    fn replay(&self, graph: RawGraph) -> Result<()> {
        let ops = self.graphs.borrow()[graph.id]
            .clone()
            .expect("a live graph");
        ops.iter().for_each(|op| run(&self.stream, op));
        Ok(())
    }

    fn destroy(&self, graph: RawGraph) {
        assert!(
            self.graphs.borrow_mut()[graph.id].take().is_some(),
            "destroyed twice"
        );
    }

    fn timed(&self, count: usize, queue: &mut dyn FnMut(usize) -> Result<()>) -> Result<Vec<f64>> {
        (0..count)
            .map(|index| {
                let before = self.stream.borrow().clock_us;
                queue(index)?;
                Ok(self.stream.borrow().clock_us - before)
            })
            .collect()
    }
}
