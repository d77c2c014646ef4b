// From a plan to the instance of a kernel: shared by the translation units of the element types.
#pragma once

#include "norm_block.cuh"
#include "norm_cluster.cuh"
#include "norm_options.cuh"
#include "norm_warp.cuh"
#include "plan.cuh"

namespace rms {

template <typename T>
static int launch_plain(const Problem& problem, const Plan& plan, const ck::LaunchConfig& config) {
  constexpr int kV = kFullGroup<T>;
  if (plan.choice.path == RMS_PATH_BLOCK) {
    return plan.held == kFewHeld ? ck::launch<norm_block<T, kV, kFewHeld>>(config, problem)
                                 : ck::launch<norm_block<T, kV, kManyHeld>>(config, problem);
  }
  if (plan.choice.path != RMS_PATH_WARP) {
    return ck::launch<norm_cluster<T>>(config, problem, plan.log_cluster);
  }
  if (problem.n <= kShortColumns) {
    return ck::launch<norm_warp<T, kV, kShortColumns / kV, 1, kNarrowThreads>>(config, problem);
  }
  constexpr int kSpan = ck::kWarp * kV;
  if (problem.n <= kNarrowThreads) {
    constexpr int kHeld = kNarrowThreads / kSpan;
    return ck::launch<norm_warp<T, kV, ck::kWarp, kHeld, kNarrowThreads>>(config, problem);
  }
  constexpr int kHeld = kWideColumns / kSpan;
  return problem.n < kWideColumns
             ? ck::launch<norm_warp<T, kV, ck::kWarp, kHeld, kNarrowThreads>>(config, problem)
             : ck::launch<norm_warp<T, kV, ck::kWarp, kHeld, kWideColumns>>(config, problem);
}

template <typename T>
static int launch_residual(const Problem& problem, const Plan& plan,
                           const ck::LaunchConfig& config) {
  if (plan.held == kFewHeld) {
    return ck::launch<norm_residual<T, kGroup, kFewHeld>>(config, problem);
  }
  return ck::launch<norm_residual<T, kFullGroup<T>, kManyHeld>>(config, problem);
}

template <typename T>
static int launch_options(const Problem& problem, const Plan& plan,
                          const ck::LaunchConfig& config) {
  const int log_cluster = plan.log_cluster;
  if (plan.choice.path == RMS_PATH_BLOCK) {
    return plan.group == kGroup
               ? ck::launch<norm_options<T, kGroup, false>>(config, problem, log_cluster)
               : ck::launch<norm_options<T, 1, false>>(config, problem, log_cluster);
  }
  if (plan.choice.path != RMS_PATH_WARP) {
    return ck::launch<norm_options<T, 1, true>>(config, problem, log_cluster);
  }
  if (plan.wide) return ck::launch<norm_options_wide<T>>(config, problem);
  return plan.group == kGroup ? ck::launch<norm_options_narrow<T, kGroup>>(config, problem)
                              : ck::launch<norm_options_narrow<T, 1>>(config, problem);
}

template <typename T>
static int launch_type(const Problem& problem, const Plan& plan, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(plan.choice.blocks);
  config.block = plan.choice.threads;
  config.cluster = 1 << plan.log_cluster;
  config.pdl = plan.pdl;
  config.stream = stream;
  switch (plan.choice.kind) {
    case RMS_PLAN_PLAIN:
      return launch_plain<T>(problem, plan, config);
    case RMS_PLAN_RESIDUAL:
      return launch_residual<T>(problem, plan, config);
    default:
      return launch_options<T>(problem, plan, config);
  }
}

}  // namespace rms
