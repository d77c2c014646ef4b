// The design that rms_norm() replaces: one block a row, a thread for each logical thread, scalar
// loads, x read twice. The order of rms_norm.h as it is written there.
#pragma once

#include <ck/platform.cuh>
#include <ck/tree.cuh>

#include "problem.cuh"

namespace rms {

CK_KERNEL(kWideColumns)
baseline(const float* x, const float* gamma, float* y, int n, float columns, float eps) {
  CK_SHARED(float, sums, kMaxSums);
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * n;
  float sum = 0.0f;
  for (int64_t at = threadIdx.x; at < n; at += blockDim.x) {
    sum = __fmaf_rn(x[row + at], x[row + at], sum);
  }
  sum = ck::warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  const int warps = blockDim.x / ck::kWarp;
  sum = ck::warp_sum(lane < warps ? sums[lane] : 0.0f);
  const float scale = __frsqrt_rn(__fadd_rn(__fdiv_rn(sum, columns), eps));
  for (int64_t at = threadIdx.x; at < n; at += blockDim.x) {
    const float t = __fmul_rn(scale, x[row + at]);
    y[row + at] = gamma != nullptr ? __fmul_rn(t, gamma[at]) : t;
  }
}

}  // namespace rms
