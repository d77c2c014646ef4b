// Host arguments of the gated scan, which the exact and the fast entries check alike.
#pragma once

#include "arguments.cuh"
#include "mamba2_scan.h"
#include "partials.cuh"

namespace mamba2_scan {

// Sizes and strides, which both params structs have by the same names.
template <typename Params>
static int check_scan_sizes(Params* p) {
  if (p->readout < M2_READOUT_CONTEXT || p->readout > M2_READOUT_TILE_ADD) {
    return refuse(CK_BAD_ENUM, M2_ARG_readout);
  }
  if (p->batch < 0 || p->batch > INT32_MAX) return refuse(CK_BAD_SIZE, M2_ARG_batch);
  const struct {
    int64_t value;
    int64_t most;
    int argument;
  } sizes[] = {{p->steps, M2_MAX_STEPS, M2_ARG_steps},
               {p->features, M2_MAX_FEATURES, M2_ARG_features},
               {p->states, M2_MAX_STATES, M2_ARG_states}};
  for (const auto& size : sizes) {
    if (size.value < 1) return refuse(CK_BAD_SIZE, size.argument);
    if (size.value > size.most) return refuse(CK_UNSUPPORTED, size.argument);
  }
  if (p->batch * p->steps > M2_MAX_ROWS) return refuse(CK_BAD_SIZE, M2_ARG_batch);
  int error = settle_stride(&p->step_stride, p->steps, p->features, M2_ARG_step_stride);
  if (error == 0) {
    const int64_t sample = span(p->steps, p->step_stride, p->features);
    if (p->history_stride == 0) p->history_stride = p->steps * p->step_stride;
    error = settle_stride(&p->history_stride, p->batch, sample, M2_ARG_history_stride);
  }
  if (error == 0) {
    error = settle_stride(&p->current_stride, p->batch, p->features, M2_ARG_current_stride);
  }
  return error;
}

// Elements of the readout.
template <typename Params>
static int64_t readout_extent(const Params& p) {
  return p.batch * (p.readout == M2_READOUT_CONTEXT ? p.states
                    : p.readout == M2_READOUT_SUM   ? 1
                                                    : p.features);
}

constexpr int kScanInputs = 9;

template <typename Params>
static void scan_inputs(const Params& p, Extent* extents) {
  const int64_t sample = span(p.steps, p.step_stride, p.features);
  const int64_t matrix = p.features * p.states;
  const Extent inputs[kScanInputs] = {
      {p.history, span(p.batch, p.history_stride, sample) * 4, 4, M2_ARG_history, true},
      {p.current, span(p.batch, p.current_stride, p.features) * 4, 4, M2_ARG_current, true},
      {p.w_a, matrix * 4, 4, M2_ARG_w_a, true},
      {p.w_b, matrix * 4, 4, M2_ARG_w_b, true},
      {p.w_c, matrix * 4, 4, M2_ARG_w_c, true},
      {p.bias_a, p.states * 4, 4, M2_ARG_bias_a, false},
      {p.bias_b, p.states * 4, 4, M2_ARG_bias_b, false},
      {p.bias_c, p.states * 4, 4, M2_ARG_bias_c, false},
      {p.x0, p.batch * p.states * 4, 4, M2_ARG_x0, false},
  };
  for (int i = 0; i < kScanInputs; ++i) extents[i] = inputs[i];
}

template <typename Params>
static Scan make_scan(const Params& p) {
  Scan scan{};
  scan.history = p.history;
  scan.current = p.current;
  scan.weights[0] = p.w_a;
  scan.weights[1] = p.w_b;
  scan.weights[2] = p.w_c;
  scan.biases[0] = p.bias_a;
  scan.biases[1] = p.bias_b;
  scan.biases[2] = p.bias_c;
  scan.x0 = p.x0;
  scan.history_stride = p.history_stride;
  scan.step_stride = p.step_stride;
  scan.current_stride = p.current_stride;
  scan.batch = static_cast<int>(p.batch);
  scan.steps = static_cast<int>(p.steps);
  scan.features = static_cast<int>(p.features);
  scan.states = static_cast<int>(p.states);
  scan.readout = p.readout;
  const auto grouped = [](const void* pointer, int64_t stride) {
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 && stride % 4 == 0;
  };
  scan.grouped = p.features % 4 == 0 && grouped(p.history, p.history_stride) &&
                 p.step_stride % 4 == 0 && grouped(p.current, p.current_stride);
  return scan;
}

constexpr int kSharedReserved = 1024;  // of a block, by the system

static int check_forward(m2_temporal_scan_params* p) {
  const int error = check_scan_sizes(p);
  if (error != 0) return error;
  if (p->out == nullptr && p->final_state == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_out);
  Extent extents[kScanInputs + 2];
  scan_inputs(*p, extents);
  extents[kScanInputs] = {p->out, readout_extent(*p) * 4, 4, M2_ARG_out, false};
  extents[kScanInputs + 1] = {p->final_state, p->batch * p->states * 4, 4, M2_ARG_final_state,
                              false};
  return check_extents(extents, kScanInputs);
}

// What a backward call does.
struct Stages {
  bool weights;  // gradients of weights or biases
  bool inputs;   // of history or current
};
static Stages stages_of(const m2_scan_backward_params& p) {
  return Stages{p.d_w_a != nullptr || p.d_w_b != nullptr || p.d_w_c != nullptr ||
                    p.d_bias_a != nullptr || p.d_bias_b != nullptr || p.d_bias_c != nullptr,
                p.d_history != nullptr || p.d_current != nullptr};
}

// The parts of a workspace.
struct Workspace {
  int64_t terms;     // floats of dA; as many of dV
  int64_t readouts;  // of dC
  int64_t partials;
};
static Workspace workspace_of(const m2_scan_backward_params& p) {
  const int64_t padded = padded_states(static_cast<int>(p.states));
  const Partials partials = partials_of(static_cast<int>(p.batch));
  const int64_t columns =
      gradient_columns(static_cast<int>(p.features), static_cast<int>(p.states));
  return Workspace{p.batch * p.steps * padded, p.batch * padded,
                   stages_of(p).weights ? partials.count * columns : 0};
}
static size_t workspace_bytes(const m2_scan_backward_params& p) {
  const Workspace w = workspace_of(p);
  return static_cast<size_t>(2 * w.terms + w.readouts + w.partials) * sizeof(float);
}

static int check_backward(m2_scan_backward_params* p) {
  if (p->path < M2_BACKWARD_AUTO || p->path > M2_BACKWARD_FUSED) {
    return refuse(CK_BAD_ENUM, M2_ARG_path);
  }
  const int error = check_scan_sizes(p);
  if (error != 0) return error;
  if (!(p->beta - p->beta == 0.0f)) return refuse(CK_BAD_VALUE, M2_ARG_beta);
  return 0;
}

static int check_backward_pointers(const m2_scan_backward_params& p) {
  const Stages stages = stages_of(p);
  if (!stages.weights && !stages.inputs && p.d_x0 == nullptr) {
    return refuse(CK_NULL_POINTER, M2_ARG_d_w_a);
  }
  const int64_t matrix = p.features * p.states * 4;
  const int64_t row = p.states * 4;
  constexpr int kFirstOutput = kScanInputs + 2;
  Extent extents[kFirstOutput + 10];
  scan_inputs(p, extents);
  const Extent rest[] = {
      {p.d_out, readout_extent(p) * 4, 4, M2_ARG_d_out, true},
      {p.d_final, p.batch * row, 4, M2_ARG_d_final, false},
      {p.d_w_a, matrix, 4, M2_ARG_d_w_a, false},
      {p.d_w_b, matrix, 4, M2_ARG_d_w_b, false},
      {p.d_w_c, matrix, 4, M2_ARG_d_w_c, false},
      {p.d_bias_a, row, 4, M2_ARG_d_bias_a, false},
      {p.d_bias_b, row, 4, M2_ARG_d_bias_b, false},
      {p.d_bias_c, row, 4, M2_ARG_d_bias_c, false},
      {p.d_history, p.batch * p.steps * p.features * 4, 4, M2_ARG_d_history, false},
      {p.d_current, p.batch * p.features * 4, 4, M2_ARG_d_current, false},
      {p.d_x0, p.batch * row, 4, M2_ARG_d_x0, false},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), 16, M2_ARG_workspace, false},
  };
  for (int i = 0; i < 12; ++i) extents[kScanInputs + i] = rest[i];
  const int error = check_extents(extents, kFirstOutput);
  if (error != 0) return error;
  const size_t needed = workspace_bytes(p);
  if (needed > 0 && p.workspace == nullptr) return refuse(CK_BAD_WORKSPACE, M2_ARG_workspace);
  if (p.workspace_bytes < needed) return refuse(CK_BAD_WORKSPACE, M2_ARG_workspace_bytes);
  return 0;
}

// Of another translation unit: adds up the partial sums; beta and what is asked for are the
// params'.
int sum_gradients(const m2_scan_backward_params& p, const float* partials,
                  const ck::LaunchConfig& config);

}  // namespace mamba2_scan
