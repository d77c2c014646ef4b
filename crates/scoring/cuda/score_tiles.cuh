// Two nodes, any K: the tiles of every question, then a merge.
//
// First node: a cluster of blocks (or one block) for each tile of 256 candidates; its first block
// gathers the tile's logits as in score_question.cuh, and leaves them, the tile's statistics and
// its best candidates in the workspace. Second node: merge_question.cuh.
#pragma once

#include <ck/cluster.cuh>

#include "rows.cuh"
#include "score_question.cuh"
#include "softmax.cuh"

namespace scoring {

// Where the two nodes meet in the workspace.
struct TileStore {
  float* logits;   // [Q, max_k]
  Stats* stats;    // [Q, tiles]
  uint64_t* keys;  // [Q, tiles, ranks]
  int tiles;       // of max_k
  int ranks;
};

template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_KERNEL_BLOCKS((kStreamed ? kStreamThreads : kThreads), 1)
score_tiles(const Problem problem, const TileStore store, const int log_cluster) {
  const Problem p = seen_by<kAccess>(problem);
  CK_SHARED(float, logits, kTile);
  CK_SHARED(float, exps, kTile);
  CK_DYNAMIC_SHARED(unsigned char, rings);
  const bool clustered = log_cluster > 0;
  if (clustered) ck::cluster_arrive_relaxed();
  ck::dependency_wait();
  const int rank = clustered ? static_cast<int>(ck::cluster_rank()) : 0;
  const unsigned unit = blockIdx.x >> log_cluster;
  const int tile = static_cast<int>(unit % store.tiles);
  const Question question = open_question(p, static_cast<int>(unit / store.tiles),
                                          tile == 0 && rank == 0 && threadIdx.x == 0);
  const int tile_first = min(tile * kTile, question.count);
  const int tile_end = min(tile_first + kTile, question.count);
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  if (rank == 0) {
    for (int k = tile_end - tile_first + threadIdx.x; k < kTile; k += blockDim.x) {
      logits[k] = -INFINITY;
    }
  }
  score_into_first_block<T, kCosine, kAccess, kStreamed>(
      p, question, share_of(tile_first, tile_end, rank, log_cluster), logits, tile_first, clustered,
      rings, kStreamSlots);
  if (clustered) {
    if (rank != 0) return;
    if (!CK_MUTANT(scoring_tile_skips_logits_wait)) ck::cluster_wait();
  } else {
    if (!CK_MUTANT(scoring_tile_skips_logits_barrier)) __syncthreads();
  }
  if (threadIdx.x >= kTile || tile_first >= tile_end) return;
  // Candidate tile_first + threadIdx.x to its thread, as in finish_tiles.
  Stats stats;
  scan_tile(logits, lane, &stats);
  const float logit = logits[threadIdx.x];
  const int count = tile_end - tile_first;
  float* const saved = store.logits + static_cast<int64_t>(question.index) * p.max_k + tile_first;
  if (static_cast<int>(threadIdx.x) < count) saved[threadIdx.x] = logit;
  exps[threadIdx.x] = shifted_exp(logit, stats.max);
  if (!CK_MUTANT(scoring_tile_node_exps_skip_barrier)) ck::barrier_sync(1, kTile);
  if (warp != 0) return;
  sum_tile(exps, tile_first, lane, p.expected_index != nullptr, &stats);
  const int64_t slot = static_cast<int64_t>(question.index) * store.tiles + tile;
  if (lane == 0) store.stats[slot] = stats;
  float mine[kTileLane];
  load_tile(logits, lane, mine);
  rank_tile(mine, tile_first, lane, store.ranks, store.keys + slot * store.ranks);
}

}  // namespace scoring
