//! `discover`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Print the compile matrix of the buildable backends.
#[derive(clap::Args)]
pub struct Args {
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print `matrix=...`, the line that $GITHUB_OUTPUT takes.
    #[arg(long)]
    pub github: bool,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("discover is not built yet".into()).into())
}
