//! The compile matrix: which backends a CI run builds, in the form that GitHub's `fromJSON` takes.

use serde::Serialize;

use crate::check::{Backend, Form, Report};
use crate::finding::Severity;
use crate::manifest::Status;
use crate::paths;

/// The matrix of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Matrix {
    /// Its entries, by name, directory and architecture.
    pub include: Vec<MatrixEntry>,
}

/// One job of the matrix. Every value is a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatrixEntry {
    /// The backend.
    pub name: String,
    /// Its directory, relative to the root.
    pub dir: String,
    /// The script that builds it; empty where `xtask compile` does.
    pub script: String,
    /// The library.
    pub output: String,
    /// The architecture built for by default; empty where none is declared.
    pub default_arch: String,
    /// This job's architecture. Only in this workspace's form: a script decides by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// A name for what this job makes, like no other job's. Only in this workspace's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

/// A backend that is not in the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The backend.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The matrix of a checked tree, and what was left out of it. Stale evidence does not keep a backend from being built.
pub fn matrix(root: &std::path::Path, report: &Report) -> (Matrix, Vec<Skipped>) {
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let mut matrix = Matrix::default();
    let mut skipped = Vec::new();
    for backend in &report.backends {
        match skip_reason(report, backend) {
            Some(reason) => skipped.push(Skipped {
                name: backend.name.clone(),
                reason,
            }),
            None => matrix.include.extend(entries(&root, backend)),
        }
    }
    matrix.include.sort_by(|a, b| key(a).cmp(&key(b)));
    (matrix, skipped)
}

fn key(entry: &MatrixEntry) -> (&str, &str, usize, &str) {
    // `90` comes before `100`.
    let arch = entry.arch.as_deref().unwrap_or_default();
    (
        &entry.name,
        &entry.dir,
        arch.trim_end_matches(['a', 'f']).len(),
        arch,
    )
}

fn skip_reason(report: &Report, backend: &Backend) -> Option<String> {
    let errors: Vec<_> = report
        .findings_of(backend)
        .filter(|finding| finding.path == backend.path && finding.severity == Severity::Error)
        .map(|finding| format!("[{}] {}", finding.code, finding.message))
        .collect();
    if !errors.is_empty() {
        Some(format!("its contract has errors: {}", errors.join("; ")))
    } else if backend.status == Some(Status::Planned) {
        Some("it is only planned".into())
    } else {
        None
    }
}

fn entries(root: &std::path::Path, backend: &Backend) -> Vec<MatrixEntry> {
    let dir = paths::relative(root, &backend.dir);
    match &backend.form {
        Form::Workspace(manifest) => manifest
            .build
            .architectures
            .iter()
            .map(|arch| MatrixEntry {
                name: manifest.name.clone(),
                dir: dir.clone(),
                script: String::new(),
                output: manifest.library_file(),
                default_arch: manifest.build.default_arch.clone(),
                arch: Some(arch.clone()),
                artifact: Some(format!("{}-sm_{arch}", manifest.name)),
            })
            .collect(),
        Form::Script(manifest) => vec![MatrixEntry {
            name: manifest.name.clone(),
            dir,
            script: manifest.script.clone(),
            output: manifest.output.clone(),
            default_arch: manifest
                .default_arch
                .map(|arch| arch.to_string())
                .unwrap_or_default(),
            arch: None,
            artifact: None,
        }],
        Form::Unreadable => Vec::new(),
    }
}
