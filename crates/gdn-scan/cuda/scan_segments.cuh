// GDN_PATH_SEGMENTS of many tokens. Four warps keep 32 columns of a head in registers, four others
// bring the tokens: q and k normalised, v, gates, two chunks ahead in shared memory.
//
// A token's retrieved sum needs the whole write of the token before, so the chain of 128 additions a
// token is the floor. What the token before still has to read hides in it: one sweep writes S'' of
// token t, takes o's terms, decays to S' of token t + 1 and takes p's terms, and both chains go
// through the segments side by side.
#pragma once

#include "segments.cuh"

namespace gdn {

constexpr int kScanWarps = kBlockColumns / kSegmentLanes;
constexpr int kScanners = kScanWarps * ck::kWarp;
constexpr int kScanThreads = 2 * kScanners;
constexpr int kChunk = 8;          // tokens
constexpr int kChunkBuffers = 3;   // one read, one that its last token looks into, one written
constexpr int kSuppliersBarrier = 1;

template <int kK>
struct ChunkBuffer {
  // Lanes that each walk a row of their own meet no conflict of banks.
  static constexpr int kStride = kVectorLength<kK / kSegments> + 4;
  float q[kChunk][kStride];
  float k[kChunk][kStride];
  float v[kChunk][kBlockColumns];
  float alpha[kChunk];
  float beta[kChunk];
};

template <int kK>
CK_HOST_DEVICE unsigned scan_bytes() {
  return sizeof(ChunkBuffer<kK>) * kChunkBuffers;
}

// Tokens chunk * kChunk .. of the sequence, by the second half of the block. Behind the last token
// lies one that changes nothing: its decay is 1, its key is 0.
template <int kK>
CK_DEVICE void supply(const Problem& p, const Sequence& s, int head, int tile, int chunk,
                      ChunkBuffer<kK>& buffer) {
  const int thread = threadIdx.x - kScanners;
  const int first = chunk * kChunk;
  const int left = s.tokens - first;
  const int tokens = left < kChunk ? left : kChunk;
  constexpr int kEach = kChunk * kK / kScanners;
  constexpr int kEachValue = kChunk * kBlockColumns / kScanners;
  static_assert(kChunk * kK % kScanners == 0 && kChunk * kBlockColumns % kScanners == 0, "whole");
  // Every load is under way before the first is used.
  const bool gates = thread < tokens;
  DecayGate decay{};
  uint32_t beta = 0;
  if (gates) {
    const int64_t token = s.first + first + thread;
    decay = load_decay(p, decay_offset(p, token, head), head, 0);
    beta = load_beta(p, beta_offset(p, token, head));
  }
  uint32_t raw_q[kEach];
  uint32_t raw_k[kEach];
  uint32_t raw_v[kEachValue];
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int at = thread + i * kScanners;
    const int t = at / kK;
    const int r = at % kK;
    const int64_t token = s.first + first + t;
    raw_q[i] = t < tokens ? load_bits(p.q, q_offset(p, token, head) + r, p.dtype) : 0;
    raw_k[i] = t < tokens ? load_bits(p.k, k_offset(p, token, head) + r, p.dtype) : 0;
  }
  CK_UNROLL
  for (int i = 0; i < kEachValue; ++i) {
    const int at = thread + i * kScanners;
    const int t = at / kBlockColumns;
    const int64_t at_v = v_offset(p, s.first + first + t, head) + tile + at % kBlockColumns;
    raw_v[i] = t < tokens ? load_bits(p.v, at_v, p.dtype) : 0;
  }
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int at = thread + i * kScanners;
    const int place = place_of<kK / kSegments>(at % kK);
    buffer.q[at / kK][place] = value_of(raw_q[i], p.dtype);
    buffer.k[at / kK][place] = value_of(raw_k[i], p.dtype);
  }
  CK_UNROLL
  for (int i = 0; i < kEachValue; ++i) {
    const int at = thread + i * kScanners;
    buffer.v[at / kBlockColumns][at % kBlockColumns] = value_of(raw_v[i], p.dtype);
  }
  if (thread < kChunk) {
    buffer.alpha[thread] = gates ? decay_of(p, decay) : 1.0f;
    buffer.beta[thread] = gates ? beta_of(p, beta) : 0.0f;
  }
  if (p.norm == GDN_NORM_NONE) return;
  if (!CK_MUTANT(supply_no_stage_barrier)) ck::barrier_sync(kSuppliersBarrier, kScanners);
  // A vector each: the first 16 threads of another warp than the gates'.
  const int vector = thread - ck::kWarp;
  CK_SHARED(float, factors, 2 * kChunk);
  if (vector >= 0 && vector < 2 * kChunk && vector / 2 < tokens) {
    const float* const x = vector % 2 == 0 ? buffer.q[vector / 2] : buffer.k[vector / 2];
    factors[vector] = norm_factor(p, serial_squares<kK / kSegments>(x, kK));
  }
  if (!CK_MUTANT(supply_no_norm_barrier)) ck::barrier_sync(kSuppliersBarrier, kScanners);
  for (int at = thread; at < tokens * kK; at += kScanners) {
    const int t = at / kK;
    const int place = place_of<kK / kSegments>(at % kK);
    buffer.q[t][place] = __fmul_rn(buffer.q[t][place], factors[2 * t]);
    buffer.k[t][place] = __fmul_rn(buffer.k[t][place], factors[2 * t + 1]);
  }
}

