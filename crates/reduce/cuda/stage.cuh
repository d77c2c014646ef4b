// A block's share of an item: chunks into shared memory, lanes and chunks merged there.
#pragma once

#include "chain.cuh"

namespace reduce {

// How lanes lie in shared memory: chunk q, lane l, column c at q * chunk + l * row + c. The gaps
// keep the lanes that a half warp reads apart in the banks.
struct Stage {
  int lanes;  // of a chunk that reach shared memory
  int row;
  int chunk;
  int readers;  // threads that merge a column's lanes
};

CK_HOST_DEVICE Stage stage_of(int tile, int staged, int cols) {
  if (tile == 0) {
    return {ck::kColumnLanes, cols, (ck::kColumnLanes + kGroup) * cols,
            staged == kMaxStaged ? 4 : 8};
  }
  // A thread merges the two lanes of its slot before.
  constexpr int kGap = 8;
  return {kSlots, tile + kGap, kSlots * (tile + kGap), kSlots / 4};
}

// What a block sums: the first of its chunks, and how many there are whole, counted from the item's
// first.
struct Span {
  int64_t first;
  int64_t whole;
  int chunk_log2;  // of a chunk's rows
};
CK_DEVICE int chain_of(const Span& span) { return (1 << span.chunk_log2) / ck::kColumnLanes; }

// Flat: 32 rows of C columns are one run of 32 * C elements; a place is four of them in every such
// run of its chunk. With quads neighbours, else one of each quarter, so that neighbouring threads
// load neighbours. A thread's places: s = threadIdx.x, + blockDim.x, ..
CK_DEVICE int places_of(int64_t cols) { return ck::kColumnLanes / kGroup * static_cast<int>(cols); }

// Divides numbers below 2^16 by the places of a chunk.
CK_DEVICE uint32_t inverse_of(int places) {
  return 0xffffffffu / static_cast<uint32_t>(places) + 1;
}
CK_DEVICE int divide_by(uint32_t inverse, int s) {
  return static_cast<int>(__umulhi(static_cast<unsigned>(s), inverse));
}

// Where a thread's next run begins: by rounds, and by places in each.
struct Places {
  uint32_t inverse;
  int round;
  int s;
};
template <typename T>
CK_DEVICE const T* next_place(const Plan& plan, const Matrix<T>& m, const Span& span, Places& at) {
  const int places = places_of(m.cols);
  if (at.s >= plan.staged * places) {
    at.s = threadIdx.x;
    ++at.round;
    if (at.s >= plan.staged * places) return nullptr;
  }
  const int q = divide_by(at.inverse, at.s);
  const int place = at.s - q * places;
  const int64_t chunk = span.first + static_cast<int64_t>(at.round) * plan.staged + q;
  if (at.round >= plan.rounds || chunk >= span.whole) return nullptr;
  at.s += blockDim.x;
  return m.x + (chunk << span.chunk_log2) * m.cols + kGroup * place;
}

template <typename T, typename A, int kRing, typename Start, typename Op>
CK_DEVICE void stage_flat(const Items& items, const Plan& plan, const Matrix<T>& m,
                          const Span& span, int round, bool quads, uint32_t inverse,
                          Feed<T, kRing, Start>& feed, A* stage, const Op& op) {
  const int cols = static_cast<int>(m.cols);
  const int places = places_of(cols);
  const int chunk_stride = stage_of(0, plan.staged, cols).chunk;
  CK_NO_UNROLL
  for (int s = threadIdx.x; s < plan.staged * places; s += blockDim.x) {
    const int q = divide_by(inverse, s);
    const int place = s - q * places;
    const int64_t chunk = span.first + static_cast<int64_t>(round) * plan.staged + q;
    A* const to = stage + q * chunk_stride;
    if (quads && chunk < span.whole) {
      A sum[1][kGroup] = {};
      take_run(feed, sum, op);
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) to[kGroup * place + i] = sum[0][i];
    } else {
      const int64_t first_row = chunk << span.chunk_log2;
      CK_NO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int p = quads ? kGroup * place + i : place + i * places;
        const int lane = p / cols;
        to[p] = chain_elements<A>(items, m, first_row + lane, p - lane * cols, chain_of(span), op);
      }
    }
  }
}

