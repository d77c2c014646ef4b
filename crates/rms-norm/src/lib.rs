//! RMS norm of rows on CUDA GPUs, bit for bit reproducible.
//!
//! ```text
//! r_j   = x_j [+ residual_j]
//! scale = rsqrt(mean(r^2) + eps)
//! y_j   = (scale * r_j) * gamma_j [+ add_j]
//! ```
//!
//! x is f32, bf16 or f16; y is that, f32, or quantised to fp8 (e4m3) or int8. Strides for each tensor,
//! weights that repeat over columns, rows, channels and samples, per-head norms, in place.
//!
//! **Every result is exact**: the bytes of [`oracle`], on every GPU, for every number of rows, layout,
//! stride and alignment. The order of the sum is that of llama.cpp's kernel; `rms_norm_ggml` also has
//! its approximations.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the algorithm in plain Rust, and the f64 formula |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `rms_norm.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program:
//! `cuda-13000`, or another of this crate's `cuda-*` features. cudarc's types are part of the
//! `gpu` module's interface, so a new incompatible cudarc is a new incompatible version of this
//! crate.
//!
//! ```
//! use rms_norm::oracle::{Elements, Problem, norm};
//!
//! let (x, gamma) = ([3.0, 4.0], [1.0, 0.5]);
//! let row = norm(&Problem::packed(Elements::F32(&x), Elements::F32(&gamma), 1, 2, 0.0), 0);
//! assert!((row.y[0] - 0.848_528).abs() < 1e-6 && (row.y[1] - 0.565_685).abs() < 1e-6);
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

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
    /// 8-bit floats, e4m3.
    Fp8,
    /// 8-bit integers in two's complement.
    Int8,
}

impl Dtype {
    /// The enumerator of `rms_dtype`.
    pub const fn code(self) -> i32 {
        (match self {
            Dtype::F32 => ffi::RMS_F32,
            Dtype::Bf16 => ffi::RMS_BF16,
            Dtype::F16 => ffi::RMS_F16,
            Dtype::Fp8 => ffi::RMS_FP8_E4M3,
            Dtype::Int8 => ffi::RMS_INT8,
        }) as i32
    }
}

/// How the weight enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GammaMode {
    /// `(scale * r) * gamma`
    #[default]
    Plain,
    /// `(scale * r) * (1 + gamma)`, as Gemma's.
    OnePlus,
    /// `round(scale * r) * gamma`: rounded to x's type first, as Hugging Face's Llama does.
    AfterCast,
}

impl GammaMode {
    /// The enumerator of `rms_gamma_mode`.
    pub const fn code(self) -> i32 {
        (match self {
            GammaMode::Plain => ffi::RMS_GAMMA_PLAIN,
            GammaMode::OnePlus => ffi::RMS_GAMMA_ONE_PLUS,
            GammaMode::AfterCast => ffi::RMS_GAMMA_AFTER_CAST,
        }) as i32
    }
}

/// What is normalised where a residual is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResidualMode {
    /// The f32 sum.
    #[default]
    Unrounded,
    /// The sum rounded to the residual's type.
    Rounded,
}

impl ResidualMode {
    /// The enumerator of `rms_residual_mode`.
    pub const fn code(self) -> i32 {
        (match self {
            ResidualMode::Unrounded => ffi::RMS_RESIDUAL_UNROUNDED,
            ResidualMode::Rounded => ffi::RMS_RESIDUAL_ROUNDED,
        }) as i32
    }
}

/// What y is divided by before it is rounded to 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Quantisation {
    /// y is not quantised.
    #[default]
    None,
    /// One scale for the tensor.
    Tensor {
        /// [`Dtype::Fp8`] or [`Dtype::Int8`].
        dtype: Dtype,
        /// The divisor.
        scale: f32,
    },
    /// A scale for each row: its largest magnitude goes to the largest code.
    Token {
        /// [`Dtype::Fp8`] or [`Dtype::Int8`].
        dtype: Dtype,
        /// The least scale: finite, above 0.
        min_scale: f32,
    },
}

impl Quantisation {
    /// The enumerator of `rms_quantisation`.
    pub const fn code(self) -> i32 {
        (match self {
            Quantisation::None => ffi::RMS_QUANT_NONE,
            Quantisation::Tensor { .. } => ffi::RMS_QUANT_TENSOR,
            Quantisation::Token { .. } => ffi::RMS_QUANT_TOKEN,
        }) as i32
    }

    /// The type of a quantised y.
    pub const fn dtype(self) -> Option<Dtype> {
        match self {
            Quantisation::None => None,
            Quantisation::Tensor { dtype, .. } | Quantisation::Token { dtype, .. } => Some(dtype),
        }
    }
}
