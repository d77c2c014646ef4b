// The scans between the matrix products of the composed path: a thread a sample and state, which
// finds its projections in memory. Neighbouring threads have neighbouring states, so that every
// access is coalesced; nothing is shared.
#pragma once

#include <ck/math.cuh>
#include <ck/platform.cuh>

#include "mamba2_scan.h"

namespace mamba2_scan {

constexpr int kComposedThreads = 256;

// A thread's place; `real` if there is such a sample.
struct ComposedPlace {
  int64_t at;
  int64_t b;
  int64_t s;
  bool real;
};
CK_DEVICE ComposedPlace composed_place(int64_t batch, int64_t states) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kComposedThreads + threadIdx.x;
  const int64_t b = at / states;
  return ComposedPlace{at, b, at - b * states, b < batch};
}

// A bias that is not there is not added: -0 stays.
CK_DEVICE float with_bias(float sum, const float* bias, int64_t s) {
  return bias != nullptr ? __fadd_rn(sum, bias[s]) : sum;
}

CK_KERNEL(kComposedThreads) composed_scan(const m2_composed_scan_params p) {
  const ComposedPlace place = composed_place(p.batch, p.states);
  if (!place.real) return;
  const int64_t s = place.s;
  float x = p.x0 != nullptr ? p.x0[place.at] : 0.0f;
  const float* row = p.projections + place.b * p.steps * 2 * p.states + s;
  CK_UNROLL_BY(4)
  for (int64_t t = 0; t < p.steps; ++t, row += 2 * p.states) {
    const float a = ck::sigmoid(with_bias(row[0], p.bias_a, s));
    x = __fmaf_rn(a, x, with_bias(row[p.states], p.bias_b, s));
  }
  if (p.final_state != nullptr) p.final_state[place.at] = x;
  if (p.out == nullptr) return;
  const float context = __fmul_rn(with_bias(p.readouts[place.at], p.bias_c, s), x);
  if (p.readout == M2_READOUT_CONTEXT) {
    p.out[place.at] = context;
    return;
  }
  const float* const current = p.current + place.b * p.current_stride;
  float* const out = p.out + place.b * p.features;
  for (int64_t j = s; j < p.features; j += p.states) out[j] = __fadd_rn(current[j], context);
}

// Projections become their gradients in place: the state before a step waits where its input was.
CK_KERNEL(kComposedThreads) composed_scan_backward(const m2_composed_scan_backward_params p) {
  const ComposedPlace place = composed_place(p.batch, p.states);
  if (!place.real) return;
  const int64_t s = place.s;
  const int64_t pitch = 2 * p.states;
  float* const first = p.projections + place.b * p.steps * pitch + s;
  float x = p.x0 != nullptr ? p.x0[place.at] : 0.0f;
  for (int64_t t = 0; t < p.steps; ++t) {
    float* const row = first + t * pitch;
    const float a = ck::sigmoid(with_bias(row[0], p.bias_a, s));
    const float input = with_bias(row[p.states], p.bias_b, s);
    row[p.states] = x;
    x = __fmaf_rn(a, x, input);
  }
  float g = 0.0f;
  if (p.readout == M2_READOUT_TILE_ADD) {
    const float* const d_out = p.d_out + place.b * p.features;
    for (int64_t j = s; j < p.features; j += p.states) g = __fadd_rn(g, d_out[j]);
  } else {
    g = p.d_out[p.readout == M2_READOUT_CONTEXT ? place.at : place.b];
  }
  const float readout = with_bias(p.readouts[place.at], p.bias_c, s);
  p.readouts[place.at] = __fmul_rn(g, x);
  float lambda = __fmaf_rn(g, readout, p.d_final != nullptr ? p.d_final[place.at] : 0.0f);
  for (int64_t t = p.steps - 1; t >= 0; --t) {
    float* const row = first + t * pitch;
    const ck::SigmoidPair a = ck::sigmoid_and_complement(with_bias(row[0], p.bias_a, s));
    const float slope = CK_MUTANT(m2_composed_gate_gradient_without_complement)
                            ? a.value
                            : __fmul_rn(a.value, a.complement);
    row[0] = __fmul_rn(__fmul_rn(lambda, row[p.states]), slope);
    row[p.states] = lambda;
    lambda = __fmul_rn(a.value, lambda);
  }
  if (p.d_x0 != nullptr) p.d_x0[place.at] = lambda;
}

}  // namespace mamba2_scan
