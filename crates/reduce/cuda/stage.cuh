// A block's share of an item: chunks into shared memory, lanes and chunks merged there.
#pragma once

#include "chain.cuh"

namespace reduce {

// How lanes lie in shared memory: chunk q, lane l, column c at q * chunk + l * row + c. The gaps keep
// the lanes that a half warp reads apart in the banks.
struct Stage {
  int lanes;  // of a chunk that reach shared memory
  int row;
  int chunk;
  int readers;  // threads that merge a column's lanes
};

CK_HOST_DEVICE Stage stage_of(int tile, int staged, int cols) {
  if (tile == 0) {
    return {ck::kColumnLanes, cols, (ck::kColumnLanes + kGroup) * cols, staged == kMaxStaged ? 4 : 8};
  }
  // A thread merges the lanes of a slot before: 256 threads have 1024 / tile slots.
  const int lanes = kTileThreads * kGroup / tile;
  const int readers = lanes / kGroup;
  const int row = tile + 16 / readers;
  return {lanes, row, lanes * row, readers};
}

// What a block sums: the first of its chunks, and how many there are whole, counted from the item's
// first.
struct Span {
  int64_t first;
  int64_t whole;
  int chain;
};

// Flat: 32 rows of C columns are one run of 32 * C elements; a place is four of them in every such
// run of its chunk. With quads neighbours, else one of each quarter, so that neighbouring threads
// load neighbours. A thread's places: s = threadIdx.x, + blockDim.x, ..
CK_DEVICE int places_of(int64_t cols) { return ck::kColumnLanes / kGroup * static_cast<int>(cols); }

// Where chain i of a thread begins, by rounds and places.
template <typename T>
CK_DEVICE const T* flat_start(const Plan& plan, const Matrix<T>& m, const Span& span, int i) {
  const int places = places_of(m.cols);
  const int total = plan.staged * places;
  const int threads = static_cast<int>(blockDim.x);
  const int mine = (total - static_cast<int>(threadIdx.x) + threads - 1) / threads;
  if (mine <= 0) return nullptr;
  const int round = i / mine;
  const int s = static_cast<int>(threadIdx.x) + (i - round * mine) * threads;
  const int q = s / places;
  const int64_t chunk = span.first + static_cast<int64_t>(round) * plan.staged + q;
  if (round >= plan.rounds || chunk >= span.whole) return nullptr;
  return m.x + chunk * (ck::kColumnLanes * span.chain) * m.cols + kGroup * (s - q * places);
}

template <typename T, typename A, typename Start, typename Op>
CK_DEVICE void stage_flat(const Items& items, const Plan& plan, const Matrix<T>& m,
                          const Span& span, int round, bool quads, Feed<T, Start>& feed, A* stage,
                          const Op& op) {
  const int cols = static_cast<int>(m.cols);
  const int places = places_of(cols);
  const int chunk_stride = stage_of(0, plan.staged, cols).chunk;
  CK_NO_UNROLL
  for (int s = threadIdx.x; s < plan.staged * places; s += blockDim.x) {
    const int q = s / places;
    const int place = s - q * places;
    const int64_t chunk = span.first + static_cast<int64_t>(round) * plan.staged + q;
    A* const to = stage + q * chunk_stride;
    if (quads && chunk < span.whole) {
      A sum[kGroup] = {};
      take_chain(feed, sum, op);
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) to[kGroup * place + i] = sum[i];
    } else {
      const int64_t first_row = chunk * (ck::kColumnLanes * span.chain);
      CK_NO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int p = quads ? kGroup * place + i : place + i * places;
        const int lane = p / cols;
        to[p] = chain_elements<A>(items, m, first_row + lane, p - lane * cols, span.chain, op);
      }
    }
  }
}

// Tile: a thread has four columns and, where there are fewer slots than lanes, two or four lanes of
// them, which it merges itself.
struct Seat {
  int group;  // columns 4 * group .. of the tile; without quads every (tile / 4)th from group on
  int slot;
  int lanes;  // 1, 2, 4
};
CK_DEVICE Seat seat_of(int tile) {
  const int groups = tile / kGroup;
  return {static_cast<int>(threadIdx.x) % groups, static_cast<int>(threadIdx.x) / groups,
          ck::kColumnLanes * groups / kTileThreads};
}

// The lane that a slot takes in its turn h: slot, slot + 16, slot + 8, slot + 24.
CK_DEVICE int lane_of(int slot, int h) { return slot + 16 * (h % 2) + 8 * (h / 2); }

// Where chain i of a thread begins, by chunks and lanes.
template <typename T>
CK_DEVICE const T* tile_start(const Plan& plan, const Matrix<T>& m, const Span& span,
                              int64_t first_col, int i) {
  const Seat seat = seat_of(plan.tile);
  const int64_t past = i / seat.lanes;
  const int64_t chunk = span.first + past;
  if (past >= static_cast<int64_t>(plan.staged) * plan.rounds || chunk >= span.whole) {
    return nullptr;
  }
  const int64_t row = chunk * (ck::kColumnLanes * span.chain) + lane_of(seat.slot, i % seat.lanes);
  return m.x + row * m.ld + first_col + kGroup * seat.group;
}

