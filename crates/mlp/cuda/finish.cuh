// The sum of partial sums: the tree of ck/column_sum.cuh over at most one chunk of rows.
#pragma once

#include <ck/column_sum.cuh>

#include "network.cuh"

namespace mlp {

// Where a network's sums go; null where nobody asked.
struct Sums {
  const float* partials;
  float* d_w1;
  float* d_b1;
  float* d_w2;
  float* d_b2;
  float* loss;
  float beta;
  int partial_count;
  int batch;
  int weight_rows;
  int hidden;
  int outputs;
};

template <int kMost>
struct SumsGroup {
  int count;
  int first[kMost + 1];  // blocks
  Sums sums[kMost];
};

constexpr int kSumColumns = ck::kWarp;                      // of a block
constexpr int kSumParts = kThreads / kSumColumns;           // threads of a column
constexpr int kLanesOfPart = ck::kColumnLanes / kSumParts;  // the tree's lanes of a thread
static_assert(kLanesOfPart == 4, "the merges below are of four lanes");

// Stores a column's sum where it belongs.
CK_DEVICE void store_sum(const Sums& s, const Columns& columns, int64_t column, ck::F32x2 sum) {
  float* to = nullptr;
  if (column < columns.b1) {
    const int64_t row = column / padded(s.hidden);
    const int c = static_cast<int>(column % padded(s.hidden));
    if (c < s.hidden && s.d_w1 != nullptr) to = s.d_w1 + row * s.hidden + c;
  } else if (column < columns.w2) {
    const int64_t c = column - columns.b1;
    if (c < s.hidden && s.d_b1 != nullptr) to = s.d_b1 + c;
  } else if (column < columns.b2) {
    const int64_t row = (column - columns.w2) / padded(s.outputs);
    const int c = static_cast<int>((column - columns.w2) % padded(s.outputs));
    if (c < s.outputs && s.d_w2 != nullptr) to = s.d_w2 + row * s.outputs + c;
  } else if (column < columns.loss) {
    const int64_t c = column - columns.b2;
    if (c < s.outputs && s.d_b2 != nullptr) to = s.d_b2 + c;
  } else if (column == columns.loss && s.loss != nullptr) {
    *s.loss = s.batch == 0 ? 0.0f : ck::rounded<float>(ck::divided(sum, s.batch));
  }
  if (to == nullptr) return;
  const float value = ck::rounded<float>(sum);
  *to = s.beta == 0.0f ? value : __fmaf_rn(s.beta, *to, value);
}

// Whether the column's partial sums were written: padding may not have been.
CK_DEVICE bool is_real(const Sums& s, const Columns& columns, int64_t column) {
  if (column < columns.w2) return column % padded(s.hidden) < s.hidden;
  if (column < columns.loss) return (column - columns.w2) % padded(s.outputs) < s.outputs;
  return column == columns.loss && s.loss != nullptr;
}

template <int kMost>
CK_KERNEL(kThreads)
sum_partials(const __grid_constant__ SumsGroup<kMost> group) {
  CK_SHARED(ck::F32x2, parts, kThreads);
  int which = 0;
  if (kMost > 1) {
    while (static_cast<int>(blockIdx.x) >= group.first[which + 1]) ++which;
  }
  const Sums& s = group.sums[which];
  const Columns columns = columns_of(s.weight_rows, s.hidden, s.outputs);
  const int in_block = threadIdx.x % kSumColumns;
  const int part = threadIdx.x / kSumColumns;
  const int64_t column =
      static_cast<int64_t>(static_cast<int>(blockIdx.x) - group.first[which]) * kSumColumns +
      in_block;
  const bool there = column < columns.count && is_real(s, columns, column);
  ck::F32x2 lanes[kLanesOfPart] = {};
  ck::dependency_wait();
  if (there) {
    // All loads are under way before the first addition.
    float values[kLanesOfPart][MLP_MAX_PARTIALS / ck::kColumnLanes];
    CK_UNROLL
    for (int i = 0; i < kLanesOfPart; ++i) {
      CK_UNROLL
      for (int j = 0; j < MLP_MAX_PARTIALS / ck::kColumnLanes; ++j) {
        const int row = part + i * kSumParts + j * ck::kColumnLanes;
        values[i][j] = row < s.partial_count || CK_MUTANT(mlp_sums_absent_partials)
                           ? ck::load_cg(s.partials + row * columns.count + column)
                           : 0.0f;
      }
    }
    CK_UNROLL
    for (int i = 0; i < kLanesOfPart; ++i) {
      CK_UNROLL
      for (int j = 0; j < MLP_MAX_PARTIALS / ck::kColumnLanes; ++j) {
        ck::add(lanes[i], values[i][j]);
      }
    }
  }
  // Lanes 16 apart, then 8: a thread has lanes part, part + 8, part + 16, part + 24.
  ck::F32x2 sum = ck::merge(ck::merge(lanes[0], lanes[2]), ck::merge(lanes[1], lanes[3]));
  parts[threadIdx.x] = sum;
  for (int away = kSumParts / 2; away > 0; away /= 2) {
    if (!CK_MUTANT(mlp_sum_skips_barrier)) __syncthreads();
    if (part < away) {
      sum = ck::merge(sum, parts[threadIdx.x + away * kSumColumns]);
      parts[threadIdx.x] = sum;
    }
  }
  if (part == 0 && there) store_sum(s, columns, column, sum);
}

}  // namespace mlp
