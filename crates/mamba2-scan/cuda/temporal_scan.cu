// C ABI of the gated scan, forward and backward: checks of the host arguments, workspace, launches.
#include <ck/host.cuh>

#include "baselines.cuh"
#include "mamba2_scan.h"
#include "scan_arguments.cuh"
#include "scan_fused.cuh"
#include "scan_gradients.cuh"
#include "temporal_scan.cuh"

namespace mamba2_scan {

// Warps of a block and features whose weights it holds at once: what fits the device.
struct ScanPlan {
  unsigned grid;
  int warps;
  int features;
  unsigned shared_bytes;
};

constexpr int kMostFeatures = 256;  // of a block's weights
constexpr int kFewFeatures = 64;    // where shared memory is short

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
  int error = check_forward(&p);
  if (error == 0 && baseline && p.readout != M2_READOUT_CONTEXT) {
    error = refuse(CK_UNSUPPORTED, M2_ARG_readout);
  }
  if (error != 0 || p.batch == 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Scan scan = make_scan(p);
  scan.out = p.out;
  scan.final_state = p.final_state;
  return baseline ? launch_baseline_scan(scan, stream) : launch_scan<false>(scan, device, stream);
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

int sum_gradients(const m2_scan_backward_params& p, const float* partials,
                  const ck::LaunchConfig& config) {
  return launch_sum(p, partials, config);
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
