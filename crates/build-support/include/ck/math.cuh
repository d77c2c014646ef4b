// The elementary functions of the exact class. Each is the same sequence of correctly rounded IEEE
// operations as its Rust twin (the exact-math crate, where forms, error bounds and their tests
// stand), so GPU, simulator and oracle return the same bytes; NaNs are equal by class. No branch
// (selects only), no table, no local memory, no double precision, no special-function unit.
//
// A changed constant or order changes bytes: it is a new numerics_version for every user.
#pragma once

#include <ck/platform.cuh>

namespace ck {
namespace detail {

// 1.5 * 2^23: adding it leaves a float's integer part, rounded to even, in the low bits.
constexpr float kRound = 12582912.0f;
constexpr float kTwoTo64 = 18446744073709551616.0f;
constexpr float kInfinity = __builtin_huge_valf();
constexpr float kLeastNormal = 1.17549435e-38f;
constexpr uint32_t kRootHalf = 0x3f3504f3u;
constexpr uint32_t kExponent = 0xff800000u;
constexpr float kLn2PerBit = 0.6931472f / 8388608.0f;

CK_DEVICE float quiet_nan() { return __uint_as_float(0x7fffffffu); }

// e^r, |r| <= 0.3467; relative error 2^-28.2.
CK_DEVICE float exp_reduced(float r) {
  float p = 0.0013837971f;
  p = __fmaf_rn(p, r, 0.008369165f);
  p = __fmaf_rn(p, r, 0.041668102f);
  p = __fmaf_rn(p, r, 0.16666517f);
  p = __fmaf_rn(p, r, 0.49999994f);
  p = __fmaf_rn(p, r, 1.0f);
  return __fmaf_rn(p, r, 1.0f);
}

CK_DEVICE float exp_scaled(float x, float t, float bias, float back) {
  const float n = __fsub_rn(t, bias);
  // ln 2 in two parts; the product with the first is exact.
  const float r = __fmaf_rn(n, -1.4286068e-6f, __fmaf_rn(n, -0.69314575f, x));
  const float scale = __uint_as_float((__float_as_uint(t) << 23) + 0x3f800000u);
  return __fmul_rn(__fmul_rn(exp_reduced(r), scale), back);
}

// ln(1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; relative error 2^-27.7.
CK_DEVICE float log1p_reduced(float f) {
  float q = -0.0742179f;
  q = __fmaf_rn(q, f, 0.12823936f);
  q = __fmaf_rn(q, f, -0.13280532f);
  q = __fmaf_rn(q, f, 0.14196149f);
  q = __fmaf_rn(q, f, -0.1660669f);
  q = __fmaf_rn(q, f, 0.20001206f);
  q = __fmaf_rn(q, f, -0.2500164f);
  q = __fmaf_rn(q, f, 0.33333337f);
  q = __fmaf_rn(q, f, -0.49999988f);
  return __fmaf_rn(q, __fmul_rn(f, f), f);
}

// 1/d, both normal: a guess 5 % off by subtracting bits, then twice y += y (e + e^2).
CK_DEVICE float reciprocal(float d) {
  float y = __uint_as_float(0x7ef311c7u - __float_as_uint(d));
  float e = __fmaf_rn(-d, y, 1.0f);
  y = __fmaf_rn(__fmaf_rn(e, e, e), y, y);
  e = __fmaf_rn(-d, y, 1.0f);
  return __fmaf_rn(__fmaf_rn(e, e, e), y, y);
}

}  // namespace detail

// e^x, 0.87 ulp: overflow to infinity, gradual underflow, exp(-inf) = 0, NaN for NaN.
CK_DEVICE float exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  const bool negative = x < 0.0f;
  const float bias = negative ? detail::kRound + 64.0f : detail::kRound - 64.0f;
  const float back = negative ? 1.0f / detail::kTwoTo64 : detail::kTwoTo64;
  const float t = fminf(__fmaf_rn(x, 1.442695f, bias), detail::kRound + 66.0f);
  return detail::exp_scaled(x, t, bias, back);
}

// The bytes of exp for x <= 0 or NaN, in fewer operations; unspecified for x > 0.
CK_DEVICE float exp_nonpositive(float x) {
  x = x < -104.0f ? -104.0f : x;
  const float bias = detail::kRound + 64.0f;
  return detail::exp_scaled(x, __fmaf_rn(x, 1.442695f, bias), bias, 1.0f / detail::kTwoTo64);
}

// Natural logarithm, 0.9 ulp: log(+-0) = -inf, NaN below zero, log(inf) = inf.
CK_DEVICE float log(float x) {
  const bool subnormal = x < detail::kLeastNormal;
  const float scaled = subnormal ? __fmul_rn(x, 8388608.0f) : x;
  const uint32_t correction = subnormal ? 23u << 23 : 0u;
  const uint32_t bits = __float_as_uint(scaled);
  const uint32_t n = (bits - detail::kRootHalf) & detail::kExponent;
  const float f = __fsub_rn(__uint_as_float(bits - n), 1.0f);
  const float count = static_cast<float>(static_cast<int32_t>(n - correction));
  float r = __fmaf_rn(count, detail::kLn2PerBit, detail::log1p_reduced(f));
  r = x < detail::kInfinity ? r : x;
  return x > 0.0f ? r : (x == 0.0f ? -detail::kInfinity : detail::quiet_nan());
}

// ln(1 + x), 1.5 ulp: log1p(-1) = -inf, NaN below, log1p(inf) = inf; the sign of zero is kept.
CK_DEVICE float log1p(float x) {
  const uint32_t n =
      (__float_as_uint(__fadd_rn(1.0f, x)) - detail::kRootHalf) & detail::kExponent;
  const float reduced = __uint_as_float(__float_as_uint(x) - n);
  // 2^(2-n), not 2^-n, which is subnormal for the largest x.
  const float four = __uint_as_float(0x40800000u - n);
  const float f = __fsub_rn(reduced, __fmaf_rn(four, -0.25f, 1.0f));
  const float count = static_cast<float>(static_cast<int32_t>(0u - n));
  float r = __fmaf_rn(count, -detail::kLn2PerBit, detail::log1p_reduced(f));
  r = x < detail::kInfinity ? r : x;
  return x > -1.0f ? r : (x == -1.0f ? -detail::kInfinity : detail::quiet_nan());
}

// sigmoid(x) and 1 - sigmoid(x), each with full relative accuracy (2.7 ulp): what a gate's
// derivative a (1 - a) needs. The second has the bytes of sigmoid(-x).
struct SigmoidPair {
  float value;
  float complement;
};
CK_DEVICE SigmoidPair sigmoid_and_complement(float x) {
  const float z = exp_nonpositive(-fabsf(x));
  const float large = detail::reciprocal(__fadd_rn(1.0f, z));
  const float small = __fmul_rn(z, large);
  return x < 0.0f ? SigmoidPair{small, large} : SigmoidPair{large, small};
}

// 1 / (1 + e^-x), 2.7 ulp, down to the subnormals on the far negative side.
CK_DEVICE float sigmoid(float x) { return sigmoid_and_complement(x).value; }

// ln(1 + e^x), 1.9 ulp: x itself above 20, else log1p(exp(x)).
CK_DEVICE float softplus(float x) { return x > 20.0f ? x : log1p(exp(x)); }

}  // namespace ck
