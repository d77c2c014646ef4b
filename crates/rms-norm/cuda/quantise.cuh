// f32 to 8 bits: nearest representable value, ties to even, saturated.
#pragma once

#include <ck/platform.cuh>

namespace rms {

// fp8 e4m3 (OCP 8-bit floating point, 2023): bias 7, largest 448, no infinity, NaN 0x7f. Integer
// operations on all architectures: only from 8.9 on is there an instruction, with these results.
CK_DEVICE uint8_t fp8_of(float x) {
  const uint32_t bits = __float_as_uint(x);
  const uint32_t sign = bits >> 24 & 0x80u;
  const float magnitude = fminf(fabsf(x), 448.0f);
  // Below 2^-6: adding 2^14 aligns the last kept bit with 2^-9, and rounds.
  const uint32_t subnormal = __float_as_uint(__fadd_rn(magnitude, 16384.0f)) - 0x46800000u;
  const uint32_t m = __float_as_uint(magnitude);
  const uint32_t normal = ((m + 0x7ffffu + (m >> 20 & 1u)) >> 20) - (120u << 3);
  const uint32_t code = magnitude < 0.015625f ? subnormal : normal;
  return static_cast<uint8_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fu : sign | code);
}

CK_DEVICE uint8_t int8_of(float x) {
  const int rounded = __float2int_rn(x);  // saturates; NaN is 0
  return static_cast<uint8_t>(rounded < -128 ? -128 : rounded > 127 ? 127 : rounded);
}

}  // namespace rms
