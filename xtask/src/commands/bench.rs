//! `bench`.

mod charts;
mod step;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use bench_kit::bench::class_name;
use bench_kit::floors::Floors;
use bench_kit::results::{FloorsFile, Results, Row, Run};
use bench_kit::table::table;
use bench_kit::targets::Targets;
use bench_kit::timing::Plan;
use bench_kit::{Bench, Device, Gpu, Mode};
use contract::Finding;
use parity::Library;
use serde_json::Map;

use crate::clock;
use crate::commands::gpu_parity::library;
use crate::output::{BackendEntry, Document, Exit, Failure, Output};
use crate::suite::{self, Target};
use crate::suite_library;
use crate::workspace;

/// The backend whose training step `--step` measures.
const STEP_BACKEND: &str = "mlp";

/// Time the kernels against their baselines and peers.
///
/// Writes one JSON file a backend below docs/benchmarks, and its chart. docs/benchmarks/README.md
/// says how times are taken.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Only hot or only cold rows.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// The training step, all its calls in one graph, and each kind of them alone, instead of single
    /// kernels.
    #[arg(long, conflicts_with_all = ["backend", "case", "mode"])]
    pub step: bool,
    /// More peers' times, in the form of ci/targets.json.
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Where results go, in a folder a GPU; default: docs/benchmarks.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure nothing; draw the charts of the results again.
    #[arg(long, conflicts_with_all = ["case", "mode", "step", "peers"])]
    pub charts_only: bool,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "hot" => Ok(Mode::Hot),
        "cold" => Ok(Mode::Cold),
        _ => Err(format!("it was {text:?}, must be hot or cold")),
    }
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root_or(args.root.as_deref())?;
    let benchmarks = args
        .out
        .clone()
        .unwrap_or_else(|| root.join("docs/benchmarks"));
    if args.charts_only {
        return charts::draw_all(&root, &benchmarks, args.backend.as_deref(), out);
    }
    let targets = suite::targets(&root, args.backend.as_deref())?;
    let selected = if args.step {
        Vec::new()
    } else {
        select(&targets, args)?
    };
    let goals = goals(&root, args.peers.as_deref())?;
    let gpu = Gpu::open(0).map_err(|error| match error.is_no_device() {
        true => anyhow::Error::from(Failure::Environment(error.to_string())),
        false => error.into(),
    })?;
    let (about, date) = (gpu.info().clone(), clock::now()[..10].to_owned());
    out.say(format_args!("{}, driver {}", about.name, about.driver));
    let dir = benchmarks.join(about.slug());
    let plan = Plan::default();

    out.log("measuring floors");
    let floors = Library::open(suite_library::FLOORS.path(&root, out)?)?;
    // Found by the benches beside their own library.
    suite_library::CUB.path(&root, out)?;
    let floors = Floors::measure(&gpu, &floors, &plan)?;
    let file = FloorsFile {
        schema_version: 1,
        gpu: about.name.clone(),
        driver: about.driver.clone(),
        date: date.clone(),
        floors: floors.clone(),
    };
    file.write(&dir.join("floors.json"))?;

    let session = Session {
        root: &root,
        dir: &dir,
        gpu,
        plan,
        floors,
        goals,
        date,
    };
    let mut entries = Vec::new();
    let mut findings = Vec::new();
    if args.step {
        let (entry, found) = session.step(&targets, out)?;
        entries.push(entry);
        findings.extend(found);
    }
    for (target, benches) in &selected {
        let (entry, found) = session.backend(target, benches, out)?;
        entries.push(entry);
        findings.extend(found);
    }
    charts::draw_all(&root, &benchmarks, args.backend.as_deref(), out)?;
    let mut document = Document::new(entries, findings);
    document.more.insert("gpu".into(), about.name.into());
    document
        .more
        .insert("results".into(), dir.display().to_string().into());
    Ok(out.finish(&document))
}

/// The cases and modes asked for, by backend.
fn select<'t>(targets: &'t [Target], args: &Args) -> anyhow::Result<Vec<(&'t Target, Vec<Bench>)>> {
    let mut selected = Vec::new();
    for target in targets {
        let mut benches = (target.backend.benches)();
        for bench in &mut benches {
            bench
                .modes
                .retain(|mode| args.mode.is_none_or(|only| *mode == only));
        }
        benches.retain(|bench| {
            !bench.modes.is_empty() && args.case.as_ref().is_none_or(|id| bench.id.contains(id))
        });
        if !benches.is_empty() {
            selected.push((target, benches));
        }
    }
    if selected.is_empty() {
        let known: Vec<String> = targets
            .iter()
            .flat_map(|target| (target.backend.benches)())
            .map(|bench| bench.id)
            .collect();
        let message = format!(
            "no row has that case and mode; the cases are {}",
            known.join(", ")
        );
        return Err(Failure::Usage(message).into());
    }
    Ok(selected)
}

/// Targets and peers: the tree's, and the file's that was named.
fn goals(root: &Path, peers: Option<&Path>) -> anyhow::Result<Targets> {
    let mut goals = Targets::read(&root.join("ci/targets.json"))?;
    if let Some(path) = peers {
        let more = Targets::read(path).map_err(|error| Failure::Usage(error.to_string()))?;
        goals.merge(more);
    }
    Ok(goals)
}

