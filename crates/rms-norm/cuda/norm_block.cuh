// A row by one block, or by a cluster of blocks.
//
// Thread p of block c of a cluster of C stands for the logical threads c B / C + kV p + i: each
// chain stays in one thread, and what blocks hand over is the sums of whole logical warps. The first
// kHeld groups of a thread's columns stay in registers; rows beyond them are read again.
//
// Hand-over in a cluster: 64-bit words, value and flag, stored straight into every block's shared
// memory and polled there. A block may leave when it has all its words, for nobody then still
// writes to it; so one barrier (all words are zero) is enough, and it hides behind the loads.
#pragma once

#include <ck/cluster.cuh>
#include <ck/pipeline.cuh>

#include "problem.cuh"
#include "sum_tree.cuh"

namespace rms {

// The sum over the row from this thread's accumulators; every thread of the block gets it. `sums`
// are kMaxSums floats that no thread still reads.
template <int kV>
CK_DEVICE float sum_in_block(float (&a)[kV], float* sums, int logical) {
  const int lane = threadIdx.x % ck::kWarp;
  const int first = threadIdx.x * kV;
  const float sum = logical_warp_sum(a);
  if (first % ck::kWarp == 0) sums[first / ck::kWarp] = sum;
  if (!CK_MUTANT(rms_block_skips_sums_barrier)) __syncthreads();
  return ck::warp_sum(lane < logical / ck::kWarp ? sums[lane] : 0.0f);
}

// A word of another block's shared memory is written and polled relaxed: who reads a word has its
// value in the word itself, and the write to it behind him. The simulator wants the same said as a
// release and an acquire, to know that nobody writes to a block that has left.
#if defined(CK_SIM)
CK_DEVICE void send_word(uint64_t* word, uint64_t value) { ck::store_release(word, value); }
CK_DEVICE uint64_t look_at_word(const uint64_t* word) { return ck::load_acquire(word); }
#else
CK_DEVICE void send_word(uint64_t* word, uint64_t value) {
  *static_cast<volatile uint64_t*>(word) = value;
}
CK_DEVICE uint64_t look_at_word(const uint64_t* word) {
  return *static_cast<const volatile uint64_t*>(word);
}
#endif

// The same over a cluster. Every thread has arrived at the barrier behind the zeroed words.
template <int kV>
CK_DEVICE float sum_in_cluster(float (&a)[kV], uint64_t* words, int first, int blocks) {
  constexpr uint64_t kSet = uint64_t{1} << 32;
  const int lane = threadIdx.x % ck::kWarp;
  const float sum = logical_warp_sum(a);
  if (!CK_MUTANT(rms_cluster_skips_zeroed_wait)) ck::cluster_wait();
  // Each lane of a logical warp has its sum and serves another block.
  const int target = lane % (ck::kWarp / kV);
  if (target < blocks) {
    send_word(ck::cluster_map(words, target) + first / ck::kWarp, kSet | __float_as_uint(sum));
  }
  uint64_t word = look_at_word(words + lane);
  while ((word & kSet) == 0 && !CK_MUTANT(rms_cluster_skips_poll)) {
    ck::spin_hint();
    word = look_at_word(words + lane);
  }
  return ck::warp_sum(__uint_as_float(static_cast<uint32_t>(word)));
}

template <typename T, int kV, int kHeld, bool kPlain, bool kClustered>
CK_DEVICE void norm_rows(const Problem& problem, const int log_cluster, float* sums,
                         float* maxima, uint64_t* words) {
  const Problem p = seen_by<T, kPlain>(problem);
  const int logical = (blockDim.x * kV) << log_cluster;
  const int rank = kClustered ? static_cast<int>(ck::cluster_rank()) : 0;
  const int first = (rank * blockDim.x + threadIdx.x) * kV;
  const int lane = threadIdx.x % ck::kWarp;
  if (kClustered) {
    if (threadIdx.x < kMaxSums) words[threadIdx.x] = 0;
    ck::cluster_arrive();
  }
  ck::dependency_wait();

  Group<kV> weight[kHeld];
  const auto load_weights = [&](int64_t row) {
    CK_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      weight[k] = load_weight<T, kV, kPlain>(p, row, k * logical + first);
    }
  };
  if (kPlain) load_weights(0);

