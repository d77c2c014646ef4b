// Thread block clusters and distributed shared memory (compute capability 9.0).
//
// On older architectures these compile to a trap: the host never launches a cluster kernel there.
// A block must not exit while a peer may still touch its shared memory, and must not touch a
// peer's before that peer has started: one barrier orders each.
#pragma once

#include <ck/platform.cuh>

namespace ck {

#if defined(CK_SIM)

using ck_sim::cluster_arrive;
using ck_sim::cluster_arrive_relaxed;
using ck_sim::cluster_map;
using ck_sim::cluster_rank;
using ck_sim::cluster_size;
using ck_sim::cluster_wait;

#else

CK_DEVICE unsigned cluster_rank() {
#if __CUDA_ARCH__ >= 900
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

CK_DEVICE unsigned cluster_size() {
#if __CUDA_ARCH__ >= 900
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
#else
  return 1;
#endif
}

// Arrive with release semantics: what this thread wrote before is visible after the peers' wait.
CK_DEVICE void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
  __trap();
#endif
}

// Arrive without publishing memory: says only "this block has started".
CK_DEVICE void cluster_arrive_relaxed() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  __trap();
#endif
}

CK_DEVICE void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __trap();
#endif
}

// The address, in block `rank` of this cluster, of the shared object that `local` is in this one.
template <typename T>
CK_DEVICE T* cluster_map(T* local, unsigned rank) {
#if __CUDA_ARCH__ >= 900
  uint64_t remote;
  asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(reinterpret_cast<uint64_t>(local)), "r"(rank));
  return reinterpret_cast<T*>(remote);
#else
  __trap();
  return local;
#endif
}

#endif

CK_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

}  // namespace ck
