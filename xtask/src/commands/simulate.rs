//! `simulate`.
//!
//! Every run of the simulator is a process of its own: a kernel that is wrong may crash, and runs
//! side by side keep the cores busy.

mod child;
mod hints;
mod job;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use contract::Finding;
use serde_json::{Map, Value, json};
use simulator::Flavor;

use crate::output::{Document, Exit, Failure, Output};
use crate::suite::{self, Tally, Target};
use crate::workspace;
use job::{Ended, Job};

pub use child::Stage;

/// Run the shipped kernels on the CPU, under several thread orders, and every mutant of them.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Only these runs; default: all of them.
    #[arg(long, value_name = "RUN", value_enum, num_args = 1..)]
    pub order: Vec<Stage>,
    /// Only the mutants, which must all be noticed; with names, only those.
    #[arg(long, value_name = "MUTANT", num_args = 0.., conflicts_with = "order")]
    pub mutants: Option<Vec<String>>,
    /// Write which case noticed each mutant to the backend's mutants.json: the next run begins there.
    #[arg(long, conflicts_with_all = ["case", "order"])]
    pub record: bool,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// This run of mutants begins with that case.
    #[arg(long, value_name = "CASE", hide = true)]
    pub hint: Option<String>,
    /// This process is one run, of this library.
    #[arg(long, value_name = "FILE", hide = true, num_args = 1..)]
    pub child: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = match &args.root {
        Some(root) => root.clone(),
        None => workspace::root()?,
    };
    let targets = suite::targets(&root, args.backend.as_deref())?;
    if !args.child.is_empty() {
        return child::run(args, &targets);
    }
    let stages: &[Stage] = match (&args.mutants, args.order.is_empty()) {
        (Some(_), _) => &[],
        (None, true) => &Stage::ALL,
        (None, false) => &args.order,
    };
    // What is missing is found before any work starts.
    let libraries: Vec<Libraries> = targets
        .iter()
        .map(|target| Libraries::build(&root, target))
        .collect::<Result<_, _>>()?;
    let mut backends = Vec::new();
    let mut findings = Vec::new();
    for (target, libraries) in targets.iter().zip(&libraries) {
        let case = args.case.as_deref();
        let (stages, found) = run_stages(&root, target, libraries, stages, case, out)?;
        findings.extend(found);
        let mutants = match (&args.mutants, args.order.is_empty()) {
            (Some(named), _) if !named.is_empty() => named.clone(),
            (Some(_), _) | (None, true) => libraries.mutants.clone(),
            (None, false) => Vec::new(),
        };
        let (mutants, found) = run_mutants(&root, target, libraries, &mutants, case, out)?;
        findings.extend(found);
        if args.record {
            hints::write(target, &mutants)?;
        }
        let mut more = Map::new();
        more.insert("class".into(), "emulated".into());
        more.insert("runs".into(), Value::Array(stages));
        more.insert("mutants".into(), Value::Array(mutants));
        backends.push(target.entry(more));
    }
    Ok(out.finish(&Document::new(backends, findings)))
}

