// One row by a cluster of blocks, in whole vectors, for few rows of many columns.
//
// Block c of a cluster of C stands for the logical threads c L .. c L + L - 1, L = 1024 / C: chains
// stay in one block, and what blocks hand over is the sums of whole logical warps. Of every 1024
// columns a block has L, which it loads in groups of 4, a warp a stretch, and puts into shared
// memory; L threads then run the chains from there. (Threads that load what they add would have
// n / 1024 groups each: with those loops unrolled over registers, fetching the instructions took
// 0.65 us of the 2.8 that 1x16384 then took on an H200.)
#pragma once

#include <ck/pipeline.cuh>

#include "cluster_words.cuh"
#include "groups.cuh"
#include "plan.cuh"

namespace rms {

// n <= C * kClusterHeld * 4 * blockDim.x. blockDim.x is kClusterThreads, or 1024 / C if more.
template <typename T>
CK_KERNEL_BLOCKS(kWideColumns / 2, 1)
norm_cluster(const Problem problem, const int log_cluster) {
  constexpr int kV = kClusterGroup;
  constexpr int kHeld = kClusterHeld;
  const Problem p = seen_by<T, kPlain>(problem);
  CK_SHARED(float, tile, kHeld * kV * kWideColumns / 2);
  CK_SHARED(uint64_t, words, kMaxSums);
  open_words(words);
  const int rank = static_cast<int>(ck::cluster_rank());
  const int log_own = 10 - log_cluster;  // of the logical threads of a block
  Columns<kHeld> columns;
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const int element = (k * blockDim.x + threadIdx.x) * kV;
    columns.at[k] =
        (element >> log_own) * kWideColumns + (rank << log_own) + (element & ((1 << log_own) - 1));
  }
  ck::dependency_wait();

  const Place place = place_of<kPlain>(p, row_at(p, blockIdx.x >> log_cluster));
  Bits<T, kV> held[kHeld];
  Bits<T, kV> weights[kHeld];
  load_bits<T, kV>(static_cast<const T*>(p.x) + place.x, columns, columns, p.n, held);
  load_bits<T, kV>(static_cast<const T*>(p.gamma), columns, columns, p.n, weights);
  CK_UNROLL
  for (int k = 0; k < kHeld; ++k) {
    const Group<kV> r = unpack<T, kV>(held[k]);
    *reinterpret_cast<float4*>(tile + (k * blockDim.x + threadIdx.x) * kV) =
        make_float4(r.v[0], r.v[1], r.v[2], r.v[3]);
  }
  if (!CK_MUTANT(rms_cluster_skips_tile_barrier)) __syncthreads();
  const bool chains = static_cast<int>(threadIdx.x) < 1 << log_own;
  float sum = 0.0f;
  if (chains) {
    const int chunks = (p.n - 1) / kWideColumns + 1;
    CK_UNROLL_BY(8)
    for (int k = 0; k < chunks; ++k) {
      const float v = tile[(k << log_own) + threadIdx.x];
      sum = __fmaf_rn(v, v, sum);
    }
    sum = ck::warp_sum(sum);
  }
  const int logical_warp = ((rank << log_own) + threadIdx.x) / ck::kWarp;
  const float scale = scale_of(p, sum_in_cluster(words, sum, chains, logical_warp, log_cluster));
  store_normalised<T, kV>(p, place, columns, scale, held, weights);
}

}  // namespace rms
