//! `gpu-parity`.

mod evidence;
mod known_bad;
pub mod library;
mod older_form;
mod sanitizer;
mod twin;

use std::path::{Path, PathBuf};

use contract::Finding;
use parity::{Device, Gpu, Library, Options, Outcome, Runner, Tags};
use serde_json::{Map, Value, json};

use crate::commands::simulate;
use crate::output::{BackendEntry, Document, Exit, Failure, Output};
use crate::suite::{self, Tally, Target};
use crate::workspace;

/// Run the parity suite on the GPU, or say what could not be checked.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Also run the named subset under memcheck, racecheck, synccheck and initcheck.
    #[arg(long)]
    pub sanitize: bool,
    /// End with exit code 4 where there is no GPU.
    #[arg(long)]
    pub require_gpu: bool,
    /// Write the evidence of this run there: one .json file, or a folder that gets
    /// `<backend>/<gpu>.json`.
    #[arg(long, value_name = "PATH")]
    pub evidence: Option<PathBuf>,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Seeds the inputs.
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().seed)]
    pub seed: u64,
    /// This process runs under that sanitizer: only the named subset, as it wants it.
    #[arg(long, value_name = "TOOL", hide = true)]
    pub under: Option<sanitizer::Tool>,
    /// And only that part of the subset, as in 0/4.
    #[arg(long, value_name = "PART", hide = true)]
    pub shard: Option<sanitizer::Shard>,
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = match &args.root {
        Some(root) => root.clone(),
        None => workspace::root()?,
    };
    if let Some(path) = &args.evidence {
        let one_file = evidence::is_file(path);
        if args.case.is_some() || (one_file && args.backend.is_none()) {
            let message = "evidence is about whole backends: --evidence takes no --case, and a file \
                           takes one --backend (a folder takes them all)";
            return Err(Failure::Usage(message.into()).into());
        }
    }
    if args.root.is_some()
        && let Some(tree) = older_form::tree(&root)
    {
        return older_form::run(&tree, args.backend.as_deref(), args.require_gpu, out);
    }
    let targets = suite::targets(&root, args.backend.as_deref())?;
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(error) => return without_gpu(args, &root, &targets, &error.to_string(), out),
    };
    if let Some(tool) = args.under {
        return sanitizer::child(&gpu, &root, &targets, tool, args, out);
    }
    let info = gpu.info();
    out.say(format_args!(
        "{}, capability {}.{}, driver {}",
        info.name,
        info.capability / 10,
        info.capability % 10,
        parity::driver::release().unwrap_or_else(|| "unknown".into()),
    ));
    let mut backends = Vec::new();
    let mut findings = Vec::new();
    for target in &targets {
        let (entry, found) = on_gpu(args, &root, target, &gpu, out)?;
        backends.push(entry);
        findings.extend(found);
    }
    let mut document = Document::new(backends, findings);
    document
        .more
        .insert("device".into(), serde_json::to_value(info)?);
    Ok(out.finish(&document))
}

