// From a plan to the instance of a kernel: shared by the translation units of the state's types.
#pragma once

#include "state_update_plan.cuh"

namespace mamba2_scan {

template <typename State, typename Io>
static int launch_update_io(const Update& update, const UpdatePlan& plan, void* stream) {
  ck::LaunchConfig config;
  config.grid = plan.grid;
  config.block = kUpdateThreads;
  config.pdl = plan.pdl;
  config.stream = stream;
  if (plan.lanes == 0) return ck::launch<state_update_single<State, Io>>(config, update);
  if (plan.lanes == 16) return ck::launch<state_update<State, Io, 16, 1>>(config, update);
  if (update.state_dim <= ck::kWarp * kQuad) {
    return ck::launch<state_update<State, Io, 32, 1>>(config, update);
  }
  return ck::launch<state_update<State, Io, 32, 2>>(config, update);
}

template <typename State>
static int launch_update(const Update& update, const UpdatePlan& plan, void* stream) {
  return plan.io_is_bf16 ? launch_update_io<State, ck::bf16>(update, plan, stream)
                         : launch_update_io<State, float>(update, plan, stream);
}

}  // namespace mamba2_scan
