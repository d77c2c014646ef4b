// GDN_PATH_GENERAL: any sizes, layouts, options and number of tokens. A warp owns 32 columns of a
// head's state, keeps them in shared memory as f32 over all its tokens, a lane a column.
#pragma once

#include "problem.cuh"

namespace gdn {

constexpr int kGeneralColumns = ck::kWarp;
// Odd, so that the lanes that walk along keys (GDN_VK) meet different banks.
constexpr int kGeneralStride = kGeneralColumns + 1;

CK_HOST_DEVICE unsigned general_bytes(int key_dim) {
  return sizeof(float) * static_cast<unsigned>(key_dim) * (kGeneralStride + 3);
}

// The 32 columns of a state: between shared memory, [K][kGeneralStride], and either layout.
template <typename S>
CK_DEVICE void load_columns(const Problem& p, float* tile, const S* state, int first) {
  const int lane = threadIdx.x;
  const int columns = p.value_dim - first < kGeneralColumns ? p.value_dim - first : kGeneralColumns;
  if (p.layout == GDN_KV) {
    if (lane >= columns) return;
    for (int r = 0; r < p.key_dim; ++r) {
      tile[r * kGeneralStride + lane] = ck::to_f32(state[r * p.value_dim + first + lane]);
    }
    return;
  }
  for (int c = 0; c < columns; ++c) {
    for (int r = lane; r < p.key_dim; r += ck::kWarp) {
      tile[r * kGeneralStride + c] = ck::to_f32(state[(first + c) * p.key_dim + r]);
    }
  }
}

template <typename S>
CK_DEVICE void store_columns(const Problem& p, const float* tile, S* state, int first) {
  const int lane = threadIdx.x;
  const int columns = p.value_dim - first < kGeneralColumns ? p.value_dim - first : kGeneralColumns;
  if (p.layout == GDN_KV) {
    if (lane >= columns) return;
    for (int r = 0; r < p.key_dim; ++r) {
      state[r * p.value_dim + first + lane] = ck::from_f32<S>(tile[r * kGeneralStride + lane]);
    }
    return;
  }
  for (int c = 0; c < columns; ++c) {
    for (int r = lane; r < p.key_dim; r += ck::kWarp) {
      state[(first + c) * p.key_dim + r] = ck::from_f32<S>(tile[r * kGeneralStride + c]);
    }
  }
}

// q, k and the decay of one token, normalised: by all lanes, for all lanes.
CK_DEVICE void stage_token(const Problem& p, int64_t token, int head, float* q, float* k,
                           float* decay) {
  const int lane = threadIdx.x;
  const int64_t q_at = q_offset(p, token, head);
  const int64_t k_at = k_offset(p, token, head);
  const int64_t decay_at = decay_offset(p, token, head);
  const float all = p.key_decay ? 0.0f : decay_of(p, load_decay(p, decay_at, head, 0));
  for (int r = lane; r < p.key_dim; r += ck::kWarp) {
    const uint32_t raw_q = load_bits(p.q, q_at + r, p.dtype);
    const uint32_t raw_k = load_bits(p.k, k_at + r, p.dtype);
    q[r] = value_of(raw_q, p.dtype);
    k[r] = value_of(raw_k, p.dtype);
    decay[r] = p.key_decay ? decay_of(p, load_decay(p, decay_at, head, r)) : all;
  }
  if (!CK_MUTANT(general_no_stage_barrier)) __syncwarp();
  if (p.norm == GDN_NORM_NONE) return;
  const float* const x = lane % 2 == 0 ? q : k;
  float sum = 0.0f;
  for (int r = 0; r < p.key_dim; ++r) sum = __fadd_rn(sum, __fmul_rn(x[r], x[r]));
  const float factor = norm_factor(p, sum);
  const float q_factor = __shfl_sync(ck::kFullMask, factor, 0);
  const float k_factor = __shfl_sync(ck::kFullMask, factor, 1);
  if (!CK_MUTANT(general_no_norm_barrier)) __syncwarp();
  for (int r = lane; r < p.key_dim; r += ck::kWarp) {
    q[r] = __fmul_rn(q[r], q_factor);
    k[r] = __fmul_rn(k[r], k_factor);
  }
  if (!CK_MUTANT(general_no_factor_barrier)) __syncwarp();
}

template <typename S>
CK_KERNEL(ck::kWarp) general(Problem p, int tiles) {
  CK_DYNAMIC_SHARED(float, tile);
  float* const q = tile + p.key_dim * kGeneralStride;
  float* const k = q + p.key_dim;
  float* const decay = k + p.key_dim;
  const int lane = threadIdx.x;
  const unsigned unit = blockIdx.x / tiles;
  const int first = static_cast<int>(blockIdx.x % tiles) * kGeneralColumns;
  const int index = static_cast<int>(divide(unit, p.by_value_heads));
  const int head = static_cast<int>(unit) - index * p.value_heads;
  const int c = first + lane;
  const bool live = c < p.value_dim;
  ck::dependency_wait();
  const Sequence s = open_sequence(p, index, head == 0 && first == 0 && lane == 0);
  if (s.pad) {
    for (int t = 0; t < s.tokens; ++t) {
      if (live) store_out(p, out_offset(p, s.first + t, head) + c, 0.0f);
    }
    return;
  }
  if (s.in >= 0) {
    load_columns(p, tile, static_cast<const S*>(p.source) + state_offset(p, s.in, head), first);
  } else {
    for (int r = 0; r < p.key_dim; ++r) tile[r * kGeneralStride + lane] = 0.0f;
  }
  for (int t = 0; t < s.tokens; ++t) {
    const int64_t token = s.first + t;
    stage_token(p, token, head, q, k, decay);
    if (live) {
      float* const column = tile + lane;
      float sum = 0.0f;
      for (int r = 0; r < p.key_dim; ++r) {
        // Under KDA the decay is the key's, not the value's.
        const float alpha = decay[CK_MUTANT(decay_by_value) ? c % p.key_dim : r];
        const float x = __fmul_rn(alpha, column[r * kGeneralStride]);
        column[r * kGeneralStride] = x;
        sum = __fadd_rn(sum, __fmul_rn(x, k[r]));
      }
      const float v = value_of(load_bits(p.v, v_offset(p, token, head) + c, p.dtype), p.dtype);
      const float beta = beta_of(p, load_beta(p, beta_offset(p, token, head)));
      const float d = __fmul_rn(beta, __fsub_rn(v, sum));
      sum = 0.0f;
      for (int r = 0; r < p.key_dim; ++r) {
        const float x = __fadd_rn(column[r * kGeneralStride], __fmul_rn(k[r], d));
        sum = __fadd_rn(sum, __fmul_rn(x, q[r]));
        column[r * kGeneralStride] = as_kept<S>(x);
      }
      store_out(p, out_offset(p, token, head) + c, __fmul_rn(sum, p.scale));
    }
    if (!CK_MUTANT(general_no_reuse_barrier)) __syncwarp();
    const int64_t kept = snapshot_offset(p, s, t, head);
    if (kept >= 0) {
      // The next token's barrier stands between these reads and its writes.
      store_columns(p, tile, static_cast<S*>(p.snapshots) + kept, first);
    }
  }
  // After a token its last barrier orders these reads; without one each lane stores what it loaded.
  if (stores_state(p, s)) {
    store_columns(p, tile, static_cast<S*>(p.state) + state_offset(p, s.out, head), first);
  }
}

}  // namespace gdn
