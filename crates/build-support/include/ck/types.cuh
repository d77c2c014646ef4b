// 16-bit floats as storage types, and their conversions (round to nearest even).
#pragma once

#include <ck/platform.cuh>

#if !defined(CK_SIM)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace ck {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

CK_DEVICE float to_f32(float x) { return x; }
CK_DEVICE float to_f32(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }
CK_DEVICE float to_f32(f16 x) {
#if defined(CK_SIM)
  return ck_sim::f16_to_f32(x.bits);
#else
  return __half2float(__ushort_as_half(x.bits));
#endif
}

namespace detail {
CK_DEVICE float narrow(float x, float) { return x; }
CK_DEVICE bf16 narrow(float x, bf16) {
#if defined(CK_SIM)
  return bf16{ck_sim::f32_to_bf16(x)};
#else
  return bf16{__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#endif
}
CK_DEVICE f16 narrow(float x, f16) {
#if defined(CK_SIM)
  return f16{ck_sim::f32_to_f16(x)};
#else
  return f16{__half_as_ushort(__float2half_rn(x))};
#endif
}
}  // namespace detail

template <typename T>
CK_DEVICE T from_f32(float x) {
  return detail::narrow(x, T{});
}

}  // namespace ck
