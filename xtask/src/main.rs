//! The workspace's commands. `cargo xtask <command> --help` says what each does.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use commands::{
    bench, bundle, check_contract, ci, codegen, compile, discover, gpu_parity, new, simulate,
};
use output::{Exit, Format, Output};

mod artifact;
mod backends;
mod clock;
mod commands;
mod output;
mod suite;
mod suite_library;
mod toolkit;
mod workspace;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 ok (warnings included), 1 error, 2 usage, 3 stale evidence and no error, \
4 something this machine lacks."
)]
struct Cli {
    /// Text, or one JSON document alone on stdout (logs on stderr).
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: Format,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    CheckContract(check_contract::Args),
    Discover(discover::Args),
    Compile(compile::Args),
    Simulate(simulate::Args),
    GpuParity(gpu_parity::Args),
    Bench(bench::Args),
    Codegen(codegen::Args),
    Bundle(bundle::Args),
    New(new::Args),
    Ci(ci::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = Output::new(cli.format);
    let Some(command) = &cli.command else {
        out.say(Cli::command().render_help());
        return Exit::Usage.into();
    };
    let result = match command {
        Command::CheckContract(args) => check_contract::run(args, &out),
        Command::Discover(args) => discover::run(args, &out),
        Command::Compile(args) => compile::run(args, &out),
        Command::Simulate(args) => simulate::run(args, &out),
        Command::GpuParity(args) => gpu_parity::run(args, &out),
        Command::Bench(args) => bench::run(args, &out),
        Command::Codegen(args) => codegen::run(args, &out),
        Command::Bundle(args) => bundle::run(args, &out),
        Command::New(args) => new::run(args, &out),
        Command::Ci(args) => ci::run(args, &out),
    };
    result.unwrap_or_else(|error| out.fail(&error)).into()
}
