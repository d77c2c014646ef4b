// The decode step on states of f32.
#include "state_update_launch.cuh"

namespace mamba2_scan {

int launch_update_f32(const Update& update, const UpdatePlan& plan, void* stream) {
  return launch_update<float>(update, plan, stream);
}

}  // namespace mamba2_scan
