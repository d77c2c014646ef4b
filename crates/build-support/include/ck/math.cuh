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

// e^x times 2^64 or 2^-64, as bias says; always normal.
CK_DEVICE float exp_raised(float x, float t, float bias) {
  const float n = __fsub_rn(t, bias);
  // ln 2 in two parts; the product with the first is exact.
  const float r = __fmaf_rn(n, -1.4286068e-6f, __fmaf_rn(n, -0.69314575f, x));
  const float scale = __uint_as_float((__float_as_uint(t) << 23) + 0x3f800000u);
  return __fmul_rn(exp_reduced(r), scale);
}

CK_DEVICE float exp_raised_nonpositive(float x) {
  x = x < -110.0f ? -110.0f : x;
  const float bias = kRound + 64.0f;
  return exp_raised(x, __fmaf_rn(x, 1.442695f, bias), bias);
}

// e^x * factor for x <= 0, rounded into the subnormals once, after both products.
CK_DEVICE float exp_nonpositive_times(float x, float factor) {
  return __fmul_rn(__fmul_rn(exp_raised_nonpositive(x), factor), 1.0f / kTwoTo64);
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

// What is added to a logarithm with its pole at `pole`: -0, which changes nothing, inside the
// domain; the result itself at and outside the domain's ends. (An addition, because a select there
// makes nvcc branch around the whole function.)
CK_DEVICE float outside(float x, float pole) {
  const float above = x < kInfinity ? -0.0f : kInfinity;
  const float below = x == pole ? -kInfinity : quiet_nan();
  return x > pole ? above : below;
}

// ln(1 + x) for finite x > -1; for others finite, or of the sign of what outside() adds.
CK_DEVICE float log1p_inside(float x) {
  const uint32_t n = (__float_as_uint(__fadd_rn(1.0f, x)) - kRootHalf) & kExponent;
  const float reduced = __uint_as_float(__float_as_uint(x) - n);
  // 2^(2-n), not 2^-n, which is subnormal for the largest x.
  const float four = __uint_as_float(0x40800000u - n);
  const float f = __fsub_rn(reduced, __fmaf_rn(four, -0.25f, 1.0f));
  const float count = static_cast<float>(static_cast<int32_t>(0u - n));
  return __fmaf_rn(count, -kLn2PerBit, log1p_reduced(f));
}

// 1/d, both normal: a guess 5 % off by subtracting bits, then twice y += y (e + e^2).
CK_DEVICE float reciprocal(float d) {
  float y = __uint_as_float(0x7ef311c7u - __float_as_uint(d));
  float e = __fmaf_rn(-d, y, 1.0f);
  y = __fmaf_rn(__fmaf_rn(e, e, e), y, y);
  e = __fmaf_rn(-d, y, 1.0f);
  return __fmaf_rn(__fmaf_rn(e, e, e), y, y);
}

// The sign of x on a magnitude.
CK_DEVICE float signed_as(float magnitude, float x) {
  return __uint_as_float(__float_as_uint(magnitude) | (__float_as_uint(x) & 0x80000000u));
}

// erfc(t) e^(t^2), 0 <= t <= 10.2; relative error 2^-26.9.
CK_DEVICE float erfc_scaled(float t) {
  const float k = __fmul_rn(0.55f, t);
  const float w = reciprocal(__fadd_rn(1.0f, k));
  const float v = __fmul_rn(-k, w);
  float q = 0.057696585f;
  q = __fmaf_rn(q, v, 0.1843182f);
  q = __fmaf_rn(q, v, 0.1751714f);
  q = __fmaf_rn(q, v, 0.062476784f);
  q = __fmaf_rn(q, v, 0.10937278f);
  q = __fmaf_rn(q, v, 0.014498088f);
  q = __fmaf_rn(q, v, -0.24019615f);
  q = __fmaf_rn(q, v, 0.20264341f);
  q = __fmaf_rn(q, v, 1.0515996f);
  return __fmul_rn(__fmaf_rn(q, v, 1.0f), w);
}

// e^-(a b), a b >= 0: what the product's rounding loses goes in as a factor 1 - low.
CK_DEVICE float exp_of_minus_product(float a, float b) {
  const float high = __fmul_rn(a, b);
  const float low = __fmaf_rn(a, b, -high);
  const float e = __fmul_rn(exp_raised_nonpositive(-high), 1.0f / kTwoTo64);
  return __fmaf_rn(-low, e, e);
}

// x sigmoid(v), v of the sign of x.
CK_DEVICE float gated(float x, float v) {
  const float minus = -fabsf(v);
  const float z = __fmul_rn(exp_raised_nonpositive(minus), 1.0f / kTwoTo64);
  const float large = __fmul_rn(x < -120.0f ? -120.0f : x, reciprocal(__fadd_rn(1.0f, z)));
  const float small = exp_nonpositive_times(minus, large);
  return x < 0.0f ? small : large;
}

// |x| up to a limit, erfc(t) e^(t^2) and e^-(t^2) for t = |x| / sqrt(2).
struct GaussianTail {
  float magnitude;
  float scaled;
  float exponential;
};
CK_DEVICE GaussianTail gaussian_tail(float x) {
  const float a = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
  return GaussianTail{a, erfc_scaled(__fmul_rn(a, 0.70710677f)),
                      exp_of_minus_product(__fmul_rn(0.5f, a), a)};
}

CK_DEVICE float within_far(float x) {
  x = x < -120.0f ? -120.0f : x;
  return x > 120.0f ? 120.0f : x;
}

// GELU's tanh form is x sigmoid(x (C1 + C3 x^2)).
constexpr float kGeluC1 = 1.5957692f;
constexpr float kGeluC3 = 0.071354814f;

}  // namespace detail

