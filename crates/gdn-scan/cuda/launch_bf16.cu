// The kernels for states of bf16.
#include "launch.cuh"

namespace gdn {

int launch_bf16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_state<ck::bf16>(problem, plan, stream);
}

}  // namespace gdn
