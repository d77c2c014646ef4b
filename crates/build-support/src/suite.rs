//! Digests of the Rust files that a parity run depends on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Error, digest};

/// Crates that every backend's parity run goes through, besides its own.
const SHARED: [&str; 2] = ["crates/exact-math", "crates/parity"];

/// The digest of every Rust file of the backend's crate (wrapper, oracle, cases), of the parity kit
/// and of the exact math, by path from `root`.
///
/// Evidence holds what was baked into the program that ran; a check compares it with the tree's.
pub fn rust_digests(root: &Path, crate_dir: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut digests = BTreeMap::new();
    let shared = SHARED.iter().map(|shared| root.join(shared));
    for dir in shared.chain([crate_dir.to_owned()]) {
        for file in rust_files(&dir.join("src"))? {
            let key = file.strip_prefix(root).map_err(|_| {
                Error::input(format!(
                    "{} is not below {}",
                    file.display(),
                    root.display()
                ))
            })?;
            let key: Vec<_> = key.iter().map(|part| part.to_string_lossy()).collect();
            let digest = digest::file(&file).map_err(|e| Error::io("read", &file, &e))?;
            digests.insert(key.join("/"), digest);
        }
    }
    Ok(digests)
}

/// Every .rs file below `dir`; none where `dir` is not there.
fn rust_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    if !dir.is_dir() {
        return Ok(files);
    }
    let entries = std::fs::read_dir(dir).map_err(|e| Error::io("list", dir, &e))?;
    for entry in entries {
        let path = entry.map_err(|e| Error::io("list", dir, &e))?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_crate_and_the_suite_are_digested_and_tests_are_not() {
        let root = std::env::temp_dir().join(format!("suite-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for file in [
            "crates/a/src/lib.rs",
            "crates/a/src/deep/cases.rs",
            "crates/a/tests/t.rs",
            "crates/b/src/lib.rs",
            "crates/parity/src/lib.rs",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "fn f() {}").unwrap();
        }
        let digests = rust_digests(&root, &root.join("crates/a")).unwrap();
        let _ = fs::remove_dir_all(&root);
        let files: Vec<_> = digests.keys().map(String::as_str).collect();
        assert_eq!(
            files,
            [
                "crates/a/src/deep/cases.rs",
                "crates/a/src/lib.rs",
                "crates/parity/src/lib.rs"
            ]
        );
    }
}
