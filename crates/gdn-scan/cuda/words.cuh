// States by the 32-bit word: one f32 column, or two neighbouring columns of a 16-bit type.
#pragma once

#include "problem.cuh"

namespace gdn {

template <typename S>
constexpr int kWordColumns = sizeof(uint32_t) / sizeof(S);

template <typename S>
CK_DEVICE void unpack(uint32_t word, float (&x)[kWordColumns<S>]) {
  if constexpr (kWordColumns<S> == 1) {
    x[0] = __uint_as_float(word);
  } else {
    x[0] = ck::to_f32(S{static_cast<uint16_t>(word)});
    x[1] = ck::to_f32(S{static_cast<uint16_t>(word >> 16)});
  }
}

template <typename S>
CK_DEVICE uint32_t pack(const float (&x)[kWordColumns<S>]) {
  if constexpr (kWordColumns<S> == 1) {
    return __float_as_uint(x[0]);
  } else {
    const uint32_t low = ck::from_f32<S>(x[0]).bits;
    const uint32_t high = ck::from_f32<S>(x[1]).bits;
    return low | high << 16;
  }
}

}  // namespace gdn
