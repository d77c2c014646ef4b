// CUDA's numeric functions on the host: bit for bit where IEEE 754 or CUDA fixes the result.
//
// Compiled with -ffp-contract=off and without fast-math, a host operation in round-to-nearest is
// the `_rn` intrinsic. Nothing flushes subnormals. NaN payloads differ from a GPU's.
#pragma once

#include <ck_sim/types.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#if defined(__FAST_MATH__)
#error "the simulator's arithmetic must not be compiled with -ffast-math"
#endif

namespace ck_sim {

// Directed rounding, out of line: the compiler must not move these across a change of mode.
enum class Round : uint8_t { kDown, kUp, kZero };
float add(float a, float b, Round mode);
float multiply(float a, float b, Round mode);
float divide(float a, float b, Round mode);
float fused(float a, float b, float c, Round mode);
float root(float a, Round mode);
double add(double a, double b, Round mode);
double multiply(double a, double b, Round mode);
double divide(double a, double b, Round mode);
double fused(double a, double b, double c, Round mode);
double root(double a, Round mode);
float narrow(double a, Round mode);

// 1 / sqrt(x), correctly rounded.
float reciprocal_root(float x);

template <typename To, typename From>
CK_SIM_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// 16-bit floats, to nearest even. A NaN becomes CUDA's quiet one.
CK_SIM_INLINE uint16_t f32_to_bf16(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
CK_SIM_INLINE float bf16_to_f32(uint16_t x) {
  return bits_as<float>(static_cast<uint32_t>(x) << 16);
}
CK_SIM_INLINE uint16_t f32_to_f16(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  // From 65520 on, the nearest half is infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 aligns the last kept bit with 2^-24, and rounds.
    const float shifted = bits_as<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bits_as<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
CK_SIM_INLINE float f16_to_f32(uint16_t x) {
  const uint32_t sign = static_cast<uint32_t>(x & 0x8000u) << 16;
  const uint32_t exponent = (x >> 10) & 31u;
  const uint32_t fraction = x & 0x3ffu;
  if (exponent == 31) return bits_as<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return bits_as<float>(sign | bits_as<uint32_t>(magnitude));
  }
  return bits_as<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

// Minimum and maximum as CUDA defines them: a NaN loses against a number, -0 is below +0.
template <typename F>
CK_SIM_INLINE F minimum(F a, F b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return __builtin_signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename F>
CK_SIM_INLINE F maximum(F a, F b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return __builtin_signbit(a) ? b : a;
  return a > b ? a : b;
}

// Float to integer as CUDA converts: clamped to the range, NaN to zero (32 bits) or to the highest
// bit alone (64 bits).
template <typename To, typename From>
CK_SIM_INLINE To clamp_to_integer(From rounded) {
  constexpr int kBits = sizeof(To) * 8;
  constexpr bool kSigned = static_cast<To>(-1) < static_cast<To>(0);
  constexpr From kAbove =
      kSigned ? static_cast<From>(1ull << (kBits - 1)) : static_cast<From>(1ull << (kBits - 1)) * 2;
  constexpr To kHighest = kSigned ? static_cast<To>(~0ull >> (65 - kBits)) : static_cast<To>(~0ull);
  constexpr To kLowest = kSigned ? static_cast<To>(-kHighest - 1) : static_cast<To>(0);
  if (rounded != rounded) return kBits == 32 ? To{0} : static_cast<To>(1ull << (kBits - 1));
  if (rounded >= kAbove) return kHighest;
  if (kSigned ? rounded < -kAbove : rounded <= static_cast<From>(-1)) return kLowest;
  return static_cast<To>(rounded);
}

}  // namespace ck_sim

// Bits.
CK_SIM_INLINE unsigned __float_as_uint(float x) { return ck_sim::bits_as<unsigned>(x); }
CK_SIM_INLINE int __float_as_int(float x) { return ck_sim::bits_as<int>(x); }
CK_SIM_INLINE float __uint_as_float(unsigned x) { return ck_sim::bits_as<float>(x); }
CK_SIM_INLINE float __int_as_float(int x) { return ck_sim::bits_as<float>(x); }
CK_SIM_INLINE long long __double_as_longlong(double x) { return ck_sim::bits_as<long long>(x); }
CK_SIM_INLINE double __longlong_as_double(long long x) { return ck_sim::bits_as<double>(x); }
CK_SIM_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
CK_SIM_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
CK_SIM_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
CK_SIM_INLINE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
CK_SIM_INLINE int __ffs(int x) { return __builtin_ffs(x); }
CK_SIM_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
CK_SIM_INLINE unsigned __brev(unsigned x) {
  x = ((x & 0x55555555u) << 1) | ((x >> 1) & 0x55555555u);
  x = ((x & 0x33333333u) << 2) | ((x >> 2) & 0x33333333u);
  x = ((x & 0x0f0f0f0fu) << 4) | ((x >> 4) & 0x0f0f0f0fu);
  return __builtin_bswap32(x);
}
CK_SIM_INLINE unsigned long long __brevll(unsigned long long x) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32) |
         __brev(static_cast<unsigned>(x >> 32));
}
CK_SIM_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
CK_SIM_INLINE int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
CK_SIM_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
CK_SIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long pair = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned>((pair << (shift & 31u)) >> 32);
}
CK_SIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long pair = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned>(pair >> (shift & 31u));
}
CK_SIM_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long pair = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = (selector >> (4 * i)) & 0xfu;
    unsigned byte = static_cast<unsigned>(pair >> (8 * (nibble & 7u))) & 0xffu;
    if (nibble & 8u) byte = (byte & 0x80u) ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

