// The kernels for bf16 matrices.
#include "launch.cuh"

namespace reduce {

int sums_bf16(const Items& items, const Launch& launch) {
  return launch_sums<ck::bf16>(items, launch);
}

int moments_bf16(const Items& items, const MomentsOut& out, const Launch& launch) {
  return launch_moments<ck::bf16>(items, out, launch);
}

}  // namespace reduce
