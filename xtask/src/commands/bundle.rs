//! `bundle`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use contract::{Finding, Severity};
use serde_json::json;
use simulator::Flavor;

use crate::commands::compile::Work;
use crate::output::{Document, Exit, Failure, Output};
use crate::suite_library::{CUB, FLOORS, KNOWN_BAD, simulated};
use crate::workspace;

/// Pack one folder that runs gpu-parity and bench on a GPU host with no Rust and no nvcc.
#[derive(clap::Args)]
pub struct Args {
    /// Where to; default: .bundle in the workspace.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only these architectures, e.g. 90: a smaller bundle sooner; default: the manifests'.
    #[arg(long, value_name = "ARCH", num_args = 1..)]
    pub arch: Vec<String>,
}

/// What may be carried to a GPU host in one go.
const MOST_BYTES: u64 = 60 << 20;

/// Folders of the tree that the commands read: manifests, the sources that digests are made of,
/// what the cases read, and the evidence and results so far.
const TREE: [&str; 4] = ["crates", "ci", "contract/schema", "docs"];

const RUN: &str = r#"#!/bin/sh
# Runs a command of this bundle; without arguments the parity suite, then the benchmarks.
# Results land below docs/, where the workspace keeps them.
set -eu
cd "$(dirname "$0")"
if [ "$#" -gt 0 ]; then
  exec ./xtask "$@"
fi
./xtask gpu-parity --require-gpu
./xtask bench
"#;

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    if !root.join("xtask/Cargo.toml").is_file() {
        let message = "a bundle is made from the workspace, and this directory is not one";
        return Err(Failure::Environment(message.into()).into());
    }
    let bundle = args.out.clone().unwrap_or_else(|| root.join(".bundle"));
    let work = Work::plan(&root, None, &args.arch, out)?;

    let mut files = Vec::new();
    for (target, result) in work.targets.iter().zip(work.compile(out)) {
        let compiled = result?;
        files.push((compiled.shared_library(target), dist(&target.manifest.name)));
    }
    for library in [&KNOWN_BAD, &FLOORS, &CUB] {
        let path = library.path(&root, out)?;
        let stem = path
            .parent()
            .and_then(Path::file_name)
            .context("a library lies in a folder")?;
        files.push((path.clone(), dist(&stem.to_string_lossy())));
    }
    files.push((release_binary(&root, out)?, PathBuf::new()));
    let scratch = root.join("target/tmp/bundle");
    for target in &work.targets {
        match simulator::build(&target.crate_dir, Flavor::Plain) {
            Ok(library) => {
                let place = simulated(&target.manifest.library_file());
                let dir = place.parent().unwrap_or(Path::new("")).to_owned();
                files.push((without_symbols(&library, &scratch.join(&dir))?, dir));
            }
            Err(error) => out.log(format_args!("without the simulator: {error}")),
        }
    }
    for file in tree_files(&root)? {
        let dir = file.parent().unwrap_or(Path::new("")).to_owned();
        files.push((root.join(&file), dir));
    }

    // The old one goes only now that everything for the new one is there.
    if bundle.exists() {
        anyhow::ensure!(
            bundle.join("run.sh").is_file() || fs::read_dir(&bundle)?.next().is_none(),
            "{} is there and is no bundle; remove it or name another folder",
            bundle.display()
        );
        fs::remove_dir_all(&bundle)
            .with_context(|| format!("cannot remove {}", bundle.display()))?;
    }
    let mut bytes = 0;
    for (from, dir) in &files {
        let dir = bundle.join(dir);
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let to = dir.join(from.file_name().context("a file has a name")?);
        bytes += fs::copy(from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    write_script(&bundle.join("run.sh"))?;

    let mut findings = Vec::new();
    if bytes > MOST_BYTES {
        let message = format!("holds {bytes} bytes, must hold at most {MOST_BYTES}");
        let path = bundle.display().to_string();
        findings.push(Finding::new(
            Severity::Error,
            "bundle-size",
            path,
            "",
            message,
        ));
    }
    let megabytes = bytes as f64 / f64::from(1 << 20);
    out.say(format_args!(
        "{}: {} files, {megabytes:.1} MiB; run.sh there runs gpu-parity and bench",
        bundle.display(),
        files.len() + 1,
    ));
    let mut document = Document::new(Vec::new(), findings);
    document.more.insert("bundle".into(), json!(bundle));
    document.more.insert("bytes".into(), json!(bytes));
    Ok(out.finish(&document))
}

fn dist(name: &str) -> PathBuf {
    Path::new("target/dist").join(name)
}

/// This program in the release profile, without symbols.
fn release_binary(root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
    out.log("building xtask in the release profile");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args([
            "build",
            "--release",
            "--package",
            "xtask",
            "--message-format=json",
        ])
        .current_dir(root)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("{} does not run", Path::new(&cargo).display()))?;
    anyhow::ensure!(
        output.status.success(),
        "xtask does not build in the release profile"
    );
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "xtask")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.context("cargo named no executable")
}

/// A copy without debug information, which is most of a simulated library; the library itself where
/// this machine has no strip.
fn without_symbols(library: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let copy = dir.join(library.file_name().context("a file has a name")?);
    let stripped = Command::new("strip")
        .arg("--strip-debug")
        .arg("-o")
        .args([&copy, library])
        .status();
    Ok(match stripped {
        Ok(status) if status.success() => copy,
        _ => library.to_owned(),
    })
}

/// The files of the tree, as git knows them: build output stays behind.
fn tree_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
        ])
        .args(TREE)
        .current_dir(root)
        .output();
    let output = output.map_err(|e| {
        Failure::Environment(format!("git, which lists the tree, does not run: {e}"))
    })?;
    anyhow::ensure!(
        output.status.success(),
        "git does not list the tree: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut files: Vec<PathBuf> = listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        // A file that is deleted and still in the index is listed.
        .filter(|file| root.join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

fn write_script(path: &Path) -> anyhow::Result<()> {
    fs::write(path, RUN).with_context(|| format!("cannot write {}", path.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
