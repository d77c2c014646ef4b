// Rows of any length with every option, by a block, a cluster or a warp; kV adjacent columns as one
// vector, or kV = 1 at any alignment.
//
// A row is taken in tiles of what its threads hold; rows of more than one tile are read again for
// y, the last tile first, for it is still held.
#pragma once

#include <ck/pipeline.cuh>

#include "cluster_words.cuh"
#include "groups.cuh"
#include "plan.cuh"
#include "sum_tree.cuh"

namespace rms {

// A row in tiles of kN groups a thread, `group_step` columns apart.
template <typename T, int kV, int kN>
struct TiledRow {
  const Problem& p;
  Place place;
  int first;
  int group_step;
  int tiles;
  int held;  // the tile in r
  Group<kV> r[kN];

  RMS_MEMBER TiledRow(const Problem& problem, const Row& row, int first_column, int step)
      : p(problem),
        place(place_of<kOptions>(problem, row)),
        first(first_column),
        group_step(step),
        tiles((problem.n - 1) / (kN * step) + 1),
        held(-1) {}

  RMS_MEMBER Columns<kN> columns_of(int tile) const {
    // Beyond the row no column matters, and none may wrap around.
    Columns<kN> columns;
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      const int64_t at = (static_cast<int64_t>(tile) * kN + k) * group_step + first;
      columns.at[k] = at < p.n ? static_cast<int>(at) : p.n;
    }
    return columns;
  }
  RMS_MEMBER void hold(int tile) {
    if (held == tile) return;
    load_input<T>(p, place, columns_of(tile), r);
    held = tile;
  }
  // y of the tile that is held.
  RMS_MEMBER void result(float scale, Group<kV> (&y)[kN]) const {
    const Columns<kN> columns = columns_of(held);
    load_weights<T>(p, place.gamma, columns, y);
    normalise<T>(p, place, columns, scale, r, y);
  }
  RMS_MEMBER float largest(float scale) {
    float so_far = 0.0f;
    CK_NO_UNROLL
    for (int tile = tiles - 1; tile >= 0; --tile) {
      hold(tile);
      Group<kV> y[kN];
      result(scale, y);
      so_far = largest_of(so_far, columns_of(tile), p.n, y);
    }
    return so_far;
  }
  // In the order in which the tile that is held comes first.
  RMS_MEMBER void store(float scale, float step) {
    const bool backwards = held == tiles - 1;
    CK_NO_UNROLL
    for (int t = 0; t < tiles; ++t) {
      hold(backwards ? tiles - 1 - t : t);
      Group<kV> y[kN];
      result(scale, y);
      const Columns<kN> columns = columns_of(held);
      store_sum<T>(p, place, columns, r);
      store_result<T>(p, place, columns, step, y);
    }
  }
};

// blockDim.x * kV << log_cluster logical threads.
template <typename T, int kV, bool kClustered>
CK_KERNEL_BLOCKS(kWideColumns / kV, 1)
norm_options(const Problem p, const int log_cluster) {
  static_assert(!kClustered || kV == 1, "a warp hands over one logical warp");
  CK_SHARED(float, sums, kMaxSums);
  CK_SHARED(float, maxima, kMaxSums);
  CK_SHARED(uint64_t, words, kMaxSums);
  if (kClustered) open_words(words);
  const int rank = kClustered ? static_cast<int>(ck::cluster_rank()) : 0;
  const int first = (rank * blockDim.x + threadIdx.x) * kV;
  const int logical = (blockDim.x * kV) << log_cluster;
  const int lane = threadIdx.x % ck::kWarp;
  ck::dependency_wait();
  const Row row = row_at(p, blockIdx.x >> log_cluster);
  TiledRow<T, kV, kOptionsHeld> tiled(p, row, first, logical);

  float a[kV] = {};
  CK_NO_UNROLL
  for (int tile = 0; tile < tiled.tiles; ++tile) {
    tiled.hold(tile);
    CK_UNROLL
    for (int k = 0; k < kOptionsHeld; ++k) add_squares(a, tiled.r[k].v);
  }
  float sum;
  if (kClustered) {
    sum = sum_in_cluster(words, ck::warp_sum(a[0]), true, first / ck::kWarp, log_cluster);
  } else {
    put_logical_warp_sum(a, sums);
    if (!CK_MUTANT(rms_options_skips_sums_barrier)) __syncthreads();
    sum = sum_of_logical_warps(sums, logical);
  }
  const float scale = scale_of(p, sum);
  if (p.rstd != nullptr && first == 0) p.rstd[row.index] = scale;

  float step = 1.0f;
  if (p.quantisation == RMS_QUANT_TENSOR) step = *p.tensor_scale;
  if (!kClustered && p.quantisation == RMS_QUANT_TOKEN) {
    const float largest = ck::warp_max(tiled.largest(scale));
    if (lane == 0) maxima[threadIdx.x / ck::kWarp] = largest;
    if (!CK_MUTANT(rms_options_skips_maxima_barrier)) __syncthreads();
    const int warps = blockDim.x / ck::kWarp;
    step = token_scale_of(p, ck::warp_max(lane < warps ? maxima[lane] : 0.0f));
    if (threadIdx.x == 0) p.token_scales[row.index] = step;
  }
  tiled.store(scale, step);
}

