// One node, one question of many candidates: all blocks at once, over the whole GPU.
//
// The warps of all blocks walk the candidates side by side, each taking the next pair in turn. A
// logit goes into the workspace as one 64-bit word, (call << 32) | bits, stored and loaded relaxed:
// the word carries its own flag, so no fence and no counter is needed. Each tile has a warp that
// waits for its 256 words and publishes the tile's statistics in the same way; every block waits
// for the statistics of all tiles, merges them for itself and writes its own candidates. Blocks
// wait for each other, so they must all be resident: the launch is cooperative, which costs nothing
// measurable in a graph. `call` counts the calls made with the workspace, so that no word needs to
// be reset; a word that no call has written for 2^32 - 1 calls in a row would pass for a new one.
//
// On an H200, us: 4096x1024 hot 7.9 of this, 9.8 with one reading block; 65536x1024 66.8. Of the
// 7.9, rows take 4.2, the statistics 1.1, the merge 1.5 (two polls in a row then, one now).
// Did not help: a second node of one cluster that exchanges the statistics through distributed
// shared memory, 9.3. Not tried on this code: every block reading all logits for itself, 6.9 in a
// prototype with approximate exponentials.
#pragma once

#include "rows.cuh"
#include "score_question.cuh"
#include "softmax.cuh"

namespace scoring {

constexpr int kSweepMaxTiles = CS_MAX_SWEEP_K / kTile;
constexpr int kSweepResident = 2;  // blocks of a multiprocessor
constexpr int kSweepThreads = kStreamThreads;
static_assert(kSweepMaxTiles <= kSweepThreads, "a thread for each tile's statistics");

// Where the blocks of a call meet. Lies behind the words of CS_PATH_SPREAD in every workspace that
// has room for it, and holds nothing else, ever.
struct SweepStore {
  uint64_t logits[CS_MAX_SWEEP_K];
  uint64_t stats[kSweepMaxTiles][3];            // max as `ordered`, sum, weighted
  uint64_t keys[kSweepMaxTiles][CS_MAX_TOP_K];  // ordered by the statistics' words
  uint32_t calls;
};

CK_DEVICE void publish(uint64_t* word, uint32_t call, uint32_t bits) {
  ck::store_relaxed(word, static_cast<uint64_t>(call) << 32 | bits);
}

// Waits for kCount words, `stride` apart, those at or beyond `count` excepted.
template <int kCount>
CK_DEVICE void await(const uint64_t* words, int first, int stride, int count, uint32_t call,
                     uint32_t (&bits)[kCount]) {
  uint64_t word[kCount];
  CK_UNROLL
  for (int i = 0; i < kCount; ++i) word[i] = static_cast<uint64_t>(call - 1) << 32;
  bool missing = true;
  while (missing) {
    missing = false;
    CK_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (first + i * stride < count && word[i] >> 32 != call) {
        word[i] = ck::load_relaxed(words + first + i * stride);
      }
    }
    CK_UNROLL
    for (int i = 0; i < kCount; ++i) {
      missing = missing || (first + i * stride < count && word[i] >> 32 != call);
    }
    if (CK_MUTANT(scoring_sweep_ignores_flag)) missing = false;
    if (missing) ck::spin_hint();
  }
  CK_UNROLL
  for (int i = 0; i < kCount; ++i) bits[i] = static_cast<uint32_t>(word[i]);
}

// Candidates that a block takes at once.
template <bool kStreamed>
CK_HOST_DEVICE constexpr int sweep_step() {
  return kStreamed ? kStreamStep : kSweepThreads / ck::kWarp;
}
// The most that it takes in all.
template <bool kStreamed>
CK_HOST_DEVICE int sweep_rows(int candidates, int blocks) {
  constexpr int kStep = sweep_step<kStreamed>();
  return (candidates + blocks * kStep - 1) / (blocks * kStep) * kStep;
}
// Where its logits begin in shared memory: behind the rings, or the staged query.
template <typename T, bool kStreamed>
CK_HOST_DEVICE int sweep_offset(int dim) {
  if (kStreamed) return stream_offset(stream_bytes<T>(dim, kStreamSlots));
  return query_bytes(dim < kStagedMaxDim ? dim : kStagedMaxDim);
}

