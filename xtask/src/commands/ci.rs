//! `ci`: everything that a machine without a GPU can check, one step after the other.
//!
//! A failed step does not hide the ones behind it: all run, and the end names those that failed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::output::{Exit, Failure, Output};
use crate::{toolkit, workspace};

/// Check everything that a machine without a GPU can.
#[derive(clap::Args)]
pub struct Args {
    /// Fail on stale evidence instead of only reporting it.
    #[arg(long)]
    pub release: bool,
    /// Also the long steps: compile, codegen, docs, dependents, c-abi.
    #[arg(long)]
    pub full: bool,
    /// Only steps whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// One command line and how it may end.
struct Step {
    name: &'static str,
    command: Command,
    /// Exit codes beside 0 that are reported loudly and pass.
    tolerated: &'static [i32],
}

impl Step {
    fn new(name: &'static str, root: &Path, program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(root);
        Self {
            name,
            command,
            tolerated: &[],
        }
    }

    fn env(mut self, key: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    fn tolerating(mut self, codes: &'static [i32]) -> Self {
        self.tolerated = codes;
        self
    }
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    // What cannot be had is said before any work starts.
    let compiler = toolkit::compiler(&root, None, out)?;
    let clang_format = toolkit::clang_format(&root, out)?;
    let wanted = |step: &Step| {
        args.only
            .as_deref()
            .is_none_or(|text| step.name.contains(text))
    };
    let steps: Vec<Step> = steps(&root, &compiler.nvcc, &clang_format, args)?
        .into_iter()
        .filter(wanted)
        .collect();
    if steps.is_empty() {
        return Err(Failure::Usage("no step has that text in its name".into()).into());
    }

    let mut failed = Vec::new();
    let mut summary = Vec::new();
    for mut step in steps {
        out.log(format_args!("\n== {}", step.name));
        let start = Instant::now();
        let code = match step.command.status() {
            Ok(status) => status.code(),
            Err(error) => {
                let program = step.command.get_program().to_string_lossy();
                out.log(format_args!("{program} does not run: {error}"));
                None
            }
        };
        let result = match code {
            Some(0) => "pass",
            Some(code) if step.tolerated.contains(&code) => "pass, but look above",
            _ => {
                failed.push(step.name);
                "FAIL"
            }
        };
        summary.push(format!(
            "{:<22} {:>6.1} s  {result}",
            step.name,
            start.elapsed().as_secs_f64()
        ));
    }
    out.say(format_args!("\n{}", summary.join("\n")));
    out.say(format_args!(
        "{} passed, {} failed",
        summary.len() - failed.len(),
        failed.len()
    ));
    if failed.is_empty() {
        Ok(Exit::Ok)
    } else {
        out.log(format_args!("failed: {}", failed.join(", ")));
        Ok(Exit::Error)
    }
}

fn steps(root: &Path, nvcc: &Path, clang_format: &Path, args: &Args) -> anyhow::Result<Vec<Step>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let cargo = |name, args: &[&str]| Step::new(name, root, &cargo, args);
    let this = std::env::current_exe()?;
    let this = this.to_string_lossy();
    let xtask = |name, args: &[&str]| Step::new(name, root, &this, args);

    let mut format_device = Step::new(
        "format-device",
        root,
        &clang_format.to_string_lossy(),
        &["--dry-run", "-Werror"],
    );
    format_device
        .command
        .args(device_sources(&root.join("crates"))?);

    let mut steps = vec![
        cargo("format", &["fmt", "--all", "--check"]),
        format_device,
        cargo(
            "clippy",
            &[
                "clippy",
                "--locked",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
        ),
    ];
    for name in backend_names(root)? {
        steps.push(
            cargo(
                "clippy-cuda",
                &[
                    "clippy",
                    "--locked",
                    "--all-targets",
                    "--package",
                    &name,
                    "--features",
                    "cuda-13000",
                    "--",
                    "-D",
                    "warnings",
                ],
            )
            // The typed layer, without its kernels.
            .env("DOCS_RS", "1"),
        );
    }
    steps.push(
        cargo(
            "clippy-composed",
            &[
                "clippy",
                "--locked",
                "--all-targets",
                "--package",
                "mamba2-scan",
                "--features",
                "composed,cuda-13000",
                "--",
                "-D",
                "warnings",
            ],
        )
        .env("DOCS_RS", "1"),
    );
    steps.extend([
        cargo("test", &["test", "--locked", "--workspace"]).env("INSTA_UPDATE", "no"),
        if args.release {
            xtask("check-contract", &["check-contract"])
        } else {
            xtask("check-contract", &["check-contract"]).tolerating(&[3])
        },
    ]);
    steps.push(xtask("simulate", &["simulate"]));
    if args.full {
        steps.extend([
            xtask("compile", &["compile"]),
            xtask("codegen", &["codegen", "--check"]),
            Step::new("docs", root, "sh", &["ci/docs.sh"]),
            Step::new("dependents", root, "sh", &["ci/dependents.sh"]).env("NVCC", nvcc),
            Step::new("c-abi", root, "sh", &["ci/c_abi.sh"]),
        ]);
    }
    Ok(steps)
}

/// Packages with a manifest of a kernel library.
fn backend_names(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let dir = entry?.path();
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        if dir.join(format!("{name}.backend.json")).is_file() {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Every C, C++ and CUDA file below `dir`, in order.
fn device_sources(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                open.push(path);
            } else if ["cu", "cuh", "h", "cc", "c"].contains(&&*extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
