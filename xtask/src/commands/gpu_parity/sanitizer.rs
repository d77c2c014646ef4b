//! compute-sanitizer: this program again, under each of its tools, on the cases named for it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use contract::Finding;
use contract::evidence;
use parity::{Gpu, Library, Options, Runner, Tags};
use serde_json::{Map, Value, json};

use super::Args;
use crate::output::{Document, Exit, Output};
use crate::suite::{self, Tally, Target};

/// What the tool ends with when it found something.
const FOUND: i32 = 99;

/// One tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[allow(clippy::enum_variant_names, reason = "these are the tools' names")]
pub enum Tool {
    /// Wild accesses.
    Memcheck,
    /// Races in shared memory.
    Racecheck,
    /// Barriers that not all threads reach.
    Synccheck,
    /// Reads of memory that nobody wrote.
    Initcheck,
}

impl Tool {
    const ALL: [Tool; 4] = [
        Tool::Memcheck,
        Tool::Racecheck,
        Tool::Synccheck,
        Tool::Initcheck,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Synccheck => "synccheck",
            Tool::Initcheck => "initcheck",
        }
    }
}

/// What a tool said.
pub struct Sanitized {
    /// The tool.
    pub tool: Tool,
    status: evidence::Outcome,
    cases: u64,
    message: String,
}

impl Sanitized {
    /// Its place in the evidence.
    pub fn record(&self) -> evidence::Sanitizer {
        evidence::Sanitizer {
            status: self.status,
            cases: self.cases,
        }
    }

    /// What is to be said of it, if anything.
    pub fn finding(&self, target: &Target) -> Option<Finding> {
        let message = format!("{}: {}", self.tool.name(), self.message);
        match self.status {
            evidence::Outcome::Pass => None,
            evidence::Outcome::Fail => Some(target.error("parity-sanitizer", message)),
            evidence::Outcome::CouldNotCheck => Some(target.warning("parity-unchecked", message)),
        }
    }
}

/// The results, as a document holds them.
pub fn to_json(results: &[Sanitized]) -> Value {
    let entries = results.iter().map(|result| {
        let record = result.record();
        let value =
            json!({"status": record.status, "cases": record.cases, "message": result.message});
        (result.tool.name().to_owned(), value)
    });
    Value::Object(entries.collect::<Map<_, _>>())
}

/// compute-sanitizer of this machine: on PATH, else in the toolkit.
fn find() -> Option<PathBuf> {
    let on_path = env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect::<Vec<_>>())
        .unwrap_or_default();
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .flat_map(|home| [home.join("bin"), home.join("compute-sanitizer")]);
    on_path
        .into_iter()
        .chain(homes)
        .map(|dir| dir.join("compute-sanitizer"))
        .find(|file| file.is_file())
}

/// Runs the backend's named subset under every tool.
pub fn run_all(root: &Path, target: &Target, args: &Args, out: &Output) -> Vec<Sanitized> {
    let program = find();
    let cases = target.cases(Tags::SANITIZE, args.case.as_deref()).len() as u64;
    Tool::ALL
        .into_iter()
        .map(|tool| {
            let result = match &program {
                Some(program) => under(program, tool, root, target, args, cases),
                None => unchecked(tool, "compute-sanitizer was not found"),
            };
            let name = target.backend.name;
            out.say(format_args!(
                "{name}: {} over {cases} cases: {}",
                tool.name(),
                result.message
            ));
            result
        })
        .collect()
}

fn unchecked(tool: Tool, message: impl Into<String>) -> Sanitized {
    let status = evidence::Outcome::CouldNotCheck;
    Sanitized {
        tool,
        status,
        cases: 0,
        message: message.into(),
    }
}

