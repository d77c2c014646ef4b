//! The table of README.md: what each backend is compiled for and where it was validated.

use std::path::Path;

use contract::{Backend, Manifest};

/// The table's lines. A GPU is named only where the evidence is intact and current.
pub fn render(root: &Path) -> String {
    let report = contract::check(root);
    let mut text = String::from(
        "| backend | status | compiled for | bytes checked on | driver | toolkit |\n|---|---|---|---|---|---|\n",
    );
    for backend in &report.backends {
        if let Some(manifest) = backend.manifest() {
            text.push_str(&row(backend, manifest));
        }
    }
    text
}

fn row(backend: &Backend, manifest: &Manifest) -> String {
    let current = backend
        .evidence
        .iter()
        .filter(|evidence| evidence.worst.is_none());
    let mut gpus: Vec<&str> = current
        .filter_map(|evidence| evidence.gpu.as_deref())
        .collect();
    gpus.sort_unstable();
    gpus.dedup();
    let gpus = if gpus.is_empty() {
        "no GPU yet".to_owned()
    } else {
        gpus.join(", ")
    };
    let build = &manifest.build;
    let archs: Vec<String> = build
        .architectures
        .iter()
        .map(|arch| format!("sm_{arch}"))
        .collect();
    format!(
        "| [{name}](crates/{name}) | {} | {} | {gpus} | {}+ | {}+ |\n",
        manifest.status,
        archs.join(" "),
        build.min_driver,
        build.min_toolkit,
        name = manifest.name,
    )
}
