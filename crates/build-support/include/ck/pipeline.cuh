// Asynchronous copies into shared memory, named barriers, and programmatic dependent launch.
//
// The simulator lets copied data land only at the wait, and reports a kernel launched with `pdl`
// that touches global memory before dependency_wait().
#pragma once

#include <ck/platform.cuh>

namespace ck {

#if defined(CK_SIM)

using ck_sim::barrier_sync;
using ck_sim::copy_async_16;
using ck_sim::copy_async_4;
using ck_sim::copy_async_8;
using ck_sim::copy_async_commit;
using ck_sim::copy_async_wait;
using ck_sim::dependency_wait;

#else

// Barrier `id` (1..15; 0 is __syncthreads) among `threads` threads, whole warps.
CK_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Waits until the kernels that this one depends on have finished and their writes are visible, then
// lets the next kernel of the stream start its prologue. Every thread of every block calls it
// before its first global access; without the launch attribute, or below compute capability 9.0,
// it costs nothing.
//
// The two are one function, so that no kernel has them the other way round. A kernel that let the
// next one start before its own wait would let that one start while the kernel before last still
// runs, and lines which that one then draws into L1 could be hit, stale, after the wait.
CK_DEVICE void dependency_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

CK_DEVICE uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// cp.async from compute capability 8.0; a plain copy through a register below.
CK_DEVICE void copy_async_16(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
               "l"(global)
               : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}
CK_DEVICE void copy_async_8(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)), "l"(global)
               : "memory");
#else
  *static_cast<uint2*>(shared) = *static_cast<const uint2*>(global);
#endif
}
CK_DEVICE void copy_async_4(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global)
               : "memory");
#else
  *static_cast<uint32_t*>(shared) = *static_cast<const uint32_t*>(global);
#endif
}
CK_DEVICE void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most `kPending` of this thread's committed groups are still under way.
template <int kPending>
CK_DEVICE void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

#endif

}  // namespace ck
