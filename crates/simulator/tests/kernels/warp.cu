// Everything that the lanes of a warp do together, and named barriers between warps.
#include <ck/host.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>

namespace sim_kernels {

CK_KERNEL(32) warp_functions(const int* x, int* out) {
  CK_SHARED(int, slot, 32);
  const int lane = static_cast<int>(threadIdx.x);
  const int v = x[lane];
  int* row = out + lane;
  row[0 * 32] = __shfl_sync(0xffffffffu, v, (lane + 5) % 32);
  row[1 * 32] = __shfl_up_sync(0xffffffffu, v, 3, 8);
  row[2 * 32] = __shfl_down_sync(0xffffffffu, v, 3, 16);
  row[3 * 32] = __shfl_xor_sync(0xffffffffu, v, 9);
  row[4 * 32] = static_cast<int>(__ballot_sync(0xffffffffu, v % 3 == 0));
  row[5 * 32] = __any_sync(0xffffffffu, v == 1000) + 2 * __all_sync(0xffffffffu, v >= 0);
  row[6 * 32] = __reduce_add_sync(0xffffffffu, v) + __reduce_min_sync(0xffffffffu, v - 16) +
                __reduce_max_sync(0xffffffffu, v);
  row[7 * 32] = static_cast<int>(__match_any_sync(0xffffffffu, v % 4));
  // Half a warp at a time.
  int half = 0;
  if (lane < 16) {
    half =
        __shfl_xor_sync(CK_MUTANT(warp_mask_of_the_other_half) ? 0xffff0000u : 0x0000ffffu, v, 1);
  } else {
    half = __shfl_down_sync(0xffff0000u, v, CK_MUTANT(warp_reads_outside_mask) ? 24 : 2, 32);
    if (CK_MUTANT(warp_reads_outside_mask)) half = __shfl_sync(0xffff0000u, v, lane - 16);
  }
  row[8 * 32] = half;
  slot[lane] = v;
  // A shuffle orders no memory; __syncwarp does.
  if (CK_MUTANT(warp_shuffle_as_barrier)) {
    __shfl_sync(0xffffffffu, v, 0);
  } else if (!CK_MUTANT(warp_no_sync)) {
    __syncwarp();
  }
  row[9 * 32] = slot[31 - lane];
  if (CK_MUTANT(warp_exits_before_sync) && lane == 7) return;
  __syncwarp();
  if (CK_MUTANT(warp_sync_in_branch)) {
    if (lane < 16) __syncwarp();
  }
  // Pairs of lanes.
  __syncwarp(3u << (lane & ~1));
  slot[lane ^ 1] = v;
  if (!CK_MUTANT(warp_no_pair_sync)) __syncwarp(3u << (lane & ~1));
  row[10 * 32] = slot[lane];
}

// Warp 0 produces for warp 1; the rest of the block is not asked.
CK_KERNEL(96) warp_named_barrier(const int* x, int* out) {
  CK_SHARED(int, slot, 32);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 32) {
    slot[t] = x[t];
    ck_sim::barrier_arrive(1, 64);
  } else if (t < 64) {
    if (!CK_MUTANT(warp_no_named_barrier)) {
      ck_sim::barrier_sync(1, CK_MUTANT(warp_named_barrier_count) ? 32 : 64);
    }
    out[t - 32] = slot[63 - t];
  }
}

// Launched to overlap the kernel before it.
CK_KERNEL(32) warp_dependent(const int* x, int* out) {
  if (!CK_MUTANT(warp_no_dependency_wait)) ck::dependency_wait();
  out[threadIdx.x] = x[threadIdx.x];
}

}  // namespace sim_kernels

extern "C" int simk_warp(const int* x, int* out, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 32;
  config.stream = stream;
  return ck::launch<sim_kernels::warp_functions>(config, x, out);
}

extern "C" int simk_warp_named(const int* x, int* out, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 96;
  config.stream = stream;
  return ck::launch<sim_kernels::warp_named_barrier>(config, x, out);
}

extern "C" int simk_warp_dependent(const int* x, int* out, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 32;
  config.pdl = true;
  config.stream = stream;
  return ck::launch<sim_kernels::warp_dependent>(config, x, out);
}
