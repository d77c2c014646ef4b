//! 16-bit floats, bit for bit as the device converts them (`<ck/types.cuh>`): round to nearest even, subnormals kept, every
//! NaN becomes `0x7fff`.

const QUIET_NAN: u16 = 0x7fff;
const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// `f32` to bfloat16.
#[inline]
pub fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return QUIET_NAN;
    }
    // Just under half of the last kept place, or exactly half where that place is odd; a carry runs into the exponent,
    // and from the largest exponent into infinity.
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// bfloat16 to `f32`, exact.
#[inline]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// `f32` to IEEE half precision.
#[inline]
pub fn f32_to_f16(x: f32) -> u16 {
    /// 65520, halfway between the largest half and the next: ties go to the even one, which is infinity.
    const OVERFLOW: u32 = 0x477f_f000;
    /// 2^-14, the least normal half.
    const LEAST_NORMAL: u32 = 0x3880_0000;
    if x.is_nan() {
        return QUIET_NAN;
    }
    let sign = ((x.to_bits() & SIGN) >> 16) as u16;
    let bits = x.to_bits() & !SIGN;
    let magnitude = if bits >= OVERFLOW {
        0x7c00
    } else if bits < LEAST_NORMAL {
        // In units of the least subnormal, 2^-24; 1024 of them are the least normal number, whose bits are 0x400.
        (f32::from_bits(bits) * 16_777_216.0).round_ties_even() as u16
    } else {
        ((bits - (112 << 23) + 0xfff + ((bits >> 13) & 1)) >> 13) as u16
    };
    sign | magnitude
}

/// IEEE half precision to `f32`, exact.
#[inline]
pub fn f16_to_f32(bits: u16) -> f32 {
    /// 2^112, the difference of the exponents' offsets.
    const REBIAS: f32 = 5_192_296_858_534_827_628_530_496_329_220_096.0;
    let sign = u32::from(bits & 0x8000) << 16;
    let shifted = u32::from(bits & 0x7fff) << 13;
    // Multiplying instead of adding to the exponent makes subnormal halves normal.
    let magnitude = if bits & 0x7c00 == 0x7c00 {
        shifted | INFINITY
    } else {
        (f32::from_bits(shifted) * REBIAS).to_bits()
    };
    f32::from_bits(sign | magnitude)
}
