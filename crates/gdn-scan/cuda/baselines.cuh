// The designs that gdn_scan_step_f32 replaces: a block a head, a thread a column, the state swept in
// global memory. The bytes are those of the seed's order, so they are exact too.
#pragma once

#include "problem.cuh"

namespace gdn {

struct SeedProblem {
  float* state;
  const float* q;
  const float* k;
  const float* v;
  const float* g;
  const float* beta;
  float* out;
  int key_heads;
  int d;
  float scale;
};

constexpr int kSeedThreads = 256;

// kPasses 4: decay, retrieve, write, read. 2: decay with retrieve, write with read.
template <int kPasses>
CK_KERNEL(kSeedThreads)
seed_step(SeedProblem p) {
  CK_SHARED(float, q, kSeedThreads);
  CK_SHARED(float, k, kSeedThreads);
  const int c = threadIdx.x;
  const int head = blockIdx.x;
  const int kh = head % p.key_heads;
  const int d = p.d;
  float* const state = p.state + static_cast<int64_t>(head) * d * d;
  ck::dependency_wait();
  q[c] = p.q[kh * d + c];
  k[c] = p.k[kh * d + c];
  const float g = p.g[head];
  if (kPasses == 4) {
    for (int at = c; at < d * d; at += d) state[at] = __fmul_rn(state[at], g);
  }
  if (!CK_MUTANT(seed_no_barrier)) __syncthreads();
  float sum = 0.0f;
  for (int r = 0; r < d; ++r) {
    float x = state[r * d + c];
    if (kPasses == 2) {
      x = __fmul_rn(x, g);
      state[r * d + c] = x;
    }
    sum = __fadd_rn(sum, __fmul_rn(x, k[r]));
  }
  const float delta = __fmul_rn(p.beta[head], __fsub_rn(p.v[head * d + c], sum));
  // The second barrier of the four passes orders nothing: a thread meets its own column alone.
  if (kPasses == 4) __syncthreads();
  float read = 0.0f;
  for (int r = 0; r < d; ++r) {
    const float x = __fadd_rn(state[r * d + c], __fmul_rn(k[r], delta));
    state[r * d + c] = x;
    if (kPasses == 2) read = __fadd_rn(read, __fmul_rn(x, q[r]));
  }
  if (kPasses == 4) {
    for (int r = 0; r < d; ++r) read = __fadd_rn(read, __fmul_rn(state[r * d + c], q[r]));
  }
  p.out[head * d + c] = __fmul_rn(read, p.scale);
}

}  // namespace gdn
