// From logits to the outputs of a question: tiles of 256 candidates, one warp each, merged in the
// fixed order of scoring.h.
#pragma once

#include "problem.cuh"

namespace scoring {

// What a tile (or, merged, a question) tells about its logits.
struct Stats {
  float max;       // -inf where nothing counts
  float sum;       // of exp(logit - max)
  float weighted;  // of k * exp(logit - max)
  uint32_t bad;    // a NaN or +inf is among the logits
};

// Order of floats as order of integers: equal for -0 and +0, all NaNs and +inf above the rest.
constexpr uint32_t kSpoiled = 0xffffffffu;
CK_DEVICE uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(__fadd_rn(x, 0.0f));
  const uint32_t key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return x < INFINITY ? key : kSpoiled;
}
CK_DEVICE float from_ordered(uint32_t key) {
  return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

// Sort key of a candidate: larger logits first, then lower indices. 0 where it cannot be chosen.
CK_DEVICE uint64_t rank_key(float logit, int k) {
  if (!(logit > -INFINITY)) return 0;
  return static_cast<uint64_t>(ordered(logit)) << 32 | (0xffffffffu - static_cast<uint32_t>(k));
}
CK_DEVICE int key_index(uint64_t key) {
  return key == 0 ? -1 : static_cast<int>(0xffffffffu - static_cast<uint32_t>(key));
}
CK_DEVICE float key_logit(uint64_t key) { return from_ordered(static_cast<uint32_t>(key >> 32)); }
CK_DEVICE uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
CK_DEVICE uint64_t warp_largest(uint64_t key) {
  CK_UNROLL
  for (int step = ck::kWarp / 2; step > 0; step /= 2) {
    key = larger(key, __shfl_xor_sync(ck::kFullMask, key, step));
  }
  return key;
}

// What a lane looks after of one tile: places lane, lane + 32, ...
CK_DEVICE void load_tile(const float* tile, int lane, float (&mine)[kTileLane]) {
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) mine[j] = tile[j * ck::kWarp + lane];
}

// The sum over one tile's exps, as a lane's chain and the butterfly. exps[j] belongs to candidate
// first + j * 32 + lane and is +0 where nothing counts or the tile has ended.
CK_DEVICE void sum_tile(const float (&exps)[kTileLane], int first, int lane, bool weighs,
                        Stats* stats) {
  float sum = 0.0f;
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) sum = __fadd_rn(sum, exps[j]);
  stats->sum = ck::warp_sum(sum);
  stats->weighted = 0.0f;
  if (!weighs) return;
  float weighted = 0.0f;
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) {
    weighted = __fmaf_rn(static_cast<float>(first + j * ck::kWarp + lane), exps[j], weighted);
  }
  stats->weighted = ck::warp_sum(weighted);
}
CK_DEVICE void sum_tile(const float* exps, int first, int lane, bool weighs, Stats* stats) {
  float mine[kTileLane];
  load_tile(exps, lane, mine);
  sum_tile(mine, first, lane, weighs, stats);
}

// The maximum of a tile's logits (-inf past its end), and whether one of them spoils the row.
CK_DEVICE void scan_tile(const float (&logits)[kTileLane], Stats* stats) {
  uint32_t largest = 0;
  CK_UNROLL
  for (int j = 0; j < kTileLane; ++j) largest = max(largest, ordered(logits[j]));
  largest = ck::warp_max(largest);
  stats->bad = largest == kSpoiled;
  stats->max = from_ordered(largest);
}
CK_DEVICE void scan_tile(const float* logits, int lane, Stats* stats) {
  float mine[kTileLane];
  load_tile(logits, lane, mine);
  scan_tile(mine, stats);
}

// The same from the maxima of its groups of 32 logits.
CK_DEVICE void merge_maxima(const uint32_t* maxima, int lane, Stats* stats) {
  const uint32_t largest = ck::warp_max(maxima[lane % kTileLane]);
  stats->bad = largest == kSpoiled;
  stats->max = from_ordered(largest);
}

// exp(logit - max) of one candidate; +0 in a tile where nothing counts.
CK_DEVICE float shifted_exp(float logit, float max) {
  return max == -INFINITY ? 0.0f : ck::exp_nonpositive(__fsub_rn(logit, max));
}

