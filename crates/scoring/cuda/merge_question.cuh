// The node after score_tiles: every warp merges the statistics of its question's tiles for itself,
// and writes its candidates' outputs.
#pragma once

#include "score_tiles.cuh"
#include "softmax.cuh"

namespace scoring {

constexpr int kMergeThreads = 256;
constexpr int kMergeCandidates = 4 * kMergeThreads;  // of one block

CK_KERNEL(kMergeThreads) merge_question(const Problem p, const TileStore store, const int parts) {
  if (!CK_MUTANT(scoring_merge_skips_dependency_wait)) ck::dependency_wait();
  const int part = blockIdx.x % parts;
  const Question question = open_question(p, blockIdx.x / parts, false);
  const int lane = threadIdx.x % ck::kWarp;
  const int tiles = (question.count + kTile - 1) / kTile;
  const Stats* const stats = store.stats + static_cast<int64_t>(question.index) * store.tiles;
  const Row row = make_row(
      p, merge_tiles(tiles, lane, p.expected_index != nullptr, [&](int t) { return stats[t]; }));
  const float* const logits = store.logits + static_cast<int64_t>(question.index) * p.max_k;
  const int end = min(question.count, (part + 1) * kMergeCandidates);
  for (int k = part * kMergeCandidates + threadIdx.x; k < end; k += kMergeThreads) {
    const float logit = logits[k];
    write_candidate(p, question, row, k, logit, shifted_exp(logit, row.stats.max));
  }
  if (part != 0 || threadIdx.x >= ck::kWarp) return;
  if (lane == 0) write_question(p, question, row);
  const uint64_t* const keys =
      store.keys + static_cast<int64_t>(question.index) * store.tiles * store.ranks;
  merge_ranks(p, question, row, tiles, store.ranks, [&](int64_t i) { return keys[i]; });
}

}  // namespace scoring
