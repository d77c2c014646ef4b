//! One module per command: `Args` as clap reads them, and `run`.

pub mod bench;
pub mod bundle;
pub mod check_contract;
pub mod ci;
pub mod codegen;
pub mod compile;
pub mod discover;
pub mod gpu_parity;
pub mod new;
pub mod simulate;
