// Shared memory, loads and stores with hints, atomics, fences, asynchronous copies.
#pragma once

#include <ck_sim/threads.h>

#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
// g++ instruments no calls of these; clang calls functions of its own.
extern "C" void* memcpy(void*, const void*, size_t) noexcept __asm__("ck_sim_memcpy");
extern "C" void* memmove(void*, const void*, size_t) noexcept __asm__("ck_sim_memcpy");
extern "C" void* memset(void*, int, size_t) noexcept __asm__("ck_sim_memset");
#endif

namespace ck_sim {

// The actual access, out of the compiler's instrumentation: what calls it has told the runtime.
// Without noipa g++ may move the load into the caller, and instrument it there.
#if defined(__clang__)
#define CK_SIM_RAW static __attribute__((noinline, no_sanitize("thread", "undefined")))
#else
#define CK_SIM_RAW \
  static __attribute__((noinline, noipa, no_sanitize("thread"), no_sanitize("undefined")))
#endif

// Shared memory. `site` is an address of its own for each declaration.
void* shared_array_bytes(const void* site, size_t bytes, size_t alignment);
void* dynamic_shared_bytes();
template <typename T>
CK_SIM_INLINE T* shared_array(const void* site, size_t count) {
  // CK_SHARED promises 16 bytes on the GPU, and so exactly that here.
  return static_cast<T*>(
      shared_array_bytes(site, count * sizeof(T), alignof(T) > 16 ? alignof(T) : 16));
}
template <typename T>
CK_SIM_INLINE T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_bytes());
}

__attribute__((pure)) bool mutant_active(const char* name);

// How an access is meant, for the checks of the runtime.
enum class Access : uint8_t {
  kRead,
  kReadConstant,  // through the non-coherent path: nothing may write it in this launch
  kWrite,
  kAtomicRead,
  kAtomicWrite,
  kAtomicUpdate,
  kAcquireRead,
  kReleaseWrite,
};
// Alignment, bounds, initialisation, races. Does not touch the data.
void note_access(const void* p, size_t bytes, Access access);
// Told after an atomic store or update, with whether the value in memory became another.
void note_change(bool changed);

template <typename T>
CK_SIM_RAW T raw_load(const T* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}
template <typename T>
CK_SIM_RAW void raw_store(T* p, T value) {
  __builtin_memcpy(p, &value, sizeof(T));
}
template <typename T>
CK_SIM_INLINE T noted_load(const T* p, Access access) {
  note_access(p, sizeof(T), access);
  return raw_load(p);
}
template <typename T>
CK_SIM_INLINE void noted_store(T* p, T value, Access access) {
  note_access(p, sizeof(T), access);
  if (access != Access::kWrite) {
    const T before = raw_load(p);
    note_change(__builtin_memcmp(&before, &value, sizeof(T)) != 0);
  }
  raw_store(p, value);
}

template <typename T>
CK_SIM_INLINE T load_nc(const T* p) {
  return noted_load(p, Access::kReadConstant);
}
template <typename T>
CK_SIM_INLINE T load_stream(const T* p) {
  return noted_load(p, Access::kRead);
}
template <typename T>
CK_SIM_INLINE T load_cg(const T* p) {
  return noted_load(p, Access::kRead);
}
template <typename T>
CK_SIM_INLINE void store_stream(T* p, T value) {
  noted_store(p, value, Access::kWrite);
}
CK_SIM_INLINE void prefetch_l2(const void*) {}

