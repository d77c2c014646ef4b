// The norm kernels for bf16 rows.
#include "launch.cuh"

namespace rms {

int launch_bf16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<ck::bf16>(problem, plan, stream);
}

}  // namespace rms
