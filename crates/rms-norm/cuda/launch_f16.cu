// The norm kernels for f16 rows.
#include "launch.cuh"

namespace rms {

int launch_f16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<ck::f16>(problem, plan, stream);
}

}  // namespace rms
