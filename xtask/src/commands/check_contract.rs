//! `check-contract`.

use std::path::PathBuf;

use contract::{Backend, Form, Severity};
use serde_json::{Map, Value, json};

use crate::output::{BackendEntry, Document, Exit, Output};
use crate::workspace;

/// Check every backend manifest below a directory.
///
/// Exit code 0 also with warnings, 1 with an error, 3 where evidence is stale and nothing worse was found.
/// docs/contract.md lists the codes.
#[derive(clap::Args)]
pub struct Args {
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root_or(args.root.as_deref())?;
    let report = contract::check(&root);
    let document = Document::new(
        report.backends.iter().map(entry).collect(),
        report.findings.clone(),
    );
    let exit = out.finish(&document);
    if !out.is_json() {
        for backend in &report.backends {
            out.say(line(backend));
        }
        out.say(summary(&report));
    }
    Ok(exit)
}

/// The name of a status, also where the manifest's cannot be read.
pub fn status(backend: &Backend) -> String {
    backend
        .status
        .map_or_else(|| "unreadable".to_owned(), |status| status.to_string())
}

fn entry(backend: &Backend) -> BackendEntry {
    let form = match backend.form {
        Form::Workspace(_) => "workspace",
        Form::Script(_) => "script",
        Form::Unreadable => "unreadable",
    };
    let evidence: Vec<Value> = backend
        .evidence
        .iter()
        .map(|file| json!({"path": file.path, "gpu": file.gpu, "state": state(file.worst)}))
        .collect();
    let mut more = Map::new();
    more.insert("form".into(), form.into());
    more.insert("evidence".into(), evidence.into());
    BackendEntry {
        name: backend.name.clone(),
        status: status(backend),
        path: backend.path.clone(),
        more,
    }
}

/// What the worst finding about an evidence file makes of it.
fn state(worst: Option<Severity>) -> &'static str {
    match worst {
        Some(Severity::Error) => "error",
        Some(Severity::Stale) => "stale",
        Some(Severity::Warning) | None => "current",
    }
}

fn line(backend: &Backend) -> String {
    let mut line = format!("{}: {}", backend.name, status(backend));
    for file in &backend.evidence {
        let gpu = file.gpu.as_deref().unwrap_or(&file.path);
        line.push_str(&format!(", evidence from {gpu}: {}", state(file.worst)));
    }
    line
}

fn summary(report: &contract::Report) -> String {
    let count = |severity| {
        let findings = report.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    format!(
        "{}, {}, {} stale, {}",
        number(report.backends.len(), "backend"),
        number(count(Severity::Error), "error"),
        count(Severity::Stale),
        number(count(Severity::Warning), "warning"),
    )
}
