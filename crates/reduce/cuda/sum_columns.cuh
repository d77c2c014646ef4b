// The sums of every item's columns, in one node.
//
// What was tried on an H200, in us (hot; cold where the matrix does not fit in L2):
//                                                  524288x3   8192x256   65536x1024   grouped 130
//   loads into registers, four to eight under way     5.2        11.8        77.5          365
//   ring of copies, its feed asked at every load     11.1        16.0        90.6          326
//   readers with passes, words by column and split    -          +5           -             -
//   four lanes a thread, down the rows of a chunk     4.2         4.9        65.2          192
//   the same, ring of 8 loads in place of 16          4.5         4.8        63.8          245
//   80 registers in place of 128 at most              4.2         5.1        65.2          243
//   two lanes a thread, words in pairs, one flat block
//     a multiprocessor                                3.9         4.5        61.9
// Of 4.2 for 524288x3, 2.2 passed until everything was in shared memory, 1.1 until it was summed
// there, 0.9 until the reader had written; of 4.9 for 8192x256, 1.5, 1.5 and 1.9. So narrow
// matrices are bound by the trip of the partial sums through L2 and by the chains of additions,
// which few warps cannot hide.
//
// The last row is of a form that took the ring's length at run time. Only reading, by blocks of the
// same shape: 31.0 for 524288x64, 14.5 for 8192x1792, 88.2 for 8192x12288, 59.4 for 65536x1024 and
// 116.4 for 1048576x128. More than about 12 MiB under way at once slows reading down by a
// fifth, where rows are far apart (8192x12288: 92 with 9 MiB, 114 with 12); so does less than 8.
// Did not help: waiting for one word of a reader's eight before asking for the others, with or
// without a sleep (0.3 to 1 more); splits in the order of rows, not of tiles; loads of two or one
// elements a thread of flat matrices (4.4 and 4.8 for 524288x3); three blocks a multiprocessor.
#pragma once

#include <ck/pipeline.cuh>

#include "finish.cuh"
#include "hand_over.cuh"
#include "stage.cuh"

