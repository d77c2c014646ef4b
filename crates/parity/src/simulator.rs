//! The simulator, through the exports that its runtime adds to every simulated library.

use crate::device::{Access, Address, Device, Graph, Info, Kind, Stream};
use crate::library::owned;
use crate::{Error, Library, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The order in which the simulator runs the threads of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Lowest thread first.
    Forward,
    /// Highest thread first.
    Reverse,
    /// Seeded random.
    Random(u64),
    /// One step of each warp in turn.
    WarpInterleaved,
}

impl Order {
    /// One of each.
    pub const ALL: [Order; 4] = [
        Order::Forward,
        Order::Reverse,
        Order::Random(0x5eed),
        Order::WarpInterleaved,
    ];

    /// Its name in reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Forward => "forward",
            Order::Reverse => "reverse",
            Order::Random(_) => "random",
            Order::WarpInterleaved => "warp-interleaved",
        }
    }
}

/// The device that a simulated library pretends to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Compute capability, major part.
    pub major: i32,
    /// Compute capability, minor part.
    pub minor: i32,
    /// Number of multiprocessors.
    pub sm_count: i32,
}

impl Model {
    /// The one the kernels are tuned for: clusters, bulk copies.
    pub const HOPPER: Model = Model {
        major: 9,
        minor: 0,
        sm_count: 132,
    };
    /// One without clusters.
    pub const AMPERE: Model = Model {
        major: 8,
        minor: 0,
        sm_count: 108,
    };
}

macro_rules! exports {
    ($($(#[$doc:meta])* $name:ident: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        struct Exports {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Exports {
            fn load(library: &Library) -> Result<Exports> {
                // SAFETY: the types are the prototypes in the simulator's header; the library is
                // kept beside the table.
                unsafe { Ok(Exports { $($name: library.function(stringify!($name))?,)* }) }
            }
        }
    };
}

exports! {
    sim_set_order: fn(c_int, u64);
    sim_set_mutant: fn(*const c_char) -> c_int;
    sim_register: fn(*mut c_void, usize, c_int);
    sim_unregister: fn(*mut c_void);
    sim_set_device: fn(c_int, c_int, c_int);
    sim_report: fn() -> *const c_char;
    sim_reset: fn();
    sim_stream_create: fn() -> *mut c_void;
    sim_stream_destroy: fn(*mut c_void);
    sim_capture_begin: fn(*mut c_void) -> c_int;
    sim_capture_end: fn(*mut c_void) -> *mut c_void;
    sim_graph_nodes: fn(*mut c_void) -> usize;
    sim_graph_launch: fn(*mut c_void, *mut c_void) -> c_int;
    sim_graph_destroy: fn(*mut c_void);
}

const INITIALISED: c_int = 1;
const WRITABLE: c_int = 2;
const ALIGNMENT: usize = 256;

/// A simulated library, as a device.
///
/// Order, mutant and findings are state of the process, so only one simulator is open at a time;
/// opening a second waits for the first to be dropped.
pub struct Simulator {
    exports: Exports,
    info: Info,
    _library: Arc<Library>,
    _only: Turn,
}

/// Held by the one open simulator. Unlike a mutex's guard it may be dropped by another thread.
struct Turn;

static TAKEN: Mutex<bool> = Mutex::new(false);
static RETURNED: Condvar = Condvar::new();

impl Turn {
    fn wait() -> Turn {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        *RETURNED
            .wait_while(taken, |taken| *taken)
            .unwrap_or_else(PoisonError::into_inner) = true;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        RETURNED.notify_one();
    }
}

impl Simulator {
    /// The device inside a simulated library, in its default state.
    ///
    /// # Errors
    /// [`Error::Symbol`] for a library that was not built for the simulator.
    pub fn open(library: Arc<Library>, model: Model) -> Result<Simulator> {
        let exports = Exports::load(&library)?;
        let only = Turn::wait();
        // SAFETY: plain values; a null mutant selects none.
        unsafe {
            (exports.sim_reset)();
            (exports.sim_set_device)(model.major, model.minor, model.sm_count);
            (exports.sim_set_mutant)(std::ptr::null());
            (exports.sim_set_order)(0, 0);
        }
        let info = Info {
            kind: Kind::Emulated,
            name: format!("simulator {}.{}", model.major, model.minor),
            capability: 10 * model.major + model.minor,
            sm_count: model.sm_count,
            driver: 0,
            uuid: String::new(),
        };
        Ok(Simulator {
            exports,
            info,
            _library: library,
            _only: only,
        })
    }

    /// Chooses the order of threads for the launches that follow.
    pub fn set_order(&self, order: Order) {
        let (number, seed) = match order {
            Order::Forward => (0, 0),
            Order::Reverse => (1, 0),
            Order::Random(seed) => (2, seed),
            Order::WarpInterleaved => (3, 0),
        };
        // SAFETY: plain values.
        unsafe { (self.exports.sim_set_order)(number, seed) };
    }

    /// Selects a mutant, or none.
    ///
    /// # Errors
    /// [`Error::Simulator`] when the library has no such mutant.
    pub fn set_mutant(&self, name: Option<&str>) -> Result<()> {
        let refused = |message: String| Error::Simulator {
            call: "sim_set_mutant",
            message,
        };
        let code = match name {
            // SAFETY: null selects none.
            None => unsafe { (self.exports.sim_set_mutant)(std::ptr::null()) },
            Some(name) => {
                let name = CString::new(name).map_err(|error| refused(error.to_string()))?;
                // SAFETY: null-terminated and alive for the call.
                unsafe { (self.exports.sim_set_mutant)(name.as_ptr()) }
            }
        };
        match code {
            0 => Ok(()),
            _ => Err(refused(format!(
                "the library has no mutant {}",
                name.unwrap_or("(none)")
            ))),
        }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes.max(1), ALIGNMENT)
            .expect("sizes of tests fit the address space")
    }

    fn check(call: &'static str, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(Error::Simulator {
                call,
                message: format!("code {code}"),
            }),
        }
    }
}

