//! `check-contract`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Check every backend manifest below a directory.
#[derive(clap::Args)]
pub struct Args {
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("check-contract is not built yet".into()).into())
}
