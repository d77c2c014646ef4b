// From a plan to the instance of a kernel: shared by the translation units of the state types.
#pragma once

#include "general.cuh"
#include "plan.cuh"
#include "scan_segments.cuh"
#include "step_segments.cuh"
#include "step_streamed.cuh"

namespace gdn {

template <typename S, int kK, int kV>
static int launch_segments(const Problem& p, const Plan& plan, ck::LaunchConfig config) {
  config.grid *= kV / kBlockColumns;
  if (plan.one_token) {
    config.block = kStepThreads<S>;
    return plan.fast ? ck::launch<step_segments<S, kK, kV, true>>(config, p)
                     : ck::launch<step_segments<S, kK, kV, false>>(config, p);
  }
  config.block = kScanThreads;
  config.shared_bytes = scan_bytes<kK>();
  return ck::launch<scan_segments<S, kK, kV>>(config, p);
}

template <typename S>
static int launch_state(const Problem& p, const Plan& plan, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(p.sequences) * p.value_heads;
  config.pdl = plan.pdl;
  config.stream = stream;
  if (plan.path == GDN_PATH_SEGMENTS) {
    if constexpr (sizeof(S) == sizeof(float)) {
      if (p.key_dim == 96) return launch_segments<S, 96, 192>(p, plan, config);
    }
    return launch_segments<S, 128, 128>(p, plan, config);
  }
  if (plan.path == GDN_PATH_STREAMED) {
    config.block = p.value_dim / kWordColumns<S>;
    config.shared_bytes = streamed_bytes(p.key_dim, p.value_dim, sizeof(S));
    return ck::launch<step_streamed<S>>(config, p);
  }
  const int tiles = (p.value_dim + kGeneralColumns - 1) / kGeneralColumns;
  config.grid *= tiles;
  config.block = ck::kWarp;
  config.shared_bytes = general_bytes(p.key_dim);
  return ck::launch<general<S>>(config, p, tiles);
}

}  // namespace gdn
