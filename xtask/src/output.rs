//! What every command prints and how it ends: one JSON document on stdout or text, logs on stderr,
//! and five exit codes.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use contract::{Finding, Severity};
use serde::Serialize;
use serde_json::{Map, Value};

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All well; warnings included.
    Ok,
    /// At least one error.
    Error,
    /// The command line was wrong.
    Usage,
    /// Stale evidence and no error.
    Stale,
    /// Something this machine lacks: a GPU, a compiler, a network.
    Environment,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::Stale => 3,
            Exit::Environment => 4,
        })
    }
}

/// An error that decides the exit code. Return it with `?` or `.into()`; any other error is [`Exit::Error`].
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What is missing from this machine, in one sentence.
    #[error("{0}")]
    Environment(String),
    /// What is wrong with the command line, in one sentence.
    #[error("{0}")]
    Usage(String),
}

/// `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a person.
    #[default]
    Human,
    /// One JSON document on stdout, nothing else there.
    Json,
}

/// One backend in a document.
#[derive(Clone, Debug, Serialize)]
pub struct BackendEntry {
    /// Name in the manifest.
    pub name: String,
    /// `planned`, `experimental` or `validated`.
    pub status: String,
    /// The manifest's path relative to the root.
    pub path: String,
    /// What a command adds, e.g. gpu-parity's `"gpu":"could_not_check"`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The document of every command but discover.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    schema_version: u32,
    ok: bool,
    /// Backends that were looked at, by path.
    pub backends: Vec<BackendEntry>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What a command adds beside these.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Document {
    /// A document; `ok` is false when a finding is an error or stale.
    pub fn new(backends: Vec<BackendEntry>, findings: Vec<Finding>) -> Self {
        let ok = findings
            .iter()
            .all(|finding| finding.severity == Severity::Warning);
        Self {
            schema_version: 1,
            ok,
            backends,
            findings,
            more: Map::new(),
        }
    }

    /// The exit code that its findings ask for.
    pub fn exit(&self) -> Exit {
        let has = |severity| {
            self.findings
                .iter()
                .any(|finding| finding.severity == severity)
        };
        if has(Severity::Error) {
            Exit::Error
        } else if has(Severity::Stale) {
            Exit::Stale
        } else {
            Exit::Ok
        }
    }
}

/// Where a command's words go.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    format: Format,
}

impl Output {
    /// An output of that format.
    pub fn new(format: Format) -> Self {
        Self { format }
    }

    /// Whether stdout belongs to the document.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// A line for a person: stdout, or stderr where stdout belongs to the document.
    pub fn say(&self, line: impl Display) {
        if self.is_json() {
            self.log(line)
        } else {
            write_line(io::stdout().lock(), line)
        }
    }

    /// A line about the work itself, on stderr.
    pub fn log(&self, line: impl Display) {
        write_line(io::stderr().lock(), line);
    }

    /// A line of machine-readable output, on stdout in both formats.
    pub fn raw(&self, line: impl Display) {
        write_line(io::stdout().lock(), line);
    }

    /// The command's result: the document as JSON, or its findings as text. Returns [`Document::exit`].
    pub fn finish(&self, document: &Document) -> Exit {
        if self.is_json() {
            let text = serde_json::to_string_pretty(document);
            self.raw(text.expect("a document has string keys only"));
        } else {
            for finding in &document.findings {
                self.say(finding);
            }
        }
        document.exit()
    }

    /// The result of a command that failed before it had a document.
    pub fn fail(&self, error: &anyhow::Error) -> Exit {
        let (exit, code) = match error.downcast_ref::<Failure>() {
            Some(Failure::Environment(_)) => (Exit::Environment, "environment"),
            Some(Failure::Usage(_)) => (Exit::Usage, "usage"),
            None => (Exit::Error, "failed"),
        };
        self.log(format_args!("error: {error:#}"));
        if self.is_json() {
            let finding = Finding::new(Severity::Error, code, "", "", format!("{error:#}"));
            self.finish(&Document::new(Vec::new(), vec![finding]));
        }
        exit
    }
}

/// A reader that closed the pipe has had enough; that is no reason to panic.
fn write_line(mut to: impl Write, line: impl Display) {
    let _ = writeln!(to, "{line}");
}
