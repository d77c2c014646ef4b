// Tensor-core products of f32 matrices: one warp multiplies 16 x 8 by 8 x 8 in TF32 (compute
// capability 8.0), and a split of f32 into two TF32 that keeps f32's accuracy.
//
// TF32 is f32 with 11 significant bits; the unit ignores the 13 below, products are exact, and the
// sum of eight and the accumulator is rounded in a way that NVIDIA does not state (measured by
// others: addends aligned to the largest, bits below cut off). Nothing that uses it is of class
// exact.
//
// Lane (g, q) = (lane / 4, lane % 4) holds of D = A B + D:
//
//   a[4]:   A[g][q], A[g + 8][q], A[g][q + 4], A[g + 8][q + 4]     16 rows, 8 columns
//   b[2]:   B[q][g], B[q + 4][g]                                   8 rows, 8 columns
//   sum[4]: D[g][2q], D[g][2q + 1], D[g + 8][2q], D[g + 8][2q + 1]
//
// The simulator has the scalar body below, in which lanes read each other by shuffles: f64 sums,
// cut off to f32. The same bits in every run, not the GPU's.
#pragma once

#include <ck/platform.cuh>

#if defined(CK_SIM)
#include <cmath>
#endif

namespace ck {

namespace detail {
constexpr uint32_t kTf32Mask = 0xffffe000u;  // sign, exponent, 10 bits of fraction
constexpr uint32_t kTf32Half = 0x1000u;      // half of the last of these
}  // namespace detail

// The nearest TF32, ties away from zero; NaN and infinity stay what they are.
CK_DEVICE float to_tf32(float x) {
#if defined(CK_SIM)
  if (!std::isfinite(x)) return x;
  return __uint_as_float((__float_as_uint(x) + detail::kTf32Half) & detail::kTf32Mask);
#else
  uint32_t bits;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#else
  bits = 0;
#endif
  return __uint_as_float(bits);
#endif
}

// x = big + small + error, big the nearest TF32 and |error| <= 2^-23 |x| once the unit has cut
// `small` off. In a product of two such, big big + big small + small big leaves out at most 2^-21
// of |a b|. Three instructions, where the conversion twice takes seven: a NaN may make `big` a zero
// and then makes `small` NaN; an infinity makes `small` NaN, and so does |x| within 2^-12 of the
// largest.
CK_DEVICE void split_tf32(float x, float& big, float& small) {
  big = __uint_as_float((__float_as_uint(x) + detail::kTf32Half) & detail::kTf32Mask);
  small = __fsub_rn(x, big);
}

// sum += A B; the whole warp.
CK_DEVICE void mma_tf32(float (&sum)[4], const float (&a)[4], const float (&b)[2]) {
#if defined(CK_SIM)
  const auto pair = [](float low, float high) {
    return static_cast<uint64_t>(__float_as_uint(high)) << 32 | __float_as_uint(low);
  };
  const auto cut = [](uint64_t bits) {
    return static_cast<double>(__uint_as_float(static_cast<uint32_t>(bits) & detail::kTf32Mask));
  };
  const int lane = threadIdx.x % kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const uint64_t own_low = pair(a[0], a[1]);
  const uint64_t own_high = pair(a[2], a[3]);
  const uint64_t own_b = pair(b[0], b[1]);
  double total[4];
  for (int i = 0; i < 4; ++i) total[i] = sum[i];
  for (int k = 0; k < 4; ++k) {
    const uint64_t low = __shfl_sync(kFullMask, own_low, g * 4 + k);
    const uint64_t high = __shfl_sync(kFullMask, own_high, g * 4 + k);
    for (int column = 0; column < 2; ++column) {
      const uint64_t of_b = __shfl_sync(kFullMask, own_b, (2 * q + column) * 4 + k);
      total[column] += cut(low) * cut(of_b) + cut(high) * cut(of_b >> 32);
      total[2 + column] += cut(low >> 32) * cut(of_b) + cut(high >> 32) * cut(of_b >> 32);
    }
  }
  for (int i = 0; i < 4; ++i) {
    sum[i] = static_cast<float>(total[i]);
    if (std::isfinite(total[i]) && std::fabs(static_cast<double>(sum[i])) > std::fabs(total[i])) {
      sum[i] = std::nextafter(sum[i], 0.0f);
    }
  }
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  __trap();  // the host never launches such a kernel there
#endif
}

}  // namespace ck
