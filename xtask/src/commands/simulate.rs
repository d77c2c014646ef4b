//! `simulate`.

use crate::output::{Exit, Failure, Output};

/// Run the shipped kernels on the CPU.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("simulate is not built yet".into()).into())
}