// Arithmetic to nearest even, and in the directed modes.
#define CK_SIM_DIRECTED(suffix, mode)                                                             \
  CK_SIM_INLINE float __fadd_##suffix(float a, float b) { return ck_sim::add(a, b, mode); }       \
  CK_SIM_INLINE float __fsub_##suffix(float a, float b) { return ck_sim::add(a, -b, mode); }      \
  CK_SIM_INLINE float __fmul_##suffix(float a, float b) { return ck_sim::multiply(a, b, mode); }  \
  CK_SIM_INLINE float __fdiv_##suffix(float a, float b) { return ck_sim::divide(a, b, mode); }    \
  CK_SIM_INLINE float __frcp_##suffix(float a) { return ck_sim::divide(1.0f, a, mode); }          \
  CK_SIM_INLINE float __fsqrt_##suffix(float a) { return ck_sim::root(a, mode); }                 \
  CK_SIM_INLINE float __fmaf_##suffix(float a, float b, float c) {                                \
    return ck_sim::fused(a, b, c, mode);                                                          \
  }                                                                                               \
  CK_SIM_INLINE double __dadd_##suffix(double a, double b) { return ck_sim::add(a, b, mode); }    \
  CK_SIM_INLINE double __dsub_##suffix(double a, double b) { return ck_sim::add(a, -b, mode); }   \
  CK_SIM_INLINE double __dmul_##suffix(double a, double b) {                                      \
    return ck_sim::multiply(a, b, mode);                                                          \
  }                                                                                               \
  CK_SIM_INLINE double __ddiv_##suffix(double a, double b) { return ck_sim::divide(a, b, mode); } \
  CK_SIM_INLINE double __drcp_##suffix(double a) { return ck_sim::divide(1.0, a, mode); }         \
  CK_SIM_INLINE double __dsqrt_##suffix(double a) { return ck_sim::root(a, mode); }               \
  CK_SIM_INLINE double __fma_##suffix(double a, double b, double c) {                             \
    return ck_sim::fused(a, b, c, mode);                                                          \
  }                                                                                               \
  CK_SIM_INLINE float __double2float_##suffix(double a) { return ck_sim::narrow(a, mode); }
CK_SIM_DIRECTED(rd, ck_sim::Round::kDown)
CK_SIM_DIRECTED(ru, ck_sim::Round::kUp)
CK_SIM_DIRECTED(rz, ck_sim::Round::kZero)
#undef CK_SIM_DIRECTED
// f32 arithmetic makes one NaN of all of them; the host would pass on an operand's.
namespace ck_sim {
CK_SIM_INLINE float canonical(float x) {
  return x == x ? x : __builtin_bit_cast(float, 0x7fffffffu);
}
}  // namespace ck_sim
CK_SIM_INLINE float __fadd_rn(float a, float b) { return ck_sim::canonical(a + b); }
CK_SIM_INLINE float __fsub_rn(float a, float b) { return ck_sim::canonical(a - b); }
CK_SIM_INLINE float __fmul_rn(float a, float b) { return ck_sim::canonical(a * b); }
CK_SIM_INLINE float __fdiv_rn(float a, float b) { return ck_sim::canonical(a / b); }
CK_SIM_INLINE float __frcp_rn(float a) { return ck_sim::canonical(1.0f / a); }
CK_SIM_INLINE float __fsqrt_rn(float a) { return ck_sim::canonical(__builtin_sqrtf(a)); }
CK_SIM_INLINE float __frsqrt_rn(float a) { return ck_sim::canonical(ck_sim::reciprocal_root(a)); }
CK_SIM_INLINE float __fmaf_rn(float a, float b, float c) {
  return ck_sim::canonical(__builtin_fmaf(a, b, c));
}
CK_SIM_INLINE double __dadd_rn(double a, double b) { return a + b; }
CK_SIM_INLINE double __dsub_rn(double a, double b) { return a - b; }
CK_SIM_INLINE double __dmul_rn(double a, double b) { return a * b; }
CK_SIM_INLINE double __ddiv_rn(double a, double b) { return a / b; }
CK_SIM_INLINE double __drcp_rn(double a) { return 1.0 / a; }
CK_SIM_INLINE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
CK_SIM_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
CK_SIM_INLINE float __double2float_rn(double a) { return ck_sim::canonical(static_cast<float>(a)); }
CK_SIM_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// Conversions.
#define CK_SIM_TO_INTEGER(from, letter, suffix, rounding)              \
  CK_SIM_INLINE int __##letter##2int_##suffix(from x) {                \
    return ck_sim::clamp_to_integer<int>(rounding(x));                 \
  }                                                                    \
  CK_SIM_INLINE unsigned __##letter##2uint_##suffix(from x) {          \
    return ck_sim::clamp_to_integer<unsigned>(rounding(x));            \
  }                                                                    \
  CK_SIM_INLINE long long __##letter##2ll_##suffix(from x) {           \
    return ck_sim::clamp_to_integer<long long>(rounding(x));           \
  }                                                                    \
  CK_SIM_INLINE unsigned long long __##letter##2ull_##suffix(from x) { \
    return ck_sim::clamp_to_integer<unsigned long long>(rounding(x));  \
  }