namespace reduce {

// Rows in first .. end that mask and index keep. All threads call it and get the answer.
CK_DEVICE int64_t count_kept(const Items& items, int64_t first, int64_t end) {
  CK_SHARED(unsigned long long, total, 1);
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (int64_t row = first + threadIdx.x; row < end; row += blockDim.x) {
    const bool masked = items.mask != nullptr && items.mask[row] == 0;
    const bool outside =
        items.index != nullptr && (items.index[row] < 0 || items.index[row] >= items.table_rows);
    mine += !masked && !outside;
  }
  if (mine != 0) atomicAdd(total, mine);
  if (!CK_MUTANT(reduce_skips_count_barrier)) __syncthreads();
  return static_cast<int64_t>(*total);
}

// Over all splits, from their words. All threads call it and get the answer.
CK_DEVICE int64_t collect_kept(const Plan& plan, int64_t item, int64_t cols, int used) {
  CK_SHARED(unsigned long long, total, 1);
  if (threadIdx.x == 0) {
    *total = 0;
    for (int split = 0; split < used; ++split) {
      Halves parts[kMostOfLane];
      collect(plan, words_at(plan, item, cols, split), 1, parts);
      *total += static_cast<unsigned long long>(parts[0].second) << 32 | parts[0].first;
    }
  }
  if (!CK_MUTANT(reduce_skips_kept_barrier)) __syncthreads();
  return static_cast<int64_t>(*total);
}

template <typename T, typename A, int kForm>
CK_KERNEL_BLOCKS(kMaxThreads, 2)
sum_columns(const Items items, const Plan plan) {
  constexpr bool kPlain = kForm != kAny;
  constexpr int kRing = kForm == kPlainWide ? kRingGroups - 1 : kRingGroups;
  CK_DYNAMIC_SHARED(unsigned char, shared);
  if (!kPlain) ck::dependency_wait();  // opening an item may read device memory
  const unsigned item = kPlain ? 0 : blockIdx.x / plan.parts;
  const int part = kPlain ? blockIdx.x : blockIdx.x - item * plan.parts;
  Matrix<T> m;
  if (!open_item<T, kForm>(items, plan, item, part == 0 && threadIdx.x == 0, m)) return;
  const int chunk_log2 = ck::column_chunk_log2(m.rows);
  const int64_t chunks = ck::column_chunks(m.rows);
  // Splits with rows.
  const int used =
      static_cast<int>((chunks + (int64_t{1} << plan.share_log2) - 1) >> plan.share_log2);
  const auto end_with = [&](int64_t col, A sum, int64_t kept) {
    if (kPlain) {
      static_cast<float*>(m.out)[col] = ck::rounded<float>(sum);
    } else {
      finish(plan, m, col, sum, kept);
    }
  };
  const int writers = plan.tiles * plan.splits;
  if (part >= writers) {
    if (kPlain) ck::dependency_wait();
    int64_t kept = m.rows;
    if (!kPlain && plan.counted) kept = collect_kept(plan, item, m.cols, used);
    const int64_t first = static_cast<int64_t>(part - writers) * plan.columns_of_reader;
    const int64_t last = first + plan.columns_of_reader;
    gather<A>(plan, item, first, last < m.cols ? last : m.cols, used,
              [&](int64_t col, A sum) { end_with(col, sum, kept); });
    return;
  }
  const int tile = part >> log2_of(plan.splits);
  const int split = part & (plan.splits - 1);
  const int64_t first_col = static_cast<int64_t>(tile) * plan.tile;
  if (first_col >= m.cols || (plan.splits > 1 && split >= used)) {
    if (kPlain) ck::dependency_wait();
    return;
  }
  const bool flat = kPlain ? kForm == kPlainFlat : plan.tile == 0;
  const int cols =
      static_cast<int>(flat || m.cols - first_col < plan.tile ? m.cols - first_col : plan.tile);
  const bool quads = kPlain || (m.vectors && !has_extras(items));
  Span span{static_cast<int64_t>(split) << plan.share_log2, quads ? m.rows >> chunk_log2 : 0,
            chunk_log2};
  if (!flat && first_col + kGroup * seat_of(plan.tile).group + kGroup > m.cols) span.whole = 0;
  const uint32_t inverse = !flat                 ? 0
                           : kForm == kPlainFlat ? plan.places_inverse
                                                 : inverse_of(places_of(m.cols));
  Places places{inverse, 0, static_cast<int>(threadIdx.x)};
  int64_t past = 0;
  auto start = [&]() {
    return flat ? next_place(plan, m, span, places) : next_chunk(plan, m, span, first_col, past);
  };
  Quad<T>* const ring = reinterpret_cast<Quad<T>*>(shared);
  A* const stage = reinterpret_cast<A*>(ring + kTogether * kRingGroups * blockDim.x);
  if (kPlain) ck::dependency_wait();
  auto feed = open_feed<kRing>(ring, start, flat ? ck::kColumnLanes * m.cols : kSlots * m.ld,
                               (flat ? 1 : kLanesOfSlot) * chain_of(span) / kTogether);
  int64_t kept = m.rows;
  if (!kPlain && plan.counted) {
    const int64_t first = span.first << chunk_log2;
    const int64_t end = first + (int64_t{1} << (plan.share_log2 + chunk_log2));
    kept = count_kept(items, first, end < m.rows ? end : m.rows);
    if (plan.splits > 1 && tile == 0 && threadIdx.x == 0) {
      hand_over(words_at(plan, item, m.cols, split),
                {static_cast<uint32_t>(kept), static_cast<uint32_t>(kept >> 32)});
    }
  }
  const auto add = [](A& sum, float x) { ck::add(sum, x); };
  sum_rounds(
      plan, stage_of(flat ? 0 : plan.tile, plan.staged, cols), chunks - span.first, cols, stage,
      [&](int round) {
        if (flat) {
          stage_flat(items, plan, m, span, round, quads, inverse, feed, stage, add);
        } else {
          stage_tile(items, plan, m, span, round, first_col, quads, feed, stage, add);
        }
      },
      [&](int col, A sum) {
        if (plan.splits > 1) {
          hand_over(words_at(plan, item, first_col + col, split), halves(sum));
        } else {
          end_with(first_col + col, sum, kept);
        }
      });
}

}  // namespace reduce
