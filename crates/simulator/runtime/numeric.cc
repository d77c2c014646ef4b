// Directed rounding and the correctly rounded reciprocal square root.
#include <ck_sim/numeric.h>

#include <cfenv>

namespace ck_sim {

namespace {

// The floating point mode for one operation. The operands and the result pass through `keep`, which
// the compiler cannot see through, so that the operation stays inside.
class Mode {
 public:
  explicit Mode(Round mode) : before_(fegetround()) {
    fesetround(mode == Round::kDown ? FE_DOWNWARD : mode == Round::kUp ? FE_UPWARD : FE_TOWARDZERO);
  }
  ~Mode() { fesetround(before_); }

 private:
  int before_;
};

template <typename T>
T keep(T value) {
  volatile T kept = value;
  return kept;
}

template <typename T>
T add_in(T a, T b, Round mode) {
  Mode set(mode);
  return keep(keep(a) + keep(b));
}
template <typename T>
T multiply_in(T a, T b, Round mode) {
  Mode set(mode);
  return keep(keep(a) * keep(b));
}
template <typename T>
T divide_in(T a, T b, Round mode) {
  Mode set(mode);
  return keep(keep(a) / keep(b));
}

}  // namespace

float add(float a, float b, Round mode) { return add_in(a, b, mode); }
double add(double a, double b, Round mode) { return add_in(a, b, mode); }
float multiply(float a, float b, Round mode) { return multiply_in(a, b, mode); }
double multiply(double a, double b, Round mode) { return multiply_in(a, b, mode); }
float divide(float a, float b, Round mode) { return divide_in(a, b, mode); }
double divide(double a, double b, Round mode) { return divide_in(a, b, mode); }
float fused(float a, float b, float c, Round mode) {
  Mode set(mode);
  return keep(__builtin_fmaf(keep(a), keep(b), keep(c)));
}
double fused(double a, double b, double c, Round mode) {
  Mode set(mode);
  return keep(__builtin_fma(keep(a), keep(b), keep(c)));
}
float root(float a, Round mode) {
  Mode set(mode);
  return keep(__builtin_sqrtf(keep(a)));
}
double root(double a, Round mode) {
  Mode set(mode);
  return keep(__builtin_sqrt(keep(a)));
}
float narrow(double a, Round mode) {
  Mode set(mode);
  return keep(static_cast<float>(keep(a)));
}

float reciprocal_root(float x) {
  if (!(x > 0.0f) || x > FLT_MAX) {
    if (x == 0.0f) return 1.0f / x;
    return x > 0.0f ? 0.0f : bits_as<float>(0x7fffffffu);
  }
  // The double is within two of its last places of 1/sqrt(x), so that only the float next to it can
  // be nearer. Which one is decided exactly: with m halfway between two floats, m*m has 50 bits and
  // x*m*m 74, and a product with its fma remainder holds that without error.
  const double estimate = 1.0 / __builtin_sqrt(static_cast<double>(x));
  float y = static_cast<float>(estimate);
  const auto beyond = [x](double m) {  // sign of x*m*m - 1: positive where 1/sqrt(x) < m
    const double square = m * m;
    const double product = square * static_cast<double>(x);
    const double rest = __builtin_fma(square, static_cast<double>(x), -product);
    return (product - 1.0) + rest;
  };
  const float above = bits_as<float>(bits_as<uint32_t>(y) + 1);
  const float below = bits_as<float>(bits_as<uint32_t>(y) - 1);
  if (beyond((static_cast<double>(y) + static_cast<double>(above)) * 0.5) < 0.0) return above;
  if (beyond((static_cast<double>(y) + static_cast<double>(below)) * 0.5) > 0.0) return below;
  return y;
}

}  // namespace ck_sim
