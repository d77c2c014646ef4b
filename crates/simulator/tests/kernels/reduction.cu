// A block sum: butterfly in each warp, one value a warp through shared memory.
#include <ck/host.cuh>
#include <ck/memory.cuh>
#include <ck/tree.cuh>

namespace sim_kernels {

CK_KERNEL(1024) block_sum(const float* x, float* out, int n) {
  CK_SHARED(float, partial, 32);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n + (CK_MUTANT(sum_reads_one_more) ? 1 : 0); i += blockDim.x) {
    sum = __fadd_rn(sum, x[blockIdx.x * n + i]);
  }
  if (CK_MUTANT(sum_half_mask)) {
    for (int step = 16; step > 0; step /= 2) {
      sum = __fadd_rn(sum, __shfl_xor_sync(0x0000ffffu, sum, step));
    }
  } else {
    sum = ck::warp_sum(sum);
  }
  const unsigned warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0 && !(CK_MUTANT(sum_partial_not_written) && warp == warps - 1)) {
    partial[warp] = sum;
  }
  if (CK_MUTANT(sum_divergent_barrier)) {
    if (warp == 0) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  } else if (CK_MUTANT(sum_barrier_skipped_by_some)) {
    if (warp != 1) __syncthreads();
  } else if (!CK_MUTANT(sum_no_barrier)) {
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (unsigned w = 0; w < warps; ++w) total = __fadd_rn(total, partial[w]);
    out[blockIdx.x + (CK_MUTANT(sum_writes_one_behind) && blockIdx.x == gridDim.x - 1 ? 1 : 0)] =
        total;
  }
}

}  // namespace sim_kernels

extern "C" int simk_block_sum(const float* x, float* out, int n, int blocks, int threads,
                              void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = static_cast<unsigned>(threads);
  config.stream = stream;
  return ck::launch<sim_kernels::block_sum>(config, x, out, n);
}
