// One node: independent blocks over the whole GPU for each question. K <= 4096, few questions.
//
// A logit travels through the workspace as one 64-bit word, (full << 32) | bits, stored and loaded
// relaxed: the word carries its own flag, so no fence and no counter is needed, and the reader
// pays one trip to L2 instead of the fence, the ticket and the second load of a last-block finish.
// The reader is the last block of its question and only reads; it sets each word back to 0, so the
// next launch finds the workspace as the first did. Blocks are dispatched in index order and
// writers never wait, so the reader never keeps a writer from running.
#pragma once

#include "rows.cuh"
#include "score_question.cuh"
#include "softmax.cuh"

namespace scoring {

constexpr uint64_t kFull = uint64_t{1} << 32;

constexpr int kWordsTogether = 4;

// Waits for this thread's next words, all of them under way at once: their trips to L2 overlap.
CK_DEVICE void read_words(uint64_t* words, int first, int count, float* logits) {
  uint64_t word[kWordsTogether];
  bool missing = true;
  CK_UNROLL
  for (int i = 0; i < kWordsTogether; ++i) word[i] = 0;
  while (missing) {
    missing = false;
    CK_UNROLL
    for (int i = 0; i < kWordsTogether; ++i) {
      const int k = first + i * blockDim.x;
      if (k < count && (word[i] & kFull) == 0) word[i] = ck::load_relaxed(words + k);
    }
    CK_UNROLL
    for (int i = 0; i < kWordsTogether; ++i) {
      const int k = first + i * blockDim.x;
      missing = missing || (k < count && (word[i] & kFull) == 0);
    }
    if (CK_MUTANT(scoring_spread_ignores_flag)) missing = false;
    if (missing) ck::spin_hint();
  }
  CK_UNROLL
  for (int i = 0; i < kWordsTogether; ++i) {
    const int k = first + i * blockDim.x;
    if (k >= count) break;
    logits[k] = __uint_as_float(static_cast<uint32_t>(word[i]));
    if (!CK_MUTANT(scoring_spread_leaves_words_full)) ck::store_relaxed(words + k, uint64_t{0});
  }
}

// kStreamed: writers have many rows, and stream them.
template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_KERNEL_BLOCKS(kThreads, 1)
score_spread(const Problem problem, const int writers, const int slots) {
  const Problem p = seen_by<kAccess>(problem);
  CK_DYNAMIC_SHARED(unsigned char, shared);      // a block scores or reads, never both
  if (kAccess != kPlain) ck::dependency_wait();  // opening a question reads device memory
  const int blocks = writers + 1;
  const int part = blockIdx.x % blocks;
  const Question question =
      open_question(p, blockIdx.x / blocks, part == writers && threadIdx.x == 0);
  uint64_t* const words =
      static_cast<uint64_t*>(p.workspace) + static_cast<int64_t>(question.index) * p.max_k;
  if (part < writers) {
    const Share share{
        static_cast<int>(static_cast<int64_t>(question.count) * part / writers),
        static_cast<int>(static_cast<int64_t>(question.count) * (part + 1) / writers)};
    if (kAccess == kPlain) {
      prefetch_share<T>(p, question, share);
      ck::dependency_wait();
    }
    const auto put = [&](int k, float logit) {
      ck::store_relaxed(words + k, kFull | __float_as_uint(logit));
    };
    if (kStreamed) {
      score_rows_streamed<T, kCosine, kAccess>(p, question, share.first, share.end, kStreamStep,
                                               shared, slots, put);
      return;
    }
    if (splits(p.dim, share.end - share.first)) {
      score_rows_split<T, kCosine, kAccess>(p, question, share.first, share.end,
                                            *reinterpret_cast<SplitScratch*>(shared), put);
      return;
    }
    const int lane = threadIdx.x % ck::kWarp;
    for (int k = share.first + threadIdx.x / ck::kWarp; k < share.end;
         k += blockDim.x / ck::kWarp) {
      const float logit = score_row<T, kCosine, kAccess>(p, question, k, lane);
      if (lane == 0) put(k, logit);
    }
    return;
  }
  if (kAccess == kPlain) ck::dependency_wait();
  const FinishScratch scratch = finish_scratch(shared, p.max_k, ranks_kept(p));
  pad_logits(question, scratch);
  CK_NO_UNROLL
  for (int first = 0; first < question.count; first += kWordsTogether * blockDim.x) {
    read_words(words, first + threadIdx.x, question.count, scratch.logits);
  }
  if (!CK_MUTANT(scoring_spread_skips_logits_barrier)) __syncthreads();
  finish_tiles(p, question, scratch);
}

}  // namespace scoring
