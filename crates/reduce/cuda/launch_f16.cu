// The kernels for f16 matrices.
#include "launch.cuh"

namespace reduce {

int sums_f16(const Items& items, const Launch& launch) {
  return launch_sums<ck::f16>(items, launch);
}

int moments_f16(const Items& items, const MomentsOut& out, const Launch& launch) {
  return launch_moments<ck::f16>(items, out, launch);
}

}  // namespace reduce
