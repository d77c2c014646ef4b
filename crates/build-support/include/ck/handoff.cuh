// Warps of a block with different work: one side says that something is there, the other waits.
// And copies that ask the cache for their neighbours too.
#pragma once

#include <ck/pipeline.cuh>

namespace ck {

#if defined(CK_SIM)

using ck_sim::barrier_arrive;

CK_DEVICE void copy_async_16_of_256(void* shared, const void* global) {
  copy_async_16(shared, global);
}

#else

// This thread's share of barrier `id` of `threads` threads, without waiting: what it wrote before,
// those in barrier_sync() see after.
CK_DEVICE void barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// copy_async_16 that draws the aligned 256 bytes around into the L2 cache: for rows that are read
// 128 bytes at a time, so that memory is not.
CK_DEVICE void copy_async_16_of_256(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(shared_address(shared)),
               "l"(global)
               : "memory");
#else
  copy_async_16(shared, global);
#endif
}

#endif

}  // namespace ck
