// accumulate INPUTS OUTPUTS: reads groups of five f32 (a, b, w, x, alpha) and a row count, and
// writes what each accumulator of <ck/column_sum.cuh> makes of them: the sum of a, b, w * x, merged
// with itself and b, divided by the rows, times alpha, rounded to f32 and to an odd last bit.
#include <stdio.h>

#include <ck/column_sum.cuh>

// Conversions of 16-bit floats have a test of their own.
uint16_t ck_sim::f32_to_bf16(float) { return 0; }
uint16_t ck_sim::f32_to_f16(float) { return 0; }
float ck_sim::f16_to_f32(uint16_t) { return 0; }

namespace {

float odd(ck::F32x2 a) {
  if (!ck::detail::is_finite(a.low)) return a.high;
  const ck::TwoSum s = ck::two_sum(a.high, a.low);
  return ck::detail::to_odd(s.sum, s.error > 0.0f, s.error == 0.0f);
}
float odd(double a) {
  const float s = static_cast<float>(a);
  const double rest = a - static_cast<double>(s);
  return ck::detail::to_odd(s, rest > 0.0, rest == 0.0);
}
float odd(float a) { return a; }

template <typename A>
bool put(const float (&in)[5], uint32_t rows, FILE* out) {
  A sum{};
  ck::add(sum, in[0]);
  ck::add(sum, in[1]);
  ck::add_product(sum, in[2], in[3]);
  A other{};
  ck::add(other, in[1]);
  sum = ck::merge(ck::merge(sum, other), sum);
  sum = ck::scaled(ck::divided(sum, rows), in[4]);
  const float results[2] = {ck::rounded<float>(sum), odd(sum)};
  return fwrite(results, sizeof results, 1, out) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (in == nullptr || out == nullptr) return 2;
  float values[5];
  uint32_t rows;
  while (fread(values, sizeof values, 1, in) == 1 && fread(&rows, sizeof rows, 1, in) == 1) {
    if (!put<ck::F32x2>(values, rows, out) || !put<double>(values, rows, out) ||
        !put<float>(values, rows, out)) {
      return 2;
    }
  }
  fclose(in);
  return fclose(out) == 0 ? 0 : 2;
}
