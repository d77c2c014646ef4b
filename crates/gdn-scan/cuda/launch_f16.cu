// The kernels for states of f16.
#include "launch.cuh"

namespace gdn {

int launch_f16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_state<ck::f16>(problem, plan, stream);
}

}  // namespace gdn
