//! Selective state-space scans in CUDA, each in one launch.
//!
//! | entry | what |
//! |---|---|
//! | [`state_update`](oracle::state_update) | Mamba-2's decode step |
//! | [`temporal_scan`](oracle::temporal_scan) | projections, gated scan and readout of short histories |
//! | [`scan_backward`](oracle::temporal_scan::gradients) | its gradients |
//!
//! **Every exact result is the bytes of [`oracle`]**, on every GPU, at every batch size, alignment, stride and code
//! path.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the algorithms in plain Rust, and the f64 formulas with their bounds |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `gpu::composed` | feature `composed` | the gated scan as cuBLAS products, for sizes beyond the fused kernels' |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `mamba2_scan.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program: `cuda-13000`, or another of
//! this crate's `cuda-*` features. cudarc's types are part of the `gpu` module's interface, so a new incompatible
//! cudarc is a new incompatible version of this crate.

#[cfg(feature = "cases")]
pub mod bench;
#[cfg(feature = "cases")]
pub mod cases;
#[cfg(any(feature = "composed", test))]
mod compose;
#[allow(missing_docs, non_camel_case_types, non_upper_case_globals)]
pub mod ffi;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod oracle;
#[cfg(feature = "cuda")]
pub mod raw;
#[cfg(any(feature = "cuda", test))]
pub use launch::{Error, Result, probe};

/// The longest row of a state.
pub const MAX_STATE_DIM: usize = ffi::M2_MAX_STATE_DIM as usize;

/// Element types of a state.
pub trait State: sealed::Element {}

impl State for f32 {}
impl State for half::bf16 {}
impl State for half::f16 {}

/// Element types of a step's inputs and output.
pub trait Io: sealed::Element {}

impl Io for f32 {}
impl Io for half::bf16 {}

mod sealed {
    use crate::ffi;

    pub trait Element {
        /// The enumerator of `m2_dtype`.
        const DTYPE: i32;
    }

    impl Element for f32 {
        const DTYPE: i32 = ffi::M2_F32 as i32;
    }

    impl Element for half::bf16 {
        const DTYPE: i32 = ffi::M2_BF16 as i32;
    }

    impl Element for half::f16 {
        const DTYPE: i32 = ffi::M2_F16 as i32;
    }
}
