//! Sums over the rows of matrices, in one CUDA launch: what gradients of biases, of splines and of
//! shared weights end in.
//!
//! ```text
//! out_j = beta * out_j + alpha * sum_r w_r * x[r, j]
//! ```
//!
//! over whole matrices, many at once, segments of one, or its rows; norms for gradient clipping; and
//! the gradient of a Kolmogorov-Arnold layer's splines without per-sample gradients.
//!
//! **Every result is exact**: the bytes of [`oracle`], on every GPU, for every layout, stride and
//! alignment, alone or beside others. Sums are kept in two f32 (about 48 bits) by default, so that a
//! column of a million terms that cancel is still right to an ulp.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the algorithm in plain Rust |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `reduce.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program:
//! `cuda-13000`, or another of this crate's `cuda-*` features. cudarc's types are part of the
//! `gpu` module's interface, so a new incompatible cudarc is a new incompatible version of this
//! crate.
//!
//! ```
//! use reduce::Sum;
//! use reduce::oracle::{Columns, Elements, Options, Values, columns};
//!
//! let gradient = [1.0, 0.5, 2.0, 0.25, 3.0, 0.125];
//! let options = Options { sum: Sum::F32x2, mean: false, alpha: 1.0, beta: 0.0, before: Elements::F32(&[0.0; 2]) };
//! let bias = columns(&Columns::packed(Elements::F32(&gradient), [3, 2], options));
//! assert_eq!(bias, Values::F32(vec![6.0, 0.875]));
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

pub use launch::{Error, Result, probe};

/// What a sum is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sum {
    /// Two f32: about 48 bits, the range of f32.
    #[default]
    F32x2,
    /// f64: 53 bits; slow where FP64 is.
    F64,
    /// f32: the error of a tree of f32 additions.
    F32,
}

impl Sum {
    /// The enumerator of `red_accumulator`.
    #[cfg(any(feature = "cuda", feature = "cases"))]
    pub(crate) fn code(self) -> i32 {
        (match self {
            Sum::F32x2 => ffi::RED_SUM_F32X2,
            Sum::F64 => ffi::RED_SUM_F64,
            Sum::F32 => ffi::RED_SUM_F32,
        }) as i32
    }
}

/// Element types of matrices.
pub trait Element: sealed::Element {}

impl Element for f32 {}
impl Element for half::bf16 {}
impl Element for half::f16 {}

mod sealed {
    use crate::ffi;

    pub trait Element {
        /// The enumerator of `red_dtype`.
        const DTYPE: i32;
    }

    impl Element for f32 {
        const DTYPE: i32 = ffi::RED_F32 as i32;
    }

    impl Element for half::bf16 {
        const DTYPE: i32 = ffi::RED_BF16 as i32;
    }

    impl Element for half::f16 {
        const DTYPE: i32 = ffi::RED_F16 as i32;
    }
}
