// The decode step on states of bf16.
#include "state_update_launch.cuh"

namespace mamba2_scan {

int launch_update_bf16(const Update& update, const UpdatePlan& plan, void* stream) {
  return launch_update<ck::bf16>(update, plan, stream);
}

}  // namespace mamba2_scan
