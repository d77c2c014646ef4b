// What a thread step and a checked access cost.
#include <ck/host.cuh>
#include <ck/tree.cuh>

namespace sim_kernels {

CK_KERNEL(1024) cost(int kind, int steps, float* memory) {
  CK_SHARED(float, row, 1024);
  const unsigned t = threadIdx.x;
  float x = static_cast<float>(t);
  row[t] = x;
  switch (kind) {
    case 0:
      for (int i = 0; i < steps; ++i) __syncwarp();
      break;
    case 1:
      for (int i = 0; i < steps; ++i) x = __shfl_xor_sync(0xffffffffu, x, 1);
      break;
    case 2:
      for (int i = 0; i < steps; ++i) __syncthreads();
      break;
    case 3:  // a read and a write of shared memory
      for (int i = 0; i < steps; ++i) {
        row[t] = __fadd_rn(row[t], 1.0f);
        asm volatile("" ::: "memory");
      }
      break;
    case 4:  // a read and a write of global memory
      for (int i = 0; i < steps; ++i) {
        memory[t] = __fadd_rn(memory[t], 1.0f);
        asm volatile("" ::: "memory");
      }
      break;
    default:  // all threads read the same, after a barrier
      __syncthreads();
      for (int i = 0; i < steps; ++i) {
        x = __fadd_rn(x, row[i % 1024 % blockDim.x]);
        asm volatile("" ::: "memory");
      }
      break;
  }
  memory[t] = __fadd_rn(memory[t], x);
}

}  // namespace sim_kernels

extern "C" int simk_cost(int kind, int steps, int threads, float* memory, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = static_cast<unsigned>(threads);
  config.stream = stream;
  return ck::launch<sim_kernels::cost>(config, kind, steps, memory);
}
