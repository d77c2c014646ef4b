//! The kernels that the harness must fail, on the GPU that everything else ran on.

use std::path::Path;

use contract::Finding;
use contract::evidence::KnownBad;
use parity::known_bad::{GOOD, KNOWN_BAD, case};
use parity::{Gpu, Library, Options, Outcome, Runner};

use crate::output::Output;
use crate::suite::Target;
use crate::suite_library;

/// What came of running them.
pub struct KnownBadRun {
    /// Each of them and whether it was caught.
    pub results: Vec<KnownBad>,
    /// Why none ran.
    why: Option<String>,
    /// What the good one, the control, did wrong.
    control: Option<String>,
}

impl KnownBadRun {
    /// What is wrong with the harness.
    pub fn findings(&self, target: &Target) -> Vec<Finding> {
        let missed = self.results.iter().filter(|bad| !bad.caught).map(|bad| {
            target.error(
                "parity-known-bad",
                format!("the harness passed {}", bad.name),
            )
        });
        let control = self.control.iter().map(|message| {
            target.error(
                "parity-known-bad",
                format!("the harness failed {GOOD}: {message}"),
            )
        });
        let unchecked = self.why.iter().map(|why| {
            let message = format!("the known-bad kernels could not be run: {why}");
            target.warning("parity-unchecked", message)
        });
        missed.chain(control).chain(unchecked).collect()
    }
}

/// Runs all of them.
pub fn run(gpu: &Gpu, root: &Path, out: &Output) -> KnownBadRun {
    let mut run = KnownBadRun {
        results: Vec::new(),
        why: None,
        control: None,
    };
    let library = suite_library::KNOWN_BAD
        .path(root, out)
        .and_then(|path| Ok(Library::open(path)?));
    let library = match library {
        Ok(library) => library,
        Err(error) => {
            run.why = Some(format!("{error:#}"));
            return run;
        }
    };
    let runner = Runner::new(gpu, &library, Options::default());
    for refusal in [false, true] {
        let report = runner.run(&case(GOOD, refusal));
        if report.outcome() != Outcome::Pass {
            let failure = report.failures().next();
            let message = failure.map_or("unchecked".into(), |(_, f)| f.message.clone());
            run.control = Some(message);
        }
    }
    for bad in KNOWN_BAD {
        let report = runner.run(&case(bad.entry, bad.refusal));
        let caught = report.outcome() == Outcome::Fail;
        run.results.push(KnownBad {
            name: bad.entry.to_owned(),
            caught,
        });
    }
    let caught = run.results.iter().filter(|bad| bad.caught).count();
    out.say(format_args!(
        "known-bad kernels: {caught} of {} caught",
        run.results.len()
    ));
    run
}
