//! A tree in the contract's older form: each validated backend brings the program that checks it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use contract::{Form, Severity, Status};
use serde_json::Map;

use crate::output::{BackendEntry, Document, Exit, Failure, Output};

/// What an entrypoint ends with where it finds no GPU.
const NO_GPU: i32 = 2;

/// A tree whose manifests are in the older form.
pub struct Tree {
    root: PathBuf,
    report: contract::Report,
}

/// The tree at `root`, if it holds a manifest in the older form and none in this workspace's.
pub fn tree(root: &Path) -> Option<Tree> {
    let report = contract::check(root);
    let any = |form: fn(&Form) -> bool| report.backends.iter().any(|backend| form(&backend.form));
    let older = any(|form| matches!(form, Form::Script(_)));
    let ours = any(|form| matches!(form, Form::Workspace(_)));
    (older && !ours).then(|| Tree {
        root: root.to_owned(),
        report,
    })
}

/// Runs each validated backend's entrypoint.
pub fn run(
    tree: &Tree,
    only: Option<&str>,
    require_gpu: bool,
    out: &Output,
) -> anyhow::Result<Exit> {
    let named = |name: &str| only.is_none_or(|only| only == name);
    let mut backends = Vec::new();
    let mut findings = Vec::new();
    let mut unchecked = false;
    for backend in tree
        .report
        .backends
        .iter()
        .filter(|backend| named(&backend.name))
    {
        let Form::Script(manifest) = &backend.form else {
            continue;
        };
        let broken = tree
            .report
            .findings_of(backend)
            .find(|finding| finding.severity == Severity::Error);
        let (outcome, message) = match (manifest.status, &manifest.entrypoint, broken) {
            (Status::Validated, _, Some(finding)) => (
                "fail",
                format!("its manifest is wrong: {}", finding.message),
            ),
            (Status::Validated, Some(entrypoint), None) => {
                entry(&tree.root, &backend.name, entrypoint, out)
            }
            _ => (
                "not_validated",
                "only validated backends are run".to_owned(),
            ),
        };
        out.say(format_args!("{:16} {outcome:16} {message}", backend.name));
        let finding = |severity, code: &str| {
            contract::Finding::new(severity, code, &backend.path, "", &*message)
        };
        match outcome {
            "fail" => findings.push(finding(Severity::Error, "parity-case")),
            "could_not_check" => {
                unchecked = true;
                findings.push(finding(Severity::Warning, "parity-unchecked"));
            }
            _ => {}
        }
        let status = match manifest.status {
            Status::Planned => "planned",
            Status::Experimental => "experimental",
            Status::Validated => "validated",
        };
        let mut more = Map::new();
        more.insert("gpu".into(), outcome.into());
        backends.push(BackendEntry {
            name: backend.name.clone(),
            status: status.into(),
            path: backend.path.clone(),
            more,
        });
    }
    if let Some(name) = only
        && backends.is_empty()
    {
        return Err(Failure::Usage(format!("no backend is called {name:?}")).into());
    }
    let exit = out.finish(&Document::new(backends, findings));
    Ok(match exit {
        Exit::Ok if require_gpu && unchecked => Exit::Environment,
        exit => exit,
    })
}

/// Runs one entrypoint and takes its exit code.
fn entry(root: &Path, name: &str, entrypoint: &str, out: &Output) -> (&'static str, String) {
    let path = root.join(entrypoint);
    if !path.is_file() {
        return ("fail", format!("{entrypoint} is not there"));
    }
    let program: OsString = match path.extension() {
        Some(extension) if extension == "py" => {
            std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into())
        }
        _ => path.clone().into_os_string(),
    };
    let mut command = Command::new(&program);
    if program != path {
        command.arg(&path);
    }
    command
        .current_dir(root)
        .env("OMNI_BACKEND_NAME", name)
        .env("OMNI_REPO_ROOT", root);
    // Its output is about the work; stdout may belong to a document.
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let program = program.to_string_lossy();
            return (
                "could_not_check",
                format!("{program} does not run: {error}"),
            );
        }
    };
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        if !text.trim().is_empty() {
            out.log(text.trim_end());
        }
    }
    match output.status.code() {
        Some(0) => ("pass", format!("{entrypoint} passed")),
        Some(NO_GPU) => ("could_not_check", format!("{entrypoint} found no GPU")),
        Some(code) => ("fail", format!("{entrypoint} ended with code {code}")),
        None => ("fail", format!("{entrypoint} was ended by a signal")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use std::fs;

    fn outcome(script: &str) -> (&'static str, String) {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("older-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("check.py"), script).unwrap();
        let result = entry(&root, "norm", "check.py", &Output::new(Format::Json));
        fs::remove_dir_all(&root).unwrap();
        result
    }

    #[test]
    fn the_exit_code_of_the_entrypoint_decides() {
        assert_eq!(outcome("").0, "pass");
        assert_eq!(outcome("raise SystemExit(2)").0, "could_not_check");
        let (outcome_of_7, message) = outcome("raise SystemExit(7)");
        assert_eq!(
            (outcome_of_7, &*message),
            ("fail", "check.py ended with code 7")
        );
    }

    #[test]
    fn the_entrypoint_learns_which_backend_and_which_tree() {
        let script = "import os, pathlib\n\
                      assert os.environ['OMNI_BACKEND_NAME'] == 'norm'\n\
                      root = pathlib.Path(os.environ['OMNI_REPO_ROOT'])\n\
                      assert (root / 'check.py').is_file() and pathlib.Path.cwd().samefile(root)\n";
        assert_eq!(outcome(script).0, "pass");
    }

    #[test]
    fn a_missing_entrypoint_fails() {
        let out = Output::new(Format::Json);
        let (outcome, message) = entry(Path::new("/nowhere"), "norm", "check.py", &out);
        assert_eq!((outcome, &*message), ("fail", "check.py is not there"));
    }
}
