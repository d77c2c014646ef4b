//! What every kernel crate's build script shares: the one nvcc command line, the search for a CUDA
//! toolkit, source digests, and the C and device headers below `include/`.
//!
//! Nothing here touches the network or a GPU. A kernel crate's `build.rs` is one call to
//! [`kernel_crate`]; the command line tools of the workspace call [`nvcc::build`] as it does, so
//! that both make the same machine code.

pub mod arch;
mod cargo;
pub mod closure;
mod depfile;
pub mod digest;
mod error;
pub mod header;
mod info;
mod jobs;
mod link;
pub mod manifest;
pub mod nvcc;
mod process;
pub mod sources;
pub mod suite;
pub mod toolkit;

use std::path::{Path, PathBuf};

pub use arch::Arch;
pub use cargo::kernel_crate;
pub use error::{Error, Kind};
pub use info::BuildInfo;
pub use jobs::{Job, Jobs};
pub use manifest::Manifest;
pub use toolkit::Toolkit;

/// The directory of the shared C and device headers, the one that makes `<ck/...>` resolve.
pub fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}