// e^x, 0.9 ulp: overflow to infinity, gradual underflow, exp(-inf) = 0, NaN for NaN.
CK_DEVICE float exp(float x) {
  x = x < -110.0f ? -110.0f : x;
  const bool negative = x < 0.0f;
  const float bias = negative ? detail::kRound + 64.0f : detail::kRound - 64.0f;
  const float back = negative ? 1.0f / detail::kTwoTo64 : detail::kTwoTo64;
  const float t = fminf(__fmaf_rn(x, 1.442695f, bias), detail::kRound + 66.0f);
  return __fmul_rn(detail::exp_raised(x, t, bias), back);
}

// The bytes of exp for x <= 0 or NaN, in fewer operations; unspecified for x > 0.
CK_DEVICE float exp_nonpositive(float x) {
  return __fmul_rn(detail::exp_raised_nonpositive(x), 1.0f / detail::kTwoTo64);
}

// Natural logarithm, 0.95 ulp: log(+-0) = -inf, NaN below zero, log(inf) = inf.
CK_DEVICE float log(float x) {
  const bool subnormal = x < detail::kLeastNormal;
  const float scaled = subnormal ? __fmul_rn(x, 8388608.0f) : x;
  const uint32_t correction = subnormal ? 23u << 23 : 0u;
  const uint32_t bits = __float_as_uint(scaled);
  const uint32_t n = (bits - detail::kRootHalf) & detail::kExponent;
  const float f = __fsub_rn(__uint_as_float(bits - n), 1.0f);
  const float count = static_cast<float>(static_cast<int32_t>(n - correction));
  return __fadd_rn(__fmaf_rn(count, detail::kLn2PerBit, detail::log1p_reduced(f)),
                   detail::outside(x, 0.0f));
}

// ln(1 + x), 1.5 ulp: log1p(-1) = -inf, NaN below, log1p(inf) = inf; the sign of zero is kept.
CK_DEVICE float log1p(float x) {
  return __fadd_rn(detail::log1p_inside(x), detail::outside(x, -1.0f));
}

// sigmoid(x) and 1 - sigmoid(x), each with full relative accuracy (2.8 ulp): what a gate's
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

// 1 / (1 + e^-x), 2.8 ulp, down to the subnormals on the far negative side.
CK_DEVICE float sigmoid(float x) { return sigmoid_and_complement(x).value; }

// ln(1 + e^x), 1.9 ulp: x itself above 20, else log1p(exp(x)).
// The comparison also lets NaN through, which log1p_inside does not.
CK_DEVICE float softplus(float x) {
  const float y = detail::log1p_inside(exp(x));
  return x <= 20.0f ? y : x;
}

