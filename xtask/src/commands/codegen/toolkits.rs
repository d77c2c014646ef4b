//! The toolkits that the compile workflow builds with: the oldest that a manifest claims, and the
//! one that the tool installs. What is claimed is what is built.

use std::path::Path;

use build_support::toolkit::Version;

use crate::toolkit;

/// The lines of the workflow's `toolkit` list.
pub fn render(root: &Path) -> anyhow::Result<String> {
    let report = contract::check(root);
    let manifests = report
        .backends
        .iter()
        .filter_map(|backend| backend.manifest());
    let mut oldest: Vec<Version> = manifests
        .filter_map(|manifest| Version::parse(&manifest.build.min_toolkit))
        .collect();
    oldest.sort_unstable();
    oldest.dedup();
    let pinned = toolkit::pinned_nvcc(root)?;
    let mut lines = format!("          - {{ nvcc: \"{pinned}\", image: \"\" }}\n");
    for version in oldest {
        // The images are named by a full release; the first of a minor one is what it promises.
        lines.push_str(&format!(
            "          - {{ nvcc: \"{}.{}\", image: \"nvidia/cuda:{version}-devel-ubuntu22.04\" }}\n",
            version.major, version.minor
        ));
    }
    Ok(lines)
}