/// What all backends of a run share.
struct Session<'a> {
    root: &'a Path,
    dir: &'a Path,
    gpu: Gpu,
    plan: Plan,
    floors: Floors,
    goals: Targets,
    date: String,
}

impl Session<'_> {
    fn backend(
        &self,
        target: &Target,
        benches: &[Bench],
        out: &Output,
    ) -> anyhow::Result<(BackendEntry, Vec<Finding>)> {
        let (name, prefix) = (target.backend.name, &target.manifest.prefix);
        let mut findings = case_list(target);
        let opened = library::fresh(self.root, target, out)
            .and_then(|path| Ok(Library::open(path)?))
            .and_then(|library| {
                let info = library
                    .build_info(prefix)?
                    .context("the build info is null")?;
                Ok((library, info))
            });
        let (library, info) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // A failure, not a skip: there is a GPU, and nothing ran on it.
                findings.push(target.error("bench-library", format!("{error:#}")));
                return Ok((target.entry(Map::new()), findings));
            }
        };
        let run = Run::of(&info, &self.gpu.info().driver, &self.date);
        let mut rows = Vec::new();
        for bench in benches {
            for &mode in &bench.modes {
                match self.row(&library, prefix, name, bench, mode, &run) {
                    Ok(row) => {
                        out.log(format_args!("{} {mode}: {} us", row.case, row.median_us));
                        findings.extend(row.refused.as_ref().map(|reason| {
                            let message = format!("{} {mode}: {reason}", row.case);
                            target.error("bench-refused", message)
                        }));
                        rows.push(row);
                        // One at a time: a run that is ended keeps what it has.
                        self.keep(target, &rows[rows.len() - 1..])?;
                    }
                    Err(error) => {
                        out.log(format_args!("error: {error}"));
                        findings.push(target.error("bench-failed", format!("{mode}: {error}")));
                    }
                }
            }
        }
        let more = Self::show(target, &rows, out)?;
        Ok((target.entry(more), findings))
    }

    /// The training step, beside the same step on the designs replaced, and what each kind of call
    /// takes alone. Its row is among those of the backend that it is named by.
    fn step(
        &self,
        targets: &[Target],
        out: &Output,
    ) -> anyhow::Result<(BackendEntry, Vec<Finding>)> {
        let target = targets
            .iter()
            .find(|target| target.backend.name == STEP_BACKEND)
            .context("the step's backend is gone")?;
        let prefix = &target.manifest.prefix;
        let parts = step::parts();
        let named: BTreeSet<_> = parts.iter().map(|part| part.backend).collect();
        let mut libraries = step::Libraries::new();
        for target in targets {
            if let Some(name) = named.get(target.backend.name) {
                let path = library::fresh(self.root, target, out)?;
                libraries.insert(name, Library::open(path)?);
            }
        }
        let libraries = Arc::new(libraries);
        let own = libraries
            .get(STEP_BACKEND)
            .context("the step's backend has no library")?;
        let info = own.build_info(prefix)?.context("the build info is null")?;
        let run = Run::of(&info, &self.gpu.info().driver, &self.date);
        let whole = step::bench(step::CASE, parts.clone(), Some(libraries.clone()));
        let mut row = self.row(own, prefix, STEP_BACKEND, &whole, Mode::Hot, &run)?;
        out.log(format_args!("{}: {} us", row.case, row.median_us));
        for part in parts {
            let name = part.name();
            let bench = step::bench(&name, vec![part], Some(libraries.clone()));
            let alone = self.row(own, prefix, STEP_BACKEND, &bench, Mode::Hot, &run)?;
            out.log(format_args!("{name}: {} us", alone.median_us));
            row.variants
                .insert(format!("of it {name}"), alone.median_us);
            for (baseline, us) in alone.baselines {
                row.baselines
                    .insert(format!("{baseline}, of it {name}"), us);
            }
        }
        let mut findings = Vec::new();
        findings.extend(
            row.refused
                .as_ref()
                .map(|reason| target.error("bench-refused", format!("{}: {reason}", row.case))),
        );
        let rows = [row];
        self.keep(target, &rows)?;
        let more = Self::show(target, &rows, out)?;
        Ok((target.entry(more), findings))
    }

    /// Puts rows into the backend's file, in the place of those of an earlier run.
    fn keep(&self, target: &Target, rows: &[Row]) -> anyhow::Result<()> {
        let name = target.backend.name;
        let path = self.dir.join(format!("{name}.json"));
        let mut results = if path.is_file() {
            Results::read(&path)?
        } else {
            Results::new(&self.gpu.info().name)
        };
        results.merge(rows.to_vec());
        let mut benches = (target.backend.benches)();
        if name == STEP_BACKEND {
            benches.push(step::bench(step::CASE, step::parts(), None));
        }
        arrange(&mut results, &benches);
        Ok(results.write(&path)?)
    }

    /// The rows of a run that is over, as a table and for a document.
    fn show(
        target: &Target,
        rows: &[Row],
        out: &Output,
    ) -> anyhow::Result<Map<String, serde_json::Value>> {
        out.say(format_args!("\n{}\n{}", target.backend.name, table(rows)));
        let mut more = Map::new();
        more.insert("rows".into(), serde_json::to_value(rows)?);
        Ok(more)
    }

    fn row(
        &self,
        library: &Library,
        prefix: &str,
        backend: &str,
        bench: &Bench,
        mode: Mode,
        run: &Run,
    ) -> bench_kit::Result<Row> {
        let measured = bench_kit::measure(&self.gpu, library, prefix, bench, mode, &self.plan)?;
        let goal = self
            .goals
            .find(backend, &bench.id, mode, class_name(bench.class));
        Ok(Row::new(
            backend,
            bench,
            mode,
            &measured,
            &self.floors,
            goal,
            run,
        ))
    }
}