// One sweep: writes token t, whose deltas are known, and opens the next.
template <typename S, int kK, int kV>
CK_DEVICE void sweep(const float* key, const float* query, const float* next_key, float delta,
                     float next_alpha, S* snapshot, float (&state)[kK / kSegments],
                     float& read, float& retrieved) {
  constexpr int kRows = kK / kSegments;
  float terms[kRows][2];
  float sum[2] = {0.0f, 0.0f};
  CK_UNROLL
  for (int i = 0; i < kRows; i += 4) {
    float keys[4];
    float queries[4];
    float next_keys[4];
    four(key + i, keys);
    four(query + i, queries);
    four(next_key + i, next_keys);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float x = __fadd_rn(state[i + j], __fmul_rn(keys[j], delta));
      terms[i + j][0] = __fmul_rn(x, queries[j]);
      const float kept = as_kept<S>(x);
      if (snapshot != nullptr) snapshot[(i + j) * kV] = ck::from_f32<S>(kept);
      state[i + j] = __fmul_rn(next_alpha, kept);
      terms[i + j][1] = __fmul_rn(state[i + j], next_keys[j]);
      sum[0] = __fadd_rn(sum[0], terms[i + j][0]);
      sum[1] = __fadd_rn(sum[1], terms[i + j][1]);
    }
  }
  pass_on(terms, sum);
  read = sum[0];
  retrieved = sum[1];
}

