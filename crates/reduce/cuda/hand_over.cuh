// Splits hand their sums to a reader through the workspace.
//
// A sum travels as two neighbouring 64-bit words, (full << 32) | half of its bits, stored and
// loaded relaxed, in one access: each word carries its own flag, so no fence, no counter and no
// last block is needed, and the reader pays one trip to L2. The reader sets each word back to 0, so
// the next launch finds the workspace as the first did.
#pragma once

#include <ck/memory.cuh>

#include "problem.cuh"

namespace reduce {

constexpr uint64_t kFull = uint64_t{1} << 32;
constexpr int kMostOfLane = RED_MAX_SPLITS / ck::kWarp;

struct Halves {
  uint32_t first;
  uint32_t second;
};
CK_DEVICE Halves halves(ck::F32x2 a) { return {__float_as_uint(a.high), __float_as_uint(a.low)}; }
CK_DEVICE Halves halves(double a) {
  const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(a));
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}
CK_DEVICE Halves halves(float a) { return {__float_as_uint(a), 0}; }
CK_DEVICE void restore(Halves h, ck::F32x2& a) {
  a = {__uint_as_float(h.first), __uint_as_float(h.second)};
}
CK_DEVICE void restore(Halves h, double& a) {
  a = __longlong_as_double(static_cast<long long>(static_cast<uint64_t>(h.second) << 32 | h.first));
}
CK_DEVICE void restore(Halves h, float& a) { a = __uint_as_float(h.first); }

// Threads of a reader that share a column: each has a run of up to kMostOfLane splits.
CK_HOST_DEVICE int run_of(int splits) { return splits < kMostOfLane ? splits : kMostOfLane; }

// The words of a column and split. The j-th splits of every run lie together, by columns and then
// by runs: neighbouring threads of a reader read neighbouring pairs.
CK_DEVICE uint64_t* words_at(const Plan& plan, int64_t item, int64_t col, int split) {
  const int each = run_of(plan.splits);
  const int log2 = log2_of(each);
  const int64_t row = (split & (each - 1)) * plan.width + col;
  return plan.words + item * plan.words_of_item +
         2 * ((row << log2_of(plan.splits >> log2)) + (split >> log2));
}

CK_DEVICE void hand_over(uint64_t* words, Halves h) {
  ck::store_relaxed_pair(words, {kFull | h.first, kFull | h.second});
}

// Waits for `count` splits of a run, all under way at once; leaves zeros there.
CK_DEVICE void collect(const Plan& plan, uint64_t* words, int count, Halves (&out)[kMostOfLane]) {
  const int64_t next = 2 * plan.width * (plan.splits >> log2_of(run_of(plan.splits)));
  ck::WordPair word[kMostOfLane];
  CK_UNROLL
  for (int i = 0; i < kMostOfLane; ++i) word[i] = {0, 0};
  const auto full = [&](int i) { return (word[i].first & word[i].second & kFull) != 0; };
  bool missing = true;
  while (missing) {
    missing = false;
    CK_UNROLL
    for (int i = 0; i < kMostOfLane; ++i) {
      if (i < count && !full(i)) word[i] = ck::load_relaxed_pair(words + i * next);
    }
    CK_UNROLL
    for (int i = 0; i < kMostOfLane; ++i) {
      missing = missing || (i < count && !full(i));
    }
    if (CK_MUTANT(reduce_ignores_flag)) missing = false;
    if (missing) ck::spin_hint();
  }
  CK_UNROLL
  for (int i = 0; i < kMostOfLane; ++i) {
    out[i] = {static_cast<uint32_t>(word[i].first), static_cast<uint32_t>(word[i].second)};
    if (i >= count || CK_MUTANT(reduce_leaves_words_full)) continue;
    ck::store_relaxed_pair(words + i * next, {0, 0});
  }
}

// Merges the sums of columns first .. end over `used` of plan.splits splits, as neighbours. Calls
// put(column, sum) from one thread a column.
template <typename A, typename Put>
CK_DEVICE void gather(const Plan& plan, int64_t item, int64_t first, int64_t end, int used,
                      const Put& put) {
  const int each = run_of(plan.splits);
  const int together = plan.splits >> log2_of(each);  // threads of a column, at most a warp
  const int log2 = log2_of(together);
  const int rank = threadIdx.x & (together - 1);
  const int mine = used - rank * each;
  const int count = mine < 0 ? 0 : mine < each ? mine : each;
  const int per_pass = blockDim.x >> log2;
  CK_NO_UNROLL
  for (int64_t base = first; base < end; base += per_pass) {
    const int64_t col = base + (threadIdx.x >> log2);
    Halves parts[kMostOfLane];
    collect(plan, words_at(plan, item, col, rank * each), col < end ? count : 0, parts);
    A sum[kMostOfLane];
    CK_UNROLL
    for (int i = 0; i < kMostOfLane; ++i) {
      restore(parts[i], sum[i]);  // zeros where there is none
    }
    CK_UNROLL
    for (int width = 1; width < kMostOfLane; width *= 2) {
      CK_UNROLL
      for (int i = 0; i < kMostOfLane; i += 2 * width) {
        if (i + width < each) sum[i] = ck::merge(sum[i], sum[i + width]);
      }
    }
    A total = sum[0];
    CK_NO_UNROLL
    for (int away = 1; away < together; away *= 2) total = ck::merge_across(total, away);
    if (col < end && rank == 0) put(col, total);
  }
}

}  // namespace reduce
