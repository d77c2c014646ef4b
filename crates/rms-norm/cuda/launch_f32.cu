// The norm kernels for f32 rows.
#include "launch.cuh"

namespace rms {

int launch_f32(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<float>(problem, plan, stream);
}

}  // namespace rms