// Odd; 1.4 ulp.
CK_DEVICE float tanh(float x) {
  const float a = fabsf(x);
  const float s = __fmul_rn(a, a);
  float p = -0.005692296f;
  p = __fmaf_rn(p, s, 0.020628167f);
  p = __fmaf_rn(p, s, -0.053736515f);
  p = __fmaf_rn(p, s, 0.13331406f);
  p = __fmaf_rn(p, s, -0.3333328f);
  const float small = __fmaf_rn(__fmul_rn(p, s), a, a);
  const float z = exp_nonpositive(__fmul_rn(-2.0f, a));
  const float large = __fmaf_rn(__fmul_rn(-2.0f, z), detail::reciprocal(__fadd_rn(1.0f, z)), 1.0f);
  return detail::signed_as(a < 0.625f ? small : large, x);
}

// tanh'(x) = 4 sigmoid(2x) sigmoid(-2x), 5.1 ulp: no cancellation where it is small.
CK_DEVICE float tanh_slope(float x) {
  const SigmoidPair pair = sigmoid_and_complement(__fmul_rn(2.0f, x));
  return __fmul_rn(__fmul_rn(4.0f, pair.value), pair.complement);
}

// Odd; 1.13 ulp.
CK_DEVICE float erf(float x) {
  const float a = fabsf(x);
  const float s = __fmul_rn(a, a);
  float p = 7.9950485e-5f;
  p = __fmaf_rn(p, s, -0.0008049515f);
  p = __fmaf_rn(p, s, 0.0051923925f);
  p = __fmaf_rn(p, s, -0.02685573f);
  p = __fmaf_rn(p, s, 0.11283626f);
  p = __fmaf_rn(p, s, -0.3761263f);
  p = __fmaf_rn(p, s, 0.12837917f);
  const float small = __fmaf_rn(p, a, a);
  const float t = a > 10.2f ? 10.2f : a;
  const float large = __fmaf_rn(-detail::erfc_scaled(t), detail::exp_of_minus_product(t, t), 1.0f);
  return detail::signed_as(a < 0.92f ? small : large, x);
}

// x sigmoid(x), 3.4 ulp; silu(-inf) is its limit, -0.
CK_DEVICE float silu(float x) { return detail::gated(x, x); }

// a (1 + x (1 - a)), a = sigmoid(x).
CK_DEVICE float silu_slope(float x) {
  const SigmoidPair pair = sigmoid_and_complement(x);
  return __fmul_rn(__fmaf_rn(detail::within_far(x), pair.complement, 1.0f), pair.value);
}

// x Phi(x), 6.5 ulp, tails included: max(x, 0) - |x| Phi(-|x|). gelu_erf(-inf) is its limit, -0.
CK_DEVICE float gelu_erf(float x) {
  const detail::GaussianTail tail = detail::gaussian_tail(x);
  return __fmaf_rn(__fmul_rn(-__fmul_rn(0.5f, tail.magnitude), tail.scaled), tail.exponential,
                   x >= 0.0f ? x : -0.0f);
}

// Phi(x) + x phi(x).
CK_DEVICE float gelu_erf_slope(float x) {
  const detail::GaussianTail tail = detail::gaussian_tail(x);
  const float negative = __fmul_rn(
      __fmaf_rn(-0.3989423f, tail.magnitude, __fmul_rn(0.5f, tail.scaled)), tail.exponential);
  return x > 0.0f ? __fsub_rn(1.0f, negative) : negative;
}

// x sigmoid(v), v = 2 sqrt(2/pi) (x + 0.044715 x^3): x/2 (1 + tanh(v/2)) without its cancellation,
// 3 (1 + |v|) ulp. gelu_tanh(-inf) is its limit, -0.
CK_DEVICE float gelu_tanh(float x) {
  return detail::gated(x,
                       __fmul_rn(x, __fmaf_rn(__fmul_rn(x, x), detail::kGeluC3, detail::kGeluC1)));
}

// a (1 + (1 - a) x v').
CK_DEVICE float gelu_tanh_slope(float x) {
  x = detail::within_far(x);
  const float s = __fmul_rn(x, x);
  const SigmoidPair pair =
      sigmoid_and_complement(__fmul_rn(x, __fmaf_rn(s, detail::kGeluC3, detail::kGeluC1)));
  const float xv = __fmul_rn(x, __fmaf_rn(s, 3.0f * detail::kGeluC3, detail::kGeluC1));
  return __fmul_rn(__fmaf_rn(xv, pair.complement, 1.0f), pair.value);
}

}  // namespace ck
