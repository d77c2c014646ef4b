// GDN_PATH_STREAMED: one token, for batches that memory bounds. A block has a head, whose state
// comes by bulk copies, in four parts so that the first sum runs while later rows arrive. A thread
// owns a 32-bit word of each row: one column of f32, two of a 16-bit type.
#pragma once

#include <ck/bulk.cuh>

#include "segments.cuh"
#include "words.cuh"

namespace gdn {

#if !defined(GDN_PARTS)
#define GDN_PARTS 4
#endif
constexpr int kStreamParts = GDN_PARTS;

// Dynamic shared memory: the state, then q, k and the decay.
CK_HOST_DEVICE unsigned streamed_bytes(int key_dim, int value_dim, int element) {
  return static_cast<unsigned>(key_dim) *
         (static_cast<unsigned>(value_dim * element) + 3 * static_cast<unsigned>(sizeof(float)));
}

// kRowWords: words of a row, and threads of a block; 0: as value_dim says.
template <typename S, int kDtype, int kRowWords>
CK_KERNEL(kRowWords == 0 ? 256 : kRowWords)
step_streamed(Problem p) {
  constexpr int kColumns = kWordColumns<S>;
  constexpr int kPairs = 2;  // rows of q and k that a thread loads at once
  CK_DYNAMIC_SHARED(uint32_t, words);
  CK_SHARED(uint64_t, arrived, kStreamParts);
  CK_SHARED(float, scalars, 4);
  p.dtype = kDtype;
  const int thread = threadIdx.x;
  const int threads = kRowWords == 0 ? p.value_dim / kColumns : kRowWords;
  const int warps = threads / ck::kWarp;
  const int rows = p.key_dim / kStreamParts;
  const int column = thread * kColumns;
  float* const q = reinterpret_cast<float*>(words + p.key_dim * threads);
  float* const k = q + p.key_dim;
  float* const decay = k + p.key_dim;
  const int index = static_cast<int>(divide(blockIdx.x, p.by_value_heads));
  const int head = static_cast<int>(blockIdx.x) - index * p.value_heads;
  const int64_t q_at = q_offset(p, index, head);
  const int64_t k_at = k_offset(p, index, head);
  // The last warp's, which the norms leave free where there are more than two.
  const bool copies = thread == threads - ck::kWarp;
  if (copies) {
    for (int part = 0; part < kStreamParts; ++part) ck::mbarrier_init(&arrived[part], 1);
    ck::fence_mbarrier_init();
  }
  ck::dependency_wait();
  const Sequence s = open_sequence<true>(p, index, head == 0 && thread == 0);
  const int64_t out_at = out_offset(p, index, head) + column;
  if (s.pad) {
    for (int c = 0; c < kColumns; ++c) store_out(p, out_at + c, 0.0f);
    return;
  }
  if (s.in >= 0) {
    if (copies) {
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
  // What the token brings: no load waits behind another's use.
  const DecayGate gate = load_decay(p, index, head, 0);
  const uint32_t raw_beta = load_beta(p, index, head);
  uint32_t raw_v[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    raw_v[c] = load_bits(p.v, v_offset(p, index, head) + column + c, p.dtype);
  }
  CK_NO_UNROLL
  for (int first = thread; first < p.key_dim; first += kPairs * threads) {
    uint32_t raw_q[kPairs];
    uint32_t raw_k[kPairs];
    CK_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int r = first + i * threads;
      raw_q[i] = r < p.key_dim ? load_bits(p.q, q_at + r, p.dtype) : 0;
      raw_k[i] = r < p.key_dim ? load_bits(p.k, k_at + r, p.dtype) : 0;
    }
    CK_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int r = first + i * threads;
      if (r < p.key_dim) {
        q[r] = value_of(raw_q[i], p.dtype);
        k[r] = value_of(raw_k[i], p.dtype);
        if (p.key_decay) decay[r] = decay_of(p, load_decay(p, index, head, r));
      }
    }
  }
  // Also: the barriers are initialised.
  if (!CK_MUTANT(stream_no_stage_barrier)) __syncthreads();
  if (p.norm != GDN_NORM_NONE) {
    for (int task = thread / ck::kWarp; task < 2; task += warps) {
      const float factor = norm_factor(p, serial_squares(task == 0 ? k : q, p.key_dim));
      if (thread % ck::kWarp == 0) scalars[task] = factor;
    }
  }
  const float alpha = p.key_decay ? 1.0f : decay_of(p, gate);
  const float beta = beta_of(p, raw_beta);
  if (p.norm != GDN_NORM_NONE) {
    if (!CK_MUTANT(stream_no_norm_barrier)) __syncthreads();
    for (int r = thread; r < p.key_dim; r += threads) {
      k[r] = __fmul_rn(k[r], scalars[0]);
      q[r] = __fmul_rn(q[r], scalars[1]);
    }
    if (!CK_MUTANT(stream_no_factor_barrier)) __syncthreads();
  }
  float sum[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) sum[c] = 0.0f;
  const uint32_t* from = words + thread;
  for (int part = 0; part < kStreamParts; ++part) {
    if (s.in >= 0 && !CK_MUTANT(stream_no_wait)) ck::mbarrier_wait(&arrived[part], 0);
    CK_UNROLL_BY(2)
    for (int r = part * rows; r < (part + 1) * rows; r += 4) {
      float keys[4];
      float alphas[4] = {alpha, alpha, alpha, alpha};
      four(k + r, keys);
      if (p.key_decay) four(decay + r, alphas);
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        float x[kColumns];
        unpack<S>(from[j * threads], x);
        CK_UNROLL
        for (int c = 0; c < kColumns; ++c) {
          sum[c] = __fadd_rn(sum[c], __fmul_rn(__fmul_rn(alphas[j], x[c]), keys[j]));
        }
      }
      from += 4 * threads;
    }
  }
  float delta[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    delta[c] = __fmul_rn(beta, __fsub_rn(value_of(raw_v[c], p.dtype), sum[c]));
    sum[c] = 0.0f;
  }
  uint32_t* to = s.out < 0 ? nullptr
                           : reinterpret_cast<uint32_t*>(static_cast<S*>(p.state) +
                                                         state_offset(p, s.out, head)) +
                                 thread;
  from = words + thread;
  CK_UNROLL_BY(2)
  for (int r = 0; r < p.key_dim; r += 4) {
    float keys[4];
    float alphas[4] = {alpha, alpha, alpha, alpha};
    float queries[4];
    four(k + r, keys);
    if (p.key_decay) four(decay + r, alphas);
    four(q + r, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      float x[kColumns];
      unpack<S>(from[j * threads], x);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        x[c] = __fadd_rn(__fmul_rn(alphas[j], x[c]), __fmul_rn(keys[j], delta[c]));
        sum[c] = __fadd_rn(sum[c], __fmul_rn(x[c], queries[j]));
      }
      if (to != nullptr) ck::store_stream(to + j * threads, pack<S>(x));
    }
    from += 4 * threads;
    if (to != nullptr) to += 4 * threads;
  }
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) store_out(p, out_at + c, __fmul_rn(sum[c], p.scale));
}

}  // namespace gdn
