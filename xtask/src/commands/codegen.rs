//! `codegen`.

use crate::output::{Exit, Failure, Output};

/// Regenerate schema, ffi.rs, resource lock, support table and workflow matrix.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail where a file differs from what would be written.
    #[arg(long)]
    pub check: bool,
}

/// Runs the command.
pub fn run(_args: &Args, _out: &Output) -> anyhow::Result<Exit> {
    Err(Failure::Environment("codegen is not built yet".into()).into())
}
