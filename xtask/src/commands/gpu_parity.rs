//! `gpu-parity`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Run the parity suite on the GPU, or say what could not be checked.
#[derive(clap::Args)]
pub struct Args {
    /// Only this backend; default: all.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// Also run the named subset under memcheck, racecheck, synccheck and initcheck.
    #[arg(long)]
    pub sanitize: bool,
    /// End with exit code 4 where there is no GPU.
    #[arg(long)]
    pub require_gpu: bool,
    /// Write the evidence of this run there.
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("gpu-parity is not built yet".into()).into())
}
