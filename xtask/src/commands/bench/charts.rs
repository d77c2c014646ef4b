//! Charts of results that are there. The charting crate is compiled for this alone: a tool that was
//! built without it runs one that has it.

use std::path::Path;

use crate::output::{Exit, Output};

/// Draws the chart of every result file below `benchmarks`, or of one backend's.
#[cfg(feature = "charts")]
pub fn draw_all(
    _root: &Path,
    benchmarks: &Path,
    backend: Option<&str>,
    out: &Output,
) -> anyhow::Result<Exit> {
    use bench_kit::results::{self, Results};

    for path in results::files(benchmarks)? {
        let wanted = |name: &str| path.file_stem().is_some_and(|stem| stem == name);
        if backend.is_none_or(wanted)
            && bench_kit::chart::write_beside(&Results::read(&path)?, &path)?
        {
            out.log(format_args!("{}", path.with_extension("svg").display()));
        }
    }
    Ok(Exit::Ok)
}

/// Has them drawn by a tool that can. Where none can be built, as in a bundle, says so: the results
/// are there, and charts can be drawn of them anywhere.
#[cfg(not(feature = "charts"))]
pub fn draw_all(
    root: &Path,
    benchmarks: &Path,
    backend: Option<&str>,
    out: &Output,
) -> anyhow::Result<Exit> {
    use std::process::{Command, Stdio};

    use anyhow::Context;
    use bench_kit::results;

    if results::files(benchmarks)?.is_empty() {
        out.log(format_args!("no results below {}", benchmarks.display()));
        return Ok(Exit::Ok);
    }
    if !root.join("xtask/Cargo.toml").is_file() {
        out.log("no charts here: `cargo xtask bench --charts-only` draws them in the workspace");
        return Ok(Exit::Ok);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "run",
            "--quiet",
            "--package",
            "xtask",
            "--features",
            "charts",
            "--",
        ])
        .args(["bench", "--charts-only", "--out"])
        .arg(std::path::absolute(benchmarks)?)
        .current_dir(root)
        // stdout may belong to a document.
        .stdout(Stdio::null());
    if let Some(name) = backend {
        command.args(["--backend", name]);
    }
    let status = command
        .status()
        .context("cargo cannot be run to draw the charts")?;
    anyhow::ensure!(status.success(), "the charts could not be drawn");
    Ok(Exit::Ok)
}
