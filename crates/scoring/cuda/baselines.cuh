// The designs that cs_score replaces, kept so that every ratio is measured in one run.
#pragma once

#include <ck/math.cuh>
#include <ck/platform.cuh>
#include <ck/tree.cuh>

namespace scoring {

constexpr int kBaselineMaxK = 1024;
constexpr int kBaselineThreads = 1024;

CK_DEVICE float warp_dot(const float* a, const float* b, int dim, int lane) {
  float sum = 0.0f;
  for (int e = lane; e < dim; e += ck::kWarp) sum = __fmaf_rn(a[e], b[e], sum);
  return ck::warp_sum(sum);
}

CK_DEVICE float floored_norm(float sum_of_squares) {
  return fmaxf(__fsqrt_rn(sum_of_squares), 1e-12f);
}

// The seed's design: one block a question, a warp a candidate, scalar loads, softmax by thread 0.
CK_KERNEL(kBaselineThreads)
baseline_one_block(const float* queries, const float* candidates, float* probabilities, int max_k,
                   int dim, float scale, float temperature, int normalize) {
  CK_SHARED(float, logits, kBaselineMaxK);
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const float* const q = queries + static_cast<int64_t>(blockIdx.x) * dim;
  const float* const c = candidates + static_cast<int64_t>(blockIdx.x) * max_k * dim;
  for (int k = warp; k < max_k; k += blockDim.x / ck::kWarp) {
    const float* const row = c + static_cast<int64_t>(k) * dim;
    float value = warp_dot(q, row, dim, lane);
    if (normalize) {
      value = __fdiv_rn(value, floored_norm(warp_dot(q, q, dim, lane)));
      value = __fdiv_rn(value, floored_norm(warp_dot(row, row, dim, lane)));
    }
    if (lane == 0) logits[k] = __fdiv_rn(__fmul_rn(value, scale), temperature);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  float largest = -INFINITY;
  for (int k = 0; k < max_k; ++k) largest = fmaxf(largest, logits[k]);
  float total = 0.0f;
  for (int k = 0; k < max_k; ++k) {
    logits[k] = ck::exp(__fsub_rn(logits[k], largest));
    total = __fadd_rn(total, logits[k]);
  }
  float* const out = probabilities + static_cast<int64_t>(blockIdx.x) * max_k;
  for (int k = 0; k < max_k; ++k) out[k] = __fdiv_rn(logits[k], total);
}

// The unfused design, one warp a row in each pass. inverse_norms: [Q] of queries, then [Q, K].
CK_KERNEL(256)
baseline_norms(const float* queries, const float* candidates, float* inverse_norms, int questions,
               int max_k, int dim) {
  const int lane = threadIdx.x % ck::kWarp;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / ck::kWarp;
  if (row >= questions * (static_cast<int64_t>(max_k) + 1)) return;
  const float* const v =
      row < questions ? queries + row * dim : candidates + (row - questions) * dim;
  const float norm = floored_norm(warp_dot(v, v, dim, lane));
  if (lane == 0) inverse_norms[row] = __fdiv_rn(1.0f, norm);
}

CK_KERNEL(256)
baseline_logits(const float* queries, const float* candidates, const float* inverse_norms,
                float* logits, int questions, int max_k, int dim, float scale, float temperature) {
  const int lane = threadIdx.x % ck::kWarp;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / ck::kWarp;
  if (row >= questions * static_cast<int64_t>(max_k)) return;
  const int64_t question = row / max_k;
  float value = warp_dot(queries + question * dim, candidates + row * dim, dim, lane);
  if (inverse_norms != nullptr) {
    value = __fmul_rn(__fmul_rn(value, inverse_norms[question]), inverse_norms[questions + row]);
  }
  if (lane == 0) logits[row] = __fdiv_rn(__fmul_rn(value, scale), temperature);
}

CK_KERNEL(256) baseline_softmax(const float* logits, float* probabilities, int max_k) {
  const int lane = threadIdx.x;
  const float* const x = logits + static_cast<int64_t>(blockIdx.x) * max_k;
  float largest = -INFINITY;
  for (int k = lane; k < max_k; k += ck::kWarp) largest = fmaxf(largest, x[k]);
  largest = ck::warp_max(largest);
  float total = 0.0f;
  for (int k = lane; k < max_k; k += ck::kWarp) {
    total = __fadd_rn(total, ck::exp(__fsub_rn(x[k], largest)));
  }
  total = ck::warp_sum(total);
  float* const out = probabilities + static_cast<int64_t>(blockIdx.x) * max_k;
  for (int k = lane; k < max_k; k += ck::kWarp) {
    out[k] = __fdiv_rn(ck::exp(__fsub_rn(x[k], largest)), total);
  }
}

}  // namespace scoring