// Tile `tile` of the question, by one warp.
CK_DEVICE void publish_tile(const Problem& p, const Question& question, SweepStore& store, int tile,
                            uint32_t call, int lane) {
  const int first = tile * kTile;
  const int count = min(question.count - first, kTile);
  uint32_t bits[kTileLane];
  await(store.logits + first, lane, ck::kWarp, count, call, bits);
  float logits[kTileLane];
  float exps[kTileLane];
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) {
    logits[j] = j * ck::kWarp + lane < count ? __uint_as_float(bits[j]) : -INFINITY;
  }
  Stats stats;
  scan_tile(logits, &stats);
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) exps[j] = shifted_exp(logits[j], stats.max);
  const bool weighs = p.expected_index != nullptr;
  sum_tile(exps, first, lane, weighs, &stats);
  const int ranks = ranks_kept(p);
  if (ranks > 0) rank_tile(logits, first, lane, ranks, store.keys[tile]);
  if (lane != 0) return;
  if (ranks > 0 && !CK_MUTANT(scoring_sweep_keys_skip_fence)) __threadfence();
  publish(store.stats[tile], call, stats.bad != 0 ? kSpoiled : ordered(stats.max));
  publish(store.stats[tile] + 1, call, __float_as_uint(stats.sum));
  if (weighs) publish(store.stats[tile] + 2, call, __float_as_uint(stats.weighted));
}

// kStreamed: blocks have many rows, and stream them.
template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_KERNEL_BLOCKS(kSweepThreads, kSweepResident)
score_sweep(const Problem problem, SweepStore* const sweep_store) {
  const Problem p = seen_by<kAccess>(problem);
  CK_DYNAMIC_SHARED(unsigned char, shared);
  CK_SHARED(Stats, all_stats, kSweepMaxTiles);
  float* const logits = reinterpret_cast<float*>(shared + sweep_offset<T, kStreamed>(p.dim));
  SweepStore& store = *sweep_store;
  ck::dependency_wait();
  const int block = blockIdx.x;
  const Question question = open_question(p, 0, block == 0 && threadIdx.x == 0);
  constexpr int kStep = sweep_step<kStreamed>();
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  // Blocks with a candidate. Nobody waits for the others, and they wait for nobody.
  const int blocks = min(static_cast<int>(gridDim.x), (question.count + kStep - 1) / kStep);
  if (block >= blocks && block != 0) return;
  const uint32_t call = ck::load_relaxed(&store.calls) + 1;

  const int first = block * kStep;
  const int step = blocks * kStep;
  const auto put = [&](int k, float logit) {
    publish(store.logits + k, call, __float_as_uint(logit));
    logits[k / step * kStep + k % step - first] = logit;
  };
  if (kStreamed) {
    score_rows_streamed<T, kCosine, kAccess>(p, question, first, question.count, step, shared,
                                             kStreamSlots, put);
  } else if (kAccess != kScalar) {
    score_rows_ahead<T, kCosine, kAccess>(p, question, first, question.count, step,
                                          reinterpret_cast<float*>(shared), put);
  } else {
    for (int k = first + warp; k < question.count; k += step) {
      const float logit = score_row<T, kCosine, kAccess>(p, question, k, lane);
      if (lane == 0) put(k, logit);
    }
  }

  const int tiles = (question.count + kTile - 1) / kTile;
  if (blocks > 0) {
    // Spread evenly over the blocks; of a block that has several, a warp each.
    const int end = static_cast<int>(static_cast<int64_t>(block + 1) * tiles / blocks);
    for (int tile = static_cast<int>(static_cast<int64_t>(block) * tiles / blocks) + warp;
         tile < end; tile += kSweepThreads / ck::kWarp) {
      publish_tile(p, question, store, tile, call, lane);
    }
  }
  const bool weighs = p.expected_index != nullptr;
  const int ranks = ranks_kept(p);
  if (static_cast<int>(threadIdx.x) < tiles) {
    uint32_t bits[3];
    await(store.stats[threadIdx.x], 0, 1, weighs ? 3 : 2, call, bits);
    if (ranks > 0 && !CK_MUTANT(scoring_sweep_ranks_skip_fence)) __threadfence();
    all_stats[threadIdx.x] = Stats{from_ordered(bits[0]), __uint_as_float(bits[1]),
                                   weighs ? __uint_as_float(bits[2]) : 0.0f, bits[0] == kSpoiled};
  }
  if (!CK_MUTANT(scoring_sweep_stats_skip_barrier)) __syncthreads();
  const Stats stats = merge_tiles(tiles, lane, weighs, [&](int tile) { return all_stats[tile]; });
  const Row row = make_row(p, stats);
  for (int place = threadIdx.x;; place += kSweepThreads) {
    const int k = first + place / kStep * step + place % kStep;
    if (k >= question.count) break;
    const float logit = logits[place];
    write_candidate(p, question, row, k, logit, shifted_exp(logit, stats.max));
  }
  if (block != 0) return;
  if (threadIdx.x == 0) {
    write_question(p, question, row);
    // Every block that counts has read it: each has published since, and this one has waited.
    ck::store_relaxed(&store.calls, call);
  }
  if (ranks > 0 && threadIdx.x < ck::kWarp) {
    merge_ranks(p, question, row, tiles, ranks,
                [&](int64_t i) { return store.keys[i / ranks][i % ranks]; });
  }
}

}  // namespace scoring
