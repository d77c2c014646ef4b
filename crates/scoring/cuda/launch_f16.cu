// The row-scoring kernels for f16 queries and candidates.
#include "launch.cuh"

namespace scoring {

int launch_f16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<ck::f16>(problem, plan, stream);
}

}  // namespace scoring
