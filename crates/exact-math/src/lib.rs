//! The elementary functions and reduction trees of the kernels, as Rust twins.
//!
//! Every function here is the same sequence of correctly rounded IEEE 754 operations (add, multiply, fused multiply-add,
//! integer arithmetic on the bits) as its namesake in the device prelude (`<ck/math.cuh>`), so that oracle, simulator and
//! GPU return the same bytes; NaNs are equal by class. None of them calls the platform's math library, whose results
//! differ between machines, and none uses a table. Selects stand where branches would: on the device every fast path is
//! free of branches.
//!
//! Largest error against an `f64` reference over all 2^32 inputs, in ulps of the result (`tests/accuracy.rs` holds the
//! bounds; `scripts/sweep.sh` checks them all):
//!
//! | function | bound, ulp |
//! |---|---|
//! | [`exp`], [`exp_nonpositive`] | 0.9 |
//! | [`log`] | 0.95 |
//! | [`log1p`] | 1.5 |
//! | [`sigmoid`] and its complement | 2.8 |
//! | [`softplus`] | 1.9 |
//! | [`rsqrt_rn`] | 0.5: correctly rounded |
//! | [`tanh`], [`tanh_slope`] | 1.4, 5.1 |
//! | [`erf`] | 1.13 |
//! | [`silu`] | 3.4 |
//! | [`gelu_erf`] | 6.5 |
//! | [`gelu_tanh`] | 3 (1 + abs(v)), `v` the logistic function's argument |
//! | slopes of these three | see each: where terms cancel, the ulps are those of the terms |
//!
//! A changed constant or order of operations changes bytes: it is a new `numerics_version` for every kernel.
#![forbid(unsafe_code)]

mod activation;
pub mod column;
pub mod convert;
mod error_function;
mod exponential;
mod logarithm;
mod logistic;
mod root;
pub mod tree;

pub use activation::{
    gelu_erf, gelu_erf_slope, gelu_tanh, gelu_tanh_slope, silu, silu_slope, tanh, tanh_slope,
};
pub use error_function::erf;
pub use exponential::{exp, exp_nonpositive};
pub use logarithm::{log, log1p};
pub use logistic::{sigmoid, sigmoid_and_complement, softplus};
pub use root::rsqrt_rn;
