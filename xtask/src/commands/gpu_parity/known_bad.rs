//! The kernels that the harness must fail, on the GPU that everything else ran on.

use std::path::{Path, PathBuf};

use build_support::{Jobs, Manifest, arch, nvcc};
use contract::Finding;
use contract::evidence::KnownBad;
use parity::known_bad::{GOOD, KNOWN_BAD, case};
use parity::{Gpu, Library, Options, Outcome, Runner};

use crate::output::Output;
use crate::suite::Target;
use crate::toolkit;

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
    let library = library(root, out).and_then(|path| Ok(Library::open(path)?));
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

/// Where the library is; compiled where the tree has its source.
fn library(root: &Path, out: &Output) -> anyhow::Result<PathBuf> {
    let dist = root.join("target/dist/known_bad");
    let path = dist.join("libknown_bad.so");
    let dir = root.join("crates/parity/known_bad");
    if dir.join("library.json").is_file() && root.join("xtask/Cargo.toml").is_file() {
        compile(root, &dir, &dist, out)?;
    }
    anyhow::ensure!(path.is_file(), "{} is not there", path.display());
    Ok(path)
}

/// Compiles `known_bad.cu` as the backends are compiled. Does nothing when nothing changed.
pub fn compile(root: &Path, dir: &Path, dist: &Path, out: &Output) -> anyhow::Result<()> {
    let manifest = Manifest::read(&dir.join("library.json"))?;
    let toolkit = toolkit::compiler(root, manifest.build.min_toolkit.as_deref(), out)?;
    let archs = arch::parse_list(&manifest.build.architectures)?;
    let built = nvcc::build(&nvcc::Request {
        crate_dir: dir,
        manifest: &manifest,
        shared_include: &root.join("crates/build-support/include"),
        toolkit: &toolkit,
        archs: &archs,
        out_dir: &root.join("target/compile/known_bad"),
        shared_library: true,
        warnings_are_errors: true,
        target_arch: std::env::consts::ARCH,
        jobs: &Jobs::of_machine(),
        observer: &|_, _| {},
    })?;
    let library = built
        .shared_library
        .ok_or_else(|| anyhow::anyhow!("no library was linked"))?;
    std::fs::create_dir_all(dist)?;
    std::fs::copy(library, dist.join("libknown_bad.so"))?;
    Ok(())
}
