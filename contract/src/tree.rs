//! The files of a tree that the checks look at.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::code::Code;
use crate::finding::Finding;
use crate::paths;

/// Ends the name of every manifest.
pub(crate) const SUFFIX: &str = ".backend.json";

/// Directories of the suite: their kernels belong to no backend.
const SUITE: [&str; 4] = [
    "crates/bench-kit",
    "crates/build-support",
    "crates/parity",
    "crates/simulator",
];

/// Whether `dir` belongs to the suite.
pub(crate) fn in_suite(root: &Path, dir: &Path) -> bool {
    SUITE.iter().any(|suite| dir.starts_with(root.join(suite)))
}

/// What lies below a root.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Manifests, sorted.
    pub manifests: Vec<PathBuf>,
    /// Kernel sources (.cu, .cuh) by directory, sorted.
    pub kernels: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Directories that could not be listed.
    pub findings: Vec<Finding>,
}

impl Tree {
    /// Walks `root`. Hidden directories and build output are no part of a tree, and a link is not followed, since it
    /// may lead back.
    pub fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.walk(root, root);
        tree.manifests.sort();
        tree
    }

    fn walk(&mut self, root: &Path, dir: &Path) {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("cannot be listed: {error}");
                let path = paths::relative(root, dir);
                self.findings
                    .push(Code::TreeUnreadable.at(path, "", message));
                return;
            }
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    self.walk(root, &path);
                }
            } else if name.ends_with(SUFFIX) && name.len() > SUFFIX.len() {
                // The suite's own tests may hold manifests; they are no backends.
                if !in_suite(root, dir) {
                    self.manifests.push(path);
                }
            } else if name.ends_with(".cu") || name.ends_with(".cuh") {
                self.kernels.entry(dir.to_owned()).or_default().push(path);
            }
        }
    }
}
