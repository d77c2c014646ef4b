//! Runs the shipped kernel sources on the CPU.
//!
//! [`build`] compiles the `.cu` files of a kernel crate with the host C++ compiler into
//! `lib<name>_sim.so`: the crate's own C ABI, plus the `sim_*` functions that choose a thread
//! order, switch a mutant on, register buffers and tell what was found. `docs/simulator.md` shows
//! how to debug a kernel with it.

mod build;
mod compiler;
mod error;
mod mutants;

pub use build::{Library, build, build_library, library_of_crate};
pub use error::Error;
pub use mutants::mutants;

/// What a simulator library is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// Fast: results, barriers, masks, alignment.
    Plain,
    /// Every access of the kernel is seen: bounds, initialisation and races as well.
    Checked,
    /// AddressSanitizer and UndefinedBehaviorSanitizer. The process that loads it must have been
    /// started with the sanitizer's runtime preloaded.
    Asan,
}

impl Flavor {
    /// Every flavor.
    pub const ALL: [Flavor; 3] = [Flavor::Plain, Flavor::Checked, Flavor::Asan];

    /// The name that directories and options use.
    pub fn name(self) -> &'static str {
        match self {
            Flavor::Plain => "plain",
            Flavor::Checked => "checked",
            Flavor::Asan => "asan",
        }
    }
}
