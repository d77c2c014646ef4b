//! The test kernels as a simulator library, and the calls that every test makes.
#![allow(dead_code)] // each test file uses a part

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use simulator::{Flavor, Library};

/// Thread orders, as `sim_set_order` numbers them.
pub const ORDERS: [(c_int, u64); 5] = [(0, 0), (1, 0), (2, 1), (2, 2), (3, 0)];

/// One loaded simulator library with a stream.
pub struct Simulator {
    library: libloading::Library,
    path: PathBuf,
    pub stream: *mut c_void,
    _only: MutexGuard<'static, ()>,
}

/// While a launch runs, faults of the process are the launch's: one library at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn sources() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .collect();
    sources.sort();
    sources
}

/// Every mutant of the test kernels.
pub fn all_mutants() -> Vec<String> {
    simulator::mutants(&sources()).unwrap()
}

pub fn library_path(flavor: Flavor) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = Library {
        name: "sim_kernels".to_owned(),
        prefix: "simk".to_owned(),
        units: sources(),
        sources: sources(),
        include_dirs: vec![],
        root: manifest.ancestors().nth(2).unwrap().to_owned(),
        build_info: None,
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sim/kernels");
    simulator::build_library(&library, flavor, &directory).unwrap_or_else(|e| panic!("{e}"))
}

impl Simulator {
    /// A library of its own for the caller: settings and findings are a library's, not a thread's.
    pub fn load(flavor: Flavor) -> Simulator {
        let only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let path = library_path(flavor);
        // The loader answers one file once; a copy is another library.
        let own = path.with_file_name(format!(
            "{}-{:?}.so",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::copy(&path, &own).unwrap();
        // SAFETY: the library's initialisers are the C++ runtime's own and have no preconditions.
        let library = unsafe { libloading::Library::new(&own) }.unwrap();
        let mut simulator = Simulator {
            library,
            path: own,
            stream: std::ptr::null_mut(),
            _only: only,
        };
        let create: unsafe extern "C" fn() -> *mut c_void = simulator.symbol("sim_stream_create");
        // SAFETY: takes nothing, answers a new stream.
        simulator.stream = unsafe { create() };
        simulator
    }

    /// A function of the library; the caller names its type.
    pub fn symbol<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the type is the one that the source beside the test declares.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.unwrap()
    }

    pub fn order(&self, order: (c_int, u64)) {
        let set: unsafe extern "C" fn(c_int, u64) = self.symbol("sim_set_order");
        // SAFETY: any values are allowed.
        unsafe { set(order.0, order.1) }
    }

    pub fn mutant(&self, name: Option<&str>) -> c_int {
        let set: unsafe extern "C" fn(*const c_char) -> c_int = self.symbol("sim_set_mutant");
        let name = name.map(|name| CString::new(name).unwrap());
        // SAFETY: null or a string that lives through the call.
        unsafe { set(name.as_ref().map_or(std::ptr::null(), |n| n.as_ptr())) }
    }

    pub fn device(&self, major: c_int, minor: c_int, sms: c_int) {
        let set: unsafe extern "C" fn(c_int, c_int, c_int) = self.symbol("sim_set_device");
        // SAFETY: any values are allowed.
        unsafe { set(major, minor, sms) }
    }

    /// Registers a buffer that kernels only read.
    pub fn input<T>(&self, buffer: &[T]) {
        self.register(buffer.as_ptr().cast(), std::mem::size_of_val(buffer), 1);
    }

    /// Registers a buffer whose contents are not there yet.
    pub fn output<T>(&self, buffer: &mut [T]) {
        self.register(buffer.as_mut_ptr().cast(), std::mem::size_of_val(buffer), 2);
    }

    /// Registers a buffer that is read and written.
    pub fn in_out<T>(&self, buffer: &mut [T]) {
        self.register(buffer.as_mut_ptr().cast(), std::mem::size_of_val(buffer), 3);
    }

    fn register(&self, p: *const c_void, bytes: usize, flags: c_int) {
        let register: unsafe extern "C" fn(*const c_void, usize, c_int) =
            self.symbol("sim_register");
        // SAFETY: the buffer outlives the runs of the test.
        unsafe { register(p, bytes, flags) }
    }

    /// Forgets every buffer: their memory is about to be freed.
    pub fn unregister_all(&self) {
        let unregister: unsafe extern "C" fn(*const c_void) = self.symbol("sim_unregister");
        // SAFETY: null means all.
        unsafe { unregister(std::ptr::null()) }
    }

    /// Findings so far, forgotten afterwards.
    pub fn take_report(&self) -> Option<String> {
        let report: unsafe extern "C" fn() -> *const c_char = self.symbol("sim_report");
        let reset: unsafe extern "C" fn() = self.symbol("sim_reset");
        // SAFETY: the text is copied before anything else is called.
        unsafe {
            let text = report();
            let text =
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            reset();
            text
        }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // A copy that cannot be removed lies in the build's own temporary directory.
        let _ = std::fs::remove_file(&self.path);
    }
}