CK_SIM_TO_INTEGER(float, float, rn, __builtin_rintf)
CK_SIM_TO_INTEGER(float, float, rz, __builtin_truncf)
CK_SIM_TO_INTEGER(float, float, rd, __builtin_floorf)
CK_SIM_TO_INTEGER(float, float, ru, __builtin_ceilf)
CK_SIM_TO_INTEGER(double, double, rn, __builtin_rint)
CK_SIM_TO_INTEGER(double, double, rz, __builtin_trunc)
CK_SIM_TO_INTEGER(double, double, rd, __builtin_floor)
CK_SIM_TO_INTEGER(double, double, ru, __builtin_ceil)
#undef CK_SIM_TO_INTEGER
CK_SIM_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
CK_SIM_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
CK_SIM_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
CK_SIM_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
CK_SIM_INLINE double __int2double_rn(int x) { return x; }
CK_SIM_INLINE double __uint2double_rn(unsigned x) { return x; }
CK_SIM_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
CK_SIM_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

// Hardware approximations: near the GPU's values, never equal to them. Only entry points of class
// "fast" may depend on one.
// Macros where the C library has the name for itself.
#define __expf(x) (::expf(x))
#define __exp10f(x) (::powf(10.0f, (x)))
#define __logf(x) (::logf(x))
#define __log2f(x) (::log2f(x))
#define __log10f(x) (::log10f(x))
#define __powf(x, y) (::powf((x), (y)))
#define __sinf(x) (::sinf(x))
#define __cosf(x) (::cosf(x))
CK_SIM_INLINE float __fdividef(float a, float b) { return a / b; }
CK_SIM_INLINE float rsqrtf(float x) { return ck_sim::reciprocal_root(x); }
CK_SIM_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

// min and max for every pair of integer types that CUDA overloads them for.
#define CK_SIM_MINMAX(type)                                        \
  CK_SIM_INLINE type min(type a, type b) { return b < a ? b : a; } \
  CK_SIM_INLINE type max(type a, type b) { return a < b ? b : a; }
CK_SIM_MINMAX(int)
CK_SIM_MINMAX(unsigned)
CK_SIM_MINMAX(long)
CK_SIM_MINMAX(unsigned long)
CK_SIM_MINMAX(long long)
CK_SIM_MINMAX(unsigned long long)
#undef CK_SIM_MINMAX
CK_SIM_INLINE unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
CK_SIM_INLINE unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
CK_SIM_INLINE unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
CK_SIM_INLINE unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
CK_SIM_INLINE float min(float a, float b) { return ck_sim::minimum(a, b); }
CK_SIM_INLINE float max(float a, float b) { return ck_sim::maximum(a, b); }
CK_SIM_INLINE double min(double a, double b) { return ck_sim::minimum(a, b); }
CK_SIM_INLINE double max(double a, double b) { return ck_sim::maximum(a, b); }
// The C library leaves the sign of a zero result open; CUDA does not.
#define fminf(a, b) (::ck_sim::minimum<float>((a), (b)))
#define fmaxf(a, b) (::ck_sim::maximum<float>((a), (b)))
#define fmin(a, b) (::ck_sim::minimum<double>((a), (b)))
#define fmax(a, b) (::ck_sim::maximum<double>((a), (b)))