// Merges `tiles` tiles; every lane of the warp gets the result. One tile is returned as it is, to
// the bit, since exp(0) = 1. tile(t) is asked for four at a time, so that their loads overlap.
template <typename Tile>
CK_DEVICE Stats merge_tiles(int tiles, int lane, bool weighs, const Tile& tile) {
  constexpr int kTogether = 4;
  const Stats none{-INFINITY, 0.0f, 0.0f, 0};
  uint32_t largest = ordered(-INFINITY);  // also where there is no tile at all
  CK_NO_UNROLL
  for (int base = lane; base < tiles; base += kTogether * ck::kWarp) {
    Stats stats[kTogether];
    CK_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      const int t = base + i * ck::kWarp;
      stats[i] = t < tiles ? tile(t) : none;
    }
    CK_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      largest = max(largest, stats[i].bad != 0 ? kSpoiled : ordered(stats[i].max));
    }
  }
  largest = ck::warp_max(largest);
  Stats merged{from_ordered(largest), 0.0f, 0.0f, largest == kSpoiled};
  CK_NO_UNROLL
  for (int base = lane; base < tiles; base += kTogether * ck::kWarp) {
    Stats stats[kTogether];
    CK_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      const int t = base + i * ck::kWarp;
      stats[i] = t < tiles ? tile(t) : none;
    }
    CK_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      // A tile where nothing counts has sum 0; its -inf must not meet another -inf.
      const float factor = shifted_exp(stats[i].max, merged.max);
      merged.sum = __fmaf_rn(stats[i].sum, factor, merged.sum);
      if (weighs) merged.weighted = __fmaf_rn(stats[i].weighted, factor, merged.weighted);
    }
  }
  merged.sum = ck::warp_sum(merged.sum);
  if (weighs) merged.weighted = ck::warp_sum(merged.weighted);
  return merged;
}

// What every candidate of a question needs to know to become an output.
struct Row {
  Stats stats;
  float log_sum;
  bool empty;
};
CK_DEVICE Row make_row(const Problem& p, const Stats& stats) {
  Row row{stats, 0.0f, stats.max == -INFINITY && stats.bad == 0};
  const bool wants_log = p.log_probabilities != nullptr || p.log_sum_exp != nullptr;
  if (wants_log && !row.empty) row.log_sum = ck::log(stats.sum);
  return row;
}

CK_DEVICE float probability(const Row& row, float exp_shifted) {
  if (row.stats.bad) return NAN;
  return row.empty ? 0.0f : __fdiv_rn(exp_shifted, row.stats.sum);
}

// The outputs of candidate k. `exp_shifted` = exp(logit - row.stats.max).
CK_DEVICE void write_candidate(const Problem& p, const Question& question, const Row& row, int k,
                               float logit, float exp_shifted) {
  const int64_t at = question.position + k;
  if (p.probabilities != nullptr) p.probabilities[at] = probability(row, exp_shifted);
  if (p.logits != nullptr) p.logits[at] = logit;
  if (p.log_probabilities != nullptr) {
    float value = __fsub_rn(__fsub_rn(logit, row.stats.max), row.log_sum);
    if (row.empty) value = -INFINITY;
    if (row.stats.bad) value = NAN;
    p.log_probabilities[at] = value;
  }
}

// The outputs of the question itself, but for the top ones. One thread.
CK_DEVICE void write_question(const Problem& p, const Question& question, const Row& row) {
  const int i = question.index;
  if (p.log_sum_exp != nullptr) {
    float value = __fadd_rn(row.stats.max, row.log_sum);
    if (row.empty) value = -INFINITY;
    if (row.stats.bad) value = NAN;
    p.log_sum_exp[i] = value;
  }
  if (p.expected_index != nullptr) {
    float value = row.empty ? 0.0f : __fdiv_rn(row.stats.weighted, row.stats.sum);
    if (row.stats.bad) value = NAN;
    p.expected_index[i] = value;
  }
}

// How many of a question's best candidates are to be found.
CK_HOST_DEVICE int ranks_kept(const Problem& p) {
  return p.top_k > 0 ? p.top_k : p.argmax != nullptr ? 1 : 0;
}

// Place `rank` of a question's top ones. One thread.
CK_DEVICE void write_rank(const Problem& p, const Question& question, const Row& row, int rank,
                          uint64_t key) {
  if (row.stats.bad) key = 0;
  const int k = key_index(key);
  if (rank == 0 && p.argmax != nullptr) p.argmax[question.index] = k;
  if (rank >= p.top_k) return;
  const int64_t at = static_cast<int64_t>(question.index) * p.top_k + rank;
  if (p.top_values != nullptr) {
    float value = 0.0f;
    if (k >= 0) {
      value = probability(row, ck::exp_nonpositive(__fsub_rn(key_logit(key), row.stats.max)));
    } else if (row.stats.bad) {
      value = NAN;
    }
    p.top_values[at] = value;
  }
  if (p.top_indices != nullptr) p.top_indices[at] = k;
}

