// Every block waits for the next, and the last for the first, so that all must be resident at once:
// only a cooperative launch may do so.
#include <ck/host.cuh>
#include <ck/memory.cuh>

namespace sim_kernels {

CK_KERNEL(64) meeting(uint32_t* arrived, uint32_t* out) {
  if (threadIdx.x == 0) ck::store_release(arrived + blockIdx.x, 1u);
  if (threadIdx.x != 63) return;
  while (ck::load_acquire(arrived + (blockIdx.x + 1) % gridDim.x) == 0) ck::spin_hint();
  atomicAdd(out, 1u);
}

}  // namespace sim_kernels

extern "C" int simk_meeting(uint32_t* arrived, uint32_t* out, unsigned blocks, void* stream) {
  ck::LaunchConfig config;
  config.grid = blocks;
  config.block = 64;
  config.cooperative = true;
  config.stream = stream;
  return ck::launch<sim_kernels::meeting>(config, arrived, out);
}

extern "C" int simk_meeting_resident(unsigned shared_bytes) {
  ck::LaunchConfig config;
  config.block = 64;
  config.shared_bytes = shared_bytes;
  int blocks = 0;
  const int error = ck::resident_blocks<sim_kernels::meeting>(config, &blocks);
  return error != 0 ? -error : blocks;
}
