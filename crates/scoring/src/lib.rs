//! scoring: a query and its candidates to a probability distribution, in one launch.

#[cfg(feature = "cases")]
pub mod cases;
#[allow(missing_docs, non_camel_case_types, non_upper_case_globals)]
pub mod ffi;
pub mod oracle;

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

/// The floor of norms that the seed's readout uses.
pub const DEFAULT_EPS: f32 = 1e-12;
