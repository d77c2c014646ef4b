//! The Gated DeltaNet recurrence on CUDA, one token or many in one launch.
//!
//! ```text
//! decay     S'  = alpha_t * S
//! retrieve  p_c = sum_r S'[r,c] * k_r              r ascending
//! delta     d_c = beta_t * (v_c - p_c)
//! write     S'' = S' + k_r * d_c
//! read      o_c = (sum_r S''[r,c] * q_r) * scale   r ascending
//! ```
//!
//! States live in a pool of slots, f32, bf16 or f16, keys or values contiguous; q, k, v and o are f32, bf16 or f16; decay
//! and beta are given or computed in the kernel from their raw gates; q and k are normalised on request; decay may be one
//! for each key (KDA). Sequences have one token, `T`, or as many as `cu_seqlens` say; the states after each token can be
//! kept, for rollback.
//!
//! **Every result is exact**: the bytes of [`oracle`], on every GPU, for every batch, layout, stride and alignment, and for
//! every way to cut `T` tokens into calls. `gdn_step_fast` alone is within a tolerance.
//!
//! | module | needs | what |
//! |---|---|---|
//! | [`oracle`] | nothing | the recurrence in plain Rust, and in f64 with a bound |
//! | `gpu` | feature `cuda` | the typed layer: cudarc slices and views, shapes checked |
//! | `raw` | feature `cuda` | the C ABI behind `Result`: pointers and a stream |
//! | [`ffi`] | nothing | the declarations of `gdn_scan.h` |
//!
//! With the feature `cuda` also choose cudarc's CUDA version, once in the whole program: `cuda-13000`, or another of this
//! crate's `cuda-*` features. cudarc's types are part of the `gpu` module's interface, so a new incompatible cudarc is a new
//! incompatible version of this crate.
//!
//! ```
//! use gdn_scan::oracle::{Problem, scan};
//!
//! // One head of two keys and one value: the state [[1], [0]] decays by a half, and the token writes 3 at the second key.
//! let (q, k) = ([0.0, 1.0], [0.0, 1.0]);
//! let (v, g, beta) = ([3.0], [0.5], [1.0]);
//! let mut problem = Problem::step([1, 1, 1, 2, 1]);
//! problem.scale = Some(1.0);
//! (problem.q, problem.k, problem.v, problem.g, problem.beta) = (&q, &k, &v, &g, &beta);
//! let mut state = [1.0, 0.0];
//! let results = scan(&problem, &mut state);
//! assert_eq!(state, [0.5, 3.0]);
//! assert_eq!(results.out, [3.0]);
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

/// The largest K and V.
pub const MAX_DIM: usize = ffi::GDN_MAX_DIM as usize;

/// A type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dtype {
    /// 32-bit floats.
    #[default]
    F32,
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
}

/// Which index of a head's state is contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// `[K, V]`: the values.
    #[default]
    Kv,
    /// `[V, K]`: the keys.
    Vk,
}

/// The key head of value head `h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeadMap {
    /// `h / (HV / H)`.
    #[default]
    Grouped,
    /// `h % H`.
    Tiled,
}

/// What the decay input holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decay {
    /// The factor itself.
    #[default]
    Linear,
    /// Its logarithm.
    Log,
    /// The raw gate a: the factor is `exp(-exp(A_log) * softplus(a + dt_bias))`.
    Gate,
}

/// What the beta input holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beta {
    /// beta itself.
    #[default]
    Given,
    /// The raw gate b: `sigmoid(b)`.
    Sigmoid,
    /// The raw gate b: `2 * sigmoid(b)`.
    TwiceSigmoid,
}

/// What is done to q and k of each head first.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Norm {
    /// Nothing.
    #[default]
    None,
    /// Times `1 / (sqrt(sum) + eps)`.
    EpsOutside(f32),
    /// Times `1 / sqrt(sum + eps)`.
    EpsInside(f32),
}

impl Dtype {
    /// The value as the type holds it.
    pub fn round(self, x: f32) -> f32 {
        match self {
            Dtype::F32 => x,
            Dtype::Bf16 => half::bf16::from_f32(x).to_f32(),
            Dtype::F16 => half::f16::from_f32(x).to_f32(),
        }
    }

    /// The enumerator of `gdn_dtype`.
    pub const fn code(self) -> i32 {
        match self {
            Dtype::F32 => ffi::GDN_F32 as i32,
            Dtype::Bf16 => ffi::GDN_BF16 as i32,
            Dtype::F16 => ffi::GDN_F16 as i32,
        }
    }
}

impl Layout {
    /// The enumerator of `gdn_layout`.
    pub const fn code(self) -> i32 {
        match self {
            Layout::Kv => ffi::GDN_KV as i32,
            Layout::Vk => ffi::GDN_VK as i32,
        }
    }
}

impl HeadMap {
    /// The enumerator of `gdn_head_map`.
    pub const fn code(self) -> i32 {
        match self {
            HeadMap::Grouped => ffi::GDN_GROUPED as i32,
            HeadMap::Tiled => ffi::GDN_TILED as i32,
        }
    }
}

impl Decay {
    /// The enumerator of `gdn_decay_form`.
    pub const fn code(self) -> i32 {
        match self {
            Decay::Linear => ffi::GDN_DECAY_LINEAR as i32,
            Decay::Log => ffi::GDN_DECAY_LOG as i32,
            Decay::Gate => ffi::GDN_DECAY_GATE as i32,
        }
    }
}

impl Beta {
    /// The enumerator of `gdn_beta_form`.
    pub const fn code(self) -> i32 {
        match self {
            Beta::Given => ffi::GDN_BETA_GIVEN as i32,
            Beta::Sigmoid => ffi::GDN_BETA_SIGMOID as i32,
            Beta::TwiceSigmoid => ffi::GDN_BETA_TWICE_SIGMOID as i32,
        }
    }
}

impl Norm {
    /// The enumerator of `gdn_norm`.
    pub const fn code(self) -> i32 {
        match self {
            Norm::None => ffi::GDN_NORM_NONE as i32,
            Norm::EpsOutside(_) => ffi::GDN_NORM_EPS_OUTSIDE as i32,
            Norm::EpsInside(_) => ffi::GDN_NORM_EPS_INSIDE as i32,
        }
    }

    /// The eps, 0 without a norm.
    pub const fn eps(self) -> f32 {
        match self {
            Norm::None => 0.0,
            Norm::EpsOutside(eps) | Norm::EpsInside(eps) => eps,
        }
    }
}

/// Element types of q, k, v, o and of states.
pub trait Element: sealed::Element {}

impl Element for f32 {}
impl Element for half::bf16 {}
impl Element for half::f16 {}

mod sealed {
    use super::Dtype;

    pub trait Element {
        /// The type's name at run time.
        const DTYPE: Dtype;
    }

    impl Element for f32 {
        const DTYPE: Dtype = Dtype::F32;
    }

    impl Element for half::bf16 {
        const DTYPE: Dtype = Dtype::Bf16;
    }

    impl Element for half::f16 {
        const DTYPE: Dtype = Dtype::F16;
    }
}