/// Rows in the bench's order; rows of cases that are gone, gone.
fn arrange(results: &mut Results, benches: &[Bench]) {
    let place = |row: &Row| {
        benches.iter().position(|b| {
            b.id == row.case && class_name(b.class) == row.class && b.modes.contains(&row.mode)
        })
    };
    results.rows.retain(|row| place(row).is_some());
    results.rows.sort_by_key(|row| (place(row), row.mode));
}

/// The manifest lists the bench's cases, no more and no less.
fn case_list(target: &Target) -> Vec<Finding> {
    let mut run: Vec<String> = (target.backend.benches)()
        .into_iter()
        .map(|b| b.id)
        .collect();
    run.sort();
    // A case may have a row for each class.
    run.dedup();
    let mut listed = target.manifest.cases.bench.clone();
    listed.sort();
    if run == listed {
        return Vec::new();
    }
    let message = format!("cases.bench of the manifest lists {listed:?}, the bench runs {run:?}");
    vec![target.error("bench-case-list", message)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn args() -> Args {
        Args {
            backend: None,
            case: None,
            mode: None,
            step: false,
            peers: None,
            out: None,
            charts_only: false,
            root: None,
        }
    }

    fn failure(args: &Args) -> Failure {
        let error = run(args, &Output::new(Format::Human)).unwrap_err();
        error
            .downcast()
            .unwrap_or_else(|error| panic!("{error} is of no known kind"))
    }

    #[test]
    fn the_manifests_list_what_the_bench_runs() {
        for target in suite::targets(&workspace::root().unwrap(), None).unwrap() {
            let findings = case_list(&target);
            assert!(findings.is_empty(), "{}", findings[0]);
        }
    }

    #[test]
    fn a_case_that_no_backend_has_is_a_usage_error_that_lists_the_cases() {
        let failure = failure(&Args {
            case: Some("no-such-case".into()),
            ..args()
        });
        let listed = |text: &str| text.contains("clm-cosine-5x512");
        assert!(
            matches!(&failure, Failure::Usage(text) if listed(text)),
            "{failure}"
        );
    }

    #[test]
    fn a_peers_file_that_is_not_there_is_a_usage_error() {
        let failure = failure(&Args {
            peers: Some("/nowhere/peers.json".into()),
            ..args()
        });
        let named = |text: &str| text.starts_with("/nowhere/peers.json");
        assert!(
            matches!(&failure, Failure::Usage(text) if named(text)),
            "{failure}"
        );
    }

    #[test]
    fn without_a_gpu_it_ends_with_one_sentence_about_the_environment() {
        if Gpu::open(0).is_ok() {
            return;
        }
        for step in [false, true] {
            let failure = failure(&Args { step, ..args() });
            assert!(matches!(&failure, Failure::Environment(_)), "{failure}");
            assert_eq!(failure.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn rows_of_cases_that_are_gone_go_and_the_others_take_the_bench_s_order() {
        let benches = scoring::bench::benches();
        let row = |case: &str, mode: &str| {
            let text = serde_json::json!({
                "backend": "scoring", "case": case, "entry": "cs_score", "class": "exact",
                "mode": mode, "median_us": 1.0, "min_us": 1.0, "spread": 0.0, "floor_us": 1.0,
                "bytes": 1, "gb_per_s": 1.0, "nodes": 1, "calls": 20, "replays": 30, "sets": 1,
                "baselines": {}, "peers": {}, "library": "", "driver": "", "date": "",
            });
            serde_json::from_value(text).unwrap()
        };
        let mut results = Results::new("GPU");
        results.merge(vec![
            row("kev-dot-255x2560", "cold"),
            row("gone", "hot"),
            row("kev-dot-255x2560", "hot"),
            row("clm-cosine-5x512", "hot"),
            row("clm-cosine-5x512", "cold"),
        ]);
        arrange(&mut results, &benches);
        let left: Vec<_> = results
            .rows
            .iter()
            .map(|row| (row.case.as_str(), row.mode.name()))
            .collect();
        let dot = "kev-dot-255x2560";
        assert_eq!(
            left,
            [("clm-cosine-5x512", "hot"), (dot, "hot"), (dot, "cold")]
        );
    }
}
