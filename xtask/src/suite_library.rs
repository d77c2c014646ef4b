//! Libraries of the suite itself, which no backend's manifest names. They are compiled as the
//! backends' are, and laid out beside them.

use std::path::{Path, PathBuf};

use build_support::{Jobs, Manifest, arch, nvcc};

use crate::output::{Failure, Output};
use crate::toolkit;

/// One of them.
pub struct SuiteLibrary {
    name: &'static str,
    /// Where `library.json` and the sources lie.
    dir: &'static str,
}

/// The kernels that the harness must fail.
pub const KNOWN_BAD: SuiteLibrary = SuiteLibrary {
    name: "known_bad",
    dir: "crates/parity/known_bad",
};

/// The kernels that measure what a GPU can do at best.
pub const FLOORS: SuiteLibrary = SuiteLibrary {
    name: "floors",
    dir: "crates/bench-kit/cuda",
};

/// CUB's kernels, which benches time as replaced designs.
pub const CUB: SuiteLibrary = SuiteLibrary {
    name: "cub",
    dir: "crates/bench-kit/cub",
};

impl SuiteLibrary {
    /// Where it is; compiled first where the tree has its source. A bundle runs what it has.
    pub fn path(&self, root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
        if root.join(self.dir).join("library.json").is_file()
            && root.join("xtask/Cargo.toml").is_file()
        {
            return self.compile(root, out);
        }
        let path = self.dist(root);
        if !path.is_file() {
            let message = format!("{} is not there", path.display());
            return Err(Failure::Environment(message).into());
        }
        Ok(path)
    }

    /// Compiles it. Does nothing when nothing changed.
    pub fn compile(&self, root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
        let dir = root.join(self.dir);
        let manifest = Manifest::read(&dir.join("library.json"))?;
        let toolkit = toolkit::compiler(root, manifest.build.min_toolkit.as_deref(), out)?;
        let archs = arch::parse_list(&manifest.build.architectures)?;
        let built = nvcc::build(&nvcc::Request {
            crate_dir: &dir,
            manifest: &manifest,
            shared_include: &root.join("crates/build-support/include"),
            toolkit: &toolkit,
            archs: &archs,
            out_dir: &root.join("target/kernels").join(self.name),
            shared_library: true,
            warnings_are_errors: true,
            target_arch: std::env::consts::ARCH,
            jobs: &Jobs::of_machine(),
            observer: &|_, _| {},
        })?;
        let library = built
            .shared_library
            .ok_or_else(|| anyhow::anyhow!("no library was linked"))?;
        let path = self.dist(root);
        if built.changed || !path.is_file() {
            std::fs::create_dir_all(path.parent().unwrap_or(root))?;
            // Not written over: a process may have the old library loaded.
            let _ = std::fs::remove_file(&path);
            std::fs::copy(library, &path)?;
        }
        Ok(path)
    }

    fn dist(&self, root: &Path) -> PathBuf {
        let dist = root.join("target/dist").join(self.name);
        dist.join(format!("lib{}.so", self.name))
    }
}

/// Where a bundle has the simulator's form of a kernel library, in its root.
pub fn simulated(library_file: &str) -> PathBuf {
    let stem = library_file
        .trim_start_matches("lib")
        .trim_end_matches(".so");
    Path::new("target/sim")
        .join(stem)
        .join(simulator::Flavor::Plain.name())
        .join(format!("lib{stem}_sim.so"))
}
