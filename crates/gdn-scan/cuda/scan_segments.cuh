// GDN_PATH_SEGMENTS of many tokens. Four warps keep 32 columns of a head in registers, four others
// bring the tokens: q and k normalised, v, gates, two chunks ahead in shared memory.
//
// A token's retrieved sum needs the whole write of the token before, so the chain of K additions a
// token is the floor. What the token before still has to read hides in it: one sweep writes S'' of
// token t, takes o's terms, decays to S' of token t + 1 and takes p's terms, and both chains go
// through the segments side by side.
//
// Tried on an H200; T = 2048, one sequence, 16/32 heads of 128x128, bf16 q k v o, ns a token: conversions
// beside the suppliers' loads 1531; bits loaded first 743; segments apart in the banks of shared memory
// 701. A token is about 530 instructions of a warp, 128 of them additions that wait for each other, and
// five shuffles; the suppliers' instructions go through the same schedulers.
#pragma once

#include "segments.cuh"

namespace gdn {

constexpr int kScanWarps = kBlockColumns / kSegmentLanes;
constexpr int kScanners = kScanWarps * ck::kWarp;
constexpr int kScanThreads = 2 * kScanners;
constexpr int kChunk = 8;         // tokens
constexpr int kChunkBuffers = 3;  // one read, one that its last token looks into, one written
constexpr int kSuppliersBarrier = 1;

template <int kK>
struct ChunkBuffer {
  static constexpr int kLength = kVectorLength<kK / kSegments>;
  float q[kChunk][kLength];
  float k[kChunk][kLength];
  float v[kChunk][kBlockColumns];
  float alpha[kChunk];
  float beta[kChunk];
};

// What the suppliers need for the norms of one chunk: vector 2 t is token t's q, the next its k.
template <int kK>
struct NormBuffer {
  static constexpr int kVectors = 2 * kChunk;
  // Lanes that each walk a row of their own meet no conflict of banks.
  float squares[kVectors][kK + 4];
  float factors[kVectors];
};

template <int kK>
struct ScanShared {
  ChunkBuffer<kK> chunks[kChunkBuffers];
  NormBuffer<kK> norm;
};

// Tokens chunk * kChunk .. of the sequence, by the second half of the block: a thread has one element
// of each vector. Behind the last token lies one that changes nothing: its decay is 1, its key is 0.
template <int kDtype, int kK>
CK_DEVICE void supply(Problem p, const Sequence& s, int head, int tile, int chunk,
                      ChunkBuffer<kK>& buffer, NormBuffer<kK>& norm) {
  static_assert(kK <= kScanners, "a thread for each element");
  constexpr int kEachValue = kChunk * kBlockColumns / kScanners;
  constexpr int kVectors = NormBuffer<kK>::kVectors;
  p.dtype = kDtype;
  const int thread = threadIdx.x - kScanners;
  const int left = s.tokens - chunk * kChunk;
  const int tokens = left < kChunk ? left : kChunk;
  const int64_t first = s.first + chunk * kChunk;
  const bool has_element = kK == kScanners || thread < kK;
  // Every load is under way before the first is used.
  const bool gates = thread < tokens;
  DecayGate decay{};
  uint32_t beta = 0;
  if (gates) {
    decay = load_decay(p, decay_offset(p, first + thread, head), head, 0);
    beta = load_beta(p, beta_offset(p, first + thread, head));
  }
  uint32_t raw_q[kChunk];
  uint32_t raw_k[kChunk];
  uint32_t raw_v[kEachValue];
  int64_t q_at = q_offset(p, first, head) + thread;
  int64_t k_at = k_offset(p, first, head) + thread;
  CK_UNROLL
  for (int t = 0; t < kChunk; ++t) {
    const bool live = has_element && t < tokens;
    raw_q[t] = live ? load_bits(p.q, q_at, p.dtype) : 0;
    raw_k[t] = live ? load_bits(p.k, k_at, p.dtype) : 0;
    q_at += p.q_stride;
    k_at += p.k_stride;
  }
  CK_UNROLL
  for (int i = 0; i < kEachValue; ++i) {
    const int t = thread / kBlockColumns + i * (kScanners / kBlockColumns);
    const int64_t v_at = v_offset(p, first + t, head) + tile + thread % kBlockColumns;
    raw_v[i] = t < tokens ? load_bits(p.v, v_at, p.dtype) : 0;
  }
  const bool normalises = p.norm != GDN_NORM_NONE;
  if (normalises && has_element) {
    CK_UNROLL
    for (int t = 0; t < kChunk; ++t) {
      const float q = value_of(raw_q[t], p.dtype);
      const float k = value_of(raw_k[t], p.dtype);
      norm.squares[2 * t][thread] = __fmul_rn(q, q);
      norm.squares[2 * t + 1][thread] = __fmul_rn(k, k);
    }
  }
  CK_UNROLL
  for (int i = 0; i < kEachValue; ++i) {
    const int t = thread / kBlockColumns + i * (kScanners / kBlockColumns);
    buffer.v[t][thread % kBlockColumns] = value_of(raw_v[i], p.dtype);
  }
  if (thread < kChunk) {
    buffer.alpha[thread] = gates ? decay_of(p, decay) : 1.0f;
    buffer.beta[thread] = gates ? beta_of(p, beta) : 0.0f;
  }
  if (normalises) {
    if (!CK_MUTANT(supply_no_stage_barrier)) ck::barrier_sync(kSuppliersBarrier, kScanners);
    // A vector each, by threads of another warp than the gates'.
    const int vector = thread - ck::kWarp;
    if (vector >= 0 && vector < kVectors) {
      norm.factors[vector] = norm_factor(p, serial_sum<kK>(norm.squares[vector]));
    }
    if (!CK_MUTANT(supply_no_norm_barrier)) ck::barrier_sync(kSuppliersBarrier, kScanners);
  }
  if (!has_element) return;
  const int place = place_of<kK / kSegments>(thread);
  CK_UNROLL
  for (int t = 0; t < kChunk; ++t) {
    const float q_factor = normalises ? norm.factors[2 * t] : 1.0f;
    const float k_factor = normalises ? norm.factors[2 * t + 1] : 1.0f;
    // A token that is not there has a key of 0, whatever the factor of a zero vector.
    const bool live = t < tokens;
    buffer.q[t][place] = live ? __fmul_rn(value_of(raw_q[t], p.dtype), q_factor) : 0.0f;
    buffer.k[t][place] = live ? __fmul_rn(value_of(raw_k[t], p.dtype), k_factor) : 0.0f;
  }
}

template <int kK>
CK_DEVICE void supply_any(const Problem& p, const Sequence& s, int head, int tile, int chunk,
                          ScanShared<kK>& shared) {
  ChunkBuffer<kK>& buffer = shared.chunks[chunk % kChunkBuffers];
  if (p.dtype == GDN_F32) {
    supply<GDN_F32, kK>(p, s, head, tile, chunk, buffer, shared.norm);
  } else if (p.dtype == GDN_BF16) {
    supply<GDN_BF16, kK>(p, s, head, tile, chunk, buffer, shared.norm);
  } else {
    supply<GDN_F16, kK>(p, s, head, tile, chunk, buffer, shared.norm);
  }
}

// One sweep: writes token t, whose deltas are known, and opens the next.
template <typename S, int kK, int kV, bool kSnapshots>
CK_DEVICE void sweep(const float* key, const float* query, const float* next_key, float delta,
                     float next_alpha, S* snapshot, float (&state)[kK / kSegments], float& read,
                     float& retrieved) {
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
      if (kSnapshots && snapshot != nullptr) snapshot[(i + j) * kV] = ck::from_f32<S>(kept);
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

template <typename S, int kK, int kV, bool kSnapshots>
CK_KERNEL_BLOCKS(kScanThreads, 1)
scan_segments(Problem p) {
  constexpr int kRows = kK / kSegments;
  constexpr int kTiles = kV / kBlockColumns;
  static_assert(kK % (4 * kSegments) == 0 && kV % kBlockColumns == 0, "whole groups and tiles");
  CK_DYNAMIC_SHARED(ScanShared<kK>, shared);
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
    CK_NO_UNROLL
    for (int chunk = 0; chunk < 2; ++chunk) supply_any<kK>(p, s, head, tile, chunk, *shared);
  }
  if (!CK_MUTANT(scan_no_first_barrier)) __syncthreads();
  float read = 0.0f;
  float retrieved = 0.0f;
  float beta = 0.0f;
  float v = 0.0f;
  if (!supplier) {
    // Opens token 0: a sweep whose write adds nothing.
    const ChunkBuffer<kK>& now = shared->chunks[0];
    const float alpha = s.tokens > 0 ? now.alpha[0] : 1.0f;
    float terms[kRows][1];
    float sum[1] = {0.0f};
    CK_UNROLL
    for (int i = 0; i < kRows; ++i) {
      state[i] = __fmul_rn(alpha, state[i]);
      terms[i][0] = __fmul_rn(state[i], now.k[0][first_place + i]);
      sum[0] = __fadd_rn(sum[0], terms[i][0]);
    }
    pass_on(terms, sum);
    retrieved = sum[0];
    beta = now.beta[0];
    v = now.v[0][in_tile];
  }
  int64_t out_at = out_offset(p, s.first, head) + tile + in_tile;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const ChunkBuffer<kK>& now = shared->chunks[chunk % kChunkBuffers];
    const ChunkBuffer<kK>& next = shared->chunks[(chunk + 1) % kChunkBuffers];
    if (supplier) {
      supply_any<kK>(p, s, head, tile, chunk + 2, *shared);
    } else {
      const int left = s.tokens - chunk * kChunk;
      const int tokens = left < kChunk ? left : kChunk;
      for (int t = 0; t < tokens; ++t) {
        const float delta = __fmul_rn(beta, __fsub_rn(v, retrieved));
        // The next token's operands, before anything waits for this one's sums.
        const bool looks_ahead = t + 1 == kChunk;
        const ChunkBuffer<kK>& after = looks_ahead ? next : now;
        const int t_after = looks_ahead ? 0 : t + 1;
        beta = after.beta[t_after];
        v = after.v[t_after][in_tile];
        S* snapshot = nullptr;
        if (kSnapshots) {
          const int64_t kept = snapshot_offset(p, s, chunk * kChunk + t, head);
          if (kept >= 0) snapshot = static_cast<S*>(p.snapshots) + kept + state_at;
        }
        sweep<S, kK, kV, kSnapshots>(now.k[t] + first_place, now.q[t] + first_place,
                                     after.k[t_after] + first_place, delta, after.alpha[t_after],
                                     snapshot, state, read, retrieved);
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
