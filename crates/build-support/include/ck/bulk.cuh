// One-dimensional bulk copies and the mbarriers that they complete on (compute capability 9.0).
//
// On older architectures these compile to a trap: the host never launches such a kernel there.
// Addresses are 16-byte aligned and sizes are multiples of 16 bytes. A bulk load is issued by one
// thread, which first arrives on the barrier with the bytes to expect; waiting threads see the data
// when the phase completes. A slot may be loaded again once every reader of it has synchronised
// with the issuing thread.
#pragma once

#include <ck/platform.cuh>

namespace ck {

#if defined(CK_SIM)

using ck_sim::bulk_load;
using ck_sim::fence_mbarrier_init;
using ck_sim::mbarrier_arrive_expect_tx;
using ck_sim::mbarrier_init;
using ck_sim::mbarrier_wait;

#else

namespace detail {
CK_DEVICE uint32_t shared_word(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
}  // namespace detail

// A barrier that completes a phase after `count` arrivals and all bytes expected.
CK_DEVICE void mbarrier_init(uint64_t* barrier, unsigned count) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_word(barrier)),
               "r"(count)
               : "memory");
#else
  __trap();
#endif
}

// Makes initialised barriers visible to the copy engine.
CK_DEVICE void fence_mbarrier_init() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

CK_DEVICE void mbarrier_arrive_expect_tx(uint64_t* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_word(barrier)),
      "r"(bytes)
      : "memory");
#endif
}

// Waits until the phase of this parity (0 for the first) has completed.
CK_DEVICE void mbarrier_wait(uint64_t* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni finished;\n"
      "bra.uni wait;\n"
      "finished:\n"
      "}" ::"r"(detail::shared_word(barrier)),
      "r"(parity)
      : "memory");
#endif
}

// Global to shared memory; completes on the barrier.
CK_DEVICE void bulk_load(void* shared, const void* global, unsigned bytes, uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(detail::shared_word(shared)),
      "l"(global), "r"(bytes), "r"(detail::shared_word(barrier))
      : "memory");
#endif
}

#endif

}  // namespace ck
