// From a plan to the instance of a kernel: shared by the translation units of the element types.
#pragma once

#include "norm_block.cuh"
#include "norm_warp.cuh"
#include "plan.cuh"

namespace rms {

template <typename T, bool kPlain>
static int launch_warps(const Problem& problem, const Plan& plan, const ck::LaunchConfig& config) {
  if (plan.wide) return ck::launch<norm_warp<T, 8, 1, true, kPlain>>(config, problem);
  if constexpr (kPlain) {
    if (plan.held == 1) return ck::launch<norm_warp<T, 1, 4, false, true>>(config, problem);
    if (plan.held == 2) return ck::launch<norm_warp<T, 2, 2, false, true>>(config, problem);
  }
  return ck::launch<norm_warp<T, 8, 1, false, kPlain>>(config, problem);
}

template <typename T, bool kPlain>
static int launch_blocks(const Problem& problem, const Plan& plan, const ck::LaunchConfig& config) {
  if constexpr (kPlain) {
    if (plan.held == 4) return ck::launch<norm_block<T, 4, 4, true>>(config, problem);
  }
  return ck::launch<norm_block<T, 4, 8, kPlain>>(config, problem);
}

template <typename T, bool kPlain>
static int launch_path(const Problem& problem, const Plan& plan, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(plan.choice.blocks);
  config.block = plan.choice.threads;
  config.cluster = 1 << plan.log_cluster;
  config.pdl = plan.pdl;
  config.stream = stream;
  switch (plan.choice.path) {
    case RMS_PATH_WARP:
      return launch_warps<T, kPlain>(problem, plan, config);
    case RMS_PATH_BLOCK:
      return launch_blocks<T, kPlain>(problem, plan, config);
    default:
      return ck::launch<norm_cluster<T, 2, 16, kPlain>>(config, problem, plan.log_cluster);
  }
}

template <typename T>
static int launch_type(const Problem& problem, const Plan& plan, void* stream) {
  return plan.choice.plain != 0 ? launch_path<T, true>(problem, plan, stream)
                                : launch_path<T, false>(problem, plan, stream);
}

}  // namespace rms
