//! A query and its candidates to a probability distribution, in one CUDA launch.
//!
//! ```text
//! value_k = q.c_k                                       dot product
//!         = (q.c_k / max(|q|, eps)) / max(|c_k|, eps)   cosine
//! logit_k = value_k * scale / temperature + bias_k
//! p       = softmax over the question's unmasked candidates
//! ```
//!
//! Queries and candidates are f32, bf16 or f16; sums and results f32. Candidates are a block for
//! each question, a ragged list, one list shared by all questions, or rows of a table. Beside the
//! probabilities there are logits, log-probabilities, log-sum-exp, argmax, the top k and the
//! expected index, each on request.
//!
//! **Every result is exact**: the bytes of [`oracle`], on every GPU, for every batch size, layout,
//! stride and alignment. A question scored alone and in a batch of a thousand gets the same bits.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the algorithm in plain Rust, and the f64 formula with its bound |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `scoring.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program:
//! `cuda-13000`, or another of this crate's `cuda-*` features. cudarc's types are part of the
//! `gpu` module's interface, so a new incompatible cudarc is a new incompatible version of this
//! crate.
//!
//! ```
//! use scoring::oracle::{Elements, Problem, score};
//! use scoring::{DEFAULT_EPS, Similarity};
//!
//! let query = [1.0, 0.0];
//! let candidates = [2.0, 0.0, 0.0, 3.0];
//! let scores = score(&Problem {
//!     scale: 20.0,
//!     ..Problem::packed(
//!         Similarity::Cosine { eps: DEFAULT_EPS },
//!         Elements::F32(&query),
//!         Elements::F32(&candidates),
//!         [1, 2, 2],
//!     )
//! });
//! assert_eq!(scores.argmax, [0]);
//! assert_eq!(scores.probabilities[0], 1.0);
//! ```

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
#[cfg(any(feature = "cuda", test))]
mod shape;

pub use launch::{Error, Result, probe};

/// What two vectors are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Similarity {
    /// `q . c`
    Dot,
    /// `(q . c / max(|q|, eps)) / max(|c|, eps)`; 0 for a zero vector.
    Cosine {
        /// Floor of each norm: finite and at least 0. [`DEFAULT_EPS`] is usual.
        eps: f32,
    },
}

/// The usual floor of norms.
pub const DEFAULT_EPS: f32 = 1e-12;
/// The longest list of top candidates.
pub const MAX_TOP_K: usize = ffi::CS_MAX_TOP_K as usize;
/// The most candidates of a question that one graph node scores; beyond are two, and a workspace.
pub const MAX_ONE_NODE_K: usize = ffi::CS_MAX_ONE_NODE_K as usize;

/// Element types of queries and candidates.
pub trait Element: sealed::Element {}

impl Element for f32 {}
impl Element for half::bf16 {}
impl Element for half::f16 {}

mod sealed {
    use crate::ffi;

    pub trait Element {
        /// The enumerator of `cs_dtype`.
        const DTYPE: i32;
    }

    impl Element for f32 {
        const DTYPE: i32 = ffi::CS_F32 as i32;
    }

    impl Element for half::bf16 {
        const DTYPE: i32 = ffi::CS_BF16 as i32;
    }

    impl Element for half::f16 {
        const DTYPE: i32 = ffi::CS_F16 as i32;
    }
}
