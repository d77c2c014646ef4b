// A sum over blocks: each writes its part, and the block that draws the last ticket adds them up.
#include <ck/host.cuh>
#include <ck/memory.cuh>
#include <ck/tree.cuh>

namespace sim_kernels {

CK_KERNEL(64) ticket_sum(const float* x, float* parts, unsigned* ticket, float* out) {
  CK_SHARED(bool, is_last, 1);
  // Each thread writes a part of its own: the barrier is what makes the ticket speak for all.
  parts[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  if (!CK_MUTANT(ticket_no_barrier)) __syncthreads();
  if (threadIdx.x == 0) {
    if (!CK_MUTANT(ticket_no_release_fence)) {
      if (CK_MUTANT(ticket_block_fence)) {
        __threadfence_block();
      } else {
        __threadfence();
      }
    }
    is_last[0] = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    if (!CK_MUTANT(ticket_no_acquire_fence)) __threadfence();
  }
  __syncthreads();
  if (!is_last[0]) return;
  float sum = 0.0f;
  for (unsigned b = 0; b < gridDim.x; ++b) {
    sum = __fadd_rn(sum, ck::load_cg(parts + b * 64 + threadIdx.x));
  }
  out[threadIdx.x] = sum;
}

}  // namespace sim_kernels

extern "C" int simk_ticket(const float* x, float* parts, unsigned* ticket, float* out, int blocks,
                           void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = 64;
  config.stream = stream;
  return ck::launch<sim_kernels::ticket_sum>(config, x, parts, ticket, out);
}
