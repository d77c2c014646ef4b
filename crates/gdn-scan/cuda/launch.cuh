// From a plan to the instance of a kernel: shared by the translation units of the state types.
#pragma once

#include "general.cuh"
#include "plan.cuh"
#include "scan_segments.cuh"
#include "step_segments.cuh"
#include "step_streamed.cuh"

namespace gdn {

template <typename S, int kDtype, int kK, int kV>
static int launch_step_segments(const Problem& p, const Plan& plan,
                                const ck::LaunchConfig& config) {
  return plan.fast ? ck::launch<step_segments<S, kDtype, kK, kV, true>>(config, p)
                   : ck::launch<step_segments<S, kDtype, kK, kV, false>>(config, p);
}

template <typename S, int kK, int kV>
static int launch_segments(const Problem& p, const Plan& plan, ck::LaunchConfig config) {
  config.grid *= kV / kBlockColumns;
  if (!plan.one_token) {
    config.block = kScanThreads;
    config.shared_bytes = sizeof(ScanShared<kK>);
    return p.snapshots != nullptr ? ck::launch<scan_segments<S, kK, kV, true>>(config, p)
                                  : ck::launch<scan_segments<S, kK, kV, false>>(config, p);
  }
  config.block = kStepThreads<S>;
  switch (p.dtype) {
    case GDN_F32:
      return launch_step_segments<S, GDN_F32, kK, kV>(p, plan, config);
    case GDN_BF16:
      return launch_step_segments<S, GDN_BF16, kK, kV>(p, plan, config);
    default:
      return launch_step_segments<S, GDN_F16, kK, kV>(p, plan, config);
  }
}

template <typename S, int kDtype>
static int launch_step_streamed(const Problem& p, const ck::LaunchConfig& config) {
  return p.key_dim == 128 && p.value_dim == 128
             ? ck::launch<step_streamed<S, kDtype, true>>(config, p)
             : ck::launch<step_streamed<S, kDtype, false>>(config, p);
}

template <typename S>
static int launch_streamed(const Problem& p, ck::LaunchConfig config) {
  config.block = p.value_dim / kWordColumns<S>;
  config.shared_bytes = streamed_bytes(p.key_dim, p.value_dim, sizeof(S));
  // Two blocks a multiprocessor, or more than three.
  if (config.shared_bytes > kQuarter && config.shared_bytes < kOverThird) {
    config.shared_bytes = kOverThird;
  }
  switch (p.dtype) {
    case GDN_F32:
      return launch_step_streamed<S, GDN_F32>(p, config);
    case GDN_BF16:
      return launch_step_streamed<S, GDN_BF16>(p, config);
    default:
      return launch_step_streamed<S, GDN_F16>(p, config);
  }
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
  if (plan.path == GDN_PATH_STREAMED) return launch_streamed<S>(p, config);
  const int tiles = (p.value_dim + kGeneralColumns - 1) / kGeneralColumns;
  config.grid *= tiles;
  config.block = ck::kWarp;
  config.shared_bytes = general_bytes(p.key_dim);
  return ck::launch<general<S>>(config, p, tiles);
}

}  // namespace gdn
