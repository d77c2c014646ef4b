// The sums of every item's columns, in one node.
#pragma once

#include <ck/pipeline.cuh>

#include "hand_over.cuh"
#include "stage.cuh"

namespace reduce {

// What follows a sum, once a column.
template <typename T, typename A>
CK_DEVICE void finish(const Plan& plan, const Matrix<T>& m, int64_t col, A sum, int64_t kept) {
  if (plan.mean) sum = kept > 0 ? ck::divided(sum, kept) : A{};
  sum = ck::scaled(sum, m.alpha);
  if (plan.out_as_x) {
    T* const out = static_cast<T*>(m.out) + col;
    if (m.beta != 0.0f) ck::add_product(sum, m.beta, ck::to_f32(*out));
    *out = ck::rounded<T>(sum);
  } else {
    float* const out = static_cast<float*>(m.out) + col;
    if (m.beta != 0.0f) ck::add_product(sum, m.beta, *out);
    *out = ck::rounded<float>(sum);
  }
}

// Rows in first .. end that mask and index keep. All threads call it and get the answer.
CK_DEVICE int64_t count_kept(const Items& items, int64_t first, int64_t end) {
  CK_SHARED(unsigned long long, total, 1);
  if (threadIdx.x == 0) *total = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (int64_t row = first + threadIdx.x; row < end; row += blockDim.x) {
    const bool masked = items.mask != nullptr && items.mask[row] == 0;
    const bool outside = items.index != nullptr &&
                         (items.index[row] < 0 || items.index[row] >= items.table_rows);
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

// kPlain: one matrix whose elements are loaded by four, and nothing else but x.
template <typename T, typename A, bool kPlain>
CK_KERNEL_BLOCKS(kMaxThreads, 2)
sum_columns(const Items items, const Plan plan) {
  CK_DYNAMIC_SHARED(unsigned char, shared);
  ck::dependency_wait();
  const unsigned item = kPlain ? 0 : blockIdx.x / plan.parts;
  const int part = kPlain ? blockIdx.x : blockIdx.x - item * plan.parts;
  Matrix<T> m;
  if (!open_item<T>(items, plan, item, part == 0 && threadIdx.x == 0, m)) return;
  const int chain = ck::column_chain(m.rows);
  const int chunk_rows = ck::kColumnLanes * chain;
  const int64_t chunks = ck::column_chunks(m.rows);
  const int64_t share = static_cast<int64_t>(plan.staged) * plan.rounds;  // chunks of a split
  const int used = static_cast<int>((chunks + share - 1) / share);        // splits with rows
  const int writers = plan.tiles * plan.splits;
  if (part >= writers) {
    int64_t kept = m.rows;
    if (!kPlain && plan.counted) kept = collect_kept(plan, item, m.cols, used);
    const int64_t each = (m.cols + plan.readers - 1) / plan.readers;
    const int64_t first = (part - writers) * each;
    const int64_t end = first + each < m.cols ? first + each : m.cols;
    gather<A>(plan, item, first, end, used,
              [&](int64_t col, A sum) { finish(plan, m, col, sum, kept); });
    return;
  }
  const int tile = part / plan.splits;
  const int split = part - tile * plan.splits;
  const int64_t first_col = static_cast<int64_t>(tile) * plan.tile;
  if (first_col >= m.cols || (plan.splits > 1 && split >= used)) return;
  const int cols = static_cast<int>(plan.tile == 0 || m.cols - first_col < plan.tile
                                        ? m.cols - first_col
                                        : plan.tile);
  const bool quads = kPlain || (m.vectors && !has_extras(items));
  Span span{split * share, quads ? m.rows / chunk_rows : 0, chain};
  const bool flat = plan.tile == 0;
  if (!flat && first_col + kGroup * seat_of(plan.tile).group + kGroup > m.cols) span.whole = 0;
  Places places{0, static_cast<int>(threadIdx.x)};
  int64_t past = 0;
  auto start = [&]() {
    return flat ? next_place(plan, m, span, places) : next_chunk(plan, m, span, first_col, past);
  };
  Quad<T>* const ring = reinterpret_cast<Quad<T>*>(shared);
  A* const stage = reinterpret_cast<A*>(ring + kRingSlots * blockDim.x);
  auto feed = flat ? open_feed(ring, start, ck::kColumnLanes * m.cols, chain / kTogether)
                   : open_feed(ring, start, kSlots * m.ld, chain);
  int64_t kept = m.rows;
  if (!kPlain && plan.counted) {
    const int64_t first = span.first * chunk_rows;
    const int64_t rows = share * chunk_rows;
    kept = count_kept(items, first, first + rows < m.rows ? first + rows : m.rows);
    if (plan.splits > 1 && tile == 0 && threadIdx.x == 0) {
      hand_over(plan, words_at(plan, item, m.cols, split),
                {static_cast<uint32_t>(kept), static_cast<uint32_t>(kept >> 32)});
    }
  }
  const auto add = [](A& sum, float x) { ck::add(sum, x); };
  sum_rounds(
      plan, stage_of(plan.tile, plan.staged, cols), chunks - span.first, cols, stage,
      [&](int round) {
        if (flat) {
          stage_flat(items, plan, m, span, round, quads, feed, stage, add);
        } else {
          stage_tile(items, plan, m, span, round, first_col, quads, feed, stage, add);
        }
      },
      [&](int col, A sum) {
        if (plan.splits > 1) {
          hand_over(plan, words_at(plan, item, first_col + col, split), halves(sum));
        } else {
          finish(plan, m, first_col + col, sum, kept);
        }
      });
}

}  // namespace reduce
