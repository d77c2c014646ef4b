//! The evidence of a run: what ran, from what is baked into the library and this tool.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use contract::evidence::{self, Evidence};
use parity::{CaseReport, Class, Info, Library, Outcome, PathReport};

use super::{library, sanitizer};
use crate::backends;
use crate::clock;
use crate::suite::Target;

/// A whole run of one backend on a GPU.
pub struct Run<'a> {
    /// The backend.
    pub target: &'a Target,
    /// The library that ran.
    pub library: &'a Library,
    /// The GPU.
    pub gpu: &'a Info,
    /// Seeded the inputs.
    pub seed: u64,
    /// Every case.
    pub reports: &'a [CaseReport],
    /// The kernels that had to fail.
    pub known_bad: &'a [evidence::KnownBad],
    /// The sanitizers, if any ran.
    pub sanitizers: &'a [sanitizer::Sanitized],
}

/// Whether the path names one evidence file, not a folder for them.
pub fn is_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// Writes the evidence to the file, or into the folder as `<backend>/<gpu>.json`.
pub fn write(run: &Run<'_>, path: &Path) -> anyhow::Result<PathBuf> {
    let path = if is_file(path) {
        path.to_owned()
    } else {
        let file = format!("{}.json", evidence::file_stem(&run.gpu.name));
        path.join(run.target.backend.name).join(file)
    };
    let text = of(run)?
        .render()
        .map_err(anyhow::Error::msg)
        .context("evidence")?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

fn of(run: &Run<'_>) -> anyhow::Result<Evidence> {
    let manifest = &run.target.manifest;
    let info = library::build_info(run.library, &manifest.prefix)
        .context("the library's build information")?;
    let baked = backends::baked();
    let cases = run
        .reports
        .iter()
        .flat_map(|report| report.paths.iter().map(|path| case(report, path)));
    Ok(Evidence {
        schema_version: 1,
        backend: run.target.backend.name.to_owned(),
        class: evidence::Class::Gpu,
        abi_version: run.library.abi_version(&manifest.prefix)?,
        numerics_version: info.numerics_version,
        gpu: run.gpu.name.clone(),
        capability: format!("{}.{}", run.gpu.capability / 10, run.gpu.capability % 10),
        driver: parity::driver::release().unwrap_or_else(|| format!("CUDA {}", run.gpu.driver)),
        nvcc: info.nvcc,
        archs: info.archs,
        commit: baked.commit.clone(),
        dirty: baked.dirty,
        seed: run.seed,
        sources: info.sources,
        rust: baked.rust(run.target.backend.name),
        flags: info.flags,
        file_flags: info.file_flags,
        cases: cases.collect(),
        sanitizer: run
            .sanitizers
            .iter()
            .map(|result| (result.tool.name().to_owned(), result.record()))
            .collect(),
        known_bad: run.known_bad.to_vec(),
        bench: Vec::new(),
        generated_at: clock::now(),
        body_sha256: String::new(),
    })
}

fn case(report: &CaseReport, path: &PathReport) -> evidence::Case {
    // A bounded comparison's error is a fraction of its derived bound; an exact one's is in ulp.
    let (worst_error, tolerance) = match report.class {
        Class::Exact => (path.worst.ulp as f64, 0.0),
        Class::Tolerance | Class::Fast => (path.worst.of_bound, 1.0),
    };
    evidence::Case {
        id: report.id.clone(),
        path: path.path.clone(),
        status: match path.outcome {
            Outcome::Pass => evidence::Outcome::Pass,
            Outcome::Fail => evidence::Outcome::Fail,
            Outcome::CouldNotCheck => evidence::Outcome::CouldNotCheck,
        },
        // Infinity has no place in JSON, and a failed case is no better for its size.
        worst_error: if worst_error.is_finite() {
            worst_error
        } else {
            f64::MAX
        },
        tolerance,
        outputs_compared: path.worst.elements,
    }
}