/// What gpu-parity falls back to: the cases of one backend in the simulator.
pub struct Emulated {
    /// How the cases ended.
    pub tally: Tally,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Runs a backend's cases once, in forward order.
pub fn emulate(
    root: &Path,
    target: &Target,
    case: Option<&str>,
    out: &Output,
) -> anyhow::Result<Emulated> {
    let library = library(root, target, Flavor::Plain)?;
    out.log(format_args!(
        "{}: running in the simulator",
        target.backend.name
    ));
    let job = stage_job(root, target, &library, Stage::Forward, case);
    let ended = job.run()?;
    for report in &ended.rows {
        out.say(report);
    }
    let findings = stage_findings(target, Stage::Forward, &ended);
    out.say(format_args!(
        "{}: in the simulator, {}",
        target.backend.name, ended.tally
    ));
    Ok(Emulated {
        tally: ended.tally,
        findings,
    })
}

/// A backend's simulator libraries and its mutants.
struct Libraries {
    plain: PathBuf,
    checked: PathBuf,
    mutants: Vec<String>,
}

impl Libraries {
    fn build(root: &Path, target: &Target) -> anyhow::Result<Libraries> {
        Ok(Libraries {
            plain: library(root, target, Flavor::Plain)?,
            checked: library(root, target, Flavor::Checked)?,
            mutants: simulator::library_of_crate(&target.dir)
                .and_then(|library| simulator::mutants(&library.sources))
                .map_err(failure)?,
        })
    }
}

/// A backend's simulator library, built if anything changed.
fn library(root: &Path, target: &Target, flavor: Flavor) -> anyhow::Result<PathBuf> {
    if !root.join("crates/simulator/runtime").is_dir() {
        let message = "the simulator's sources are not in this tree";
        return Err(Failure::Environment(message.into()).into());
    }
    simulator::build(&target.dir, flavor).map_err(failure)
}

/// What the machine lacks is told from what is wrong with the sources.
fn failure(error: simulator::Error) -> anyhow::Error {
    match error {
        simulator::Error::Environment(message) => Failure::Environment(message).into(),
        error => error.into(),
    }
}

/// How many runs go side by side.
fn width() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn stage_job(
    root: &Path,
    target: &Target,
    library: &Path,
    stage: Stage,
    case: Option<&str>,
) -> Job {
    Job::new(root, target.backend.name, case)
        .argument("--order", stage.name())
        .argument("--child", library)
}

fn run_stages(
    root: &Path,
    target: &Target,
    libraries: &Libraries,
    stages: &[Stage],
    case: Option<&str>,
    out: &Output,
) -> anyhow::Result<(Vec<Value>, Vec<Finding>)> {
    let name = target.backend.name;
    let jobs = stages
        .iter()
        .map(|stage| {
            let library = match stage {
                Stage::Checked => &libraries.checked,
                _ => &libraries.plain,
            };
            stage_job(root, target, library, *stage, case)
        })
        .collect();
    let mut values = Vec::new();
    let mut findings = Vec::new();
    if !stages.is_empty() {
        out.say(format_args!(
            "\n{name}\n{:20} {:>8}  result",
            "run", "seconds"
        ));
    }
    for (index, ended) in job::run_all(jobs, width()) {
        let (stage, ended) = (stages[index], ended?);
        for row in ended.rows.iter().filter(|row| row.starts_with("FAIL")) {
            out.say(row);
        }
        let (seconds, tally) = (ended.seconds, ended.tally);
        out.say(format_args!("{:20} {seconds:8.1}  {tally}", stage.name()));
        findings.extend(stage_findings(target, stage, &ended));
        values.push(json!({"run": stage.name(), "tally": tally, "seconds": seconds}));
    }
    values.sort_by_key(|value| value["run"].to_string());
    Ok((values, findings))
}

fn stage_findings(target: &Target, stage: Stage, ended: &Ended) -> Vec<Finding> {
    let place = format!("in the simulator ({})", stage.name());
    let mut findings: Vec<Finding> = ended
        .failures
        .iter()
        .map(|failure| target.error("parity-case", format!("{place}: {failure}")))
        .collect();
    if let Some(crash) = &ended.crash {
        findings.push(target.error("parity-case", format!("{place}: {crash}")));
    }
    if ended.tally == Tally::default() && ended.crash.is_none() {
        let message = format!("{place}: no case was run");
        findings.push(target.warning("parity-unchecked", message));
    }
    findings
}

fn run_mutants(
    root: &Path,
    target: &Target,
    libraries: &Libraries,
    mutants: &[String],
    case: Option<&str>,
    out: &Output,
) -> anyhow::Result<(Vec<Value>, Vec<Finding>)> {
    let hints = hints::read(target);
    let jobs = mutants
        .iter()
        .map(|mutant| {
            let job = Job::new(root, target.backend.name, case)
                .argument("--mutants", mutant)
                .argument("--child", &libraries.plain)
                .argument_again(&libraries.checked);
            match hints.get(mutant) {
                Some(hint) => job.argument("--hint", hint),
                None => job,
            }
        })
        .collect();
    let mut values = Vec::new();
    let mut findings = Vec::new();
    let mut killed = 0;
    if !mutants.is_empty() {
        out.say(format_args!(
            "\n{:32} {:>8}  killed by",
            "mutant", "seconds"
        ));
    }
    for (index, ended) in job::run_all(jobs, width()) {
        let (mutant, ended) = (&mutants[index], ended?);
        // A crash kills a mutant as well as a wrong result: a test would have failed.
        let by = ended.failures.first().or(ended.crash.as_ref());
        let text = by.map_or("SURVIVED", String::as_str);
        let line = text.lines().next().unwrap_or_default();
        out.say(format_args!("{mutant:32} {:8.1}  {line}", ended.seconds));
        match by {
            Some(_) => killed += 1,
            None => findings.push(target.error(
                "mutant-survived",
                format!("no case of the suite notices the mutant {mutant}"),
            )),
        }
        values.push(json!({"mutant": mutant, "killed": by.is_some(), "by": by}));
    }
    if !mutants.is_empty() {
        let name = target.backend.name;
        out.say(format_args!(
            "{name}: {killed} of {} mutants killed",
            mutants.len()
        ));
    }
    values.sort_by_key(|value| value["mutant"].to_string());
    Ok((values, findings))
}
