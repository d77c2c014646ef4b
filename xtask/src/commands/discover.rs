//! `discover`.

use std::path::PathBuf;

use contract::Code;

use crate::output::{Exit, Output};
use crate::workspace;

/// Print the compile matrix of the buildable backends.
///
/// The matrix is the only line on stdout, in both formats; what was left out, and why, is on stderr.
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
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root_or(args.root.as_deref())?;
    let report = contract::check(&root);
    if let Some(finding) = report
        .findings
        .iter()
        .find(|finding| finding.code == Code::RootMissing.name())
    {
        anyhow::bail!("{} {}", finding.path, finding.message);
    }
    let (matrix, skipped) = contract::matrix(&root, &report);
    for skipped in skipped {
        out.log(format_args!(
            "{} left out: {}",
            skipped.name, skipped.reason
        ));
    }
    let text = serde_json::to_string(&matrix)?;
    if args.github {
        out.raw(format_args!("matrix={text}"));
    } else {
        out.raw(text);
    }
    Ok(Exit::Ok)
}
