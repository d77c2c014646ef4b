// Two nodes, any K: the tiles of every question, then a merge.
//
// First node: a cluster of blocks (or one block) for each tile of 256 candidates; its first block
// gathers the tile's logits as in score_question.cuh, and leaves them, the tile's statistics and
// its best candidates in the workspace. Second node: every warp merges the statistics of its
// question's tiles for itself and writes its candidates' outputs.
#pragma once

#include <ck/cluster.cuh>

#include "rows.cuh"
#include "score_question.cuh"
#include "softmax.cuh"

namespace scoring {

constexpr int kMergeThreads = 256;
constexpr int kMergeCandidates = 4 * kMergeThreads;  // of one block

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
  if (!CK_MUTANT(scoring_tile_exps_skip_barrier)) ck::barrier_sync(1, kTile);
  if (warp != 0) return;
  sum_tile(exps, tile_first, lane, p.expected_index != nullptr, &stats);
  const int64_t slot = static_cast<int64_t>(question.index) * store.tiles + tile;
  if (lane == 0) store.stats[slot] = stats;
  select_ranks(
      store.ranks, [&](uint64_t below) { return next_of_tile(logits, tile_first, lane, below); },
      [&](int place, uint64_t key) {
        if (lane == 0) store.keys[slot * store.ranks + place] = key;
      });
}

CK_KERNEL(kMergeThreads) merge_question(const Problem p, const TileStore store, const int parts) {
  if (!CK_MUTANT(scoring_merge_skips_dependency_wait)) ck::dependency_wait();
  const int part = blockIdx.x % parts;
  const Question question = open_question(p, blockIdx.x / parts, false);
  const int lane = threadIdx.x % ck::kWarp;
  const int tiles = (question.count + kTile - 1) / kTile;
  const Stats* const stats = store.stats + static_cast<int64_t>(question.index) * store.tiles;
  const Row row = make_row(p, merge_tiles(tiles, lane, [&](int t) { return stats[t]; }));
  const float* const logits = store.logits + static_cast<int64_t>(question.index) * p.max_k;
  const int end = min(question.count, (part + 1) * kMergeCandidates);
  for (int k = part * kMergeCandidates + threadIdx.x; k < end; k += kMergeThreads) {
    const float logit = logits[k];
    write_candidate(p, question, row, k, logit, shifted_exp(logit, row.stats.max));
  }
  if (part != 0 || threadIdx.x >= ck::kWarp) return;
  if (lane == 0) write_question(p, question, row);
  const int64_t keys = static_cast<int64_t>(tiles) * store.ranks;
  const uint64_t* const all =
      store.keys + static_cast<int64_t>(question.index) * store.tiles * store.ranks;
  select_ranks(
      store.ranks,
      [&](uint64_t below) {
        uint64_t best = 0;
        for (int64_t i = lane; i < keys; i += ck::kWarp) {
          if (all[i] < below) best = larger(best, all[i]);
        }
        return best;
      },
      [&](int place, uint64_t key) {
        if (lane == 0) write_rank(p, question, row, place, key);
      });
}

}  // namespace scoring