template <typename T, typename A, typename Start, typename Op>
CK_DEVICE void stage_tile(const Items& items, const Plan& plan, const Matrix<T>& m,
                          const Span& span, int round, int64_t first_col, bool quads,
                          Feed<T, Start>& feed, A* stage, const Op& op) {
  const Seat seat = seat_of(plan.tile);
  const int groups = plan.tile / kGroup;
  const Stage shape = stage_of(plan.tile, plan.staged, 0);
  const bool inside = quads && first_col + kGroup * seat.group + kGroup <= m.cols;
  CK_NO_UNROLL
  for (int q = 0; q < plan.staged; ++q) {
    const int64_t chunk = span.first + static_cast<int64_t>(round) * plan.staged + q;
    A* const to = stage + q * shape.chunk + seat.slot * shape.row;
    if (inside && chunk < span.whole) {
      A earlier[kGroup] = {};   // the lane before
      A earliest[kGroup] = {};  // the first two, merged
      CK_NO_UNROLL
      for (int h = 0; h < seat.lanes; ++h) {
        A sum[kGroup] = {};
        take_chain(feed, sum, op);
        CK_UNROLL
        for (int i = 0; i < kGroup; ++i) {
          if (h % 2 == 1) sum[i] = ck::merge(earlier[i], sum[i]);
          if (h == 3) sum[i] = ck::merge(earliest[i], sum[i]);
          if (h == 1) earliest[i] = sum[i];
          earlier[i] = sum[i];
        }
      }
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) to[kGroup * seat.group + i] = earlier[i];
    } else {
      const int64_t first_row = chunk * (ck::kColumnLanes * span.chain);
      CK_NO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int c = quads ? kGroup * seat.group + i : seat.group + i * groups;
        A earlier{};
        A earliest{};
        CK_NO_UNROLL
        for (int h = 0; h < seat.lanes && first_col + c < m.cols; ++h) {
          A sum = chain_elements<A>(items, m, first_row + lane_of(seat.slot, h), first_col + c,
                                    span.chain, op);
          if (h % 2 == 1) sum = ck::merge(earlier, sum);
          if (h == 3) sum = ck::merge(earliest, sum);
          if (h == 1) earliest = sum;
          earlier = sum;
        }
        to[c] = earlier;
      }
    }
  }
}

// Merges what is staged: `readers` threads a column and chunk, then across them, then chunks as
// neighbours. Calls put(column, sum) from one thread a column, the same in every call.
template <typename A, typename Put>
CK_DEVICE void merge_stage(const A* stage, const Stage& shape, int staged, int cols, const Put& put) {
  const int together = shape.readers * staged;  // threads of a column: a power of two, at most 32
  const int total = (cols * together + ck::kWarp - 1) / ck::kWarp * ck::kWarp;
  const int reader = threadIdx.x % shape.readers;
  const int q = threadIdx.x % together / shape.readers;
  const bool eight = shape.lanes == 8 * shape.readers;
  CK_NO_UNROLL
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const int col = i / together;
    const A* const from =
        stage + q * shape.chunk + reader * shape.row + (col < cols ? col : cols - 1);
    const int step = shape.readers * shape.row;
    A lane[4];
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      lane[j] = from[j * step];
      if (eight) lane[j] = ck::merge(lane[j], from[(j + 4) * step]);
    }
    A sum = ck::merge(ck::merge(lane[0], lane[2]), ck::merge(lane[1], lane[3]));
    CK_NO_UNROLL
    for (int away = shape.readers / 2; away > 0; away /= 2) sum = ck::merge_across(sum, away);
    CK_NO_UNROLL
    for (int away = shape.readers; away < together; away *= 2) sum = ck::merge_across(sum, away);
    if (col < cols && i % together == 0) put(col, sum);
  }
}

// Rounds in ascending order, merged as neighbours: place i of a column's stack holds 2^i of them.
template <typename A>
CK_DEVICE void push_round(A* stack, int stride, int round, A sum) {
  for (; (round & 1) != 0; round >>= 1, stack += stride) sum = ck::merge(*stack, sum);
  *stack = sum;
}
// The fewest rounds came last and are merged among themselves first.
template <typename A>
CK_DEVICE A pop_rounds(const A* stack, int stride, int rounds) {
  A sum{};
  for (; rounds != 0; rounds >>= 1, stack += stride) {
    if ((rounds & 1) != 0) sum = ck::merge(*stack, sum);
  }
  return sum;
}

// Stages and merges every round of a block's share. Calls deliver(column, sum) from one thread a
// column: as soon as a column is done where there is one round.
template <typename A, typename Fill, typename Deliver>
CK_DEVICE void sum_rounds(const Plan& plan, const Stage& shape, int64_t chunks, int cols, A* stage,
                          const Fill& fill, const Deliver& deliver) {
  A* const stack = stage + plan.staged * shape.chunk;
  int rounds = 0;
  while (rounds < plan.rounds && static_cast<int64_t>(rounds) * plan.staged < chunks) {
    if (rounds > 0 && !CK_MUTANT(reduce_skips_reuse_barrier)) __syncthreads();
    fill(rounds);
    if (!CK_MUTANT(reduce_skips_stage_barrier)) __syncthreads();
    merge_stage(stage, shape, plan.staged, cols, [&](int col, A sum) {
      if (plan.rounds == 1) {
        deliver(col, sum);
      } else {
        push_round(stack + col, cols, CK_MUTANT(reduce_merges_rounds_in_line) ? 0 : rounds, sum);
      }
    });
    ++rounds;
  }
  if (plan.rounds == 1 && rounds == 1) return;
  // The threads that put was called from.
  const int together = shape.readers * plan.staged;
  CK_NO_UNROLL
  for (int i = threadIdx.x; i < cols * together; i += blockDim.x) {
    if (i % together == 0) deliver(i / together, pop_rounds(stack + i / together, cols, rounds));
  }
}

}  // namespace reduce
