// CUDA's qualifiers and built-in vector types as plain C++.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) alignas(n)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

// Small functions of this directory must vanish into the kernel: the simulator takes the return
// address of its own entry points as the kernel's source line.
#define CK_SIM_INLINE static inline __attribute__((always_inline))

// Alignments are CUDA's: a vector type is aligned to its size, three-element types to an element.
#define CK_SIM_VECTOR(type, name, align2, align4)                                    \
  struct name##1 { type x; };                                                        \
  struct alignas(align2) name##2 { type x, y; };                                     \
  struct name##3 { type x, y, z; };                                                  \
  struct alignas(align4) name##4 { type x, y, z, w; };                               \
  CK_SIM_INLINE name##1 make_##name##1(type x) { return {x}; }                       \
  CK_SIM_INLINE name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  CK_SIM_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  CK_SIM_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

CK_SIM_VECTOR(signed char, char, 2, 4)
CK_SIM_VECTOR(unsigned char, uchar, 2, 4)
CK_SIM_VECTOR(short, short, 4, 8)
CK_SIM_VECTOR(unsigned short, ushort, 4, 8)
CK_SIM_VECTOR(int, int, 8, 16)
CK_SIM_VECTOR(unsigned, uint, 8, 16)
CK_SIM_VECTOR(long long, longlong, 16, 16)
CK_SIM_VECTOR(unsigned long long, ulonglong, 16, 16)
CK_SIM_VECTOR(float, float, 8, 16)
CK_SIM_VECTOR(double, double, 16, 16)
#undef CK_SIM_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

typedef int cudaError_t;
typedef void* cudaStream_t;
enum {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureImplicit = 906,
};
