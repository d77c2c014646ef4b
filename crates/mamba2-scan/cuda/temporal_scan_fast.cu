// C ABI of the gated scan on tensor cores: what fits them, and the exact entries for what does not.
#include <ck/host.cuh>

#include "mamba2_scan.h"
#include "scan_arguments.cuh"
#include "scan_backward_fast.cuh"
#include "temporal_scan_fast.cuh"

namespace mamba2_scan {

constexpr int kTensorCores = 8;  // least major compute capability with TF32

static bool is_precision(int precision) {
  return precision == M2_PRECISION_3XTF32 || precision == M2_PRECISION_TF32;
}

template <typename Params>
static bool is_of_one_tile(const Params& p, const ck::Device& device) {
  return device.major >= kTensorCores && p.steps <= kSteps && p.states <= kGroup &&
         p.features <= kFastFeatures;
}

static bool fits(int floats, const ck::Device& device) {
  return floats * int64_t{4} + kSharedReserved <= device.shared_bytes_optin;
}

// Warps of a forward block: as many as there is shared memory for; none: not here.
static int forward_warps(const m2_temporal_scan_params& p, bool split, const ck::Device& device) {
  if (!is_of_one_tile(p, device)) return 0;
  int warps = kScanWarps;
  while (warps > 0 &&
         !fits(fast_shared_floats(static_cast<int>(p.features), split, warps), device)) {
    --warps;
  }
  return warps;
}

template <bool kSplit>
static int launch_forward(const Scan& scan, int warps, const ck::Device& device, void* stream) {
  ck::LaunchConfig config;
  const int units = fast_units(scan.batch);
  config.grid = static_cast<unsigned>(units < device.sm_count ? units : device.sm_count);
  config.block = static_cast<unsigned>(warps * ck::kWarp);
  config.shared_bytes = static_cast<unsigned>(fast_shared_floats(scan.features, kSplit, warps) * 4);
  config.pdl = device.major >= 9;
  config.stream = stream;
  return ck::launch<temporal_scan_fast<kSplit>>(config, scan);
}

static int forward(m2_temporal_scan_params p, int precision, void* stream) {
  if (!is_precision(precision)) return refuse(CK_BAD_ENUM, M2_ARG_precision);
  int error = check_forward(&p);
  if (error != 0 || p.batch == 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  const bool split = precision == M2_PRECISION_3XTF32;
  const int warps = forward_warps(p, split, device);
  if (warps == 0) return m2_temporal_scan_f32(&p, stream);
  Scan scan = make_scan(p);
  scan.out = p.out;
  scan.final_state = p.final_state;
  return split ? launch_forward<true>(scan, warps, device, stream)
               : launch_forward<false>(scan, warps, device, stream);
}

static bool can_fuse_fast(const m2_scan_backward_params& p, const ck::Device& device) {
  return is_of_one_tile(p, device) &&
         fits(fast_backward_floats(static_cast<int>(p.features)), device);
}

static bool is_fused_fast(const m2_scan_backward_params& p, const ck::Device& device) {
  return p.path != M2_BACKWARD_STAGED && can_fuse_fast(p, device);
}

template <bool kSplit>
static int launch_backward(const Scan& scan, const FastBack& back, const ck::LaunchConfig& config) {
  return ck::launch<scan_backward_fast<kSplit>>(config, scan, back);
}

static int backward(m2_scan_backward_params p, int precision, void* stream) {
  if (!is_precision(precision)) return refuse(CK_BAD_ENUM, M2_ARG_precision);
  int error = check_backward(&p);
  if (error == 0) error = check_backward_pointers(p);
  if (error != 0) return error;
  const Stages stages = stages_of(p);
  if (p.batch == 0 && !stages.weights) return 0;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  if (p.path == M2_BACKWARD_FUSED && !can_fuse_fast(p, device)) {
    return refuse(CK_UNSUPPORTED, M2_ARG_path);
  }
  if (p.batch == 0 || !is_fused_fast(p, device)) {
    if (p.path == M2_BACKWARD_FUSED) p.path = M2_BACKWARD_AUTO;
    return m2_scan_backward_f32(&p, stream);
  }
  float* const partials = static_cast<float*>(p.workspace);
  Scan scan = make_scan(p);
  scan.d_out = p.d_out;
  scan.d_final = p.d_final;
  scan.d_x0 = p.d_x0;
  const Partials part = partials_of(scan.batch);
  FastBack back{};
  back.partials = stages.weights ? partials : nullptr;
  back.d_history = p.d_history;
  back.d_current = p.d_current;
  back.tiles_each = part.tiles * (kTile / kFastSamples);
  back.wide = p.features % 4 == 0 && reinterpret_cast<uintptr_t>(p.d_history) % 16 == 0;
  ck::LaunchConfig config;
  config.pdl = device.major >= 9;
  config.stream = stream;
  config.grid = static_cast<unsigned>(part.count);
  config.block = kBackThreads;
  config.shared_bytes = static_cast<unsigned>(fast_backward_floats(scan.features) * 4);
  error = precision == M2_PRECISION_3XTF32 ? launch_backward<true>(scan, back, config)
                                           : launch_backward<false>(scan, back, config);
  config.shared_bytes = 0;
  return error != 0 || !stages.weights ? error : sum_gradients(p, partials, config);
}

}  // namespace mamba2_scan

extern "C" int m2_temporal_scan_fast_f32(const m2_temporal_scan_params* params, int32_t precision,
                                         void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_temporal_scan_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::forward(*params, precision, stream);
}

extern "C" int m2_scan_backward_fast_nodes(const m2_scan_backward_params* params) {
  if (params == nullptr || params->struct_size != sizeof(m2_scan_backward_params)) return 0;
  m2_scan_backward_params p = *params;
  if (mamba2_scan::check_backward(&p) != 0) return 0;
  ck::Device device;
  if (p.batch > 0 && ck::current_device(&device) == 0 && mamba2_scan::is_fused_fast(p, device)) {
    return mamba2_scan::stages_of(p).weights ? 2 : 1;
  }
  if (p.path == M2_BACKWARD_FUSED) p.path = M2_BACKWARD_AUTO;
  return m2_scan_backward_nodes(&p);
}

extern "C" int m2_scan_backward_fast_f32(const m2_scan_backward_params* params, int32_t precision,
                                         void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_scan_backward_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::backward(*params, precision, stream);
}
