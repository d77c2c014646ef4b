// GDN_PATH_SEGMENTS of one token, for batches that latency bounds. A block has 32 columns of a head.
//
// Tried on an H200; us, B = 1, 16/32 heads of 128x128, f32 state, bf16 q k v o, cold / hot:
//   element types at run time, a conversion beside each load     5.72 / 4.52
//   the same, states stored evict-first                          5.43 / 4.46
//   bits loaded first, types at compile time, no divisions       4.30 / 3.48
//   products made again in every stage, for 7 or 8 blocks a multiprocessor instead of 4 (72 or 64
//     registers, the latter with spills), q and k normalised in shared memory: 4.73 / 3.71; and at
//     B = 8 14.9 against 14.2, for which alone it was made. Gone.
//   states loaded past L1, or evict-first: as plain loads.
// f32 q k v o with finished gates and no norm: 3.54 / 2.85. So of 4.30, norm and gates are 0.75; the two
// chains of a step are about 0.65; gdn_step_fast, which has none, 3.75 / 3.16. The exact floor is the
// in-place ceiling of 2.9 / 1.8 and three chains of 0.27 that only loads and stores hide.
#pragma once

#include "segments.cuh"
#include "step_token.cuh"
#include "words.cuh"

namespace gdn {

template <typename S>
constexpr int kStepThreads = ck::kWarp * kBlockColumns / (kSegmentLanes * kWordColumns<S>);
// kFast: both sums in one sweep, o = (S'q + (k.q) d) * scale.
template <typename S, int kDtype, int kK, int kV, bool kFast>
CK_KERNEL_BLOCKS(kStepThreads<S>, 4)
step_segments(Problem p) {
  constexpr int kThreads = kStepThreads<S>;
  constexpr int kColumns = kWordColumns<S>;
  constexpr int kRows = kK / kSegments;
  constexpr int kTiles = kV / kBlockColumns;
  static_assert(kK % (4 * kSegments) == 0 && kV % kBlockColumns == 0, "whole groups and tiles");
  using Staged = StagedToken<kK, kRows>;
  CK_SHARED(Staged, staged, 1);
  p.dtype = kDtype;
  p.key_dim = kK;
  p.value_dim = kV;
  const int thread = threadIdx.x;
  const int lane = thread % ck::kWarp;
  const int warp = thread / ck::kWarp;
  const int first_row = segment_of_lane() * kRows;
  const int first_place = segment_of_lane() * (kRows + kSegmentGap<kRows>);
  const unsigned unit = blockIdx.x / kTiles;
  const int tile = static_cast<int>(blockIdx.x % kTiles) * kBlockColumns;
  const int index = static_cast<int>(divide(unit, p.by_value_heads));
  const int head = static_cast<int>(unit) - index * p.value_heads;
  const int column = tile + (warp * kSegmentLanes + lane % kSegmentLanes) * kColumns;
  const int64_t in_head = static_cast<int64_t>(first_row) * kV + column;
  const StepToken token = locate_token(p, index, head);
  int64_t from = state_offset(p, index, head) + in_head;
  int out = index;  // the slot where the state goes
  if (is_nowhere(token, from)) return;
  ck::dependency_wait();
  if (p.slots_in != nullptr || p.slots_out != nullptr) {
    const Sequence s = open_sequence<true>(p, index, head == 0 && tile == 0 && thread == 0);
    if (s.pad) {
      const int64_t at = out_offset(p, index, head) + tile + thread;
      if (thread < kBlockColumns) store_out(p, at, 0.0f);
      return;
    }
    from = s.in < 0 ? -1 : state_offset(p, s.in, head) + in_head;
    out = static_cast<int>(s.out);
  }
  float state[kRows][kColumns];
  uint32_t words[kRows];
  if (from >= 0) {
    const uint32_t* const source =
        reinterpret_cast<const uint32_t*>(static_cast<const S*>(p.source) + from);
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) words[i] = ck::load_stream(source + i * kV / kColumns);
  } else {
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) words[i] = 0;
  }
  const auto raw = load_token<(kK + kThreads - 1) / kThreads>(p, token, head, kThreads);
  uint32_t raw_v[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    raw_v[c] = load_bits(p.v, token.v + column + c, p.dtype);
  }
  stage_token(p, token, raw, head, kThreads, *staged);
  if (!CK_MUTANT(step_no_stage_barrier)) __syncthreads();
  make_scalars(p, raw, kThreads, *staged);
  float key[kRows];
  CK_UNROLL
  for (int i = 0; i < kRows; i += 4) {
    float keys[4];
    four(staged->k + first_place + i, keys);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) key[i + j] = keys[j];
  }
  if (!CK_MUTANT(step_no_scalar_barrier)) __syncthreads();
  float scalars[kStepScalars];
  four(staged->scalars, scalars);
  const float alpha = scalars[kAlpha];
  const float beta = scalars[kBeta];

  // The first stage of each sum runs where its terms are made. A factor of 1, without a norm, changes
  // nothing.
  float terms[kRows][kColumns];
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
    float queries[4];
    float alphas[4] = {alpha, alpha, alpha, alpha};
    if (kFast) four(staged->q + first_place + i, queries);
    if (p.key_decay) four(staged->decay + first_place + i, alphas);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      key[i + j] = __fmul_rn(key[i + j], scalars[kKeyFactor]);
      if (kFast) {
        queries[j] = __fmul_rn(queries[j], scalars[kQueryFactor]);
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
  uint32_t* const target = reinterpret_cast<uint32_t*>(
      static_cast<S*>(p.state) + state_offset(p, out, head) + in_head);
  CK_UNROLL
  for (int i = 0; i < kRows; i += 4) {
    float queries[4];
    if (!kFast) four(staged->q + first_place + i, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float query = kFast ? 0.0f : __fmul_rn(queries[j], scalars[kQueryFactor]);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        float& x = state[i + j][c];
        x = kFast ? __fmaf_rn(key[i + j], delta[c], x)
                  : __fadd_rn(x, __fmul_rn(key[i + j], delta[c]));
        if (!kFast) {
          terms[i + j][c] = __fmul_rn(x, query);
          read[c] = __fadd_rn(read[c], terms[i + j][c]);
        }
      }
      if (out >= 0) ck::store_stream(target + (i + j) * kV / kColumns, pack<S>(state[i + j]));
    }
  }
  if (kFast) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) read[c] = __fmaf_rn(key_query, delta[c], read[c]);
  } else {
    pass_on(terms, read);
  }
  if (segment_of_lane() == kSegments - 1) {
    const int64_t at = out_offset(p, index, head) + column;
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) store_out(p, at + c, __fmul_rn(read[c], p.scale));
  }
}

}  // namespace gdn
