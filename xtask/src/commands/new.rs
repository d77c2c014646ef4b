//! `new`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Scaffold a backend that passes check-contract as planned.
#[derive(clap::Args)]
pub struct Args {
    /// The backend's name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("new is not built yet".into()).into())
}
