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

// Maximum that lets no NaN through: NaNs are tracked apart by whoever needs them.
CK_DEVICE float warp_max(float x) {
  CK_UNROLL
  for (int step = kWarp / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kFullMask, x, step));
  }
  return x;
}

}  // namespace ck
