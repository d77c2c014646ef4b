// The tree of rms_norm.h from the accumulators of logical threads to one sum.
//
// A physical lane stands for kV adjacent logical threads, a warp for kV logical warps. The distances
// 16, 8, 4, 2, 1 of the butterfly are distances between logical threads: those of kV and more lie
// between lanes, the rest inside a lane. Addition commutes, so both partners of a step hold the same
// bits, whoever computes them.
#pragma once

#include <ck/platform.cuh>
#include <ck/tree.cuh>

namespace rms {

// The sum of the logical warp that this lane belongs to. a[i] is logical thread kV * lane + i.
template <int kV>
CK_DEVICE float logical_warp_sum(float (&a)[kV]) {
  CK_UNROLL
  for (int step = ck::kWarp / kV / 2; step > 0; step /= 2) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) {
      a[i] = __fadd_rn(a[i], __shfl_xor_sync(ck::kFullMask, a[i], step));
    }
  }
  CK_UNROLL
  for (int step = kV / 2; step > 0; step /= 2) {
    CK_UNROLL
    for (int i = 0; i < step; ++i) a[i] = __fadd_rn(a[i], a[i + step]);
  }
  return a[0];
}

template <int kV>
CK_DEVICE void add_squares(float (&a)[kV], const float (&v)[kV]) {
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    a[i] = CK_MUTANT(rms_square_rounded) ? __fadd_rn(__fmul_rn(v[i], v[i]), a[i])
                                         : __fmaf_rn(v[i], v[i], a[i]);
  }
}

}  // namespace rms
