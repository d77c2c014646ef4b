//! The programs that commands need and a fresh machine lacks: the CUDA compiler, the readers of
//! machine code, libclang, clang-format.
//!
//! What the machine has wins for the compiler. The rest, and the compiler where there is none, is
//! installed with pip into `target/`, at the versions and hashes of `ci/toolkit.lock`, and it says
//! so. Whatever cannot be had is one sentence and exit code 4, before any work starts.

mod wheels;

use std::path::{Path, PathBuf};

use build_support::Toolkit;
use build_support::toolkit::Version;

use crate::output::{Failure, Output};
use wheels::Section;

/// A version of nvcc whose resource use the locks record: the one that the wheels hold.
pub fn pinned_nvcc(root: &Path) -> anyhow::Result<String> {
    wheels::version_of(root, Section::Compiler, "nvidia-cuda-nvcc")
}

/// The CUDA compiler: this machine's, else the wheels'.
///
/// One that is older than `oldest` counts as none, unless `NVCC` names it.
pub fn compiler(root: &Path, oldest: Option<&str>, out: &Output) -> anyhow::Result<Toolkit> {
    let named = std::env::var_os("NVCC").is_some_and(|nvcc| !nvcc.is_empty());
    match Toolkit::find() {
        Ok(toolkit) => {
            if let Some(warning) = &toolkit.warning {
                out.log(format_args!(
                    "warning: {warning}; using {}",
                    toolkit.nvcc.display()
                ));
            }
            let too_old = oldest
                .and_then(Version::parse)
                .is_some_and(|v| toolkit.version < v);
            if !too_old || named {
                return Ok(toolkit);
            }
            let (nvcc, version) = (toolkit.nvcc.display(), toolkit.version);
            out.log(format_args!(
                "{nvcc} is version {version}, older than the kernels need"
            ));
        }
        Err(error) if named => return Err(Failure::Environment(error.message).into()),
        Err(_) => {}
    }
    let home = wheels::install(root, Section::Compiler, out)?;
    Ok(Toolkit::at(&home.join("nvidia/cu13/bin/nvcc"))
        .map_err(|e| Failure::Environment(e.message))?)
}

/// cuobjdump and nvdisasm: those beside `toolkit`'s nvcc, else the wheels'.
pub fn inspector(root: &Path, toolkit: &Toolkit, out: &Output) -> anyhow::Result<Inspector> {
    let beside = toolkit
        .roots()
        .into_iter()
        .map(|root| Inspector::in_dir(&root.join("bin")));
    if let Some(found) = beside.flatten().next() {
        return Ok(found);
    }
    let bin = wheels::install(root, Section::Inspector, out)?.join("nvidia/cu13/bin");
    Inspector::in_dir(&bin).ok_or_else(|| {
        Failure::Environment(format!("{} holds no cuobjdump and nvdisasm", bin.display())).into()
    })
}

/// The readers of machine code.
#[derive(Clone, Debug)]
pub struct Inspector {
    /// Lists and extracts what a library holds.
    pub cuobjdump: PathBuf,
}

impl Inspector {
    fn in_dir(bin: &Path) -> Option<Inspector> {
        // cuobjdump calls nvdisasm, so one without the other is of no use.
        let [cuobjdump, nvdisasm] = ["cuobjdump", "nvdisasm"].map(|name| bin.join(name));
        (cuobjdump.is_file() && nvdisasm.is_file()).then_some(Inspector { cuobjdump })
    }
}

/// The directory of `libclang.so`: `LIBCLANG_PATH`, else the wheel's.
#[cfg_attr(
    not(feature = "bindgen"),
    allow(dead_code, reason = "codegen alone calls it")
)]
pub fn libclang(root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
    match std::env::var_os("LIBCLANG_PATH").filter(|path| !path.is_empty()) {
        Some(path) => Ok(path.into()),
        None => Ok(wheels::install(root, Section::Libclang, out)?.join("clang/native")),
    }
}

/// The pinned clang-format. Never the machine's: another version formats otherwise.
pub fn clang_format(root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
    Ok(
        wheels::install(root, Section::ClangFormat, out)?
            .join("clang_format/data/bin/clang-format"),
    )
}
