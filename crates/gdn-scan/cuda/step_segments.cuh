// GDN_PATH_SEGMENTS of one token. A block has 32 columns of a head.
#pragma once

#include "segments.cuh"
#include "step_token.cuh"
#include "words.cuh"

namespace gdn {

template <typename S>
constexpr int kStepThreads = ck::kWarp * kBlockColumns / (kSegmentLanes * kWordColumns<S>);
#if !defined(GDN_B32)
#define GDN_B32 7
#define GDN_B16 10
#endif
// So many blocks of a multiprocessor have enough of the states on its way; the registers allow them.
template <typename S, bool kFast>
constexpr int kStepBlocks = kFast ? 4 : sizeof(S) == sizeof(float) ? GDN_B32 : GDN_B16;

// The stages of a sum of state * factor after the first: each passes the sums on to the next segment.
// Products are made again in every stage: that is in the shadow of the additions, and a register for
// each would halve the blocks that fit. `zero` is 0, which the compiler cannot know: it would move the
// products out of the loop.
template <int kRows, int kColumns>
CK_DEVICE void pass_on(const float* factors, int zero, const float (&state)[kRows][kColumns],
                       float (&sum)[kColumns]) {
  CK_NO_UNROLL
  for (int stage = 1; stage < kSegments; ++stage) {
    const float* const again = factors + stage * zero;
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      sum[c] = __shfl_up_sync(ck::kFullMask, sum[c], kSegmentLanes);
    }
    CK_UNROLL
    for (int i = 0; i < kRows; i += 4) {
      float values[4];
      four(again + i, values);
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        CK_UNROLL
        for (int c = 0; c < kColumns; ++c) {
          sum[c] = __fadd_rn(sum[c], __fmul_rn(state[i + j][c], values[j]));
        }
      }
    }
  }
  to_all_segments(sum);
}

// kFast: both sums in one sweep, o = (S'q + (k.q) d) * scale.
template <typename S, int kDtype, int kK, int kV, bool kFast>
CK_KERNEL_BLOCKS(kStepThreads<S>, (kStepBlocks<S, kFast>))
step_segments(Problem p) {
  constexpr int kThreads = kStepThreads<S>;
  constexpr int kColumns = kWordColumns<S>;
  constexpr int kRows = kK / kSegments;
  constexpr int kTiles = kV / kBlockColumns;
  static_assert(kK % (4 * kSegments) == 0 && kV % kBlockColumns == 0, "whole groups and tiles");
  CK_SHARED(float, q, kVectorLength<kRows>);
  CK_SHARED(float, k, kVectorLength<kRows>);
  CK_SHARED(float, decay, kVectorLength<kRows>);
  CK_SHARED(float, gates, kStepGates);
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
  // Norms and gates take as long as the state takes to arrive: what they need goes first.
  const auto raw = load_token<(kK + kThreads - 1) / kThreads>(p, token, head, kThreads);
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
  uint32_t raw_v[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    raw_v[c] = load_bits(p.v, token.v + column + c, p.dtype);
  }
  stage_token<kRows>(p, token, raw, head, kThreads, q, k, decay, gates);
  const float alpha = gates[kAlpha];
  const float beta = gates[kBeta];

  // The first stage of each sum runs where the state is decayed, and where it is written.
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
    four(k + first_place + i, keys);
    if (kFast) four(q + first_place + i, queries);
    if (p.key_decay) four(decay + first_place + i, alphas);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      if (kFast) key_query = __fmaf_rn(keys[j], queries[j], key_query);
      float x[kColumns];
      unpack<S>(words[i + j], x);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        state[i + j][c] = __fmul_rn(alphas[j], x[c]);
        retrieved[c] = kFast ? __fmaf_rn(state[i + j][c], keys[j], retrieved[c])
                             : __fadd_rn(retrieved[c], __fmul_rn(state[i + j][c], keys[j]));
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
    pass_on(k + first_place, p.zero, state, retrieved);
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
    float keys[4];
    float queries[4];
    four(k + first_place + i, keys);
    if (!kFast) four(q + first_place + i, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        float& x = state[i + j][c];
        x = kFast ? __fmaf_rn(keys[j], delta[c], x) : __fadd_rn(x, __fmul_rn(keys[j], delta[c]));
        if (!kFast) read[c] = __fadd_rn(read[c], __fmul_rn(x, queries[j]));
      }
      if (out >= 0) ck::store_stream(target + (i + j) * kV / kColumns, pack<S>(state[i + j]));
    }
  }
  if (kFast) {
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) read[c] = __fmaf_rn(key_query, delta[c], read[c]);
  } else {
    pass_on(q + first_place, p.zero, state, read);
  }
  if (segment_of_lane() == kSegments - 1) {
    const int64_t at = out_offset(p, index, head) + column;
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) store_out(p, at + c, __fmul_rn(read[c], p.scale));
  }
}

}  // namespace gdn
