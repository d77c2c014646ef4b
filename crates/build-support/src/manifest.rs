//! What a build needs of `<name>.backend.json`. The whole schema and its rules belong to the
//! contract; here unknown keys are left alone, so that a new one does not break a build.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::arch::{self, Arch};
use crate::error::Error;

/// A kernel crate's manifest, as far as building goes.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// The crate's name, which is its folder's.
    pub name: String,
    /// The number that a loaded library must answer, and that its SONAME ends in.
    pub abi_version: u32,
    /// What every exported function begins with, without the underscore.
    pub prefix: String,
    /// The library is `lib<library>.so`; the `links` key of the crate names it too.
    pub library: String,
    /// The C header, relative to the crate.
    pub header: String,
    /// Every `.cu` and `.cuh` file, relative to the crate; each `.cu` is a translation unit.
    pub sources: Vec<String>,
    /// Raised when a tree or a polynomial, and with it the bytes of a result, changes.
    pub numerics_version: u32,
    /// How it is compiled.
    pub build: BuildSection,
    /// The operations.
    #[serde(default)]
    pub entry_points: Vec<EntryPoint>,
}

/// The manifest's `build` object.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildSection {
    /// Every architecture that `xtask compile` builds for.
    pub architectures: Vec<String>,
    /// The one that a quick build is for.
    pub default_arch: String,
    /// The oldest nvcc that compiles the sources, as `12.9`.
    #[serde(default)]
    pub min_toolkit: Option<String>,
    /// Flags of single translation units, behind the common ones.
    #[serde(default)]
    pub flags: BTreeMap<String, Vec<String>>,
}

/// One entry of `entry_points`.
#[derive(Clone, Debug, Deserialize)]
pub struct EntryPoint {
    /// The exported function.
    pub name: String,
}

impl Manifest {
    /// Reads the manifest of the crate in `crate_dir`: `<folder name>.backend.json`.
    pub fn of_crate(crate_dir: &Path, name: &str) -> Result<Manifest, Error> {
        Manifest::read(&crate_dir.join(format!("{name}.backend.json")))
    }

    /// Reads a manifest.
    pub fn read(path: &Path) -> Result<Manifest, Error> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
        for name in manifest.build.flags.keys() {
            if !manifest.units().any(|unit| unit == name) {
                return Err(Error::input(format!(
                    "{}: build.flags names {name:?}, which is no .cu file of sources",
                    path.display()
                )));
            }
        }
        Ok(manifest)
    }

    /// The translation units, in the manifest's order.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        self.sources
            .iter()
            .map(String::as_str)
            .filter(|source| source.ends_with(".cu"))
    }

    /// `SCORING` of `SCORING_CUDA_ARCHS` and `SCORING_LIB_DIR`.
    pub fn variable_prefix(&self) -> String {
        self.name.to_ascii_uppercase().replace('-', "_")
    }

    /// Every architecture of the manifest.
    pub fn architectures(&self) -> Result<Vec<Arch>, Error> {
        arch::parse_list(&self.build.architectures)
    }

    /// What a crate that depends on this one compiles when nobody says otherwise: Ampere and
    /// Hopper as far as the manifest has them. Whoever wants more names it, and the PTX of both
    /// ends lets other GPUs run.
    pub fn dependent_architectures(&self) -> Result<Vec<Arch>, Error> {
        let short: Vec<Arch> = self
            .architectures()?
            .into_iter()
            .filter(|arch| arch.suffix.is_none() && matches!(arch.number, 80 | 90))
            .collect();
        if short.is_empty() {
            Ok(vec![self.build.default_arch.parse()?])
        } else {
            Ok(short)
        }
    }
}
