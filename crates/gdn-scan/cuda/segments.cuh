// What the kernels of GDN_PATH_SEGMENTS share: how a state is spread over the lanes of a warp.
//
// A sum over the K rows of a column is one chain of dependent additions; whoever adds must add in
// order. The products are not bound by it, nor are loads and stores. So the rows of a column are cut
// into four segments, each with lanes of its own, which hold its part of the state in registers, do
// everything but the chain at once, and then pass the sum on by a shuffle: lane 8 * segment + j has
// column j. All lanes add in every stage, but only the segment whose turn it is has a sum that
// counts: no lane waits for another, and no select is needed.
#pragma once

#include "problem.cuh"

namespace gdn {

constexpr int kSegments = 4;
constexpr int kSegmentLanes = ck::kWarp / kSegments;
constexpr int kBlockColumns = 32;

// Where element r of a vector over the keys lies in shared memory, for segments of kRows elements: at
// a distance of 32 all four would be read from the same banks.
template <int kRows>
constexpr int kSegmentGap = kRows != 0 && kRows % 32 == 0 ? 4 : 0;
template <int kRows>
CK_HOST_DEVICE constexpr int place_of(int r) {
  return kSegmentGap<kRows> == 0 ? r : r + r / (kRows == 0 ? 1 : kRows) * kSegmentGap<kRows>;
}
template <int kRows>
constexpr int kVectorLength = kSegments * (kRows + kSegmentGap<kRows>);

CK_DEVICE int segment_of_lane() { return threadIdx.x % ck::kWarp / kSegmentLanes; }

// The last segment's sums, which are those over all rows, to every lane of their columns.
template <int kColumns>
CK_DEVICE void to_all_segments(float (&sum)[kColumns]) {
  const int last = ck::kWarp - kSegmentLanes + threadIdx.x % kSegmentLanes;
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) sum[c] = __shfl_sync(ck::kFullMask, sum[c], last);
}

// The stages after the first: each passes the sums on to the next segment, whose terms are added. On
// entry every lane has the sum of its own terms, which counts in segment 0; on return every lane has
// the sum of its columns over all rows.
template <int kRows, int kColumns>
CK_DEVICE void pass_on(const float (&terms)[kRows][kColumns], float (&sum)[kColumns]) {
  CK_NO_UNROLL
  for (int stage = 1; stage < kSegments; ++stage) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      sum[c] = __shfl_up_sync(ck::kFullMask, sum[c], kSegmentLanes);
    }
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) {
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) sum[c] = __fadd_rn(sum[c], terms[i][c]);
    }
  }
  to_all_segments(sum);
}

// The sum of kCount values in shared memory, a multiple of 4, in order from +0: additions alone, so that
// each waits for the one before it and for nothing else.
template <int kCount>
CK_DEVICE float serial_sum(const float* x) {
  float sum = 0.0f;
  CK_UNROLL
  for (int r = 0; r < kCount; r += 4) {
    const float4 values = *reinterpret_cast<const float4*>(x + r);
    sum = __fadd_rn(__fadd_rn(sum, values.x), values.y);
    sum = __fadd_rn(__fadd_rn(sum, values.z), values.w);
  }
  return sum;
}

CK_DEVICE void four(const float* x, float (&values)[4]) {
  const float4 loaded = *reinterpret_cast<const float4*>(x);
  values[0] = loaded.x;
  values[1] = loaded.y;
  values[2] = loaded.z;
  values[3] = loaded.w;
}

}  // namespace gdn