// The `ranks` largest of the warp's keys in falling order, each passed to put(rank, key) on every
// lane. next(below) returns this lane's largest key smaller than `below`, or 0.
template <typename Next, typename Put>
CK_DEVICE void select_ranks(int ranks, const Next& next, const Put& put) {
  uint64_t mine = next(~uint64_t{0});
  CK_NO_UNROLL
  for (int rank = 0; rank < ranks; ++rank) {
    const uint64_t best = warp_largest(mine);
    put(rank, best);
    if (best != 0 && mine == best) mine = next(best);
  }
}

// The best candidates of one tile by one warp: keys[rank].
CK_DEVICE void rank_tile(const float (&logits)[kTileLane], int first, int lane, int ranks,
                         uint64_t* keys) {
  select_ranks(
      ranks,
      [&](uint64_t below) {
        uint64_t best = 0;
        CK_UNROLL
        for (int j = 0; j < kTileLane; ++j) {
          const uint64_t key = rank_key(logits[j], first + j * ck::kWarp + lane);
          if (key < below) best = larger(best, key);
        }
        return best;
      },
      [&](int rank, uint64_t key) {
        if (lane == 0) keys[rank] = key;
      });
}

// Shared memory of finish_tiles, in dynamic shared memory: what max_k candidates need.
struct FinishScratch {
  float* logits;     // [tiles * kTile], filled by the caller
  float* exps;       // [tiles * kTile]
  Stats* stats;      // [tiles]
  uint64_t* keys;    // [tiles * ranks]
  uint32_t* maxima;  // [tiles * kTileLane], of 32 logits each
};
CK_HOST_DEVICE int tiles_of(int candidates) {
  return candidates > kTile ? (candidates + kTile - 1) / kTile : 1;
}
CK_HOST_DEVICE int finish_bytes(int max_k, int ranks) {
  const int per_tile =
      2 * kTile * static_cast<int>(sizeof(float)) + static_cast<int>(sizeof(Stats)) +
      ranks * static_cast<int>(sizeof(uint64_t)) + kTileLane * static_cast<int>(sizeof(uint32_t));
  return tiles_of(max_k) * per_tile;
}
CK_DEVICE FinishScratch finish_scratch(unsigned char* base, int max_k, int ranks) {
  const int tiles = tiles_of(max_k);
  FinishScratch scratch;
  scratch.logits = reinterpret_cast<float*>(base);
  scratch.exps = scratch.logits + tiles * kTile;
  scratch.stats = reinterpret_cast<Stats*>(scratch.exps + tiles * kTile);
  scratch.keys = reinterpret_cast<uint64_t*>(scratch.stats + tiles);
  scratch.maxima = reinterpret_cast<uint32_t*>(scratch.keys + tiles * ranks);
  return scratch;
}

// Logits past the end of the last tile count as masked. The threads that call this and no barrier
// yet: each fills places of its own.
CK_DEVICE void pad_logits(const Question& question, const FinishScratch& scratch) {
  const int end = tiles_of(question.count) * kTile;
  for (int k = question.count + threadIdx.x; k < end; k += blockDim.x)
    scratch.logits[k] = -INFINITY;
}

// The best of the tiles' keys, by one warp: lane l looks after keys l, l + 32, ... key_at(i) is
// key i % ranks of tile i / ranks.
template <typename Key>
CK_DEVICE void merge_ranks(const Problem& p, const Question& question, const Row& row, int tiles,
                           int ranks, const Key& key_at) {
  const int lane = threadIdx.x % ck::kWarp;
  select_ranks(
      ranks,
      [&](uint64_t below) {
        uint64_t best = 0;
        const int64_t count = static_cast<int64_t>(tiles) * ranks;
        for (int64_t i = lane; i < count; i += ck::kWarp) {
          const uint64_t key = key_at(i);
          if (key < below) best = larger(best, key);
        }
        return best;
      },
      [&](int rank, uint64_t key) {
        if (lane == 0) write_rank(p, question, row, rank, key);
      });
}

