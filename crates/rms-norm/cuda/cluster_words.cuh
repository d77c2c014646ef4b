// The hand-over of logical warps' sums in a cluster: 64-bit words, value and flag, stored straight
// into every block's shared memory and polled there. A block may leave when it has all its words,
// for nobody then still writes to it; so one barrier (all words are zero) is enough, and it hides
// behind the loads.
#pragma once

#include <ck/cluster.cuh>
#include <ck/memory.cuh>
#include <ck/tree.cuh>

#include "problem.cuh"

namespace rms {

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

// Says that this block's kMaxSums words are ready to be written.
CK_DEVICE void open_words(uint64_t* words) {
  if (threadIdx.x < kMaxSums) words[threadIdx.x] = 0;
  ck::cluster_arrive();
}

// Every thread of every block calls it: the sum over the row from the sums of logical warps. The
// lanes of a warp all hold the sum of logical warp `logical_warp`, where `holds`.
CK_DEVICE float sum_in_cluster(uint64_t* words, float sum, bool holds, int logical_warp,
                               int log_cluster) {
  constexpr uint64_t kSet = uint64_t{1} << 32;
  const int lane = threadIdx.x % ck::kWarp;
  if (!CK_MUTANT(rms_cluster_skips_zeroed_wait)) ck::cluster_wait();
  // Each lane serves another block.
  if (holds && lane < 1 << log_cluster) {
    send_word(ck::cluster_map(words, lane) + logical_warp, kSet | __float_as_uint(sum));
  }
  uint64_t word = look_at_word(words + lane);
  while ((word & kSet) == 0 && !CK_MUTANT(rms_cluster_skips_poll)) {
    ck::spin_hint();
    word = look_at_word(words + lane);
  }
  return ck::warp_sum(__uint_as_float(static_cast<uint32_t>(word)));
}

}  // namespace rms
