// The designs that the scan replaces, kept so that every ratio is measured in one run.
#pragma once

#include "scan.cuh"

namespace mamba2_scan {

constexpr int kBaselineThreads = 256;

// A thread a sample and state.
CK_KERNEL(kBaselineThreads) baseline_scan(const Scan p) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kBaselineThreads + threadIdx.x;
  const int64_t b = at / p.states;
  const int s = static_cast<int>(at % p.states);
  if (b >= p.batch) return;
  const auto project = [&](const float* row, const float* weights, float sum) {
    for (int k = 0; k < p.features; ++k) sum = __fmaf_rn(row[k], weights[k * p.states + s], sum);
    return sum;
  };
  float x = p.x0 != nullptr ? p.x0[at] : 0.0f;
  for (int t = 0; t < p.steps; ++t) {
    const float* const row = p.history + b * p.history_stride + t * p.step_stride;
    const float gate = project(row, p.weights[0], bias_of(p, 0, s));
    x = __fmaf_rn(ck::sigmoid(gate), x, project(row, p.weights[1], bias_of(p, 1, s)));
  }
  if (p.final_state != nullptr) p.final_state[at] = x;
  if (p.out == nullptr) return;
  const float readout = project(p.current + b * p.current_stride, p.weights[2], bias_of(p, 2, s));
  p.out[at] = __fmul_rn(readout, x);
}

// A thread a weight: its sum over the whole batch.
CK_KERNEL(kBaselineThreads)
baseline_weight_gradients(const Scan p, float* d_w_a, float* d_w_b, float* d_w_c) {
  const int matrix = p.features * p.states;
  const int at = static_cast<int>(blockIdx.x) * kBaselineThreads + static_cast<int>(threadIdx.x);
  if (at >= 3 * matrix) return;
  const int which = at / matrix;
  const int feature = at % matrix / p.states;
  const int s = at % p.states;
  const int padded = padded_states(p.states);
  const float* const terms = which == 0 ? p.d_gates : which == 1 ? p.d_inputs : p.d_readouts;
  const int steps = which == 2 ? 1 : p.steps;
  float sum = 0.0f;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int t = 0; t < steps; ++t) {
      const float* const row = which == 2 ? p.current + b * p.current_stride
                                          : p.history + b * p.history_stride + t * p.step_stride;
      sum = __fmaf_rn(row[feature], terms[(b * steps + t) * padded + s], sum);
    }
  }
  float* const to = which == 0 ? d_w_a : which == 1 ? d_w_b : d_w_c;
  to[at % matrix] = sum;
}

}  // namespace mamba2_scan
