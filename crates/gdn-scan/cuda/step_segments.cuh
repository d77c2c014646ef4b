// GDN_PATH_SEGMENTS of one token, for batches that latency bounds. A block has 32 columns of a head.
#pragma once

#include "segments.cuh"
#include "words.cuh"

namespace gdn {

template <typename S>
constexpr int kStepThreads = ck::kWarp * kBlockColumns / (kSegmentLanes * kWordColumns<S>);

// The numbers of a token that every column needs. Each is one warp's task.
enum StepScalar { kKeyFactor, kQueryFactor, kAlpha, kBeta, kStepScalars };

// kFast: both sums in one sweep, o = (S'q + (k.q) d) * scale.
template <typename S, int kDtype, int kK, int kV, bool kFast>
CK_KERNEL(kStepThreads<S>)
step_segments(Problem p) {
  constexpr int kThreads = kStepThreads<S>;
  constexpr int kWarps = kThreads / ck::kWarp;
  constexpr int kColumns = kWordColumns<S>;
  constexpr int kRows = kK / kSegments;
  constexpr int kTiles = kV / kBlockColumns;
  constexpr int kEach = kK / kThreads + (kK % kThreads != 0);  // elements of q that a thread loads
  static_assert(kK % (4 * kSegments) == 0 && kV % kBlockColumns == 0, "whole groups and tiles");
  CK_SHARED(float, q, kK);
  CK_SHARED(float, k, kK);
  CK_SHARED(float, decay, kK);
  CK_SHARED(float, scalars, kStepScalars);
  p.dtype = kDtype;
  const int thread = threadIdx.x;
  const int lane = thread % ck::kWarp;
  const int warp = thread / ck::kWarp;
  const int first_row = segment_of_lane() * kRows;
  const unsigned unit = blockIdx.x / kTiles;
  const int tile = static_cast<int>(blockIdx.x % kTiles) * kBlockColumns;
  const int index = static_cast<int>(divide(unit, p.by_value_heads));
  const int head = static_cast<int>(unit) - index * p.value_heads;
  const int column = tile + (warp * kSegmentLanes + lane % kSegmentLanes) * kColumns;
  const int64_t q_at = q_offset(p, index, head);
  const int64_t k_at = k_offset(p, index, head);
  ck::dependency_wait();
  const Sequence s =
      open_sequence<true>(p, index, head == 0 && tile == 0 && thread == 0);
  const int64_t out_at = out_offset(p, index, head);
  if (s.pad) {
    if (thread < kBlockColumns) store_out(p, out_at + tile + thread, 0.0f);
    return;
  }
  // What the token brings comes first, since norm and gates take as long as the state takes to
  // arrive; all of it into registers, so that no load waits behind another's use.
  uint32_t raw_q[kEach];
  uint32_t raw_k[kEach];
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int r = thread + i * kThreads;
    const bool live = kK % kThreads == 0 || r < kK;
    raw_k[i] = live ? load_bits(p.k, k_at + r, p.dtype) : 0;
    raw_q[i] = live ? load_bits(p.q, q_at + r, p.dtype) : 0;
  }
  const DecayGate gate = load_decay(p, index, head, 0);
  const uint32_t raw_beta = load_beta(p, index, head);
  const int64_t state_at = static_cast<int64_t>(first_row) * kV + column;
  uint32_t words[kRows];
  if (s.in >= 0) {
    const uint32_t* const from = reinterpret_cast<const uint32_t*>(
        static_cast<const S*>(p.source) + state_offset(p, s.in, head) + state_at);
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) words[i] = ck::load_stream(from + i * kV / kColumns);
  } else {
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) words[i] = 0;
  }
  uint32_t raw_v[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    raw_v[c] = load_bits(p.v, v_offset(p, index, head) + column + c, p.dtype);
  }
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int r = thread + i * kThreads;
    if (kK % kThreads == 0 || r < kK) {
      k[r] = value_of(raw_k[i], p.dtype);
      q[r] = value_of(raw_q[i], p.dtype);
      if (p.key_decay) decay[r] = decay_of(p, load_decay(p, index, head, r));
    }
  }
  if (!CK_MUTANT(step_no_stage_barrier)) __syncthreads();
  for (int task = warp; task < kStepScalars; task += kWarps) {
    float value = 1.0f;
    if (task == kAlpha) {
      value = decay_of(p, gate);
    } else if (task == kBeta) {
      value = beta_of(p, raw_beta);
    } else if (p.norm != GDN_NORM_NONE) {
      value = norm_factor(p, serial_squares(task == kQueryFactor ? q : k, kK));
    }
    if (lane == 0) scalars[task] = value;
  }
  if (!CK_MUTANT(step_no_scalar_barrier)) __syncthreads();
  const float alpha = scalars[kAlpha];
  const float beta = scalars[kBeta];
  const float k_factor = scalars[kKeyFactor];
  const float q_factor = scalars[kQueryFactor];

  // The first stage of each chain runs where its terms are made.
  float state[kRows][kColumns];
  float terms[kRows][kColumns];
  float key[kRows];
  float retrieved[kColumns];
  float read[kColumns];
  float key_query = 0.0f;
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    retrieved[c] = 0.0f;
    read[c] = 0.0f;
  }
  CK_UNROLL
  for (int i = 0; i < kRows; i += 4) {
    float keys[4];
    float queries[4];
    float alphas[4] = {alpha, alpha, alpha, alpha};
    four(k + first_row + i, keys);
    if (kFast) four(q + first_row + i, queries);
    if (p.key_decay) four(decay + first_row + i, alphas);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      key[i + j] = __fmul_rn(keys[j], k_factor);
      if (kFast) {
        queries[j] = __fmul_rn(queries[j], q_factor);
        key_query = __fmaf_rn(key[i + j], queries[j], key_query);
      }
      float x[kColumns];
      unpack<S>(words[i + j], x);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        state[i + j][c] = __fmul_rn(alphas[j], x[c]);
        terms[i + j][c] = __fmul_rn(state[i + j][c], key[i + j]);
        retrieved[c] = __fadd_rn(retrieved[c], terms[i + j][c]);
        if (kFast) read[c] = __fmaf_rn(state[i + j][c], queries[j], read[c]);
      }
    }
  }
  if (kFast) {
    CK_UNROLL
    for (int step = kSegmentLanes; step < ck::kWarp; step *= 2) {
      key_query = __fadd_rn(key_query, __shfl_xor_sync(ck::kFullMask, key_query, step));
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        retrieved[c] = __fadd_rn(retrieved[c], __shfl_xor_sync(ck::kFullMask, retrieved[c], step));
        read[c] = __fadd_rn(read[c], __shfl_xor_sync(ck::kFullMask, read[c], step));
      }
    }
  } else {
    pass_on(terms, retrieved);
  }
  float delta[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    delta[c] = __fmul_rn(beta, __fsub_rn(value_of(raw_v[c], p.dtype), retrieved[c]));
  }
  uint32_t* const to =
      s.out < 0 ? nullptr
                : reinterpret_cast<uint32_t*>(static_cast<S*>(p.state) +
                                              state_offset(p, s.out, head) + state_at);
  CK_UNROLL
  for (int i = 0; i < kRows; i += 4) {
    float queries[4];
    if (!kFast) four(q + first_row + i, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      float x[kColumns];
      const float query = kFast ? 0.0f : __fmul_rn(queries[j], q_factor);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        x[c] = kFast ? __fmaf_rn(key[i + j], delta[c], state[i + j][c])
                     : __fadd_rn(state[i + j][c], __fmul_rn(key[i + j], delta[c]));
        if (!kFast) {
          terms[i + j][c] = __fmul_rn(x[c], query);
          read[c] = __fadd_rn(read[c], terms[i + j][c]);
        }
      }
      if (to != nullptr) ck::store_stream(to + (i + j) * kV / kColumns, pack<S>(x));
    }
  }
  if (kFast) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) read[c] = __fmaf_rn(key_query, delta[c], read[c]);
  } else {
    pass_on(terms, read);
  }
  if (segment_of_lane() == kSegments - 1) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      store_out(p, out_at + column + c, __fmul_rn(read[c], p.scale));
    }
  }
}

}  // namespace gdn