CK_SIM_INLINE uint32_t load_relaxed(const uint32_t* p) {
  return noted_load(p, Access::kAtomicRead);
}
CK_SIM_INLINE uint64_t load_relaxed(const uint64_t* p) {
  return noted_load(p, Access::kAtomicRead);
}
CK_SIM_INLINE void store_relaxed(uint32_t* p, uint32_t v) {
  noted_store(p, v, Access::kAtomicWrite);
}
CK_SIM_INLINE void store_relaxed(uint64_t* p, uint64_t v) {
  noted_store(p, v, Access::kAtomicWrite);
}
struct alignas(16) WordPair {
  uint64_t first;
  uint64_t second;
};
CK_SIM_INLINE WordPair load_relaxed_pair(const uint64_t* p) {
  note_access(p, sizeof(WordPair), Access::kAtomicRead);
  return {raw_load(p), raw_load(p + 1)};
}
CK_SIM_INLINE void store_relaxed_pair(uint64_t* p, WordPair v) {
  note_access(p, sizeof(WordPair), Access::kAtomicWrite);
  note_change(raw_load(p) != v.first || raw_load(p + 1) != v.second);
  raw_store(p, v.first);
  raw_store(p + 1, v.second);
}
CK_SIM_INLINE uint32_t load_acquire(const uint32_t* p) {
  return noted_load(p, Access::kAcquireRead);
}
CK_SIM_INLINE uint64_t load_acquire(const uint64_t* p) {
  return noted_load(p, Access::kAcquireRead);
}
CK_SIM_INLINE void store_release(uint32_t* p, uint32_t v) {
  noted_store(p, v, Access::kReleaseWrite);
}
CK_SIM_INLINE void store_release(uint64_t* p, uint64_t v) {
  noted_store(p, v, Access::kReleaseWrite);
}

// A relaxed read-modify-write. Threads run one at a time, so nothing comes between.
template <typename T, typename F>
CK_SIM_INLINE T atomic_update(T* p, F next) {
  note_access(p, sizeof(T), Access::kAtomicUpdate);
  const T before = raw_load(p);
  const T after = next(before);
  note_change(__builtin_memcmp(&before, &after, sizeof(T)) != 0);
  raw_store(p, after);
  return before;
}

enum class Fence : uint8_t { kBlock, kDevice, kSystem };
void fence(Fence scope);

// cp.async: the destination holds poison until the thread waits.
void copy_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes);
void copy_async_commit();
void copy_async_wait_pending(unsigned pending);
CK_SIM_INLINE void copy_async_16(void* shared, const void* global) {
  copy_async(shared, global, 16, 16);
}
CK_SIM_INLINE void copy_async_8(void* shared, const void* global) {
  copy_async(shared, global, 8, 8);
}
CK_SIM_INLINE void copy_async_4(void* shared, const void* global) {
  copy_async(shared, global, 4, 4);
}
template <int kPending>
CK_SIM_INLINE void copy_async_wait() {
  copy_async_wait_pending(kPending);
}
CK_SIM_INLINE void copy_async_wait_all() { copy_async_wait_pending(0); }

// mbarriers in shared memory, and the bulk copies that complete on them.
void mbarrier_init(uint64_t* barrier, unsigned count);
void mbarrier_inval(uint64_t* barrier);
void mbarrier_arrive(uint64_t* barrier);
void mbarrier_expect_tx(uint64_t* barrier, unsigned bytes);
void mbarrier_arrive_expect_tx(uint64_t* barrier, unsigned bytes);
bool mbarrier_test_wait(uint64_t* barrier, unsigned parity);
void mbarrier_wait(uint64_t* barrier, unsigned parity);
CK_SIM_INLINE bool mbarrier_try_wait(uint64_t* barrier, unsigned parity) {
  return mbarrier_test_wait(barrier, parity);
}
// fence.proxy.async: what this thread wrote to shared memory, bulk copies may read.
void fence_async_shared();
// fence.mbarrier_init: the barrier exists for the other blocks of the cluster.
void fence_mbarrier_init();
void bulk_load(void* shared, const void* global, unsigned bytes, uint64_t* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit();
void bulk_wait_pending(unsigned pending, bool read_only);
template <int kPending>
CK_SIM_INLINE void bulk_wait() {
  bulk_wait_pending(kPending, false);
}
template <int kPending>
CK_SIM_INLINE void bulk_wait_read() {
  bulk_wait_pending(kPending, true);
}

// Programmatic dependent launch.
void dependency_wait();

}  // namespace ck_sim

