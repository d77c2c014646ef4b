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

// Flat: 32 rows of C columns are one run of 32 * C elements; a place is four of them in every such
// run of its chunk. With vectors neighbours, else one of each quarter, so that neighbouring threads
// load neighbours.
template <bool kPlain, bool kSquares, typename T, typename A>
CK_DEVICE void stage_flat(const Items& items, const Plan& plan, const Matrix<T>& m,
                          int64_t first_chunk, int chain, A* stage) {
  const int cols = static_cast<int>(m.cols);
  const int places = ck::kColumnLanes / kGroup * cols;  // of a chunk
  const int chunk_rows = ck::kColumnLanes * chain;
  const int chunk_stride = stage_of(0, plan.staged, cols).chunk;
  const bool vectors = kPlain || m.vectors;
  const bool extras = !kPlain && has_extras(items);
  CK_NO_UNROLL
  for (int s = threadIdx.x; s < plan.staged * places; s += blockDim.x) {
    const int q = s / places;
    const int place = s - q * places;
    const int64_t first_row = (first_chunk + q) * chunk_rows;
    A* const to = stage + q * chunk_stride;
    if (vectors && !extras && first_row + chunk_rows <= m.rows) {
      A sum[kGroup] = {};
      chain_quads<kSquares>(m.x + first_row * cols + kGroup * place,
                            static_cast<int64_t>(ck::kColumnLanes) * cols, chain, sum);
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) to[kGroup * place + i] = sum[i];
    } else {
      CK_NO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int p = vectors ? kGroup * place + i : place + i * places;
        const int lane = p / cols;
        to[p] = chain_elements<kSquares, A>(items, m, first_row + lane, p - lane * cols, chain);
      }
    }
  }
}

// The lane that a slot takes in its turn h: slot, slot + 16, slot + 8, slot + 24.
CK_DEVICE int lane_of(int slot, int h) { return slot + 16 * (h % 2) + 8 * (h / 2); }

// Tile: a thread has four columns and, where there are fewer slots than lanes, two or four lanes of
// them, which it merges itself.
template <bool kPlain, typename T, typename A>
CK_DEVICE void stage_tile(const Items& items, const Plan& plan, const Matrix<T>& m,
                          int64_t first_chunk, int64_t first_col, int chain, A* stage) {
  const int groups = plan.tile / kGroup;
  const int group = threadIdx.x % groups;
  const int slot = threadIdx.x / groups;
  const int lanes = ck::kColumnLanes * groups / kTileThreads;  // of a thread: 1, 2, 4
  const int chunk_rows = ck::kColumnLanes * chain;
  const Stage shape = stage_of(plan.tile, plan.staged, 0);
  const bool vectors = kPlain || m.vectors;
  const bool quads = vectors && !(!kPlain && has_extras(items)) &&
                     first_col + kGroup * group + kGroup <= m.cols;
  CK_NO_UNROLL
  for (int q = 0; q < plan.staged; ++q) {
    const int64_t first_row = (first_chunk + q) * chunk_rows;
    A* const to = stage + q * shape.chunk + slot * shape.row;
    if (quads && first_row + chunk_rows <= m.rows) {
      A earlier[kGroup] = {};   // the lane before
      A earliest[kGroup] = {};  // the first two, merged
      CK_NO_UNROLL
      for (int h = 0; h < lanes; ++h) {
        A sum[kGroup] = {};
        chain_quads<false>(
            m.x + (first_row + lane_of(slot, h)) * m.ld + first_col + kGroup * group,
            ck::kColumnLanes * m.ld, chain, sum);
        CK_UNROLL
        for (int i = 0; i < kGroup; ++i) {
          if (h % 2 == 1) sum[i] = ck::merge(earlier[i], sum[i]);
          if (h == 3) sum[i] = ck::merge(earliest[i], sum[i]);
          if (h == 1) earliest[i] = sum[i];
          earlier[i] = sum[i];
        }
      }
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) to[kGroup * group + i] = earlier[i];
    } else {
      CK_NO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int c = vectors ? kGroup * group + i : group + i * groups;
        A earlier{};
        A earliest{};
        CK_NO_UNROLL
        for (int h = 0; h < lanes && first_col + c < m.cols; ++h) {
          A sum = chain_elements<false, A>(items, m, first_row + lane_of(slot, h), first_col + c,
                                           chain);
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

}  // namespace reduce
