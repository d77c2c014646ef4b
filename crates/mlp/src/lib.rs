//! Small two-layer networks, trained and run in one launch each.
//!
//! | entry | what |
//! |---|---|
//! | [`forward`](oracle::forward) | `act2(act1(x w1 + b1) w2 + b2)`, and its residual form |
//! | [`backward`](oracle::backward) | gradients of weights, biases and inputs |
//! | [`curiosity_step`](oracle::curiosity_step) | a forward model's loss, rewards and gradients |
//! | [`risk_forward`](oracle::risk_forward) | a head over three sources, read in place |
//!
//! **Every exact result is the bytes of [`oracle`]**, on every GPU, at every batch size, alignment, stride and code
//! path.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the algorithms in plain Rust, and the f64 formulas |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `mlp.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program: `cuda-13000`, or another of
//! this crate's `cuda-*` features. cudarc's types are part of the `gpu` module's interface, so a new incompatible
//! cudarc is a new incompatible version of this crate.

#[cfg(feature = "cases")]
pub mod bench;
#[cfg(feature = "cases")]
pub mod cases;
#[allow(missing_docs, non_camel_case_types, non_upper_case_globals)]
pub mod ffi;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod oracle;
#[cfg(feature = "cuda")]
pub mod raw;

pub use launch::{Error, Result, probe};
pub use oracle::{Activation, Layer};

/// The most inputs, hidden units and outputs.
pub const MAX_DIM: usize = ffi::MLP_MAX_DIM as usize;
/// The most networks of a group.
pub const MAX_GROUP: usize = ffi::MLP_MAX_GROUP as usize;
