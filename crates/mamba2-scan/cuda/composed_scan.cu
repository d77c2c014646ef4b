// C ABI of the composed path's scans: checks of the host arguments, launches.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "composed_scan.cuh"
#include "mamba2_scan.h"

namespace mamba2_scan {

// Sizes, which both params structs have by the same names.
template <typename Params>
static int check_composed_sizes(const Params& p) {
  constexpr int64_t kMost = M2_MAX_COMPOSED;
  if (p.readout < M2_READOUT_CONTEXT || p.readout > M2_READOUT_TILE_ADD) {
    return refuse(CK_BAD_ENUM, M2_ARG_readout);
  }
  if (p.batch < 0 || p.batch > kMost) return refuse(CK_BAD_SIZE, M2_ARG_batch);
  if (p.steps < 1 || p.steps > kMost) return refuse(CK_BAD_SIZE, M2_ARG_steps);
  if (p.features < 1 || p.features > kMost) return refuse(CK_BAD_SIZE, M2_ARG_features);
  if (p.states < 1 || p.states > kMost) return refuse(CK_BAD_SIZE, M2_ARG_states);
  // Quotients: the products may pass 64 bits.
  if (p.batch > kMost / p.features || p.batch > kMost / p.steps ||
      p.batch * p.steps > kMost / 2 / p.states) {
    return refuse(CK_BAD_SIZE, M2_ARG_batch);
  }
  return 0;
}

template <typename Params>
static int64_t composed_readout_extent(const Params& p) {
  return p.batch * (p.readout == M2_READOUT_CONTEXT ? p.states
                    : p.readout == M2_READOUT_SUM   ? 1
                                                    : p.features);
}

static ck::LaunchConfig composed_config(int64_t threads, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>((threads + kComposedThreads - 1) / kComposedThreads);
  config.block = kComposedThreads;
  config.stream = stream;
  return config;
}

static int composed_scan_f32(m2_composed_scan_params p, void* stream) {
  int error = check_composed_sizes(p);
  if (error == 0) {
    error = settle_stride(&p.current_stride, p.batch, p.features, M2_ARG_current_stride);
  }
  if (error != 0) return error;
  if (p.readout == M2_READOUT_SUM) return refuse(CK_UNSUPPORTED, M2_ARG_readout);
  if (p.out == nullptr && p.final_state == nullptr) return refuse(CK_NULL_POINTER, M2_ARG_out);
  const int64_t contexts = p.batch * p.states * 4;
  const bool adds = p.out != nullptr && p.readout == M2_READOUT_TILE_ADD;
  const Extent extents[] = {
      {p.projections, 2 * p.steps * contexts, 4, M2_ARG_projections, true},
      {p.readouts, contexts, 4, M2_ARG_readouts, p.out != nullptr},
      {p.current, span(p.batch, p.current_stride, p.features) * 4, 4, M2_ARG_current, adds},
      {p.bias_a, p.states * 4, 4, M2_ARG_bias_a, false},
      {p.bias_b, p.states * 4, 4, M2_ARG_bias_b, false},
      {p.bias_c, p.states * 4, 4, M2_ARG_bias_c, false},
      {p.x0, contexts, 4, M2_ARG_x0, false},
      {p.out, composed_readout_extent(p) * 4, 4, M2_ARG_out, false},
      {p.final_state, contexts, 4, M2_ARG_final_state, false},
  };
  constexpr int kFirstOutput = 7;
  error = check_extents(extents, kFirstOutput);
  if (error != 0 || p.batch == 0) return error;
  return ck::launch<composed_scan>(composed_config(p.batch * p.states, stream), p);
}

static int composed_scan_backward_f32(const m2_composed_scan_backward_params& p, void* stream) {
  int error = check_composed_sizes(p);
  if (error != 0) return error;
  const int64_t contexts = p.batch * p.states * 4;
  const Extent extents[] = {
      {p.bias_a, p.states * 4, 4, M2_ARG_bias_a, false},
      {p.bias_b, p.states * 4, 4, M2_ARG_bias_b, false},
      {p.bias_c, p.states * 4, 4, M2_ARG_bias_c, false},
      {p.x0, contexts, 4, M2_ARG_x0, false},
      {p.d_out, composed_readout_extent(p) * 4, 4, M2_ARG_d_out, true},
      {p.d_final, contexts, 4, M2_ARG_d_final, false},
      {p.projections, 2 * p.steps * contexts, 4, M2_ARG_projections, true},
      {p.readouts, contexts, 4, M2_ARG_readouts, true},
      {p.d_x0, contexts, 4, M2_ARG_d_x0, false},
  };
  constexpr int kFirstOutput = 6;
  error = check_extents(extents, kFirstOutput);
  if (error != 0 || p.batch == 0) return error;
  return ck::launch<composed_scan_backward>(composed_config(p.batch * p.states, stream), p);
}

}  // namespace mamba2_scan

extern "C" int m2_composed_scan_f32(const m2_composed_scan_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_composed_scan_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::composed_scan_f32(*params, stream);
}

extern "C" int m2_composed_scan_backward_f32(const m2_composed_scan_backward_params* params,
                                             void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_composed_scan_backward_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::composed_scan_backward_f32(*params, stream);
}
