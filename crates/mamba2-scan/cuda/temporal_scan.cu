// C ABI of the gated scan, forward and backward: checks of the host arguments, workspace, launches.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "baselines.cuh"
#include "mamba2_scan.h"
#include "scan_fused.cuh"
#include "scan_gradients.cuh"
#include "temporal_scan.cuh"

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

// Warps of a block and features whose weights it holds at once: what fits the device.
struct ScanPlan {
  unsigned grid;
  int warps;
  int features;
  unsigned shared_bytes;
};

constexpr int kSharedReserved = 1024;  // of a block, by the system
constexpr int kMostFeatures = 256;     // of a block's weights
constexpr int kFewFeatures = 64;       // where shared memory is short

static ScanPlan make_scan_plan(const Scan& scan, const ck::Device& device, bool tile_add) {
  ScanPlan plan{};
  const int room = (device.shared_bytes_optin - kSharedReserved) / static_cast<int>(sizeof(float));
  const int rounded = (scan.features + kSpan - 1) / kSpan * kSpan;
  plan.features = rounded < kMostFeatures ? rounded : kMostFeatures;
  // Half of the warps are worth more than weights that stay.
  while (plan.features > kFewFeatures &&
         scan_shared_floats(kScanWarps / 2, plan.features, tile_add) > room) {
    plan.features -= kSpan;
  }
  plan.warps = kScanWarps;
  while (plan.warps > 1 && scan_shared_floats(plan.warps, plan.features, tile_add) > room) {
    --plan.warps;
  }
  plan.shared_bytes = static_cast<unsigned>(
      scan_shared_floats(plan.warps, plan.features, tile_add) * static_cast<int>(sizeof(float)));
  const int rounds = (tiles_of(scan.batch) + plan.warps - 1) / plan.warps;
  plan.grid = static_cast<unsigned>(rounds < device.sm_count ? rounds : device.sm_count);
  return plan;
}

template <bool kBackward>
static int launch_scan(const Scan& scan, const ck::Device& device, void* stream) {
  const bool tile_add = !kBackward && scan.readout == M2_READOUT_TILE_ADD;
  const ScanPlan plan = make_scan_plan(scan, device, tile_add);
  ck::LaunchConfig config;
  config.grid = plan.grid;
  config.block = static_cast<unsigned>(plan.warps * ck::kWarp);
  config.shared_bytes = plan.shared_bytes;
  config.pdl = device.major >= 9;
  config.stream = stream;
  return ck::launch<temporal_scan<kBackward>>(config, scan, plan.features);
}

static int launch_baseline_scan(const Scan& scan, void* stream) {
  ck::LaunchConfig config;
  const int64_t threads = static_cast<int64_t>(scan.batch) * scan.states;
  config.grid = static_cast<unsigned>((threads + kBaselineThreads - 1) / kBaselineThreads);
  config.block = kBaselineThreads;
  config.stream = stream;
  return ck::launch<baseline_scan>(config, scan);
}