// The top ones of a question of up to CS_MAX_ONE_NODE_K candidates.
CK_DEVICE void finish_ranks(const Problem& p, const Question& question,
                            const FinishScratch& scratch, const Row& row, int tiles) {
  const int ranks = ranks_kept(p);
  const int lane = threadIdx.x % ck::kWarp;
  for (int tile = threadIdx.x / ck::kWarp; tile < tiles; tile += blockDim.x / ck::kWarp) {
    float logits[kTileLane];
    load_tile(scratch.logits + tile * kTile, lane, logits);
    rank_tile(logits, tile * kTile, lane, ranks, scratch.keys + tile * ranks);
  }
  if (!CK_MUTANT(scoring_ranks_skip_barrier)) __syncthreads();
  if (threadIdx.x >= ck::kWarp) return;
  merge_ranks(p, question, row, tiles, ranks, [&](int64_t i) { return scratch.keys[i]; });
}

// The statistics of a question's tiles, from their logits
// in scratch (padded, and behind a barrier). scratch.stats is not behind a barrier yet.
CK_DEVICE void tile_stats(const FinishScratch& scratch, int tiles, bool weighs) {
  const int lane = threadIdx.x % ck::kWarp;
  CK_UNROLL_BY(4)
  for (int k = threadIdx.x; k < tiles * kTile; k += blockDim.x) {
    const uint32_t largest = ck::warp_max(ordered(scratch.logits[k]));
    if (lane == 0) scratch.maxima[k / ck::kWarp] = largest;
  }
  if (!CK_MUTANT(scoring_maxima_skip_barrier)) __syncthreads();
  Stats stats;
  CK_UNROLL_BY(4)
  for (int k = threadIdx.x; k < tiles * kTile; k += blockDim.x) {
    merge_maxima(scratch.maxima + k / kTile * kTileLane, lane, &stats);
    scratch.exps[k] = shifted_exp(scratch.logits[k], stats.max);
  }
  if (!CK_MUTANT(scoring_tile_exps_skip_barrier)) __syncthreads();
  for (int tile = threadIdx.x / ck::kWarp; tile < tiles; tile += blockDim.x / ck::kWarp) {
    merge_maxima(scratch.maxima + tile * kTileLane, lane, &stats);
    sum_tile(scratch.exps + tile * kTile, tile * kTile, lane, weighs, &stats);
    if (lane == 0) scratch.stats[tile] = stats;
  }
}

// A question of up to CS_MAX_ONE_NODE_K candidates, by a whole block of at least kTile threads,
// from the logits in scratch (padded, and behind a barrier). One thread a candidate: code that runs
// once is bound by instruction fetch, and eight candidates a lane in one warp took 0.5 us longer.
CK_DEVICE void finish_tiles(const Problem& p, const Question& question,
                            const FinishScratch& scratch) {
  const int lane = threadIdx.x % ck::kWarp;
  const int tiles = tiles_of(question.count);
  const bool weighs = p.expected_index != nullptr;
  Stats stats{-INFINITY, 0.0f, 0.0f, 0};
  float kept_exp = 0.0f;
  if (tiles == 1) {
    // Every warp scans and sums the one tile for itself, which saves two barriers.
    if (threadIdx.x < kTile) {
      scan_tile(scratch.logits, lane, &stats);
      kept_exp = shifted_exp(scratch.logits[threadIdx.x], stats.max);
      scratch.exps[threadIdx.x] = kept_exp;
    }
    if (!CK_MUTANT(scoring_exps_skip_barrier)) __syncthreads();
    if (threadIdx.x < kTile) sum_tile(scratch.exps, 0, lane, weighs, &stats);
  } else {
    tile_stats(scratch, tiles, weighs);
    if (!CK_MUTANT(scoring_tiles_skip_barrier)) __syncthreads();
    stats = merge_tiles(tiles, lane, weighs, [&](int t) { return scratch.stats[t]; });
  }
  const Row row = make_row(p, stats);
  if (tiles == 1) {
    const int k = threadIdx.x;
    if (k < question.count) write_candidate(p, question, row, k, scratch.logits[k], kept_exp);
  } else {
    CK_UNROLL_BY(4)
    for (int k = threadIdx.x; k < question.count; k += blockDim.x) {
      const float logit = scratch.logits[k];
      write_candidate(p, question, row, k, logit, shifted_exp(logit, stats.max));
    }
  }
  if (threadIdx.x == 0) write_question(p, question, row);
  if (ranks_kept(p) > 0) finish_ranks(p, question, scratch, row, tiles);
}

}  // namespace scoring
