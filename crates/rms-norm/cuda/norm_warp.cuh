// kRows rows a warp, without barriers: lane l stands for the logical threads 128 s + 4 l + i of each
// set s, in the order of rms_norm.h.
#pragma once

#include <ck/pipeline.cuh>

#include "plan.cuh"
#include "problem.cuh"
#include "sum_tree.cuh"

namespace rms {

// The row's sum from the accumulators of `kSets` sets; absent sets are +0, and no-ops.
template <int kSets>
CK_DEVICE float sum_in_warp(float (&a)[kSets][kWarpGroup]) {
  float sums[kSets];  // of logical warp 4 s + lane / 8
  CK_UNROLL
  for (int s = 0; s < kSets; ++s) sums[s] = logical_warp_sum(a[s]);
  CK_UNROLL
  for (int step = kSets / 2; step > 0; step /= 2) {
    CK_UNROLL
    for (int s = 0; s < step; ++s) sums[s] = __fadd_rn(sums[s], sums[s + step]);
  }
  float sum = sums[0];
  sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 16));
  return __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 8));
}

// kWide: n >= 1024. kHeld groups a row stay in registers; those beyond are read again.
template <typename T, int kHeld, int kRows, bool kWide, bool kPlain>
CK_KERNEL_BLOCKS(kWarpThreads, 1) norm_warp(const Problem problem) {
  constexpr int kV = kWarpGroup;
  constexpr int kAllSets = (kWide ? kWideColumns : kNarrowThreads) / kWarpSpan;
  constexpr int kSets = kHeld < kAllSets ? kHeld : kAllSets;
  static_assert(!kWide || kHeld == kAllSets, "groups beyond start with set 0");
  const Problem p = seen_by<T, kPlain>(problem);
  const int lane = threadIdx.x % ck::kWarp;
  const int first = lane * kV;
  const int warps = gridDim.x * (kWarpThreads / ck::kWarp);
  const int warp = blockIdx.x * (kWarpThreads / ck::kWarp) + threadIdx.x / ck::kWarp;
  ck::dependency_wait();

  Group<kV> weight[kHeld];
  const auto load_weights = [&](int64_t row) {
    CK_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      weight[k] = load_weight<T, kV, kPlain>(p, row, k * kWarpSpan + first);
    }
  };
  if (kPlain) load_weights(0);

  for (int64_t start = int64_t{warp} * kRows; start < p.total; start += int64_t{warps} * kRows) {
    Place place[kRows];
    Group<kV> held[kRows][kHeld];
    CK_UNROLL
    for (int u = 0; u < kRows; ++u) {
      // Past the last row: the last one once more, and nothing is stored.
      const int index = static_cast<int>(start + u < p.total ? start + u : p.total - 1);
      place[u] = place_of(p, row_at<kPlain>(p, index));
      CK_UNROLL
      for (int k = 0; k < kHeld; ++k) {
        held[u][k] = load_input<T, kV>(p, place[u], k * kWarpSpan + first);
      }
    }
    CK_UNROLL
    for (int u = 0; u < kRows; ++u) {
      if (!kPlain) load_weights(place[u].gamma);
      float a[kSets][kV] = {};
      CK_UNROLL
      for (int k = 0; k < kHeld; ++k) add_squares(a[k % kSets], held[u][k].v);
      if (kWide && !kPlain) {
        CK_NO_UNROLL
        for (int64_t base = kWideColumns + first; base < p.n; base += kWideColumns) {
          CK_UNROLL
          for (int s = 0; s < kSets; ++s) {
            const int64_t at = base + s * kWarpSpan;
            if (at < p.n) {
              add_squares(a[s], load_input<T, kV>(p, place[u], static_cast<int>(at)).v);
            }
          }
        }
      }
      const float scale = scale_of(p, sum_in_warp(a));
      if (start + u >= p.total) return;
      const int index = static_cast<int>(start + u);
      if (p.rstd != nullptr && lane == 0) p.rstd[index] = scale;

      float scale_of_y = 1.0f;
      if (p.quantisation == RMS_QUANT_TENSOR) scale_of_y = *p.tensor_scale;
      if (p.quantisation == RMS_QUANT_TOKEN) {
        float largest = 0.0f;
        CK_UNROLL
        for (int k = 0; k < kHeld; ++k) {
          const int at = k * kWarpSpan + first;
          largest = largest_of(
              largest, normalised<T, kV>(p, place[u], at, scale, held[u][k], weight[k]), at, p.n);
        }
        CK_NO_UNROLL
        for (int64_t at = int64_t{kHeld} * kWarpSpan + first; at < p.n; at += kWarpSpan) {
          const int column = static_cast<int>(at);
          const Group<kV> r = load_input<T, kV>(p, place[u], column);
          const Group<kV> w = load_weight<T, kV, kPlain>(p, place[u].gamma, column);
          largest = largest_of(largest, normalised<T, kV>(p, place[u], column, scale, r, w),
                               column, p.n);
        }
        scale_of_y = token_scale_of(p, ck::warp_max(largest));
        if (lane == 0) p.token_scales[index] = scale_of_y;
      }

      CK_UNROLL
      for (int k = 0; k < kHeld; ++k) {
        const int at = k * kWarpSpan + first;
        const Group<kV> y = normalised<T, kV>(p, place[u], at, scale, held[u][k], weight[k]);
        store_sum<T, kV>(p, place[u], at, held[u][k]);
        store_result<T, kV>(p, place[u], at, scale_of_y, y);
      }
      if (kWide && !kPlain) {
        CK_NO_UNROLL
        for (int64_t at = int64_t{kHeld} * kWarpSpan + first; at < p.n; at += kWarpSpan) {
          const int column = static_cast<int>(at);
          const Group<kV> r = load_input<T, kV>(p, place[u], column);
          const Group<kV> w = load_weight<T, kV, kPlain>(p, place[u].gamma, column);
          const Group<kV> y = normalised<T, kV>(p, place[u], column, scale, r, w);
          store_sum<T, kV>(p, place[u], column, r);
          store_result<T, kV>(p, place[u], column, scale_of_y, y);
        }
      }
    }
  }
}

}  // namespace rms
