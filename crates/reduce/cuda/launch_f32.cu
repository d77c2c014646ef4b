// The kernels for f32 matrices.
#include "launch.cuh"

namespace reduce {

int sums_f32(const Items& items, const Launch& launch) { return launch_sums<float>(items, launch); }

int moments_f32(const Items& items, const MomentsOut& out, const Launch& launch) {
  return launch_moments<float>(items, out, launch);
}

}  // namespace reduce
