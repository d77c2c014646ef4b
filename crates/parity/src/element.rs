//! The element types that cross the C ABI.

use half::{bf16, f16};
use serde::Serialize;

/// The type of a buffer's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Element {
    F64,
    F32,
    F16,
    Bf16,
    U8,
    I32,
    U32,
    I64,
    U64,
}

impl Element {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F16 | Element::Bf16 => 2,
            Element::F32 | Element::I32 | Element::U32 => 4,
            Element::F64 | Element::I64 | Element::U64 => 8,
        }
    }

    /// Whether it is a floating-point type, where NaNs compare by class.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Element::F64 | Element::F32 | Element::F16 | Element::Bf16
        )
    }

    /// The value of one element, given its bytes. Integers beyond 2^53 are rounded: this is for
    /// messages and statistics, never for equality.
    pub fn value(self, bytes: &[u8]) -> f64 {
        fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
            let mut array = [0; N];
            array.copy_from_slice(&bytes[..N]);
            array
        }
        match self {
            Element::F64 => f64::from_ne_bytes(take(bytes)),
            Element::F32 => f32::from_ne_bytes(take(bytes)).into(),
            Element::F16 => f16::from_ne_bytes(take(bytes)).into(),
            Element::Bf16 => bf16::from_ne_bytes(take(bytes)).into(),
            Element::U8 => bytes[0].into(),
            Element::I32 => i32::from_ne_bytes(take(bytes)).into(),
            Element::U32 => u32::from_ne_bytes(take(bytes)).into(),
            Element::I64 => i64::from_ne_bytes(take(bytes)) as f64,
            Element::U64 => u64::from_ne_bytes(take(bytes)) as f64,
        }
    }

    /// The element's bits in an order in which neighbours differ by one: the distance between two
    /// finite values of a float type is their distance in units in the last place.
    pub(crate) fn ordinal(self, bytes: &[u8]) -> i128 {
        let mut raw = [0; 8];
        raw[..self.size()].copy_from_slice(&bytes[..self.size()]);
        let bits = i128::from(u64::from_le_bytes(raw));
        let sign = 1i128 << (8 * self.size() - 1);
        match self {
            // Sign and magnitude: negative values count down from zero, so that -0 and +0 meet.
            Element::F64 | Element::F32 | Element::F16 | Element::Bf16 => {
                if bits & sign == 0 {
                    bits
                } else {
                    sign - bits
                }
            }
            Element::U8 | Element::U32 | Element::U64 => bits,
            Element::I32 | Element::I64 => {
                if bits & sign == 0 {
                    bits
                } else {
                    bits - 2 * sign
                }
            }
        }
    }
}

/// A Rust type that stands for an [`Element`].
pub trait Scalar: Copy {
    /// The element type.
    const ELEMENT: Element;

    /// Appends the value's bytes as the device sees them.
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! scalar {
    ($($type:ty => $element:ident),* $(,)?) => {$(
        impl Scalar for $type {
            const ELEMENT: Element = Element::$element;

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
scalar!(f64 => F64, f32 => F32, f16 => F16, bf16 => Bf16, u8 => U8, i32 => I32, u32 => U32,
        i64 => I64, u64 => U64);

/// The bytes of a slice, in the device's (little-endian) order.
pub fn bytes_of<T: Scalar>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::ELEMENT.size());
    for &value in values {
        value.write(&mut bytes);
    }
    bytes
}

#[cfg(target_endian = "big")]
compile_error!("CUDA hosts are little-endian; so is everything that reads buffers here");

#[cfg(test)]
mod tests {
    use super::*;

    fn distance<T: Scalar>(a: T, b: T) -> i128 {
        let element = T::ELEMENT;
        element.ordinal(&bytes_of(&[b])) - element.ordinal(&bytes_of(&[a]))
    }

    #[test]
    fn neighbours_are_one_apart_across_every_boundary() {
        assert_eq!(distance(1.0f32, 1.0 + f32::EPSILON), 1);
        assert_eq!(distance(-0.0f32, 0.0), 0);
        assert_eq!(distance(-f32::from_bits(1), f32::from_bits(1)), 2);
        assert_eq!(distance(f32::MAX, f32::INFINITY), 1);
        assert_eq!(
            distance(bf16::from_bits(0x3f80), bf16::from_bits(0x3f81)),
            1
        );
        assert_eq!(distance(-1i32, 0), 1);
        assert_eq!(distance(i64::MIN, i64::MAX), i128::from(u64::MAX));
        assert_eq!(distance(u64::MAX, 0), -i128::from(u64::MAX));
    }

    #[test]
    fn values_come_back() {
        assert_eq!(Element::F32.value(&bytes_of(&[-1.5f32])), -1.5);
        assert_eq!(Element::Bf16.value(&bytes_of(&[bf16::from_f32(3.0)])), 3.0);
        assert_eq!(Element::I32.value(&bytes_of(&[-7i32])), -7.0);
        assert!(Element::F16.value(&bytes_of(&[f16::NAN])).is_nan());
    }
}