template <typename S, int kK, int kV>
CK_KERNEL_BLOCKS(kScanThreads, 1)
scan_segments(Problem p) {
  constexpr int kRows = kK / kSegments;
  constexpr int kTiles = kV / kBlockColumns;
  static_assert(kK % (4 * kSegments) == 0 && kV % kBlockColumns == 0, "whole groups and tiles");
  CK_DYNAMIC_SHARED(ChunkBuffer<kK>, buffers);
  const int thread = threadIdx.x;
  const unsigned unit = blockIdx.x / kTiles;
  const int tile = static_cast<int>(blockIdx.x % kTiles) * kBlockColumns;
  const int index = static_cast<int>(divide(unit, p.by_value_heads));
  const int head = static_cast<int>(unit) - index * p.value_heads;
  const int in_tile = thread / ck::kWarp * kSegmentLanes + thread % kSegmentLanes;
  const int first_row = segment_of_lane() * kRows;
  const int first_place = segment_of_lane() * (kRows + kSegmentGap<kRows>);
  ck::dependency_wait();
  const Sequence s = open_sequence(p, index, head == 0 && tile == 0 && thread == 0);
  if (s.pad) {
    for (int at = thread; at < s.tokens * kBlockColumns; at += kScanThreads) {
      const int64_t token = s.first + at / kBlockColumns;
      store_out(p, out_offset(p, token, head) + tile + at % kBlockColumns, 0.0f);
    }
    return;
  }
  const bool supplier = thread >= kScanners;
  const int chunks = (s.tokens + kChunk - 1) / kChunk;
  const int64_t state_at = static_cast<int64_t>(first_row) * kV + tile + in_tile;
  float state[kRows];
  if (!supplier) {
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) state[i] = 0.0f;
    if (s.in >= 0) {
      const S* const from =
          static_cast<const S*>(p.source) + state_offset(p, s.in, head) + state_at;
      CK_UNROLL
      for (int i = 0; i < kRows; ++i) state[i] = ck::to_f32(from[i * kV]);
    }
  } else {
    // One more chunk than there are: the token behind the last.
    supply<kK>(p, s, head, tile, 0, buffers[0]);
    supply<kK>(p, s, head, tile, 1, buffers[1]);
  }
  if (!CK_MUTANT(scan_no_first_barrier)) __syncthreads();
  float read = 0.0f;
  float retrieved = 0.0f;
  if (!supplier) {
    // Opens token 0: a sweep whose write adds nothing.
    const float alpha = s.tokens > 0 ? buffers[0].alpha[0] : 1.0f;
    float terms[kRows][1];
    float sum[1] = {0.0f};
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) {
      state[i] = __fmul_rn(alpha, state[i]);
      terms[i][0] = __fmul_rn(state[i], buffers[0].k[0][first_place + i]);
      sum[0] = __fadd_rn(sum[0], terms[i][0]);
    }
    pass_on(terms, sum);
    retrieved = sum[0];
  }
  int64_t out_at = out_offset(p, s.first, head) + tile + in_tile;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const ChunkBuffer<kK>& now = buffers[chunk % kChunkBuffers];
    const ChunkBuffer<kK>& next = buffers[(chunk + 1) % kChunkBuffers];
    if (supplier) {
      supply<kK>(p, s, head, tile, chunk + 2, buffers[(chunk + 2) % kChunkBuffers]);
    } else {
      const int left = s.tokens - chunk * kChunk;
      const int tokens = left < kChunk ? left : kChunk;
      for (int t = 0; t < tokens; ++t) {
        const bool looks_ahead = t + 1 == kChunk;
        const float delta = __fmul_rn(now.beta[t], __fsub_rn(now.v[t][in_tile], retrieved));
        S* snapshot = nullptr;
        if (p.snapshots != nullptr) {
          const int64_t kept = snapshot_offset(p, s, chunk * kChunk + t, head);
          if (kept >= 0) snapshot = static_cast<S*>(p.snapshots) + kept + state_at;
        }
        sweep<S, kK, kV>(now.k[t] + first_place, now.q[t] + first_place,
                         (looks_ahead ? next.k[0] : now.k[t + 1]) + first_place, delta,
                         looks_ahead ? next.alpha[0] : now.alpha[t + 1], snapshot, state, read,
                         retrieved);
        if (segment_of_lane() == kSegments - 1) store_out(p, out_at, __fmul_rn(read, p.scale));
        out_at += p.out_stride;
      }
    }
    if (!CK_MUTANT(scan_no_chunk_barrier)) __syncthreads();
  }
  if (!supplier && stores_state(p, s)) {
    S* const to = static_cast<S*>(p.state) + state_offset(p, s.out, head) + state_at;
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) to[i * kV] = ck::from_f32<S>(state[i]);
  }
}

}  // namespace gdn
