// Sums of many short runs of elements, in one node: the rows of a matrix, or segments of one
// column.
//
// A block takes several items at once, as if each were a column: eight threads have the 32 lanes of
// a chunk of one, four neighbouring elements of each 32. There are no splits: where items are few
// and long, sum_columns() shares each among blocks.
#pragma once

#include <ck/pipeline.cuh>

#include "finish.cuh"
#include "stage.cuh"

namespace reduce {

constexpr int kPackedThreads = 256;
constexpr int kPackedPlaces = ck::kColumnLanes / kGroup;  // of a chunk

CK_HOST_DEVICE Stage packed_stage(int staged, int items) {
  const int row = items + 1;
  return {ck::kColumnLanes, row, ck::kColumnLanes * row, staged == kMaxStaged ? 4 : 8};
}

// The elements of an item from a multiple of 32 in a chunk on.
CK_DEVICE float4 load_four(const float* p) {
  return ck::load_nc(reinterpret_cast<const float4*>(p));
}
template <typename T>
CK_DEVICE float4 load_four(const T* p) {
  const Quad<T> q = {ck::load_nc(reinterpret_cast<const uint2*>(p))};
  return {element(q, 0), element(q, 1), element(q, 2), element(q, 3)};
}

template <typename T, typename A>
CK_KERNEL_BLOCKS(kPackedThreads, 3)
sum_packed(const Items items, const Plan plan, const int64_t count) {
  CK_DYNAMIC_SHARED(A, stage);
  ck::dependency_wait();
  const int64_t first_item = static_cast<int64_t>(blockIdx.x) * plan.tile;
  const int here =
      static_cast<int>(count - first_item < plan.tile ? count - first_item : plan.tile);
  const Stage shape = packed_stage(plan.staged, plan.tile);
  const int tile_log2 = log2_of(plan.tile);
  const auto add = [](A& sum, float x) { ck::add(sum, x); };
  const auto fill = [&](int round) {
    CK_NO_UNROLL
    for (int s = threadIdx.x; s < plan.staged * plan.tile * kPackedPlaces; s += blockDim.x) {
      const int place = s % kPackedPlaces;
      const int c = (s / kPackedPlaces) & (plan.tile - 1);
      const int q = (s / kPackedPlaces) >> tile_log2;
      A* const to = stage + q * shape.chunk + kGroup * place * shape.row + c;
      A sum[kGroup] = {};
      if (c < here || CK_MUTANT(reduce_packs_past_the_last)) {
        Matrix<T> m;
        open_item<T, kAny>(items, plan, first_item + c, round == 0 && q == 0 && place == 0, m);
        const int chunk_log2 = ck::column_chunk_log2(m.rows);
        const int64_t first = (static_cast<int64_t>(round) * plan.staged + q) << chunk_log2;
        const int chain = (1 << chunk_log2) / ck::kColumnLanes;
        if (m.vectors && first + (int64_t{1} << chunk_log2) <= m.rows) {
          const T* const from = m.x + first + kGroup * place;
          CK_UNROLL_BY(4)
          for (int k = 0; k < chain; ++k) {
            const float4 x = load_four(from + k * ck::kColumnLanes);
            add(sum[0], x.x);
            add(sum[1], x.y);
            add(sum[2], x.z);
            add(sum[3], x.w);
          }
        } else {
          CK_UNROLL
          for (int i = 0; i < kGroup; ++i) {
            sum[i] = chain_elements<A>(items, m, first + kGroup * place + i, 0, chain, add);
          }
        }
      }
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        to[i * shape.row] = sum[i];
      }
    }
  };
  const int64_t rounds = int64_t{1} << plan.share_log2;
  sum_rounds(plan, shape, rounds, here, stage, fill, [&](int c, A sum) {
    Matrix<T> m;
    open_item<T, kAny>(items, plan, first_item + c, false, m);
    finish(plan, m, 0, sum, m.rows);
  });
}

}  // namespace reduce
