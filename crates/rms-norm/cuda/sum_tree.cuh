// The tree of rms_norm.h from the accumulators of logical threads to one sum.
//
// A physical lane stands for kV adjacent logical threads, a warp for kV logical warps. The
// distances 16, 8, 4, 2, 1 of the butterfly are distances between logical threads: those of kV and
// more lie between lanes, the rest inside a lane. Addition commutes, so both partners of a step
// hold the same bits, whoever computes them.
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

// The two halves of a sum over the threads of a block, each of which stands for kV logical threads.
// Between them lies a barrier. `sums` has kMaxSums places.
template <int kV>
CK_DEVICE void put_logical_warp_sum(float (&a)[kV], float* sums) {
  const int first = threadIdx.x * kV;
  const float sum = logical_warp_sum(a);
  if (first % ck::kWarp == 0) sums[first / ck::kWarp] = sum;
}
CK_DEVICE float sum_of_logical_warps(const float* sums, int logical) {
  const int lane = threadIdx.x % ck::kWarp;
  return ck::warp_sum(lane < logical / ck::kWarp ? sums[lane] : 0.0f);
}

// The sum over a row from the accumulators of kLanes lanes, which stand for kV logical threads in
// each of kSets sets of kLanes kV; absent sets are +0, and no-ops. Every lane gets it.
template <int kLanes, int kSets, int kV>
CK_DEVICE float sum_in_lanes(float (&a)[kSets][kV]) {
  float sums[kSets];  // of a logical warp each, by lane / (32 / kV)
  CK_UNROLL
  for (int s = 0; s < kSets; ++s) sums[s] = logical_warp_sum(a[s]);
  CK_UNROLL
  for (int step = kSets / 2; step > 0; step /= 2) {
    CK_UNROLL
    for (int s = 0; s < step; ++s) sums[s] = __fadd_rn(sums[s], sums[s + step]);
  }
  float sum = sums[0];
  CK_UNROLL
  for (int step = kLanes / 2; step >= ck::kWarp / kV; step /= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, step));
  }
  return sum;
}

}  // namespace rms
