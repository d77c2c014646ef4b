// The kernels for states of f32.
#include "launch.cuh"

namespace gdn {

int launch_f32(const Problem& problem, const Plan& plan, void* stream) {
  return launch_state<float>(problem, plan, stream);
}

}  // namespace gdn
