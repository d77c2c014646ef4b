// What gradient clipping asks of a tensor, in one node and one pass: the sum of squares as a column
// sum of one column, the largest magnitude, and how many elements are not finite.
#pragma once

#include <ck/pipeline.cuh>
#include <ck/tree.cuh>

#include "hand_over.cuh"
#include "stage.cuh"

namespace reduce {

struct MomentsOut {
  float* sum_squares;
  float* norm;
  float* max_abs;
  int64_t* non_finite;
};

// The words of a split: its sum, its largest magnitude, its count.
constexpr int kMomentColumns = 3;

// sqrt(a), rounded once more.
CK_DEVICE float root(double a) { return __double2float_rn(__dsqrt_rn(a)); }
CK_DEVICE float root(ck::F32x2 a) {
  const float sum = ck::rounded<float>(a);
  if (!(sum > 0.0f) || !ck::detail::is_finite(sum)) return __fsqrt_rn(sum);
  // A step of Newton's from the root of the leading part; its error is below 2^-45.
  const float guess = __fsqrt_rn(sum);
  const ck::TwoSum parts = ck::two_sum(a.high, a.low);
  const float rest = __fadd_rn(__fmaf_rn(-guess, guess, parts.sum), parts.error);
  return __fadd_rn(guess, __fdiv_rn(rest, __fadd_rn(guess, guess)));
}

// Over the block, to all threads. Non-negative floats are ordered as their bits.
CK_DEVICE void largest_and_count(uint32_t& largest, unsigned long long& count) {
  CK_SHARED(uint32_t, block_largest, 1);
  CK_SHARED(unsigned long long, block_count, 1);
  if (threadIdx.x == 0) {
    *block_largest = 0;
    *block_count = 0;
  }
  __syncthreads();
  const uint32_t warp = ck::warp_max(largest);
  if (threadIdx.x % ck::kWarp == 0) atomicMax(block_largest, warp);
  if (count != 0) atomicAdd(block_count, count);
  if (!CK_MUTANT(reduce_skips_moments_barrier)) __syncthreads();
  largest = *block_largest;
  count = *block_count;
}

template <typename A>
CK_DEVICE void put_moments(const MomentsOut& out, A sum, uint32_t largest,
                           unsigned long long count) {
  if (out.sum_squares != nullptr) *out.sum_squares = ck::rounded<float>(sum);
  if (out.norm != nullptr) *out.norm = root(sum);
  if (out.max_abs != nullptr) *out.max_abs = __uint_as_float(largest);
  if (out.non_finite != nullptr) *out.non_finite = static_cast<int64_t>(count);
}

template <typename T, typename A>
CK_KERNEL_BLOCKS(kMaxThreads, 2)
sum_moments(const Items items, const Plan plan, const MomentsOut out) {
  CK_DYNAMIC_SHARED(unsigned char, shared);
  ck::dependency_wait();
  const Matrix<T> m = {
      static_cast<const T*>(items.x), nullptr, items.rows, 1, 1, 1.0f, 0.0f, plan.vectors};
  const int chunk_log2 = ck::column_chunk_log2(m.rows);
  const int64_t chunks = ck::column_chunks(m.rows);
  const int used =
      static_cast<int>((chunks + (int64_t{1} << plan.share_log2) - 1) >> plan.share_log2);
  const int split = blockIdx.x;
  uint32_t largest = 0;
  unsigned long long count = 0;
  A total{};
  if (split == plan.splits) {
    for (int i = threadIdx.x; i < used; i += blockDim.x) {
      Halves parts[kMostOfLane];
      collect(plan, words_at(plan, 0, 1, i), 1, parts);
      if (parts[0].first > largest) largest = parts[0].first;
      collect(plan, words_at(plan, 0, 2, i), 1, parts);
      count += static_cast<unsigned long long>(parts[0].second) << 32 | parts[0].first;
    }
    largest_and_count(largest, count);
    gather<A>(plan, 0, 0, 1, used, [&](int64_t, A sum) { put_moments(out, sum, largest, count); });
    return;
  }
  if (plan.splits > 1 && split >= used) return;
  const Span span{static_cast<int64_t>(split) << plan.share_log2,
                  m.vectors ? m.rows >> chunk_log2 : 0, chunk_log2};
  const uint32_t inverse = inverse_of(places_of(1));
  Places places{inverse, 0, static_cast<int>(threadIdx.x)};
  auto start = [&]() { return next_place(plan, m, span, places); };
  Quad<T>* const ring = reinterpret_cast<Quad<T>*>(shared);
  A* const stage = reinterpret_cast<A*>(ring + kTogether * kRingGroups * blockDim.x);
  auto feed = open_feed<kRingGroups>(ring, start, ck::kColumnLanes, chain_of(span) / kTogether);
  const auto look = [&](A& sum, float x) {
    ck::add_product(sum, x, x);
    const uint32_t magnitude = __float_as_uint(x) & 0x7fffffffu;
    count += magnitude >= 0x7f800000u;
    if (magnitude <= 0x7f800000u && magnitude > largest) largest = magnitude;
  };
  sum_rounds(
      plan, stage_of(0, plan.staged, 1), chunks - span.first, 1, stage,
      [&](int round) {
        stage_flat(items, plan, m, span, round, m.vectors, inverse, feed, stage, look);
      },
      [&](int, A sum) { total = sum; });
  largest_and_count(largest, count);
  if (threadIdx.x != 0) return;  // thread 0 has the one column's sum
  if (plan.splits == 1) {
    put_moments(out, total, largest, count);
    return;
  }
  hand_over(words_at(plan, 0, 0, split), halves(total));
  hand_over(words_at(plan, 0, 1, split), {largest, 0});
  hand_over(words_at(plan, 0, 2, split),
            {static_cast<uint32_t>(count), static_cast<uint32_t>(count >> 32)});
}

}  // namespace reduce
