// Two nodes, few questions of many candidates: logits by the whole GPU, then a cluster of blocks
// for the softmax.
//
// First node: the warps of all blocks walk the candidates side by side, each taking the next pair
// in turn, so that at any moment the GPU reads one contiguous stretch of memory. Blocks that each
// walked a megabyte of their own (score_tiles.cuh) reached 3.8 TB/s on an H200, this 4.4.
// Second node: finish_sweep in second_nodes.cuh. The logits cross through the workspace.
#pragma once

#include "rows.cuh"
#include "score_question.cuh"

namespace scoring {

// `blocks` blocks for each question, a pair of candidates to each of their warps at a time.
template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_KERNEL_BLOCKS((kStreamed ? kStreamThreads : kThreads), 1)
sweep_logits(const Problem problem, float* const all_logits, const int blocks, const int slots) {
  const Problem p = seen_by<kAccess>(problem);
  CK_DYNAMIC_SHARED(unsigned char, rings);
  if (kAccess != kPlain) ck::dependency_wait();  // opening a question reads device memory
  const int part = blockIdx.x % blocks;
  const Question question =
      open_question(p, blockIdx.x / blocks, part == 0 && threadIdx.x == 0);
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  float* const logits = all_logits + static_cast<int64_t>(question.index) * p.max_k;
  const auto put = [&](int k, float logit) { logits[k] = logit; };
  if (kStreamed) {
    const int first = part * kStreamStep;
    if (kAccess == kPlain) {
      const Share share{min(first, question.count), min(first + kStreamStep, question.count)};
      prefetch_share<T>(p, question, share);
      ck::dependency_wait();
    }
    score_rows_streamed<T, kCosine, kAccess>(p, question, first, question.count,
                                             blocks * kStreamStep, rings, slots, put);
  } else {
    if (kAccess == kPlain) ck::dependency_wait();
    const int warps = blockDim.x / ck::kWarp;
    for (int k = part * warps + warp; k < question.count; k += blocks * warps) {
      const float logit = score_row<T, kCosine, kAccess>(p, question, k, lane);
      if (lane == 0) put(k, logit);
    }
  }
}

}  // namespace scoring
