//! `bundle`.

use std::path::PathBuf;

use crate::output::{Exit, Failure, Output};

/// Pack one folder that runs gpu-parity and bench on a GPU host with no Rust and no nvcc.
#[derive(clap::Args)]
pub struct Args {
    /// Where to; default: .bundle in the workspace.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("bundle is not built yet".into()).into())
}
