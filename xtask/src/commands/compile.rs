//! `compile`.

mod checks;
mod machine_code_twice;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use build_support::nvcc::{self, Request, Step};
use build_support::toolkit::Version;
use build_support::{Arch, Jobs, Toolkit, arch};
use contract::{Backend, Finding, Manifest, Severity, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use crate::artifact::ptxas::{self, Usage};
use crate::artifact::resources::Lock;
use crate::output::{BackendEntry, Document, Exit, Failure, Output};
use crate::toolkit::{self, Inspector};
use crate::workspace;

/// Compile the kernels, read the artifacts back and check them.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Only these architectures, e.g. 90 or 90a; default: the manifest's.
    #[arg(long, value_name = "ARCH", num_args = 1..)]
    pub arch: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let work = Work::plan(&root, args.backend.as_deref(), &args.arch, out)?;
    let results = work.compile(out);
    let mut entries = Vec::new();
    let mut findings = Vec::new();
    for (target, result) in work.targets.iter().zip(results) {
        let mut more = Map::new();
        match result {
            Ok(compiled) => {
                findings.extend(checks::all(&work, target, &compiled)?);
                more = compiled.facts();
                out.say(compiled.line(target));
            }
            Err(error) => {
                out.log(format_args!("error: {error}"));
                findings.push(target.finding("compile-failed", "", error.to_string()));
            }
        }
        entries.push(target.entry(more));
    }
    Ok(out.finish(&Document::new(entries, findings)))
}

/// What to compile, with everything that it takes found beforehand.
pub struct Work {
    /// The workspace.
    pub root: PathBuf,
    /// The compiler.
    pub toolkit: Toolkit,
    /// Readers of machine code.
    pub inspector: Inspector,
    /// The libraries, by name.
    pub targets: Vec<Target>,
}

/// One library to compile.
pub struct Target {
    /// Its manifest, relative to the root.
    pub path: String,
    /// The kernel crate.
    pub crate_dir: PathBuf,
    /// The manifest.
    pub manifest: Manifest,
    /// The manifest as the build reads it.
    pub for_build: build_support::Manifest,
    /// The architectures asked for.
    pub archs: Vec<Arch>,
}

/// A library that was compiled and laid out below `target/dist`.
pub struct Compiled {
    /// `target/dist/<name>`.
    pub dist: PathBuf,
    /// What the build made.
    pub library: nvcc::Library,
    /// What ptxas said, by translation unit.
    pub usage: BTreeMap<String, Vec<Usage>>,
}

impl Work {
    /// Finds the compiler and the backends; fails before anything is compiled.
    pub fn plan(
        root: &Path,
        backend: Option<&str>,
        archs: &[String],
        out: &Output,
    ) -> anyhow::Result<Work> {
        let usage = |message: String| anyhow::Error::from(Failure::Usage(message));
        let report = contract::check(root);
        if let Some(name) = backend
            && !report.backends.iter().any(|backend| backend.name == name)
        {
            let known: Vec<&str> = report.backends.iter().map(|b| b.name.as_str()).collect();
            return Err(usage(format!(
                "no backend is called {name:?}; there are {}",
                known.join(", ")
            )));
        }
        let archs = arch::parse_list(archs).map_err(|error| usage(error.message))?;
        let mut targets = Vec::new();
        for found in report
            .backends
            .iter()
            .filter(|b| backend.is_none_or(|name| b.name == name))
        {
            match target(root, found, &archs)? {
                Some(target) => targets.push(target),
                None => out.log(format_args!("{}: nothing to compile", found.name)),
            }
        }
        let oldest = targets
            .iter()
            .map(|target| target.manifest.build.min_toolkit.as_str())
            .max_by_key(|version| Version::parse(version));
        let toolkit = toolkit::compiler(root, oldest, out)?;
        for target in &targets {
            toolkit
                .check(None, &target.archs)
                .map_err(|error| usage(error.message))?;
        }
        let inspector = toolkit::inspector(root, &toolkit, out)?;
        Ok(Work {
            root: root.to_owned(),
            toolkit,
            inspector,
            targets,
        })
    }

    /// Compiles every target at once, sharing the processors, and lays the results out.
    pub fn compile(&self, out: &Output) -> Vec<Result<Compiled, build_support::Error>> {
        let units: usize = self
            .targets
            .iter()
            .map(|target| target.manifest.units().count())
            .sum();
        let bar = progress_bar(units, out);
        let jobs = Jobs::of_machine();
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .targets
                .iter()
                .map(|target| scope.spawn(|| self.compile_one(target, &jobs, &bar)))
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        bar.finish_and_clear();
        results
    }

