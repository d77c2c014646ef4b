// A copy that takes four floats at a time where the addresses allow it, and a 16-bit one.
#include <ck/host.cuh>
#include <ck/memory.cuh>

namespace sim_kernels {

CK_KERNEL(32) vector_copy(const float* x, float* out, int n) {
  const int t = static_cast<int>(threadIdx.x);
  const bool aligned =
      reinterpret_cast<uintptr_t>(x) % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0;
  int done = 0;
  if (aligned || CK_MUTANT(vector_at_any_alignment)) {
    done = n / 4 * 4;
    for (int i = 4 * t; i < done; i += 128) {
      if (CK_MUTANT(vector_through_pointer)) {
        *reinterpret_cast<float4*>(out + i + 1) = *reinterpret_cast<const float4*>(x + i);
      } else {
        ck::store_stream(reinterpret_cast<float4*>(out + i),
                         ck::load_nc(reinterpret_cast<const float4*>(x + i)));
      }
    }
  }
  for (int i = done + t; i < n + (CK_MUTANT(vector_tail_too_long) ? 1 : 0); i += 32) out[i] = x[i];
  if (CK_MUTANT(vector_writes_input) && t == 0) const_cast<float*>(x)[0] = 1.0f;
  if (CK_MUTANT(vector_reads_output) && t == 0) out[0] = out[0] == 3.0f ? 1.0f : x[0];
}

// Neighbours write the halves of one word: no race.
CK_KERNEL(64) vector_halves(const uint16_t* x, uint16_t* out) {
  CK_SHARED(uint16_t, row, 64);
  row[threadIdx.x] = x[threadIdx.x];
  if (!CK_MUTANT(vector_halves_no_barrier)) __syncthreads();
  out[threadIdx.x] = row[63 - threadIdx.x];
}

}  // namespace sim_kernels

extern "C" int simk_vector(const float* x, float* out, int n, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 32;
  config.stream = stream;
  return ck::launch<sim_kernels::vector_copy>(config, x, out, n);
}

extern "C" int simk_vector_halves(const uint16_t* x, uint16_t* out, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 64;
  config.stream = stream;
  return ck::launch<sim_kernels::vector_halves>(config, x, out);
}
