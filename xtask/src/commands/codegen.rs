//! `codegen`.

#[cfg(feature = "bindgen")]
mod bindings;
#[cfg(feature = "bindgen")]
mod generate;
#[cfg(feature = "bindgen")]
mod support_table;
#[cfg(feature = "bindgen")]
mod toolkits;

use clap::ValueEnum;

use crate::output::{Exit, Output};

/// Regenerate schema, ffi.rs, resource lock, support table and workflow matrix.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail where a file differs from what would be written.
    #[arg(long)]
    pub check: bool,
    /// Only these parts; default: all.
    #[arg(long, value_enum, value_name = "PART", num_args = 1..)]
    pub only: Vec<Part>,
}

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// contract/schema/*.json.
    Schema,
    /// crates/*/src/ffi.rs.
    Ffi,
    /// crates/*/resources.lock.json.
    Lock,
    /// The case ids in crates/*/*.backend.json.
    Cases,
    /// The table in README.md.
    Readme,
    /// The toolkits in .github/workflows/compile.yml.
    Matrix,
}

/// Runs the command.
#[cfg(feature = "bindgen")]
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    generate::run(args, out)
}

/// Runs the command in a build of this program that has bindgen: it compiles for whoever
/// generates, not for everybody.
#[cfg(not(feature = "bindgen"))]
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    use std::process::Command;

    use crate::output::Failure;
    use crate::workspace;

    let root = workspace::root()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--features",
        "bindgen",
        "--",
    ]);
    command.args([
        "--format",
        if out.is_json() { "json" } else { "human" },
        "codegen",
    ]);
    if args.check {
        command.arg("--check");
    }
    for part in args.only.iter().filter_map(|part| part.to_possible_value()) {
        command.args(["--only", part.get_name()]);
    }
    let status = command.current_dir(root).status().map_err(|error| {
        Failure::Environment(format!(
            "cargo, which builds the generator, does not run: {error}"
        ))
    })?;
    Ok(match status.code() {
        Some(0) => Exit::Ok,
        Some(2) => Exit::Usage,
        Some(4) => Exit::Environment,
        _ => Exit::Error,
    })
}
