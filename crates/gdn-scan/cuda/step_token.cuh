// The token of a step: where its operands lie, and how a block brings them into shared memory.
#pragma once

#include "segments.cuh"

namespace gdn {

// Where one sequence's token has what one head reads: offsets in elements.
struct StepToken {
  int64_t q;
  int64_t k;
  int64_t v;
  int64_t g;
  int64_t beta;
};

CK_DEVICE StepToken locate_token(const Problem& p, int64_t index, int head) {
  return StepToken{q_offset(p, index, head), k_offset(p, index, head), v_offset(p, index, head),
                   decay_offset(p, index, head), beta_offset(p, index, head)};
}

// Never true, which the compiler cannot know: before a branch on it every offset must have been
// computed. So a kernel does that before it waits, while the kernel before it still runs.
CK_DEVICE bool is_nowhere(const StepToken& token, int64_t state) {
  return (token.q | token.k | token.v | token.g | token.beta | state) < 0;
}

// What a thread loads of a token: bits first, so that no load waits behind another's use.
template <int kEach>
struct RawToken {
  uint32_t q[kEach];
  uint32_t k[kEach];
  DecayGate decay;
  uint32_t beta;
};

template <int kEach>
CK_DEVICE RawToken<kEach> load_token(const Problem& p, const StepToken& token, int head,
                                     int threads) {
  RawToken<kEach> raw;
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int r = static_cast<int>(threadIdx.x) + i * threads;
    raw.k[i] = r < p.key_dim ? load_bits(p.k, token.k + r, p.dtype) : 0;
    raw.q[i] = r < p.key_dim ? load_bits(p.q, token.q + r, p.dtype) : 0;
  }
  raw.decay = load_decay(p, token.g, head, 0);
  raw.beta = load_beta(p, token.beta);
  return raw;
}

// The numbers of a token that every column needs.
enum StepScalar { kKeyFactor, kQueryFactor, kAlpha, kBeta, kStepScalars };

// Vectors of a token in shared memory, of kK elements or fewer. kRows: of a segment, or 0 where there
// are none.
template <int kK, int kRows>
struct StagedToken {
  static constexpr int kLength = kRows == 0 ? kK : kVectorLength<kRows>;
  float q[kLength];
  float k[kLength];
  float decay[kLength];  // with a decay per key
  float q_squares[kK];
  float k_squares[kK];
  float scalars[kStepScalars];
};

// q and k as they are, and their squares: by all threads, before a barrier. Behind the last element
// lie zeros, whose squares change no sum.
template <int kK, int kRows, int kEach>
CK_DEVICE void stage_token(const Problem& p, const StepToken& token, const RawToken<kEach>& raw,
                           int head, int threads, StagedToken<kK, kRows>& staged) {
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int r = static_cast<int>(threadIdx.x) + i * threads;
    if (r < kK) {
      const int at = place_of<kRows>(r);
      const float k = value_of(raw.k[i], p.dtype);
      const float q = value_of(raw.q[i], p.dtype);
      staged.k[at] = k;
      staged.q[at] = q;
      staged.k_squares[r] = __fmul_rn(k, k);
      staged.q_squares[r] = __fmul_rn(q, q);
      if (p.key_decay && r < p.key_dim) {
        staged.decay[at] = decay_of(p, load_decay(p, token.g, head, r));
      }
    }
  }
  for (int r = static_cast<int>(threadIdx.x) + kEach * threads; r < kK; r += threads) {
    staged.k_squares[r] = 0.0f;
    staged.q_squares[r] = 0.0f;
  }
}

// Norms and gates, a warp's task each, between two barriers.
template <int kK, int kRows, int kEach>
CK_DEVICE void make_scalars(const Problem& p, const RawToken<kEach>& raw, int threads,
                            StagedToken<kK, kRows>& staged) {
  const int thread = threadIdx.x;
  for (int task = thread / ck::kWarp; task < kStepScalars; task += threads / ck::kWarp) {
    float value = 1.0f;
    if (task == kAlpha) {
      if (!p.key_decay) value = decay_of(p, raw.decay);
    } else if (task == kBeta) {
      value = beta_of(p, raw.beta);
    } else if (p.norm != GDN_NORM_NONE) {
      value = norm_factor(
          p, serial_sum<kK>(task == kKeyFactor ? staged.k_squares : staged.q_squares));
    }
    if (thread % ck::kWarp == 0) staged.scalars[task] = value;
  }
}

}  // namespace gdn
