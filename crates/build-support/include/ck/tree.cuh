// The fixed reduction trees. Their order is part of every exact result (exact_math::tree is the
// same order in Rust): a changed tree is a new numerics_version.
#pragma once

#include <ck/platform.cuh>

namespace ck {

// Butterfly over the 32 lanes, partners 16, 8, 4, 2, 1 away. Addition commutes, so after each
// step both partners hold the same bits, and at the end all lanes do.
CK_DEVICE float warp_sum(float x) {
  CK_UNROLL
  for (int step = kWarp / 2; step > 0; step /= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullMask, x, step));
  }
  return x;
}

// warp_sum of two and of four values at once, to the bit, in fewer shuffles: where a butterfly step
// would leave both halves of the lanes with the same sum, each half keeps another value's. The sum
// of value i ends in all lanes of the i-th half, or quarter, of the warp.
CK_DEVICE float warp_pair_step(float a, float b, int step) {
  const bool upper = (threadIdx.x & step) != 0;
  const float kept = upper ? b : a;
  const float sent = upper ? a : b;
  return __fadd_rn(kept, __shfl_xor_sync(kFullMask, sent, step));
}
CK_DEVICE float warp_sums(float a, float b) {
  float x = warp_pair_step(a, b, 16);
  CK_UNROLL
  for (int step = 8; step > 0; step /= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullMask, x, step));
  }
  return x;
}
CK_DEVICE float warp_sums(float a, float b, float c, float d) {
  float x = warp_pair_step(warp_pair_step(a, c, 16), warp_pair_step(b, d, 16), 8);
  CK_UNROLL
  for (int step = 4; step > 0; step /= 2) {
    x = __fadd_rn(x, __shfl_xor_sync(kFullMask, x, step));
  }
  return x;
}

// Maximum that lets no NaN through: NaNs are tracked apart by whoever needs them.
CK_DEVICE float warp_max(float x) {
  CK_UNROLL
  for (int step = kWarp / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kFullMask, x, step));
  }
  return x;
}

// Maximum of integers; one instruction from compute capability 8.0.
CK_DEVICE uint32_t warp_max(uint32_t x) {
#if defined(CK_SIM) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kFullMask, x);
#else
  CK_UNROLL
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const uint32_t other = __shfl_xor_sync(kFullMask, x, step);
    x = x > other ? x : other;
  }
  return x;
#endif
}

}  // namespace ck
