//! Bakes in what a GPU run's evidence must say of the Rust side: the digest of every Rust file that
//! the linked oracles and cases were compiled from, and the commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.parent().expect("xtask lies in the workspace");
    let crates = root.join("crates");
    watch(&crates.join("parity/src"));
    watch(&crates.join("exact-math/src"));
    let mut backends = BTreeMap::new();
    for dir in folders(&crates) {
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !dir.join(format!("{name}.backend.json")).is_file() {
            continue;
        }
        watch(&dir.join("src"));
        let digests = build_support::suite::rust_digests(root, &dir);
        backends.insert(name, digests.unwrap_or_else(|error| panic!("{error}")));
    }
    let (commit, dirty) = commit(root);
    let baked = serde_json::json!({ "commit": commit, "dirty": dirty, "rust": backends });
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("baked.json"), baked.to_string()).expect("OUT_DIR is writable");
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

/// The commit that the tree is at, and whether tracked files differ from it.
fn commit(root: &Path) -> (String, bool) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The commit moves when HEAD does, or the branch that it names.
    for name in ["HEAD", "packed-refs"]
        .map(str::to_owned)
        .into_iter()
        .chain(git(&["symbolic-ref", "HEAD"]))
    {
        if let Some(file) = git(&["rev-parse", "--git-path", &name]) {
            let file = root.join(file);
            if file.is_file() {
                watch(&file);
            }
        }
    }
    match git(&["rev-parse", "HEAD"]) {
        Some(commit) => {
            let changes = git(&["status", "--porcelain", "--untracked-files=no"]);
            (commit, changes.is_none_or(|changes| !changes.is_empty()))
        }
        None => ("unknown".to_owned(), true),
    }
}