// Tile: a thread has four columns, and two lanes of them, slot and slot + 16, which it merges
// itself. Its run goes down the rows of a chunk, sixteen at a time, so that a block reads them in
// order. Without quads its columns are every (tile / 4)th from its group on.
constexpr int kLanesOfSlot = ck::kColumnLanes / kSlots;
static_assert(kLanesOfSlot == 2, "the tree merges lanes 16 apart first");
struct Seat {
  int group;
  int slot;
};
CK_DEVICE Seat seat_of(int tile) {
  const int groups = tile / kGroup;
  return {static_cast<int>(threadIdx.x) & (groups - 1),
          static_cast<int>(threadIdx.x) >> log2_of(groups)};
}

// Where a thread's next run begins: by chunks.
template <typename T>
CK_DEVICE const T* next_chunk(const Plan& plan, const Matrix<T>& m, const Span& span,
                              int64_t first_col, int64_t& past) {
  const int64_t chunk = span.first + past;
  if (past >= plan.rounds || chunk >= span.whole) return nullptr;
  ++past;
  const Seat seat = seat_of(plan.tile);
  return m.x + ((chunk << span.chunk_log2) + seat.slot) * m.ld + first_col + kGroup * seat.group;
}

template <typename T, typename A, int kRing, typename Start, typename Op>
CK_DEVICE void stage_tile(const Items& items, const Plan& plan, const Matrix<T>& m,
                          const Span& span, int round, int64_t first_col, bool quads,
                          Feed<T, kRing, Start>& feed, A* stage, const Op& op) {
  const Seat seat = seat_of(plan.tile);
  const int groups = plan.tile / kGroup;
  const int64_t chunk = span.first + round;
  A* const to = stage + seat.slot * stage_of(plan.tile, 1, 0).row;
  if (chunk < span.whole) {
    A sum[kLanesOfSlot][kGroup] = {};
    take_run(feed, sum, op);
    CK_UNROLL
    for (int i = 0; i < kGroup; ++i) {
      to[kGroup * seat.group + i] = ck::merge(sum[0][i], sum[1][i]);
    }
    return;
  }
  const int64_t first_row = (chunk << span.chunk_log2) + seat.slot;
  CK_NO_UNROLL
  for (int i = 0; i < kGroup; ++i) {
    const int c = quads ? kGroup * seat.group + i : seat.group + i * groups;
    A sum{};
    CK_NO_UNROLL
    for (int lane = 0; lane < ck::kColumnLanes && first_col + c < m.cols; lane += kSlots) {
      const A of_lane =
          chain_elements<A>(items, m, first_row + lane, first_col + c, chain_of(span), op);
      sum = lane == 0 ? of_lane : ck::merge(sum, of_lane);
    }
    to[c] = sum;
  }
}

// Merges what is staged: `readers` threads a column and chunk, then across them, then chunks as
// neighbours. Calls put(column, sum) from one thread a column, the same in every call.
template <typename A, typename Put>
CK_DEVICE void merge_stage(const A* stage, const Stage& shape, int staged, int cols,
                           const Put& put) {
  const int together = shape.readers * staged;  // threads of a column: a power of two, at most 32
  const int total = (cols * together + ck::kWarp - 1) / ck::kWarp * ck::kWarp;
  const int log2 = log2_of(together);
  const int place = threadIdx.x & (together - 1);
  const int reader = place & (shape.readers - 1);
  const int q = place >> log2_of(shape.readers);
  const bool eight = shape.lanes == 8 * shape.readers;
  CK_NO_UNROLL
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const int col = i >> log2;
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
    if (col < cols && place == 0) put(col, sum);
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
  const int log2 = log2_of(shape.readers * plan.staged);
  CK_NO_UNROLL
  for (int i = threadIdx.x; i < cols << log2; i += blockDim.x) {
    const int col = i >> log2;
    if (i == col << log2) deliver(col, pop_rounds(stack + col, cols, rounds));
  }
}

}  // namespace reduce
