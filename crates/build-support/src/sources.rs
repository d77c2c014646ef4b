//! Digests of everything that a library is compiled from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::Manifest;
use crate::{Error, closure, digest};

/// Where a crate's headers and the shared ones lie, seen from a file that includes them.
pub(crate) fn include_dirs(crate_dir: &Path, shared: &Path) -> [PathBuf; 3] {
    [
        crate_dir.join("include"),
        crate_dir.join("cuda"),
        shared.to_owned(),
    ]
}

/// The manifest's sources, its header, and every file of the crate or of `shared` that they include.
pub(crate) fn files(
    crate_dir: &Path,
    manifest: &Manifest,
    shared: &Path,
) -> Result<Vec<PathBuf>, Error> {
    let roots: Vec<PathBuf> = manifest
        .sources
        .iter()
        .chain(std::iter::once(&manifest.header))
        .map(|source| crate_dir.join(source))
        .collect();
    closure::scan(&roots, &include_dirs(crate_dir, shared))
        .map_err(|e| Error::input(format!("{}: {e}", manifest.name)))
}

/// The digest of the manifest's sources, of its header and of every file of the crate or of
/// `shared` (the directory that makes `<ck/...>` resolve) that they include.
///
/// The keys are paths from the repository's root wherever the two directories lie: a dependent
/// that builds the published crate gets the keys and the digests that the repository has.
pub fn digests(
    crate_dir: &Path,
    manifest: &Manifest,
    shared: &Path,
) -> Result<BTreeMap<String, String>, Error> {
    let files = files(crate_dir, manifest, shared)?;
    let own = format!("crates/{}", manifest.name);
    let homes = [
        (crate_dir, own.as_str()),
        (shared, "crates/build-support/include"),
    ];
    let mut digests = BTreeMap::new();
    for file in files {
        let key = homes
            .iter()
            .find_map(|(dir, home)| Some((file.strip_prefix(dir).ok()?, home)))
            .map(|(rest, home)| format!("{home}/{}", rest.display()))
            .ok_or_else(|| {
                Error::input(format!(
                    "{}: {} is included and belongs neither to the crate nor to build-support",
                    manifest.name,
                    file.display()
                ))
            })?;
        let digest = digest::file(&file).map_err(|e| Error::io("read", &file, &e))?;
        digests.insert(key, digest);
    }
    Ok(digests)
}
