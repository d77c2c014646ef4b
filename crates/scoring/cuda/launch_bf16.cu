// The row-scoring kernels for bf16 queries and candidates.
#include "launch.cuh"

namespace scoring {

int launch_bf16(const Problem& problem, const Plan& plan, void* stream) {
  return launch_type<ck::bf16>(problem, plan, stream);
}

}  // namespace scoring