// The rest of a row by one warp, from its scale.
template <typename Tiled>
CK_DEVICE void finish_in_warp(const Problem& p, Tiled& tiled, int index, float scale) {
  const int lane = threadIdx.x % ck::kWarp;
  if (p.rstd != nullptr && lane == 0) p.rstd[index] = scale;
  float step = 1.0f;
  if (p.quantisation == RMS_QUANT_TENSOR) step = *p.tensor_scale;
  if (p.quantisation == RMS_QUANT_TOKEN) {
    step = token_scale_of(p, ck::warp_max(tiled.largest(scale)));
    if (lane == 0) p.token_scales[index] = step;
  }
  tiled.store(scale, step);
}

CK_DEVICE int64_t row_of_warp() {
  return static_cast<int64_t>(blockIdx.x) * (kWarpThreads / ck::kWarp) + threadIdx.x / ck::kWarp;
}

// A row of less than 1024 columns by one warp: a tile has the columns of each logical thread once.
template <typename T, int kV>
CK_KERNEL_BLOCKS(kWarpThreads, 1)
norm_options_narrow(const Problem p) {
  constexpr int kSpan = ck::kWarp * kV;
  constexpr int kSets = kNarrowThreads / kSpan;
  const int64_t index = row_of_warp();
  ck::dependency_wait();
  if (index >= p.total) return;
  TiledRow<T, kV, kSets> tiled(p, row_at(p, static_cast<int>(index)), threadIdx.x % ck::kWarp * kV,
                               kSpan);
  float a[kSets][kV] = {};
  CK_NO_UNROLL
  for (int tile = 0; tile < tiled.tiles; ++tile) {
    tiled.hold(tile);
    CK_UNROLL
    for (int s = 0; s < kSets; ++s) add_squares(a[s], tiled.r[s].v);
  }
  const float scale = scale_of(p, sum_in_lanes<ck::kWarp>(a));
  finish_in_warp(p, tiled, static_cast<int>(index), scale);
}

// A longer one, at any alignment: one logical warp after the other. For tests: no call is faster
// so.
template <typename T>
CK_KERNEL_BLOCKS(kWarpThreads, 1)
norm_options_wide(const Problem p) {
  const int64_t index = row_of_warp();
  const int lane = threadIdx.x % ck::kWarp;
  ck::dependency_wait();
  if (index >= p.total) return;
  TiledRow<T, 1, kOptionsHeld> tiled(p, row_at(p, static_cast<int>(index)), lane, ck::kWarp);
  float sum = 0.0f;  // of logical warp `lane`
  CK_NO_UNROLL
  for (int w = 0; w < kMaxSums; ++w) {
    float a[1] = {};
    CK_NO_UNROLL
    for (int64_t at = w * ck::kWarp + lane; at < p.n; at += kWideColumns) {
      Group<1> r[1];
      load_input<T>(p, tiled.place, Columns<1>{{static_cast<int>(at)}}, r);
      add_squares(a, r[0].v);
    }
    const float of_warp = ck::warp_sum(a[0]);
    if (lane == w) sum = of_warp;
  }
  const float scale = scale_of(p, ck::warp_sum(sum));
  finish_in_warp(p, tiled, static_cast<int>(index), scale);
}

}  // namespace rms
