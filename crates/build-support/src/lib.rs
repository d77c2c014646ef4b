//! What every kernel crate's build script shares: the one nvcc command line, the search for a CUDA
//! toolkit, source digests, and the C and device headers below `include/`.
//!
//! Nothing here touches the network or a GPU. A kernel crate's `build.rs` is one call to
//! `kernel_crate`; the command line tools of the workspace call the same functions, so that both
//! make the same machine code.

pub mod closure;
pub mod digest;

use std::path::{Path, PathBuf};

/// The directory of the shared C and device headers, the one that makes `<ck/...>` resolve.
pub fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}
