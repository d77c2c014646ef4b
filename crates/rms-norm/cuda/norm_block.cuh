// A row by one block, in whole vectors: plain, or with a residual.
//
// Thread p stands for the logical threads kV p .. kV p + kV - 1. The whole row stays in registers,
// n <= kHeld * logical threads.
//
// Weights are loaded before the reduction, for with few rows nothing else hides them; but after it
// where they would take as many registers as 8 groups of f32 do (16384x8192 f32 on an H200: 255.2
// us before, 253.6 after, of which 249 are the bytes; bf16 129.3 and 171.9).
//
// Tried on the same GPU for 4096x4096 f32, which takes 33.7 us (33.0 are the bytes): persistent
// blocks with the next row's loads under way 35.3 to 38.9, a ring of bulk copies 35.0 to 39.1, two
// rows a block 34.5, streaming stores the same. bf16: 17.9; with 4 columns a thread 19.3 to 20.5,
// two rows a block 18.2 to 18.4, persistent 18.1 to 21.2, bulk copies 17.5 to 22.0 by the number of
// blocks.
#pragma once

#include <ck/pipeline.cuh>

#include "groups.cuh"
#include "plan.cuh"
#include "sum_tree.cuh"

namespace rms {

template <typename T, int kV, int kHeld>
CK_KERNEL_BLOCKS(kWideColumns / kV, 1)
norm_block(const Problem problem) {
  const Problem p = seen_by<T, kPlain>(problem);
  CK_SHARED(float, sums, kMaxSums);
  const int logical = blockDim.x * kV;
  const Columns<kHeld> columns = columns_from<kHeld>(threadIdx.x * kV, logical);
  ck::dependency_wait();
  const Place place = place_of<kPlain>(p, row_at(p, blockIdx.x));
  Bits<T, kV> held[kHeld];
  Bits<T, kV> weights[kHeld];
  load_bits<T, kV>(static_cast<const T*>(p.x) + place.x, columns, columns, p.n, held);
  const T* const gamma = static_cast<const T*>(p.gamma);
  constexpr bool kLate = kHeld == kManyHeld && sizeof(T) == sizeof(float);
  if (!kLate) load_bits<T, kV>(gamma, columns, columns, p.n, weights);
  float a[kV] = {};
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) add_squares(a, unpack<T, kV>(held[k]).v);
  put_logical_warp_sum(a, sums);
  if (!CK_MUTANT(rms_block_skips_sums_barrier)) __syncthreads();
  if (kLate) load_bits<T, kV>(gamma, columns, columns, p.n, weights);
  const float scale = scale_of(p, sum_of_logical_warps(sums, logical));
  store_normalised<T, kV>(p, place, columns, scale, held, weights);
}

template <typename T, int kV, int kHeld>
CK_KERNEL_BLOCKS(kWideColumns / kV, 1)
norm_residual(const Problem problem) {
  const Problem p = seen_by<T, kResidual>(problem);
  CK_SHARED(float, sums, kMaxSums);
  const int logical = blockDim.x * kV;
  const Columns<kHeld> columns = columns_from<kHeld>(threadIdx.x * kV, logical);
  ck::dependency_wait();
  const Place place = place_of<kResidual>(p, row_at(p, blockIdx.x));
  Group<kV> r[kHeld];
  Bits<T, kV> weights[kHeld];
  load_input<T>(p, place, columns, r);
  load_bits<T, kV>(static_cast<const T*>(p.gamma), columns, columns, p.n, weights);
  float a[kV] = {};
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) add_squares(a, r[k].v);
  store_sum<T>(p, place, columns, r);
  put_logical_warp_sum(a, sums);
  if (!CK_MUTANT(rms_residual_skips_sums_barrier)) __syncthreads();
  const float scale = scale_of(p, sum_of_logical_warps(sums, logical));
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const Group<kV> w = unpack<T, kV>(weights[k]);
    CK_UNROLL
    for (int i = 0; i < kV; ++i) r[k].v[i] = normalised<T>(p, scale, r[k].v[i], w.v[i]);
  }
  store_groups<T>(static_cast<T*>(p.y) + place.y, columns, p.n, r);
}

}  // namespace rms
