// Plain rows of up to 1024 columns, in whole vectors: kLanes lanes a row, without barriers.
//
// Lane l of a row stands for the logical threads span s + kV l + i of each set s, span = kLanes kV.
// A row has at most kHeld span columns, all of which stay in registers.
//
// 131072x128 is bound by instructions as much as by bytes: 16 lanes of 8 columns for a bf16 row in
// place of 32 of 4 halve them (24.1 us to 20.8 on an H200, 16 being the floor). Did not help there,
// each measured with stores that nvcc had split in four (see store_bits): two, four or eight rows
// for each group of lanes (f32 34.1 us with one, 35.7, 39.1, 41.5), persistent blocks with the next
// rows' loads under way (f32 35.1 to 38.0, bf16 21.1 to 24.5). 32768x1024 f32: 68.3 to 69.1 us by
// warps with the next row under way, 70.6 by blocks of two rows, 76.3 and more by blocks of one row
// that stay.
#pragma once

#include <ck/pipeline.cuh>

#include "groups.cuh"
#include "plan.cuh"
#include "sum_tree.cuh"

namespace rms {

// kLogical: threads of rms_norm.h's order.
template <typename T, int kV, int kLanes, int kHeld, int kLogical>
CK_KERNEL_BLOCKS(kWarpThreads, 1)
norm_warp(const Problem problem) {
  constexpr int kSpan = kLanes * kV;
  constexpr int kAllSets = kLogical / kSpan;
  constexpr int kSets = kHeld < kAllSets ? kHeld : kAllSets;
  Problem p = seen_by<T, kPlain>(problem);
  const Columns<kHeld> columns = columns_from<kHeld>(threadIdx.x % kLanes * kV, kSpan);
  const int64_t place_of_row =
      (static_cast<int64_t>(blockIdx.x) * kWarpThreads + threadIdx.x) / kLanes;
  // Past the last row, rows of no columns: the lanes of a warp meet in its shuffles. (To load the
  // last row once more would be a race with its own lanes, where y is x.)
  const bool exists = CK_MUTANT(rms_warp_reads_the_last_row_again) || place_of_row < p.total;
  const int index = place_of_row < p.total ? static_cast<int>(place_of_row) : p.total - 1;
  if (!exists) p.n = 0;
  ck::dependency_wait();
  const Place place = place_of<kPlain>(p, row_at(p, index));
  Bits<T, kV> held[kHeld];
  Bits<T, kV> weights[kHeld];
  load_bits<T, kV>(static_cast<const T*>(p.x) + place.x, columns, columns, p.n, held);
  load_bits<T, kV>(static_cast<const T*>(p.gamma), columns, columns, p.n, weights);
  float a[kSets][kV] = {};
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) add_squares(a[k % kSets], unpack<T, kV>(held[k]).v);
  const float scale = scale_of(p, sum_in_lanes<kLanes>(a));
  store_normalised<T, kV>(p, place, columns, scale, held, weights);
}

}  // namespace rms
