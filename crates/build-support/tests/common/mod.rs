//! What the tests that run a compiler share.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use build_support::Toolkit;

/// A directory of its own below the system's temporary one, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("build-support-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    #[allow(dead_code, reason = "not every test file edits")]
    pub fn append(&self, name: &str, text: &str) {
        let file = fs::OpenOptions::new().append(true).open(self.0.join(name));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A copy of the fixture crate to edit. Its manifests are kept under other names, since this
/// workspace's tools take every manifest of the tree for one of its crates.
pub fn fixture_copy(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = scratch.0.join("fixture");
    copy(&here.join("tests/fixture"), &copied);
    for name in ["Cargo.toml", "fixture.backend.json"] {
        let kept = copied.join(format!("{name}.in"));
        let text = fs::read_to_string(&kept).unwrap();
        let text = text.replace("@BUILD_SUPPORT@", here.to_str().unwrap());
        fs::write(copied.join(name), text).unwrap();
        fs::remove_file(kept).unwrap();
    }
    scratch
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// This machine's toolkit, or the one that `cargo xtask compile` installed.
pub fn toolkit() -> Option<Toolkit> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/cuda-toolkit/nvidia/cu13/bin/nvcc");
    let found = Toolkit::find().or_else(|_| Toolkit::at(&installed)).ok();
    if found.is_none() {
        eprintln!("not checked: no nvcc on this machine; `cargo xtask compile` installs one");
    }
    found
}
