//! `bench`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Time the kernels against their baselines and peers.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Only the composite steps (a network's whole step) instead of single kernels.
    #[arg(long)]
    pub step: bool,
    /// Peers' times to print beside ours.
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("bench is not built yet".into()).into())
}
