// From a plan to the instance of a kernel: shared by the translation units of the state's types.
#pragma once

#include "state_update_plan.cuh"

namespace mamba2_scan {

template <typename State, typename Io, int kLanes, int kQuads>
static int launch_update_shape(const Update& update, const UpdatePlan& plan,
                               const ck::LaunchConfig& config) {
  if (plan.slots > 0) {
    return ck::launch<state_update_streamed<State, Io, kLanes, kQuads>>(config, update, plan.slots);
  }
  return ck::launch<state_update<State, Io, kLanes, kQuads>>(config, update);
}

template <typename State, typename Io>
static int launch_update_io(const Update& update, const UpdatePlan& plan, void* stream) {
  ck::LaunchConfig config;
  config.grid = plan.grid;
  config.block = plan.threads;
  config.shared_bytes = plan.shared_bytes;
  config.pdl = plan.pdl;
  config.stream = stream;
  if (plan.lanes == 0) return ck::launch<state_update_single<State, Io>>(config, update);
  if (plan.lanes == 16) return launch_update_shape<State, Io, 16, 1>(update, plan, config);
  if (update.state_dim <= ck::kWarp * kQuad) {
    return launch_update_shape<State, Io, 32, 1>(update, plan, config);
  }
  return launch_update_shape<State, Io, 32, 2>(update, plan, config);
}

template <typename State>
static int launch_update(const Update& update, const UpdatePlan& plan, void* stream) {
  return plan.io_is_bf16 ? launch_update_io<State, ck::bf16>(update, plan, stream)
                         : launch_update_io<State, float>(update, plan, stream);
}

}  // namespace mamba2_scan
