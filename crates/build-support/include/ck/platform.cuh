// The two platforms that a kernel source is compiled for: nvcc, and the CPU simulator (CK_SIM).
//
// Kernel bodies use CUDA's own spelling wherever CUDA has a function (threadIdx, __syncthreads,
// __shfl_xor_sync, __fmaf_rn, float4); the simulator supplies these names as C++. What CUDA can
// only say with a keyword or with PTX is a macro or a function of this prelude.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(CK_SIM)
#include <ck_sim/cuda.h>
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#error "ck/ headers are for nvcc or for the simulator (CK_SIM)"
#endif

// A function of the device side. Inlined always, so that registers, not calls, carry values.
#if defined(CK_SIM)
#define CK_DEVICE static inline
#define CK_HOST_DEVICE static inline
#else
#define CK_DEVICE static __device__ __forceinline__
#define CK_HOST_DEVICE static __host__ __device__ __forceinline__
#endif

// A kernel. Internal linkage: two libraries in one program never meet.
#define CK_KERNEL(threads) static __global__ void __launch_bounds__(threads)
#define CK_KERNEL_BLOCKS(threads, blocks) static __global__ void __launch_bounds__(threads, blocks)

// Static and dynamic shared memory. `count` is a constant expression. The simulator gives each
// block an arena of its own, poisons it, and checks bounds between arrays.
#if defined(CK_SIM)
#define CK_SHARED(type, name, count)             \
  type* const name = ck_sim::shared_array<type>( \
      [] {                                       \
        static char site;                        \
        return &site;                            \
      }(),                                       \
      (count))
#define CK_DYNAMIC_SHARED(type, name) type* const name = ck_sim::dynamic_shared<type>()
#else
#define CK_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define CK_DYNAMIC_SHARED(type, name)                                 \
  extern __shared__ __align__(128) unsigned char ck_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(ck_dynamic_shared)
#endif

// A deliberate fault that the simulator can switch on by name; never true in a GPU build. The
// simulator's tests run every one of them and each must be noticed.
#if defined(CK_SIM)
#define CK_MUTANT(name) (ck_sim::mutant_active(#name))
#else
#define CK_MUTANT(name) false
#endif

// Loop unrolling hint that g++ does not warn about.
#if defined(CK_SIM)
#define CK_UNROLL
#define CK_NO_UNROLL
#define CK_UNROLL_BY(count)
#else
#define CK_UNROLL _Pragma("unroll")
#define CK_NO_UNROLL _Pragma("unroll 1")
#define CK_PRAGMA(text) _Pragma(#text)
#define CK_UNROLL_BY(count) CK_PRAGMA(unroll count)
#endif

namespace ck {
constexpr int kWarp = 32;
constexpr unsigned kFullMask = 0xffffffffu;
}  // namespace ck
