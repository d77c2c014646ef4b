//! Why something could not be checked. A kernel that is wrong is not an error but a finding.

use std::path::PathBuf;

/// The result of everything here that can fail for reasons outside the kernel under test.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No driver or no device: nothing can run on a GPU here.
    #[error(transparent)]
    NoDevice(launch::Error),
    /// The driver refused a call.
    #[error("{call}: {message} (CUDA error {code})")]
    Driver {
        /// The driver function.
        call: &'static str,
        /// Its CUresult.
        code: i32,
        /// The driver's text for it.
        message: String,
    },
    /// The simulator's runtime refused a call.
    #[error("simulator: {call}: {message}")]
    Simulator {
        /// The exported function.
        call: &'static str,
        /// What it answered.
        message: String,
    },
    /// A library does not load.
    #[error("{}: the library does not load: {message}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The loader's text.
        message: String,
    },
    /// A library lacks a symbol.
    #[error("{}: the library does not export `{symbol}`", path.display())]
    Symbol {
        /// The file.
        path: PathBuf,
        /// The missing symbol.
        symbol: String,
    },
    /// A case contradicts itself: a defect of the suite, not of a kernel.
    #[error("case {case}: {message}")]
    Case {
        /// The case's id.
        case: String,
        /// What is wrong with it.
        message: String,
    },
}
