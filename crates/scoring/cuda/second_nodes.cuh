// What follows the logits where a question takes two nodes: the softmax over them.
#pragma once

#include <ck/cluster.cuh>

#include "score_tiles.cuh"
#include "softmax.cuh"

namespace scoring {

constexpr int kMergeThreads = 256;
constexpr int kMergeCandidates = 4 * kMergeThreads;  // of one block

// After score_tiles: every warp merges the statistics of its question's tiles for itself, and
// writes its candidates' outputs.
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
  merge_ranks(p, question, row, store.keys + question.index * int64_t{store.tiles} * store.ranks,
              keys, store.ranks);
}


constexpr int kSweepFinishThreads = 512;
constexpr int kSweepMaxBlocks = 16;       // of a finishing cluster
constexpr int kSweepMaxTiles = 16;        // of a finishing block
static_assert(kSweepMaxBlocks * kSweepMaxTiles * kTile == CS_MAX_SWEEP_K);


// After sweep_logits: a cluster takes a question, each of its blocks some of the tiles. A block
// stores its tiles' statistics into the shared memory of all, so that each then merges for itself.

// Shared memory of a finishing block: its tiles, the statistics of all, the keys of all.
CK_HOST_DEVICE int sweep_finish_bytes(int tiles_of_block, int tiles, int ranks) {
  return finish_bytes(tiles_of_block * kTile, 0) +
         tiles * (static_cast<int>(sizeof(Stats)) + ranks * static_cast<int>(sizeof(uint64_t)));
}

CK_KERNEL(kSweepFinishThreads)
finish_sweep(const Problem p, const float* const all_logits, const int log_cluster,
             const int tiles_of_block) {
  CK_DYNAMIC_SHARED(unsigned char, shared);
  ck::cluster_arrive_relaxed();
  const int rank = static_cast<int>(ck::cluster_rank());
  const int lane = threadIdx.x % ck::kWarp;
  const int ranks = ranks_kept(p);
  const FinishScratch scratch = finish_scratch(shared, tiles_of_block * kTile, 0);
  Stats* const all_stats =
      reinterpret_cast<Stats*>(shared + finish_bytes(tiles_of_block * kTile, 0));
  uint64_t* const all_keys = reinterpret_cast<uint64_t*>(all_stats + tiles_of(p.max_k));
  if (!CK_MUTANT(scoring_sweep_skips_dependency_wait)) ck::dependency_wait();
  const Question question = open_question(p, blockIdx.x >> log_cluster, false);
  const int all_tiles = tiles_of(question.count);
  const int first_tile = min(rank * tiles_of_block, all_tiles);
  const int tiles = min(tiles_of_block, all_tiles - first_tile);
  const int first = first_tile * kTile;
  const int count = min(question.count - first, tiles * kTile);
  const float* const logits = all_logits + static_cast<int64_t>(question.index) * p.max_k + first;
  CK_UNROLL_BY(4)
  for (int k = threadIdx.x; k < tiles * kTile; k += kSweepFinishThreads) {
    scratch.logits[k] = k < count ? logits[k] : -INFINITY;
  }
  if (!CK_MUTANT(scoring_sweep_skips_start_wait)) ck::cluster_wait();
  if (!CK_MUTANT(scoring_sweep_logits_skip_barrier)) __syncthreads();
  tile_stats(scratch, first_tile, tiles, p.expected_index != nullptr,
             [&](int tile, const Stats& stats) {
               if (lane >= 1 << log_cluster) return;
               ck::cluster_map(all_stats, lane)[first_tile + tile] = stats;
             });
  if (ranks > 0) {
    rank_tiles(scratch.logits, first_tile, tiles, ranks,
               ck::cluster_map(all_keys, 0) + first_tile * ranks);
  }
  // The last that a block writes to a peer's memory, so the wait is also what lets it leave.
  ck::cluster_arrive();
  if (!CK_MUTANT(scoring_sweep_skips_stats_wait)) ck::cluster_wait();
  const Stats stats = merge_tiles(all_tiles, lane, [&](int t) { return all_stats[t]; });
  const Row row = make_row(p, stats);
  CK_UNROLL_BY(4)
  for (int k = threadIdx.x; k < count; k += kSweepFinishThreads) {
    const float logit = scratch.logits[k];
    write_candidate(p, question, row, first + k, logit, shifted_exp(logit, stats.max));
  }
  if (rank != 0) return;
  if (threadIdx.x == 0) write_question(p, question, row);
  if (ranks > 0 && threadIdx.x < ck::kWarp) {
    merge_ranks(p, question, row, all_keys, static_cast<int64_t>(all_tiles) * ranks, ranks);
  }
}

}  // namespace scoring
