// Loads, stores, prefetches and gpu-scope synchronisation that CUDA C++ has no function for.
//
// T is 1, 2, 4, 8 or 16 bytes and the pointer is aligned to it. Cache hints never change values.
#pragma once

#include <ck/platform.cuh>

namespace ck {

#if defined(CK_SIM)

using ck_sim::load_acquire;
using ck_sim::load_cg;
using ck_sim::load_nc;
using ck_sim::load_relaxed;
using ck_sim::load_relaxed_pair;
using ck_sim::load_stream;
using ck_sim::prefetch_l2;
using ck_sim::spin_hint;
using ck_sim::store_relaxed;
using ck_sim::store_relaxed_pair;
// The recorded runs are of this order.
// clang-format off
using ck_sim::WordPair;
// clang-format on
using ck_sim::store_release;
using ck_sim::store_stream;

#else

// Read-only for the whole kernel; through the texture path, kept in L1.
template <typename T>
CK_DEVICE T load_nc(const T* p) {
  return __ldg(p);
}

// Read once: evicted first.
template <typename T>
CK_DEVICE T load_stream(const T* p) {
  return __ldcs(p);
}

// Past L1, which is not coherent: for data that other blocks of this launch wrote.
template <typename T>
CK_DEVICE T load_cg(const T* p) {
  return __ldcg(p);
}

// Written once and not read again by this kernel.
template <typename T>
CK_DEVICE void store_stream(T* p, T value) {
  __stcs(p, value);
}

CK_DEVICE void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

CK_DEVICE uint32_t load_relaxed(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
CK_DEVICE uint64_t load_relaxed(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
CK_DEVICE void store_relaxed(uint32_t* p, uint32_t v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
CK_DEVICE void store_relaxed(uint64_t* p, uint64_t v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
// Two neighbouring words in one access of 16 bytes, to which p is aligned. Each word is one access
// of its own, in no order with the other.
struct WordPair {
  uint64_t first;
  uint64_t second;
};
CK_DEVICE WordPair load_relaxed_pair(const uint64_t* p) {
  WordPair v;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(v.first), "=l"(v.second)
               : "l"(p)
               : "memory");
  return v;
}
CK_DEVICE void store_relaxed_pair(uint64_t* p, WordPair v) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.first), "l"(v.second)
               : "memory");
}
CK_DEVICE uint32_t load_acquire(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
CK_DEVICE void store_release(uint32_t* p, uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// In the body of a loop that waits for another block. The simulator runs other blocks here.
CK_DEVICE void spin_hint() {}

#endif

}  // namespace ck