fn under(
    program: &Path,
    tool: Tool,
    root: &Path,
    target: &Target,
    args: &Args,
    cases: u64,
) -> Sanitized {
    let this = match env::current_exe() {
        Ok(this) => this,
        Err(error) => return unchecked(tool, format!("this program cannot be found: {error}")),
    };
    let mut command = Command::new(program);
    command
        .args(["--tool", tool.name()])
        .args(["--error-exitcode", &FOUND.to_string()])
        // The harness checks return codes itself.
        .args(["--report-api-errors", "no"])
        .arg(this)
        .args(["--format", "json", "gpu-parity", "--require-gpu"])
        .args(["--under", tool.name(), "--backend", target.backend.name])
        .args(["--seed", &args.seed.to_string()])
        .arg("--root")
        .arg(root);
    if let Some(case) = &args.case {
        command.args(["--case", case]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return unchecked(tool, format!("compute-sanitizer does not run: {error}")),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    judge(tool, output.status.code(), &text, cases)
}

/// Reads the outcome from the exit code and the tool's own lines, which begin with `=========`.
fn judge(tool: Tool, code: Option<i32>, text: &str, cases: u64) -> Sanitized {
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("========= "))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let clean = lines.iter().any(|line| {
        line.starts_with("ERROR SUMMARY: 0 errors")
            || line.starts_with("RACECHECK SUMMARY: 0 hazards")
    });
    let summary = lines.iter().rev().find(|line| line.contains("SUMMARY"));
    let first = lines
        .iter()
        .find(|line| !line.starts_with("COMPUTE-SANITIZER") && !line.contains("SUMMARY"));
    let failed = |message: String| Sanitized {
        tool,
        status: evidence::Outcome::Fail,
        cases,
        message,
    };
    match (code, summary) {
        (Some(0), Some(_)) if clean && cases > 0 => {
            let message = "nothing found".to_owned();
            Sanitized {
                tool,
                status: evidence::Outcome::Pass,
                cases,
                message,
            }
        }
        (Some(0), Some(_)) if clean => unchecked(tool, "no case is named for the sanitizers"),
        (_, Some(summary)) if !clean => {
            failed(format!("{summary}; first: {}", first.unwrap_or(&"")))
        }
        (Some(1), Some(_)) => failed("a case failed under it".to_owned()),
        (code, _) => {
            let code = code.map_or("a signal".to_owned(), |code| format!("code {code}"));
            let last = text
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("");
            unchecked(tool, format!("it ended with {code} and no summary: {last}"))
        }
    }
}

/// What runs under the tool: the named subset, without errors made on purpose.
pub fn child(
    gpu: &Gpu,
    root: &Path,
    targets: &[Target],
    tool: Tool,
    args: &Args,
    out: &Output,
) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    let mut backends = Vec::new();
    for target in targets {
        let library = Library::open(target.library(root))?;
        // Poisoned outputs count as written, which is what initcheck looks for.
        let mut options = Options::sanitizer(tool != Tool::Initcheck);
        options.seed = args.seed;
        let runner = Runner::new(gpu, &library, options);
        let cases = target.cases(Tags::SANITIZE, args.case.as_deref());
        let reports = runner.run_all(&cases, |_| true);
        findings.extend(suite::case_findings(target, tool.name(), &reports));
        let mut more = Map::new();
        more.insert("tally".into(), serde_json::to_value(Tally::of(&reports))?);
        backends.push(target.entry(more));
    }
    Ok(out.finish(&Document::new(backends, findings)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::Outcome;

    const CLEAN: &str = "========= COMPUTE-SANITIZER\n{}\n========= ERROR SUMMARY: 0 errors\n";

    #[test]
    fn only_a_clean_summary_and_a_clean_exit_pass() {
        let status = |code, text, cases| judge(Tool::Memcheck, code, text, cases).status;
        assert_eq!(status(Some(0), CLEAN, 3), Outcome::Pass);
        assert_eq!(status(Some(0), CLEAN, 0), Outcome::CouldNotCheck);
        assert_eq!(status(Some(1), CLEAN, 3), Outcome::Fail);
        assert_eq!(status(Some(0), "", 3), Outcome::CouldNotCheck);
        assert_eq!(status(None, "", 3), Outcome::CouldNotCheck);
        let races = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards \
                     displayed (0 errors, 0 warnings)\n";
        assert_eq!(
            judge(Tool::Racecheck, Some(0), races, 3).status,
            Outcome::Pass
        );
    }

    #[test]
    fn what_was_found_first_is_named() {
        let text = "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 \
                    bytes\n=========     at twice\n========= ERROR SUMMARY: 2 errors\n";
        let result = judge(Tool::Memcheck, Some(FOUND), text, 3);
        assert_eq!(result.status, Outcome::Fail);
        assert_eq!(
            result.message,
            "ERROR SUMMARY: 2 errors; first: Invalid __global__ write of size 4 bytes"
        );
    }
}
