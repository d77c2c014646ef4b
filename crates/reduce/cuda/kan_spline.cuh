// The gradient of cubic spline coefficients, summed over the batch as it is made:
// dc[i, g, o] = sum_b B_g(x[b, i]) * dy[b, o].
//
// A block takes one input and a run of chunks of the batch. Splines are evaluated once for each
// row, not once for each output: at most four differ from 0, and the first of them is known from
// the interval. A warp then has the 32 lanes of one column (g, o) at a time.
#pragma once

#include <ck/pipeline.cuh>

#include "hand_over.cuh"
#include "stage.cuh"

namespace reduce {

constexpr int kDegree = 3;
constexpr int kSplineThreads = 256;
constexpr int64_t kSplineReading = 512 * 132;  // threads at once: two blocks a multiprocessor
constexpr int kSplineRows = 512;               // of a chunk, at most

struct Spline {
  const float* x;
  const float* dy;
  const float* knots;
  float* out;
  int64_t rows;
  int64_t inputs;
  int64_t outputs;
  int intervals;
};

// A quotient by 0 counts as 0: it belongs to a spline of no width.
CK_DEVICE float share_of(float part, float whole) {
  return whole == 0.0f ? 0.0f : __fdiv_rn(part, whole);
}

// The interval of x, or -1, and the four splines that can differ from 0 there: interval - 3 ..
// interval.
CK_DEVICE int evaluate(const float* knots, int intervals, float x, float (&b)[kDegree + 1]) {
  const int last = intervals + 2 * kDegree;  // knots 0 .. last
  int at = -1;
  for (int j = 0; j < last; ++j) {
    if (knots[j] <= x && x < knots[j + 1]) at = j;
  }
  if (x == knots[last] && !CK_MUTANT(reduce_last_knot_outside)) {
    for (int j = 0; j < last; ++j) {
      if (knots[j] < knots[j + 1]) at = j;
    }
  }
  // b[k] is the spline at - 3 + k of the degree reached; those below the degree are still 0.
  CK_UNROLL
  for (int k = 0; k <= kDegree; ++k) b[k] = 0.0f;
  if (at < 0) return at;
  b[kDegree] = 1.0f;
  CK_UNROLL
  for (int d = 1; d <= kDegree; ++d) {
    CK_UNROLL
    for (int k = 0; k <= kDegree; ++k) {
      const int g = at - kDegree + k;
      // Splines that reach past the knots do not exist; nor can they be asked for.
      if (k < kDegree - d || g < 0 || g + d + 1 > last) {
        if (k >= kDegree - d) b[k] = 0.0f;
        continue;
      }
      const float left =
          __fmul_rn(share_of(__fsub_rn(x, knots[g]), __fsub_rn(knots[g + d], knots[g])), b[k]);
      const float next = k < kDegree ? b[k + 1 <= kDegree ? k + 1 : k] : 0.0f;
      const float right = __fmul_rn(
          share_of(__fsub_rn(knots[g + d + 1], x), __fsub_rn(knots[g + d + 1], knots[g + 1])),
          next);
      b[k] = __fadd_rn(left, right);
    }
  }
  return at;
}

CK_KERNEL_BLOCKS(kSplineThreads, 1)
sum_splines(const Spline s, const Plan plan) {
  CK_SHARED(float, values, kSplineRows*(kDegree + 1));
  CK_SHARED(int, intervals, kSplineRows);
  CK_DYNAMIC_SHARED(ck::F32x2, stack);
  ck::dependency_wait();
  const int splines = s.intervals + kDegree;
  const int chain = ck::column_chain(s.rows);
  const int chunk_rows = chain * ck::kColumnLanes;
  const int64_t chunks = ck::column_chunks(s.rows);
  const int64_t share = plan.rounds;
  const int used = static_cast<int>((chunks + share - 1) / share);
  const int64_t columns = s.inputs * splines * s.outputs;
  const int64_t writers = s.inputs * plan.tiles * plan.splits;
  if (blockIdx.x >= writers) {
    const int64_t each = (columns + plan.readers - 1) / plan.readers;
    const int64_t first = (blockIdx.x - writers) * each;
    const int64_t end = first + each < columns ? first + each : columns;
    gather<ck::F32x2>(plan, 0, first, end, used, [&](int64_t column, ck::F32x2 sum) {
      s.out[column] = ck::rounded<float>(sum);
    });
    return;
  }
  // Columns of an input, g * outputs + o, in tiles.
  const int64_t unit = blockIdx.x / plan.splits;
  const int split = static_cast<int>(blockIdx.x - unit * plan.splits);
  const int64_t input = unit / plan.tiles;
  const int64_t of_input = static_cast<int64_t>(splines) * s.outputs;
  const int64_t first = (unit - input * plan.tiles) * plan.tile;
  const int cols = static_cast<int>(of_input - first < plan.tile ? of_input - first : plan.tile);
  if (plan.splits > 1 && split >= used) return;
  const int lane = threadIdx.x % ck::kWarp;
  const int64_t begin = split * share;
  int rounds = 0;
  for (; rounds < plan.rounds && begin + rounds < chunks; ++rounds) {
    const int64_t first_row = (begin + rounds) * chunk_rows;
    if (rounds > 0 && !CK_MUTANT(reduce_splines_skip_reuse_barrier)) __syncthreads();
    for (int r = threadIdx.x; r < chunk_rows; r += blockDim.x) {
      float b[kDegree + 1] = {};
      const int64_t row = first_row + r;
      intervals[r] = row < s.rows ? evaluate(s.knots, s.intervals,
                                             ck::load_nc(s.x + row * s.inputs + input), b)
                                  : -1;
      CK_UNROLL
      for (int k = 0; k <= kDegree; ++k) values[r * (kDegree + 1) + k] = b[k];
    }
    if (!CK_MUTANT(reduce_splines_skip_barrier)) __syncthreads();
    for (int c = threadIdx.x / ck::kWarp; c < cols; c += blockDim.x / ck::kWarp) {
      const int64_t column = first + c;
      const int g = static_cast<int>(column / s.outputs);
      const int64_t o = column - g * s.outputs;
      ck::F32x2 sum{};
      for (int k = 0; k < chain; ++k) {
        const int r = k * ck::kColumnLanes + lane;
        const int place = g - intervals[r] + kDegree;
        if (intervals[r] < 0 || place < 0 || place > kDegree) continue;
        const float b = values[r * (kDegree + 1) + place];
        if (b == 0.0f) continue;
        ck::add_product(sum, b, ck::load_nc(s.dy + (first_row + r) * s.outputs + o));
      }
      CK_NO_UNROLL
      for (int away = ck::kWarp / 2; away > 0; away /= 2) sum = ck::merge_across(sum, away);
      if (lane == 0) push_round(stack + c, cols, rounds, sum);
    }
  }
  for (int c = threadIdx.x / ck::kWarp; c < cols; c += blockDim.x / ck::kWarp) {
    if (lane != 0) continue;
    const ck::F32x2 sum = pop_rounds(stack + c, cols, rounds);
    const int64_t column = input * of_input + first + c;
    if (plan.splits > 1) {
      hand_over(words_at(plan, 0, column, split), halves(sum));
    } else {
      s.out[column] = ck::rounded<float>(sum);
    }
  }
}

}  // namespace reduce
