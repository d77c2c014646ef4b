//! `compile`.

use crate::output::{Exit, Failure, Output};

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
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("compile is not built yet".into()).into())
}
