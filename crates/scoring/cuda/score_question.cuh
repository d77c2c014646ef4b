// One node: a cluster of blocks (or one block) for each question. K <= 4096.
//
// Every block scores a contiguous share of the candidates and its warps store the logits straight
// into the first block's shared memory; that block then holds all of them and finishes alone.
// Logits, not (max, sum) pairs, cross the cluster, so that the softmax is one tree over K whatever
// the cluster's size. The barrier that says "all blocks have started" is arrived at on entry and
// waited for only before the first remote store, behind the loads.
#pragma once

#include <ck/cluster.cuh>

#include "rows.cuh"
#include "softmax.cuh"

namespace scoring {

// Where the rings begin behind `bytes` of other shared memory.
CK_HOST_DEVICE int stream_offset(int bytes) { return (bytes + 127) / 128 * 128; }

// The share of block `rank` among `blocks`: candidates first .. end - 1.
struct Share {
  int first;
  int end;
};
CK_DEVICE Share share_of(int from, int to, int rank, int log_blocks) {
  const int each = (to - from + (1 << log_blocks) - 1) >> log_blocks;
  const int first = min(from + rank * each, to);
  return Share{first, min(first + each, to)};
}

// A block's share, each logit into `logits[k - from]` of the cluster's first block. On entry every
// thread has arrived at the barrier of the start (if clustered); on return every thread has arrived
// at that of the logits, but only the first block may look at them, after its wait.
template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_DEVICE void score_into_first_block(const Problem& p, const Question& question,
                                      const Share& share, float* logits, int from, bool clustered,
                                      unsigned char* rings, int slots) {
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int warps = blockDim.x / ck::kWarp;
  float* const target = (clustered ? ck::cluster_map(logits, 0) : logits) - from;
  if (kStreamed) {
    if (clustered && !CK_MUTANT(scoring_stream_skips_start_wait)) ck::cluster_wait();
    score_rows_streamed<T, kCosine, kAccess>(p, question, share.first, share.end, kStreamStep,
                                             rings, slots,
                                             [&](int k, float logit) { target[k] = logit; });
  } else {
    bool started = !clustered;
    for (int k = share.first + warp; k < share.end; k += warps) {
      const float logit = score_row<T, kCosine, kAccess>(p, question, k, lane);
      if (!started) {
        if (!CK_MUTANT(scoring_cluster_skips_start_wait)) ck::cluster_wait();
        started = true;
      }
      if (lane == 0) target[k] = logit;
    }
    if (!started) ck::cluster_wait();
  }
  if (clustered) ck::cluster_arrive();
}

constexpr int kPrefetchRows = 4;  // of a warp: beyond, the copies that follow keep memory busy

// Asks for the block's rows, which plain problems know before they may read.
template <typename T>
CK_DEVICE void prefetch_share(const Problem& p, const Question& question, const Share& share) {
  const int lane = threadIdx.x % ck::kWarp;
  const int warps = blockDim.x / ck::kWarp;
  const int end = min(share.end, share.first + kPrefetchRows * warps);
  for (int k = share.first + threadIdx.x / ck::kWarp; k < end; k += warps) {
    prefetch_row(static_cast<const T*>(p.candidates) + row_offset(p, question, k, 0), p.dim, lane);
  }
}

template <typename T, bool kCosine, int kAccess, bool kStreamed>
CK_KERNEL_BLOCKS((kStreamed ? kStreamThreads : kThreads), 1)
score_question(const Problem problem, const int log_cluster) {
  const Problem p = seen_by<kAccess>(problem);
  CK_DYNAMIC_SHARED(unsigned char, shared);
  const FinishScratch scratch = finish_scratch(shared, p.max_k, ranks_kept(p));
  const bool clustered = log_cluster > 0;
  if (clustered) ck::cluster_arrive_relaxed();
  const int rank = clustered ? static_cast<int>(ck::cluster_rank()) : 0;
  if (kAccess != kPlain) ck::dependency_wait();  // opening a question reads device memory
  const Question question =
      open_question(p, blockIdx.x >> log_cluster, rank == 0 && threadIdx.x == 0);
  const Share share = share_of(0, question.count, rank, log_cluster);
  if (rank == 0) pad_logits(question, scratch);
  if (kAccess == kPlain) {
    prefetch_share<T>(p, question, share);
    ck::dependency_wait();
  }
  score_into_first_block<T, kCosine, kAccess, kStreamed>(
      p, question, share, scratch.logits, 0, clustered,
      shared + stream_offset(finish_bytes(p.max_k, ranks_kept(p))), kStreamSlots);
  if (clustered) {
    if (rank != 0) return;  // nobody reads this block's shared memory
    if (!CK_MUTANT(scoring_cluster_skips_logits_wait)) ck::cluster_wait();
  } else {
    if (!CK_MUTANT(scoring_block_skips_logits_barrier)) __syncthreads();
  }
  finish_tiles(p, question, scratch);
}

}  // namespace scoring
