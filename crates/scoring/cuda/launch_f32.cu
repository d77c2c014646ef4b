// The row-scoring kernels for f32 queries and candidates.
#include "launch.cuh"

namespace scoring {

int launch_f32(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<float>(problem, plan, stream);
}

}  // namespace scoring