  int parity = 0;
  const int step = gridDim.x >> log_cluster;
  for (int64_t at_row = blockIdx.x >> log_cluster; at_row < p.total; at_row += step) {
    const int index = static_cast<int>(at_row);
    const Row row = row_at<kPlain>(p, index);
    const Place place = place_of(p, row);
    Group<kV> held[kHeld];
    float a[kV] = {};
    CK_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      held[k] = load_input<T, kV>(p, place, k * logical + first);
    }
    if (!kPlain) load_weights(place.gamma);
    CK_UNROLL
    for (int k = 0; k < kHeld; ++k) add_squares(a, held[k].v);
    if (!kPlain) {
      CK_NO_UNROLL
      for (int64_t at = int64_t{kHeld} * logical + first; at < p.n; at += logical) {
        add_squares(a, load_input<T, kV>(p, place, static_cast<int>(at)).v);
      }
    }
    const float sum = kClustered
                          ? sum_in_cluster(a, words, first, 1 << log_cluster)
                          : sum_in_block(a, sums + parity * kMaxSums, logical);
    const float scale = scale_of(p, sum);
    if (p.rstd != nullptr && first == 0) p.rstd[index] = scale;

    float scale_of_y = 1.0f;
    if (p.quantisation == RMS_QUANT_TENSOR) scale_of_y = *p.tensor_scale;
    if (!kClustered && p.quantisation == RMS_QUANT_TOKEN) {
      float largest = 0.0f;
      CK_UNROLL
      for (int k = 0; k < kHeld; ++k) {
        const int at = k * logical + first;
        largest = largest_of(
            largest, normalised<T, kV>(p, place, at, scale, held[k], weight[k]), at, p.n);
      }
      CK_NO_UNROLL
      for (int64_t at = int64_t{kHeld} * logical + first; at < p.n; at += logical) {
        const int column = static_cast<int>(at);
        const Group<kV> r = load_input<T, kV>(p, place, column);
        const Group<kV> w = load_weight<T, kV, kPlain>(p, place.gamma, column);
        largest = largest_of(largest, normalised<T, kV>(p, place, column, scale, r, w), column,
                             p.n);
      }
      largest = ck::warp_max(largest);
      float* const of_warps = maxima + parity * kMaxSums;
      if (lane == 0) of_warps[threadIdx.x / ck::kWarp] = largest;
      if (!CK_MUTANT(rms_block_skips_maxima_barrier)) __syncthreads();
      const int warps = blockDim.x / ck::kWarp;
      scale_of_y = token_scale_of(p, ck::warp_max(lane < warps ? of_warps[lane] : 0.0f));
      if (threadIdx.x == 0) p.token_scales[index] = scale_of_y;
    }

    CK_UNROLL
    for (int k = 0; k < kHeld; ++k) {
      const int at = k * logical + first;
      const Group<kV> y = normalised<T, kV>(p, place, at, scale, held[k], weight[k]);
      store_sum<T, kV>(p, place, at, held[k]);
      store_result<T, kV>(p, place, at, scale_of_y, y);
    }
    if (!kPlain) {
      CK_NO_UNROLL
      for (int64_t at = int64_t{kHeld} * logical + first; at < p.n; at += logical) {
        const int column = static_cast<int>(at);
        const Group<kV> r = load_input<T, kV>(p, place, column);
        const Group<kV> w = load_weight<T, kV, kPlain>(p, place.gamma, column);
        const Group<kV> y = normalised<T, kV>(p, place, column, scale, r, w);
        store_sum<T, kV>(p, place, column, r);
        store_result<T, kV>(p, place, column, scale_of_y, y);
      }
    }
    // The next row uses the other half: its barrier stands between this row's reads and the
    // writes of the row after it.
    if (!CK_MUTANT(rms_block_reuses_sums_early)) parity ^= 1;
  }
}

// blockDim.x * kV logical threads.
template <typename T, int kV, int kHeld, bool kPlain>
CK_KERNEL_BLOCKS(kWideColumns / kV, 1) norm_block(const Problem problem) {
  CK_SHARED(float, sums, 2 * kMaxSums);
  CK_SHARED(float, maxima, 2 * kMaxSums);
  norm_rows<T, kV, kHeld, kPlain, false>(problem, 0, sums, maxima, nullptr);
}

// One row a cluster: blockDim.x * kV << log_cluster = 1024 logical threads.
template <typename T, int kV, int kHeld, bool kPlain>
CK_KERNEL_BLOCKS(kWideColumns / kV / 2, 1)
norm_cluster(const Problem problem, const int log_cluster) {
  CK_SHARED(uint64_t, words, kMaxSums);
  norm_rows<T, kV, kHeld, kPlain, true>(problem, log_cluster, nullptr, nullptr, words);
}

}  // namespace rms
