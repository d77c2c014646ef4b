// The least that <ck/math.cuh> and <ck/column_sum.cuh> need to run on a CPU: CUDA's names as the
// IEEE operations they are.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float __uint_as_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
static inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
// A program of one thread: its own value is every lane's.
template <typename T>
static inline T __shfl_xor_sync(unsigned, T value, int) {
  return value;
}
namespace ck_sim {
uint16_t f32_to_bf16(float x);
uint16_t f32_to_f16(float x);
float f16_to_f32(uint16_t x);
}  // namespace ck_sim
