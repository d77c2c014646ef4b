//! The build script of a kernel crate and `xtask compile` make the same machine code.
//!
//! Both call one function, but a build script runs under cargo: another profile, other variables,
//! another directory. So the crate is built once as a dependent would, for one architecture, and
//! the instructions of every kernel are compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use contract::Finding;
use serde_json::Value;

use super::{Compiled, Target, Work};
use crate::artifact::machine_code;

/// Compares, unless this very library was compared before.
pub fn check(work: &Work, target: &Target, compiled: &Compiled) -> anyhow::Result<Vec<Finding>> {
    let name = &target.manifest.name;
    let home = work.root.join("target/kernels").join(name);
    let build_info = compiled.library.info.to_json();
    let record = home.join("build-script.json");
    if fs::read_to_string(&record).is_ok_and(|compared| compared == build_info) {
        return Ok(Vec::new());
    }
    let default = &target.manifest.build.default_arch;
    let archs = &compiled.library.info.archs;
    let arch = archs.iter().find(|arch| *arch == default).or(archs.first());
    let Some(arch) = arch else {
        return Ok(Vec::new());
    };

    let built = match run_build_script(work, target, arch)? {
        Ok(out_dir) => out_dir.join("obj"),
        Err(message) => return Ok(vec![target.finding("compile-build-script", "", message)]),
    };
    let scratch = home.join("extracted");
    let mut findings = Vec::new();
    for unit in &compiled.library.units {
        let object = unit.object.file_name().context("an object has a name")?;
        let ours = machine_code::instructions(&work.inspector, &unit.object, arch, &scratch)?;
        let theirs =
            machine_code::instructions(&work.inspector, &built.join(object), arch, &scratch)?;
        let kernels = ours
            .keys()
            .chain(theirs.keys())
            .filter(|k| ours.get(*k) != theirs.get(*k));
        if let Some(kernel) = kernels.min() {
            let message = format!(
                "{}: the crate's build script makes other machine code for {arch} than this command, first in {kernel}",
                unit.source
            );
            findings.push(target.finding("compile-build-script", "/sources", message));
        }
    }
    if findings.is_empty() {
        fs::write(&record, build_info)
            .with_context(|| format!("cannot write {}", record.display()))?;
    }
    Ok(findings)
}

/// Builds the crate with its kernels in the dev profile, and finds its build script's OUT_DIR.
fn run_build_script(
    work: &Work,
    target: &Target,
    arch: &str,
) -> anyhow::Result<Result<PathBuf, String>> {
    let name = &target.manifest.name;
    let prefix = target.for_build.variable_prefix();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args(["check", "--quiet", "--package", name, "--features", "cuda"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(&work.root)
        // cudarc asks for the version of its bindings; which one does not reach the kernels.
        .env("CUDARC_CUDA_VERSION", "12080")
        .env("NVCC", &work.toolkit.nvcc)
        .env(format!("{prefix}_CUDA_ARCHS"), arch)
        .env_remove(format!("{prefix}_LIB_DIR"))
        .env_remove("DOCS_RS")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} does not run", Path::new(&cargo).display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Ok(Err(format!(
            "{name} does not build with the feature `cuda`: {}",
            errors.trim()
        )));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let out_dir = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "build-script-executed")
        .filter(|message| {
            // `path+file:///.../crates/scoring#0.1.0`, or `...#scoring@0.1.0`.
            let id = message["package_id"].as_str().unwrap_or_default();
            id.contains(&format!("crates/{name}#")) || id.contains(&format!("#{name}@"))
        })
        .find_map(|message| message["out_dir"].as_str().map(PathBuf::from));
    Ok(out_dir.ok_or_else(|| format!("cargo ran no build script for {name}")))
}