    fn compile_one(
        &self,
        target: &Target,
        jobs: &Jobs,
        bar: &ProgressBar,
    ) -> Result<Compiled, build_support::Error> {
        let name = &target.manifest.name;
        let archs: Vec<String> = target.archs.iter().map(Arch::to_string).collect();
        let library = nvcc::build(&Request {
            crate_dir: &target.crate_dir,
            manifest: &target.for_build,
            shared_include: &self.root.join("crates/build-support/include"),
            toolkit: &self.toolkit,
            archs: &target.archs,
            // A folder for each set, so that a quick build for one does not undo the whole one.
            out_dir: &self
                .root
                .join("target/kernels")
                .join(name)
                .join(archs.join("-")),
            shared_library: true,
            warnings_are_errors: true,
            target_arch: std::env::consts::ARCH,
            jobs,
            observer: &|source, step| match step {
                Step::Started => bar.set_message(format!("{name}: {source}")),
                Step::Compiled | Step::Unchanged => bar.inc(1),
            },
        })?;
        let dist = self.root.join("target/dist").join(name);
        lay_out(&dist, target, &library)?;
        let usage = library
            .units
            .iter()
            .map(|unit| (unit.source.clone(), ptxas::parse(&unit.log)))
            .collect();
        Ok(Compiled {
            dist,
            library,
            usage,
        })
    }
}

fn target(root: &Path, backend: &Backend, archs: &[Arch]) -> anyhow::Result<Option<Target>> {
    let Some(manifest) = backend.manifest().filter(|m| m.status != Status::Planned) else {
        return Ok(None);
    };
    let manifest_file = root.join(&backend.path);
    let for_build = build_support::Manifest::read(&manifest_file)?;
    let archs = if archs.is_empty() {
        for_build.architectures()?
    } else {
        archs.to_vec()
    };
    let crate_dir = manifest_file
        .parent()
        .context("a manifest lies in a directory")?
        .to_owned();
    Ok(Some(Target {
        path: backend.path.clone(),
        crate_dir,
        manifest: manifest.clone(),
        for_build,
        archs,
    }))
}

/// `target/dist/<name>`: the libraries under their own names and the header.
fn lay_out(
    dist: &Path,
    target: &Target,
    library: &nvcc::Library,
) -> Result<(), build_support::Error> {
    let fail = |path: &Path, error: std::io::Error| {
        build_support::Error::input(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(dist).map_err(|e| fail(dist, e))?;
    let header = target.crate_dir.join(&target.manifest.header);
    let files = [
        Some(&library.static_library),
        library.shared_library.as_ref(),
        Some(&header),
    ];
    for from in files.into_iter().flatten() {
        let to = dist.join(from.file_name().unwrap_or_default());
        let same = fs::read(&to)
            .ok()
            .is_some_and(|old| fs::read(from).is_ok_and(|new| old == new));
        if !same {
            // Not written over: a process may have the old library loaded.
            let _ = fs::remove_file(&to);
            fs::copy(from, &to).map_err(|e| fail(&to, e))?;
        }
    }
    // What a program that was linked with the library looks for when it starts.
    #[cfg(unix)]
    {
        let soname = dist.join(target.soname());
        let _ = fs::remove_file(&soname);
        std::os::unix::fs::symlink(target.manifest.library_file(), &soname)
            .map_err(|e| fail(&soname, e))?;
    }
    Ok(())
}

/// On stderr: stdout may belong to a document.
fn progress_bar(units: usize, out: &Output) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(units as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>5} [{bar:30}] {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    if bar.is_hidden() {
        out.log(format_args!("compiling {units} translation units"));
    } else {
        bar.enable_steady_tick(Duration::from_secs(1));
    }
    bar
}

impl Target {
    /// `lib<library>.so.<abi>`.
    pub fn soname(&self) -> String {
        format!(
            "{}.{}",
            self.manifest.library_file(),
            self.manifest.abi_version
        )
    }

    /// An error about this backend's manifest.
    pub fn finding(&self, code: &str, pointer: &str, message: impl Into<String>) -> Finding {
        Finding::new(Severity::Error, code, &self.path, pointer, message)
    }

    fn entry(&self, more: Map<String, Value>) -> BackendEntry {
        BackendEntry {
            name: self.manifest.name.clone(),
            status: self.manifest.status.to_string(),
            path: self.path.clone(),
            more,
        }
    }
}

impl Compiled {
    /// The shared library in `target/dist`.
    pub fn shared_library(&self, target: &Target) -> PathBuf {
        self.dist.join(target.manifest.library_file())
    }

    /// What the lock should say.
    pub fn lock(&self) -> Lock {
        Lock::of(&self.library.info.nvcc, &self.usage)
    }

    fn kernels(&self) -> usize {
        self.lock().units.values().map(BTreeMap::len).sum()
    }

    fn most_registers(&self) -> u32 {
        self.usage
            .values()
            .flatten()
            .map(|usage| usage.registers)
            .max()
            .unwrap_or(0)
    }

    fn facts(&self) -> Map<String, Value> {
        let info = &self.library.info;
        let facts = json!({
            "library": self.dist,
            "changed": self.library.changed,
            "architectures": info.archs,
            "ptx": info.ptx,
            "nvcc": info.nvcc,
            "kernels": self.kernels(),
            "most_registers": self.most_registers(),
        });
        facts.as_object().cloned().unwrap_or_default()
    }

    fn line(&self, target: &Target) -> String {
        let info = &self.library.info;
        format!(
            "{}: {} kernels for {} and PTX for {}, nvcc {}, at most {} registers{}: {}",
            target.manifest.name,
            self.kernels(),
            info.archs.join(" "),
            info.ptx.join(" "),
            info.nvcc,
            self.most_registers(),
            if self.library.changed {
                ""
            } else {
                " (unchanged)"
            },
            self.dist.display(),
        )
    }
}