// SAFETY: addresses are host allocations of the stated size.
unsafe impl Device for Simulator {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&self) -> Result<()> {
        Ok(())
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        // SAFETY: the layout has at least one byte.
        let pointer = unsafe { alloc(Self::layout(bytes)) };
        if pointer.is_null() {
            return Err(Error::Simulator {
                call: "allocate",
                message: format!("{bytes} bytes could not be had"),
            });
        }
        Ok(pointer as Address)
    }

    unsafe fn free(&self, address: Address, bytes: usize) {
        // SAFETY: the caller promises address and size.
        unsafe { dealloc(address as *mut u8, Self::layout(bytes)) };
    }

    unsafe fn write(&self, to: Address, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller promises the range; a fresh slice does not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    unsafe fn read(&self, from: Address, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len())
        };
        Ok(())
    }

    unsafe fn fill(&self, to: Address, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller promises the range.
        unsafe { std::ptr::write_bytes(to as *mut u8, byte, bytes) };
        Ok(())
    }

    fn declare(&self, address: Address, bytes: usize, access: Option<Access>) {
        let pointer = address as *mut c_void;
        match access {
            // SAFETY: the runtime only remembers the range.
            Some(access) => unsafe {
                let flags = if access.initialised { INITIALISED } else { 0 }
                    | if access.writable { WRITABLE } else { 0 };
                (self.exports.sim_register)(pointer, bytes, flags);
            },
            // SAFETY: as above.
            None => unsafe { (self.exports.sim_unregister)(pointer) },
        }
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn stream(&self) -> Result<Stream> {
        // SAFETY: no arguments.
        let stream = unsafe { (self.exports.sim_stream_create)() };
        if stream.is_null() {
            return Err(Error::Simulator {
                call: "sim_stream_create",
                message: "null".into(),
            });
        }
        Ok(Stream(stream))
    }

    unsafe fn end_stream(&self, stream: Stream) {
        // SAFETY: the caller promises the stream.
        unsafe { (self.exports.sim_stream_destroy)(stream.0) };
    }

    fn synchronize(&self, _stream: Stream) -> Result<()> {
        // A simulated launch has finished when it returns.
        Ok(())
    }

    fn begin_capture(&self, stream: Stream) -> Result<()> {
        // SAFETY: streams handed out here are alive until they are ended.
        Self::check("sim_capture_begin", unsafe {
            (self.exports.sim_capture_begin)(stream.0)
        })
    }

    fn end_capture(&self, stream: Stream) -> Result<Graph> {
        // SAFETY: as above.
        let graph = unsafe { (self.exports.sim_capture_end)(stream.0) };
        if graph.is_null() {
            return Err(Error::Simulator {
                call: "sim_capture_end",
                message: "null".into(),
            });
        }
        // SAFETY: the graph is alive.
        let nodes = unsafe { (self.exports.sim_graph_nodes)(graph) };
        Ok(Graph {
            graph,
            executable: graph,
            nodes,
            kernels: nodes,
        })
    }

    fn launch(&self, graph: Graph, stream: Stream) -> Result<()> {
        // SAFETY: both are alive until they are ended.
        Self::check("sim_graph_launch", unsafe {
            (self.exports.sim_graph_launch)(graph.graph, stream.0)
        })
    }

    unsafe fn end_graph(&self, graph: Graph) {
        // SAFETY: the caller promises the graph.
        unsafe { (self.exports.sim_graph_destroy)(graph.graph) };
    }

    fn findings(&self) -> Option<String> {
        // SAFETY: the text lives until the next reset, and is copied before it.
        unsafe {
            let text = owned((self.exports.sim_report)());
            if text.is_some() {
                (self.exports.sim_reset)();
            }
            text
        }
    }
}