static int temporal_scan_f32(m2_temporal_scan_params p, bool baseline, void* stream) {
  int error = check_scan_sizes(&p);
  if (error != 0) return error;
  if (baseline && p.readout != M2_READOUT_CONTEXT) return refuse(CK_UNSUPPORTED, M2_ARG_readout);
  if (p.out == nullptr && p.final_state == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_out);
  Extent extents[kScanInputs + 2];
  scan_inputs(p, extents);
  extents[kScanInputs] = {p.out, readout_extent(p) * 4, 4, M2_ARG_out, false};
  extents[kScanInputs + 1] = {p.final_state, p.batch * p.states * 4, 4, M2_ARG_final_state, false};
  error = check_extents(extents, kScanInputs);
  if (error != 0 || p.batch == 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Scan scan = make_scan(p);
  scan.out = p.out;
  scan.final_state = p.final_state;
  return baseline ? launch_baseline_scan(scan, stream) : launch_scan<false>(scan, device, stream);
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

static int launch_sum(const m2_scan_backward_params& p, const float* partials,
                      ck::LaunchConfig config) {
  const GradientSums sums = {
      {p.d_w_a, p.d_w_b, p.d_w_c}, {p.d_bias_a, p.d_bias_b, p.d_bias_c}, p.beta};
  const int features = static_cast<int>(p.features);
  const int states = static_cast<int>(p.states);
  config.grid =
      static_cast<unsigned>((gradient_columns(features, states) + kSumColumns - 1) / kSumColumns);
  config.block = kGradientThreads;
  return ck::launch<sum_partials>(config, partials, partials_of(static_cast<int>(p.batch)).count,
                                  features, states, sums);
}

// Whether one node can do all but the sum, from sizes and what the device has.
static bool can_fuse(const m2_scan_backward_params& p, const ck::Device& device) {
  if (p.steps > kSteps || p.states > kGroup || p.features > kFusedFeatures) return false;
  const int64_t bytes = fused_shared_floats(static_cast<int>(p.features)) * int64_t{4};
  return bytes + kSharedReserved <= device.shared_bytes_optin;
}

static bool is_fused(const m2_scan_backward_params& p, const ck::Device& device) {
  return p.path != M2_BACKWARD_STAGED && can_fuse(p, device);
}

static int launch_fused(const m2_scan_backward_params& p, const Scan& scan, float* partials,
                        ck::LaunchConfig config) {
  const Stages stages = stages_of(p);
  const Partials part = partials_of(scan.batch);
  Fused fused{};
  fused.partials = stages.weights ? partials : nullptr;
  fused.d_history = p.d_history;
  fused.d_current = p.d_current;
  fused.tiles_each = part.tiles;
  fused.biases = p.d_bias_a != nullptr || p.d_bias_b != nullptr || p.d_bias_c != nullptr;
  config.grid = static_cast<unsigned>(part.count);
  config.block = kFusedThreads;
  config.shared_bytes = static_cast<unsigned>(fused_shared_floats(scan.features) * 4);
  const int error = ck::launch<scan_backward_fused>(config, scan, fused);
  config.shared_bytes = 0;
  return error != 0 || !stages.weights ? error : launch_sum(p, partials, config);
}

static int scan_backward_f32(m2_scan_backward_params p, bool baseline, void* stream) {
  int error = check_backward(&p);
  if (error == 0) error = check_backward_pointers(p);
  if (error != 0) return error;
  if (baseline) {
    if (p.d_w_a == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_d_w_a);
    if (p.d_w_b == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_d_w_b);
    if (p.d_w_c == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_d_w_c);
    if (p.batch == 0) return refuse(CK_BAD_SIZE, M2_ARG_batch);
  }
  const Stages stages = stages_of(p);
  if (p.batch == 0 && !stages.weights) return 0;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  if (p.path == M2_BACKWARD_FUSED && !can_fuse(p, device)) {
    return refuse(CK_UNSUPPORTED, M2_ARG_path);
  }
  const Workspace w = workspace_of(p);
  Scan scan = make_scan(p);
  scan.d_out = p.d_out;
  scan.d_final = p.d_final;
  scan.d_x0 = p.d_x0;
  scan.d_gates = static_cast<float*>(p.workspace);
  scan.d_inputs = scan.d_gates + w.terms;
  scan.d_readouts = scan.d_inputs + w.terms;
  float* const partials = scan.d_readouts + w.readouts;
  ck::LaunchConfig config;
  config.pdl = device.major >= 9;
  config.stream = stream;
  if (p.batch == 0) return launch_sum(p, partials, config);
  if (baseline) {
    error = launch_scan<true>(scan, device, stream);
    if (error != 0) return error;
    config.pdl = false;
    const int64_t weights = 3 * static_cast<int64_t>(scan.features) * scan.states;
    config.grid = static_cast<unsigned>((weights + kBaselineThreads - 1) / kBaselineThreads);
    config.block = kBaselineThreads;
    return ck::launch<baseline_weight_gradients>(config, scan, p.d_w_a, p.d_w_b, p.d_w_c);
  }
  if (is_fused(p, device)) return launch_fused(p, scan, partials, config);
  error = launch_scan<true>(scan, device, stream);
  if (error != 0) return error;
  config.block = kGradientThreads;
  if (stages.weights) {
    const Partials part = partials_of(scan.batch);
    const int slices = (scan.features + kSliceFeatures - 1) / kSliceFeatures;
    config.grid = static_cast<unsigned>(part.count * groups_of(scan.states) * slices);
    error = ck::launch<weight_partials>(config, scan, partials, part.tiles, slices);
    if (error == 0) error = launch_sum(p, partials, config);
    if (error != 0) return error;
  }
  if (stages.inputs) {
    const bool adds = p.readout == M2_READOUT_TILE_ADD;
    const int64_t rows = p.d_history != nullptr ? p.batch * p.steps : 0;
    const int64_t current_rows = p.d_current != nullptr ? p.batch : 0;
    const Back history = {
        {p.w_a, p.w_b}, {scan.d_gates, scan.d_inputs}, nullptr, p.d_history, rows, 2};
    const Back current = {{p.w_c, nullptr},
                          {scan.d_readouts, nullptr},
                          adds ? p.d_out : nullptr,
                          p.d_current,
                          current_rows,
                          1};
    const int64_t history_blocks = (rows + kBackRows - 1) / kBackRows;
    config.grid =
        static_cast<unsigned>(history_blocks + (current_rows + kBackRows - 1) / kBackRows);
    error = ck::launch<input_gradients>(config, history, current, static_cast<int>(history_blocks),
                                        scan.features, scan.states);
  }
  return error;
}

}  // namespace mamba2_scan

extern "C" int m2_temporal_scan_f32(const m2_temporal_scan_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_temporal_scan_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::temporal_scan_f32(*params, false, stream);
}

extern "C" size_t m2_scan_backward_workspace_bytes(const m2_scan_backward_params* params) {
  if (params == nullptr || params->struct_size != sizeof(m2_scan_backward_params)) return 0;
  m2_scan_backward_params p = *params;
  return mamba2_scan::check_backward(&p) != 0 ? 0 : mamba2_scan::workspace_bytes(p);
}

extern "C" int m2_scan_backward_nodes(const m2_scan_backward_params* params) {
  if (params == nullptr || params->struct_size != sizeof(m2_scan_backward_params)) return 0;
  m2_scan_backward_params p = *params;
  if (mamba2_scan::check_backward(&p) != 0) return 0;
  const mamba2_scan::Stages stages = mamba2_scan::stages_of(p);
  if (p.batch == 0) return stages.weights ? 1 : 0;
  ck::Device device;
  if (ck::current_device(&device) != 0) return 0;
  if (mamba2_scan::is_fused(p, device)) return stages.weights ? 2 : 1;
  return 1 + (stages.weights ? 2 : 0) + (stages.inputs ? 1 : 0);
}

extern "C" int m2_scan_backward_f32(const m2_scan_backward_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_scan_backward_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::scan_backward_f32(*params, false, stream);
}

extern "C" int m2_baseline_temporal_scan(const m2_temporal_scan_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_temporal_scan_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::temporal_scan_f32(*params, true, stream);
}

extern "C" int m2_baseline_scan_backward(const m2_scan_backward_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_scan_backward_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::scan_backward_f32(*params, true, stream);
}
