// The decode step on states of f16.
#include "state_update_launch.cuh"

namespace mamba2_scan {

int launch_update_f16(const Update& update, const UpdatePlan& plan, void* stream) {
  return launch_update<ck::f16>(update, plan, stream);
}

}  // namespace mamba2_scan