CK_SIM_INLINE void __threadfence_block() { ck_sim::fence(ck_sim::Fence::kBlock); }
CK_SIM_INLINE void __threadfence() { ck_sim::fence(ck_sim::Fence::kDevice); }
CK_SIM_INLINE void __threadfence_system() { ck_sim::fence(ck_sim::Fence::kSystem); }

template <typename T>
CK_SIM_INLINE T __ldg(const T* p) {
  return ck_sim::load_nc(p);
}
template <typename T>
CK_SIM_INLINE T __ldcs(const T* p) {
  return ck_sim::load_stream(p);
}
template <typename T>
CK_SIM_INLINE T __ldcg(const T* p) {
  return ck_sim::load_cg(p);
}
template <typename T>
CK_SIM_INLINE void __stcs(T* p, T value) {
  ck_sim::store_stream(p, value);
}
template <typename T>
CK_SIM_INLINE void __stcg(T* p, T value) {
  ck_sim::store_stream(p, value);
}

#define CK_SIM_ATOMIC(name, type, expression)                                      \
  CK_SIM_INLINE type name(type* p, type v) {                                       \
    return ck_sim::atomic_update(                                                  \
        p, [v]([[maybe_unused]] type old) __attribute__((always_inline)) -> type { \
          return expression;                                                       \
        });                                                                        \
  }
#define CK_SIM_ATOMIC_INTEGERS(name, expression) \
  CK_SIM_ATOMIC(name, int, expression)           \
  CK_SIM_ATOMIC(name, unsigned, expression)      \
  CK_SIM_ATOMIC(name, unsigned long long, expression)
// Signed sums wrap on the GPU; in C++ only unsigned ones do.
CK_SIM_ATOMIC(atomicAdd, int,
              static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(v)))
CK_SIM_ATOMIC(atomicAdd, unsigned, old + v)
CK_SIM_ATOMIC(atomicAdd, unsigned long long, old + v)
CK_SIM_ATOMIC(atomicAdd, float, old + v)
CK_SIM_ATOMIC(atomicAdd, double, old + v)
CK_SIM_ATOMIC(atomicSub, int,
              static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(v)))
CK_SIM_ATOMIC(atomicSub, unsigned, old - v)
CK_SIM_ATOMIC_INTEGERS(atomicExch, v)
CK_SIM_ATOMIC(atomicExch, float, v)
CK_SIM_ATOMIC_INTEGERS(atomicMin, (old < v ? old : v))
CK_SIM_ATOMIC_INTEGERS(atomicMax, (old > v ? old : v))
CK_SIM_ATOMIC_INTEGERS(atomicAnd, old& v)
CK_SIM_ATOMIC_INTEGERS(atomicOr, old | v)
CK_SIM_ATOMIC_INTEGERS(atomicXor, old ^ v)
CK_SIM_ATOMIC(atomicInc, unsigned, (old >= v ? 0u : old + 1u))
CK_SIM_ATOMIC(atomicDec, unsigned, (old == 0u || old > v ? v : old - 1u))
#undef CK_SIM_ATOMIC_INTEGERS
#undef CK_SIM_ATOMIC
#define CK_SIM_CAS(type)                                                                         \
  CK_SIM_INLINE type atomicCAS(type* p, type compare, type v) {                                  \
    return ck_sim::atomic_update(p,                                                              \
                                 [compare, v](type old) __attribute__((always_inline)) -> type { \
                                   return old == compare ? v : old;                              \
                                 });                                                             \
  }
CK_SIM_CAS(int)
CK_SIM_CAS(unsigned)
CK_SIM_CAS(unsigned short)
CK_SIM_CAS(unsigned long long)
#undef CK_SIM_CAS
#undef CK_SIM_RAW
