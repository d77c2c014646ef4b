//! compute-sanitizer: this program again, under each of its tools, on the cases named for it.

use std::env;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use contract::Finding;
use contract::evidence;
use parity::{Case, Gpu, Library, Options, Runner, Tags};
use serde_json::{Map, Value, json};

use super::Args;
use crate::output::{Document, Exit, Output};
use crate::suite::{self, Tally, Target};

/// Lines of a tool's first finding that are shown: what, where, and the other side of a race.
const LINES_SHOWN: usize = 4;

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

impl fmt::Display for Sanitized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, cases) = (self.tool.name(), self.cases);
        write!(f, "{tool} over {cases} cases: {}", self.message)
    }
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

/// A part of the named subset: one in every `of` cases.
#[derive(Debug, Clone, Copy)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// Most processes of one tool at a time: each has a context of its own on the GPU.
    const MOST: usize = 4;

    /// As many as the machine has cores for, with every tool running at once.
    fn all() -> Vec<Shard> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let of = (cores / Tool::ALL.len()).clamp(1, Shard::MOST);
        (0..of).map(|index| Shard { index, of }).collect()
    }

    fn pick(self, target: &Target, args: &Args) -> Vec<Case> {
        let mut cases = target.cases(Tags::SANITIZE, args.case.as_deref());
        let mut place = 0;
        cases.retain(|_| {
            place += 1;
            (place - 1) % self.of == self.index
        });
        cases
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("{text:?} is no part such as 0/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let index = index.parse().map_err(|_| wrong())?;
        let of = of.parse().map_err(|_| wrong())?;
        if index < of {
            Ok(Shard { index, of })
        } else {
            Err(wrong())
        }
    }
}

/// Runs the backend's named subset under every tool, all of them at once: they wait for the host
/// and for single threads of the device far more than they use it.
pub fn run_all(root: &Path, target: &Target, args: &Args) -> Vec<Sanitized> {
    let program = find();
    let shards = Shard::all();
    std::thread::scope(|scope| {
        let started: Vec<_> = Tool::ALL
            .into_iter()
            .map(|tool| {
                let parts: Vec<_> = shards
                    .iter()
                    .map(|&shard| (shard, shard.pick(target, args).len() as u64))
                    .filter(|&(shard, cases)| cases > 0 || shard.index == 0)
                    .map(|(shard, cases)| {
                        let program = program.as_deref();
                        scope.spawn(move || match program {
                            Some(program) => under(program, tool, shard, root, target, args, cases),
                            None => unchecked(tool, "compute-sanitizer was not found"),
                        })
                    })
                    .collect();
                (tool, parts)
            })
            .collect();
        started
            .into_iter()
            .map(|(tool, parts)| {
                let parts = parts.into_iter().map(|part| {
                    part.join()
                        .unwrap_or_else(|_| unchecked(tool, "its thread panicked"))
                });
                merge(tool, parts.collect())
            })
            .collect()
    })
}

/// One result from those of the parts: the worst of them, over the cases of all.
fn merge(tool: Tool, parts: Vec<Sanitized>) -> Sanitized {
    let cases = parts.iter().map(|part| part.cases).sum();
    let of = |status| parts.iter().find(|part| part.status == status);
    let worst = of(evidence::Outcome::Fail)
        .or_else(|| of(evidence::Outcome::CouldNotCheck))
        .or(parts.first());
    match worst {
        Some(worst) => Sanitized {
            tool,
            status: worst.status,
            cases,
            message: worst.message.clone(),
        },
        None => unchecked(tool, "no part of it ran"),
    }
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
    shard: Shard,
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
        .args(["--shard", &format!("{}/{}", shard.index, shard.of)])
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
    let about = |line: &&&str| !line.starts_with("COMPUTE-SANITIZER") && !line.contains("SUMMARY");
    let first: Vec<&str> = lines
        .iter()
        .filter(about)
        .take(LINES_SHOWN)
        .copied()
        .collect();
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
        (_, Some(summary)) if !clean => failed(format!("{summary}; first: {}", first.join(" / "))),
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
        let cases = args
            .shard
            .unwrap_or(Shard { index: 0, of: 1 })
            .pick(target, args);
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
    fn the_worst_part_speaks_for_a_tool() {
        let part = |status, cases, message: &str| Sanitized {
            tool: Tool::Memcheck,
            status,
            cases,
            message: message.to_owned(),
        };
        let clean = || part(Outcome::Pass, 3, "nothing found");
        let merged = merge(Tool::Memcheck, vec![clean(), clean()]);
        assert_eq!((merged.status, merged.cases), (Outcome::Pass, 6));
        let lost = part(Outcome::CouldNotCheck, 0, "it ended");
        let merged = merge(Tool::Memcheck, vec![clean(), lost]);
        assert_eq!(merged.status, Outcome::CouldNotCheck);
        let bad = part(Outcome::Fail, 2, "a race");
        let merged = merge(Tool::Memcheck, vec![clean(), bad, clean()]);
        assert_eq!(merged.status, Outcome::Fail);
        assert_eq!(merged.message, "a race");
        let none = merge(Tool::Memcheck, Vec::new());
        assert_eq!(none.status, Outcome::CouldNotCheck);
    }

    #[test]
    fn a_shard_is_a_part_of_a_whole() {
        assert!("1/4".parse::<Shard>().is_ok());
        for wrong in ["4/4", "x/4", "1", "1/0", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_found_first_is_named() {
        let text = "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 \
                    bytes\n=========     at twice\n========= ERROR SUMMARY: 2 errors\n";
        let result = judge(Tool::Memcheck, Some(FOUND), text, 3);
        assert_eq!(result.status, Outcome::Fail);
        assert_eq!(
            result.message,
            "ERROR SUMMARY: 2 errors; first: Invalid __global__ write of size 4 bytes / at twice"
        );
    }
}
