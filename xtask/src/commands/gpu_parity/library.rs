//! The library that is run: the one that `compile` makes of the tree as it is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use build_support::BuildInfo;
use contract::evidence::Expected;
use parity::Library;

use crate::output::{Failure, Output};
use crate::suite::Target;

/// The backend's library, compiled first where it is missing or was made of other sources. A
/// bundle has no sources to compile, and runs what it has.
pub fn fresh(root: &Path, target: &Target, out: &Output) -> anyhow::Result<PathBuf> {
    let path = target.library(root);
    let can_compile = root.join("xtask/Cargo.toml").is_file();
    if can_compile && !is_current(root, target, &path) {
        let name = target.backend.name;
        out.log(format_args!(
            "{name}: {} is not of this tree; compiling it",
            path.display()
        ));
        compile(root, name)?;
        anyhow::ensure!(
            is_current(root, target, &path),
            "{name}: compile left no current library"
        );
    }
    if !path.is_file() {
        let message = format!("{} is not there", path.display());
        return Err(Failure::Environment(message).into());
    }
    Ok(path)
}

/// `compile` in a process of its own: its document must not stand before this command's.
fn compile(root: &Path, name: &str) -> anyhow::Result<()> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--format", "json", "compile", "--backend", name])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let findings = document["findings"].as_array().cloned().unwrap_or_default();
    let first = findings
        .iter()
        .find_map(|finding| finding["message"].as_str());
    anyhow::bail!("compile failed: {}", first.unwrap_or("it said nothing"))
}

/// What the library says of itself.
pub fn build_info(library: &Library, prefix: &str) -> anyhow::Result<BuildInfo> {
    let text = library.build_info(prefix)?.unwrap_or_default();
    Ok(serde_json::from_str(&text)?)
}

/// Whether the library was made of the tree's sources with the tree's flags.
fn is_current(root: &Path, target: &Target, path: &Path) -> bool {
    let info = Library::open(path)
        .ok()
        .and_then(|library| build_info(&library, &target.manifest.prefix).ok());
    let expected = Expected::of(root, &target.dir, &target.manifest);
    match (info, expected) {
        (Some(info), Ok(expected)) => {
            info.sources == expected.sources
                && info.flags == expected.flags
                && info.file_flags == expected.file_flags
        }
        _ => false,
    }
}
