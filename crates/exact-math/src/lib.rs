//! The elementary functions and reduction trees of the kernels, as Rust twins.
//!
//! Every function here is the same sequence of correctly rounded IEEE 754 operations (add, multiply, fused multiply-add,
//! integer arithmetic on the bits) as its namesake in the device prelude (`<ck/math.cuh>`), so that oracle, simulator and
//! GPU return the same bytes; NaNs are equal by class. None of them calls the platform's math library, whose results
//! differ between machines, and none uses a table. Selects stand where branches would: on the device every fast path is
//! free of branches.
//!
//! Largest error against an `f64` reference, over all 2^32 inputs (`tests/accuracy.rs` holds the bounds and checks them):
//!
//! | function | largest error, ulp |
//! |---|---|
//! | [`exp`] | 0.87 |
//! | [`log`] | 0.9 |
//! | [`log1p`] | 1.5 |
//! | [`sigmoid`] | 2.7 |
//! | [`softplus`] | 1.9 |
//! | [`rsqrt_rn`] | 0.5 (correctly rounded) |
#![forbid(unsafe_code)]

mod activation;
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