/// One backend on the GPU.
fn on_gpu(
    args: &Args,
    root: &Path,
    target: &Target,
    gpu: &Gpu,
    out: &Output,
) -> anyhow::Result<(BackendEntry, Vec<Finding>)> {
    let name = target.backend.name;
    let mut more = Map::new();
    let library = match library::fresh(root, target, out).and_then(|path| Ok(Library::open(path)?))
    {
        Ok(library) => library,
        Err(error) => {
            // A failure, not a skip: there is a GPU, and nothing ran on it.
            more.insert("gpu".into(), "could_not_check".into());
            let finding = target.error("parity-library", format!("{error:#}"));
            return Ok((target.entry(more), vec![finding]));
        }
    };
    let mut findings = target.case_list();
    findings.extend(target.conformance(&library));

    let options = Options {
        seed: args.seed,
        ..Options::default()
    };
    let runner = Runner::new(gpu, &library, options);
    let cases = target.cases(Tags::NONE, args.case.as_deref());
    out.say(format_args!(
        "\n{name}: {} cases\n{}",
        cases.len(),
        suite::heading()
    ));
    let reports = runner.run_all(&cases, |report| {
        out.say(suite::row(report));
        true
    });
    let tally = Tally::of(&reports);
    out.say(format_args!("{name}: {tally}"));
    // Afterwards: beside the sanitizers' processes, which share the GPU by time, every transfer of
    // the suite would wait for all of them.
    let sanitizers = match args.sanitize {
        true => sanitizer::run_all(root, target, args),
        false => Vec::new(),
    };
    for result in &sanitizers {
        out.say(format_args!("{name}: {result}"));
    }
    findings.extend(suite::case_findings(target, "on the GPU", &reports));
    let unchecked = reports.iter().flat_map(|report| {
        report
            .paths
            .iter()
            .filter(|path| path.outcome == Outcome::CouldNotCheck)
            .map(|path| {
                let why = path.why.as_deref().unwrap_or("unknown");
                format!(
                    "{} on path {} could not be checked: {why}",
                    report.id, path.path
                )
            })
    });
    findings.extend(unchecked.map(|message| target.warning("parity-unchecked", message)));

    let known_bad = known_bad::run(gpu, root, out);
    findings.extend(known_bad.findings(target));
    findings.extend(
        sanitizers
            .iter()
            .filter_map(|result| result.finding(target)),
    );

    let filter = args.case.as_deref();
    let twins = twin::run(gpu, &library, root, target, filter, args.seed, out);
    findings.extend(twins.findings(target));

    let gpu_outcome = match tally {
        Tally { fail: 1.., .. } => "fail",
        Tally { pass: 0, .. } => "could_not_check",
        _ => "pass",
    };
    more.insert("gpu".into(), gpu_outcome.into());
    more.insert("tally".into(), serde_json::to_value(tally)?);
    more.insert("seed".into(), args.seed.into());
    more.insert("cases".into(), serde_json::to_value(&reports)?);
    more.insert(
        "known_bad".into(),
        serde_json::to_value(&known_bad.results)?,
    );
    more.insert("sanitizer".into(), sanitizer::to_json(&sanitizers));
    more.insert("simulator".into(), twins.to_json());
    if let Some(path) = &args.evidence {
        let run = evidence::Run {
            target,
            library: &library,
            gpu: gpu.info(),
            seed: args.seed,
            reports: &reports,
            known_bad: &known_bad.results,
            sanitizers: &sanitizers,
        };
        let path = evidence::write(&run, path)?;
        out.say(format_args!(
            "{name}: evidence written to {}",
            path.display()
        ));
        more.insert("evidence".into(), path.display().to_string().into());
    }
    Ok((target.entry(more), findings))
}

/// Without a GPU: the simulator where it can be built, else the oracles alone. Never a validation.
fn without_gpu(
    args: &Args,
    root: &Path,
    targets: &[Target],
    why: &str,
    out: &Output,
) -> anyhow::Result<Exit> {
    if args.require_gpu {
        return Err(Failure::Environment(why.to_owned()).into());
    }
    if args.evidence.is_some() {
        let message = format!("evidence is written by a run on a GPU, and there is {why}");
        return Err(Failure::Environment(message).into());
    }
    out.say(format_args!("{why}"));
    out.say("Nothing below ran on a GPU, and none of it validates a backend.");
    let mut backends = Vec::new();
    let mut findings = Vec::new();
    for target in targets {
        findings.extend(target.case_list());
        let mut more = Map::new();
        more.insert("gpu".into(), "could_not_check".into());
        more.insert("why".into(), why.into());
        match simulate::emulate(root, target, args.case.as_deref(), out) {
            Ok(emulated) => {
                more.insert("class".into(), "emulated".into());
                more.insert("simulator".into(), serde_json::to_value(emulated.tally)?);
                findings.extend(emulated.findings);
            }
            Err(error) => {
                let missing = error.downcast_ref::<Failure>().is_some();
                let message = format!("the simulator could not run: {error:#}");
                out.say(format_args!("{}: {message}", target.backend.name));
                findings.push(if missing {
                    target.warning("parity-unchecked", message)
                } else {
                    target.error("parity-library", message)
                });
                let (tally, found) = suite::self_checks(target, args.case.as_deref(), out);
                more.insert("oracle".into(), serde_json::to_value(tally)?);
                findings.extend(found);
            }
        }
        backends.push(target.entry(more));
    }
    let mut document = Document::new(backends, findings);
    document.more.insert("gpu".into(), json!("could_not_check"));
    document.more.insert("why".into(), Value::from(why));
    Ok(out.finish(&document))
}
