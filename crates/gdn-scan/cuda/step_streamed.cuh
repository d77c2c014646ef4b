// GDN_PATH_STREAMED: one token, for batches that memory bounds. A block has a head, whose state
// comes by bulk copies, in four parts so that the first sum runs while later rows arrive. A thread
// owns a 32-bit word of each row: one column of f32, two of a 16-bit type.
#pragma once

#include <ck/bulk.cuh>

#include "segments.cuh"
#include "words.cuh"

namespace gdn {

constexpr int kStreamParts = 4;

// Dynamic shared memory: the state, then q, k and the decay.
CK_HOST_DEVICE unsigned streamed_bytes(int key_dim, int value_dim, int element) {
  return static_cast<unsigned>(key_dim) *
         (static_cast<unsigned>(value_dim * element) + 3 * static_cast<unsigned>(sizeof(float)));
}

template <typename S>
CK_KERNEL(256)
step_streamed(Problem p) {
  constexpr int kColumns = kWordColumns<S>;
  CK_DYNAMIC_SHARED(uint32_t, words);
  CK_SHARED(uint64_t, arrived, kStreamParts);
  CK_SHARED(float, scalars, 4);
  const int thread = threadIdx.x;
  const int threads = p.value_dim / kColumns;  // and so the words of a row
  const int warps = threads / ck::kWarp;
  const int rows = p.key_dim / kStreamParts;
  const int column = thread * kColumns;
  float* const q = reinterpret_cast<float*>(words + p.key_dim * threads);
  float* const k = q + p.key_dim;
  float* const decay = k + p.key_dim;
  const int head = static_cast<int>(blockIdx.x % static_cast<unsigned>(p.value_heads));
  const int index = static_cast<int>(blockIdx.x / static_cast<unsigned>(p.value_heads));
  if (thread == 0) {
    for (int part = 0; part < kStreamParts; ++part) ck::mbarrier_init(&arrived[part], 1);
    ck::fence_mbarrier_init();
  }
  ck::dependency_wait();
  const Sequence s = open_sequence(p, index, head == 0 && thread == 0);
  const int64_t out_at = out_offset(p, index, head) + column;
  if (s.pad) {
    for (int c = 0; c < kColumns; ++c) store_out(p, out_at + c, 0.0f);
    return;
  }
  if (s.in >= 0) {
    if (thread == 0) {
      const uint32_t* const from = reinterpret_cast<const uint32_t*>(
          static_cast<const S*>(p.source) + state_offset(p, s.in, head));
      const unsigned bytes = rows * threads * sizeof(uint32_t);
      for (int part = 0; part < kStreamParts; ++part) {
        const int at = part * rows * threads;
        ck::mbarrier_arrive_expect_tx(&arrived[part], bytes);
        ck::bulk_load(words + at, from + at, bytes, &arrived[part]);
      }
    }
  } else {
    // Each thread's own words: no other thread reads them.
    for (int r = 0; r < p.key_dim; ++r) words[r * threads + thread] = 0;
  }
  const int64_t q_at = q_offset(p, index, head);
  const int64_t k_at = k_offset(p, index, head);
  const float all = p.key_decay ? 0.0f : decay_of(p, index, head, 0);
  for (int r = thread; r < p.key_dim; r += threads) {
    q[r] = load_io(p.q, q_at + r, p.dtype);
    k[r] = load_io(p.k, k_at + r, p.dtype);
    decay[r] = p.key_decay ? decay_of(p, index, head, r) : all;
  }
  float v[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    v[c] = load_io(p.v, v_offset(p, index, head) + column + c, p.dtype);
  }
  const float beta = beta_of(p, index, head);
  // Also: the barriers are initialised.
  if (!CK_MUTANT(stream_no_stage_barrier)) __syncthreads();
  if (p.norm != GDN_NORM_NONE) {
    for (int task = thread / ck::kWarp; task < 2; task += warps) {
      const float factor = norm_factor(p, serial_squares(task == 0 ? q : k, p.key_dim));
      if (thread % ck::kWarp == 0) scalars[task] = factor;
    }
    if (!CK_MUTANT(stream_no_norm_barrier)) __syncthreads();
    for (int r = thread; r < p.key_dim; r += threads) {
      q[r] = __fmul_rn(q[r], scalars[0]);
      k[r] = __fmul_rn(k[r], scalars[1]);
    }
    if (!CK_MUTANT(stream_no_factor_barrier)) __syncthreads();
  }
  float sum[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = 0.0f;
  for (int part = 0; part < kStreamParts; ++part) {
    if (s.in >= 0 && !CK_MUTANT(stream_no_wait)) ck::mbarrier_wait(&arrived[part], 0);
    CK_UNROLL_BY(2)
    for (int r = part * rows; r < (part + 1) * rows; r += 4) {
      float keys[4];
      float alphas[4];
      four(k + r, keys);
      four(decay + r, alphas);
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        float x[kColumns];
        unpack<S>(words[(r + j) * threads + thread], x);
        CK_UNROLL
        for (int c = 0; c < kColumns; ++c) {
          sum[c] = __fadd_rn(sum[c], __fmul_rn(__fmul_rn(alphas[j], x[c]), keys[j]));
        }
      }
    }
  }
  float delta[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    delta[c] = __fmul_rn(beta, __fsub_rn(v[c], sum[c]));
    sum[c] = 0.0f;
  }
  uint32_t* to = s.out < 0 ? nullptr
                           : reinterpret_cast<uint32_t*>(static_cast<S*>(p.state) +
                                                         state_offset(p, s.out, head)) +
                                 thread;
  CK_UNROLL_BY(2)
  for (int r = 0; r < p.key_dim; r += 4) {
    float keys[4];
    float alphas[4];
    float queries[4];
    four(k + r, keys);
    four(decay + r, alphas);
    four(q + r, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      float x[kColumns];
      unpack<S>(words[(r + j) * threads + thread], x);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        x[c] = __fadd_rn(__fmul_rn(alphas[j], x[c]), __fmul_rn(keys[j], delta[c]));
        sum[c] = __fadd_rn(sum[c], __fmul_rn(x[c], queries[j]));
      }
      if (to != nullptr) {
        *to = pack<S>(x);
        to += threads;
      }
    }
  }
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) store_out(p, out_at + c, __fmul_rn(sum[c], p.scale));
}

}  // namespace gdn
