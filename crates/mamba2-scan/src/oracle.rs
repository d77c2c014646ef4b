//! What every exact entry returns, to the byte, in plain Rust. Values of 16-bit types are given and returned as the
//! f32 that they stand for.

pub mod composed;
pub mod reference;
pub mod state_update;
pub mod temporal_scan;

use exact_math::convert;

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// IEEE single precision.
    F32,
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
}

impl Dtype {
    /// The nearest value of this type, ties to even.
    pub fn round(self, x: f32) -> f32 {
        match self {
            Dtype::F32 => x,
            Dtype::Bf16 => convert::bf16_to_f32(convert::f32_to_bf16(x)),
            Dtype::F16 => convert::f16_to_f32(convert::f32_to_f16(x)),
        }
    }
}
