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
enum StepGate { kAlpha, kBeta, kStepGates };

// q and k, normalised, and the gates into shared memory, by all threads for all. Norms and gates are
// a warp's task each. kRows: of a segment, or 0 where there are none.
template <int kRows, int kEach>
CK_DEVICE void stage_token(const Problem& p, const StepToken& token, const RawToken<kEach>& raw,
                           int head, int threads, float* q, float* k, float* decay, float* gates) {
  enum { kKeyTask, kQueryTask, kAlphaTask, kBetaTask, kTasks };
  const int thread = threadIdx.x;
  const int lane = thread % ck::kWarp;
  CK_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const int r = thread + i * threads;
    if (r < p.key_dim) {
      const int at = place_of<kRows>(r);
      k[at] = value_of(raw.k[i], p.dtype);
      q[at] = value_of(raw.q[i], p.dtype);
      if (p.key_decay) decay[at] = decay_of(p, load_decay(p, token.g, head, r));
    }
  }
  if (!CK_MUTANT(step_no_stage_barrier)) __syncthreads();
  for (int task = thread / ck::kWarp; task < kTasks; task += threads / ck::kWarp) {
    if (task == kAlphaTask) {
      const float alpha = p.key_decay ? 1.0f : decay_of(p, raw.decay);
      if (lane == 0) gates[kAlpha] = alpha;
    } else if (task == kBetaTask) {
      const float beta = beta_of(p, raw.beta);
      if (lane == 0) gates[kBeta] = beta;
    } else if (p.norm != GDN_NORM_NONE) {
      float* const x = task == kKeyTask ? k : q;
      const float factor = norm_factor(p, serial_squares<kRows>(x, p.key_dim));
      if (!CK_MUTANT(step_no_norm_barrier)) __syncwarp();
      for (int r = lane; r < p.key_dim; r += ck::kWarp) {
        const int at = place_of<kRows>(r);
        x[at] = __fmul_rn(x[at], factor);
      }
    }
  }
  if (!CK_MUTANT(step_no_gate_barrier)) __syncthreads();
}

}  // namespace gdn
