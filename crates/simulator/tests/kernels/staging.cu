// Tiles staged through shared memory with cp.async, two at a time.
#include <ck/host.cuh>
#include <ck/pipeline.cuh>

namespace sim_kernels {

constexpr int kTile = 256;  // floats; a float4 a thread

CK_KERNEL(64) staging_sum(const float* x, float* out, int tiles) {
  CK_DYNAMIC_SHARED(float, stage);
  const int t = static_cast<int>(threadIdx.x);
  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      ck::copy_async_16(stage + (tile % 2) * kTile + 4 * t, x + tile * kTile + 4 * t);
    }
    ck::copy_async_commit();
  };
  float sum = 0.0f;
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    if (CK_MUTANT(staging_waits_for_too_few)) {
      ck::copy_async_wait<2>();
    } else if (!CK_MUTANT(staging_no_wait)) {
      ck::copy_async_wait<1>();
    }
    if (!CK_MUTANT(staging_no_barrier_after_wait)) __syncthreads();
    // Another thread's four floats.
    const float* from = stage + (tile % 2) * kTile + 4 * (63 - t);
    for (int i = 0; i < 4; ++i) sum = __fadd_rn(sum, from[i]);
    if (!CK_MUTANT(staging_no_barrier_before_reuse)) __syncthreads();
  }
  out[t] = sum;
}

}  // namespace sim_kernels

extern "C" int simk_staging(const float* x, float* out, int tiles, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 64;
  config.shared_bytes = (CK_MUTANT(staging_one_stage) ? 1 : 2) * sim_kernels::kTile * sizeof(float);
  config.stream = stream;
  return ck::launch<sim_kernels::staging_sum>(config, x, out, tiles);
}
