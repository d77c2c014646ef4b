// A bulk copy in, doubled in place, and a bulk copy out.
#include <ck/host.cuh>

namespace sim_kernels {

CK_KERNEL(64) bulk_double(const float* x, float* out) {
  CK_SHARED(float, tile, 256);
  CK_SHARED(uint64_t, barrier, 1);
  const unsigned t = threadIdx.x;
  if (t == 0) ck_sim::mbarrier_init(barrier, 1);
  if (!CK_MUTANT(bulk_no_barrier_after_init)) __syncthreads();
  if (t == 0) {
    ck_sim::mbarrier_arrive_expect_tx(barrier, CK_MUTANT(bulk_expects_more) ? 2048 : 1024);
    ck_sim::bulk_load(tile, x + blockIdx.x * 256, 1024, barrier);
  }
  if (!CK_MUTANT(bulk_no_wait)) ck_sim::mbarrier_wait(barrier, 0);
  for (int i = 0; i < 4; ++i) tile[64 * i + t] = __fmul_rn(tile[64 * i + t], 2.0f);
  if (!CK_MUTANT(bulk_no_proxy_fence)) ck_sim::fence_async_shared();
  if (!CK_MUTANT(bulk_no_barrier_before_store)) __syncthreads();
  if (t == 0) {
    ck_sim::bulk_store(out + blockIdx.x * 256, tile, 1024);
    ck_sim::bulk_commit();
    if (!CK_MUTANT(bulk_no_store_wait)) ck_sim::bulk_wait_read<0>();
  }
}

}  // namespace sim_kernels

extern "C" int simk_bulk(const float* x, float* out, int blocks, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = 64;
  config.stream = stream;
  return ck::launch<sim_kernels::bulk_double>(config, x, out);
}
