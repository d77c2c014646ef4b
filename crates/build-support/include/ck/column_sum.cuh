// Sums over the rows of a matrix: the accumulators, and the one tree that every exact column sum of
// the workspace follows (exact_math::column is the same in Rust).
//
// THE TREE of a column is a function of its number of rows alone.
//   Rows are cut into chunks of 32 * K, K = column_chain(rows): 4, 8 or 16.
//   Row r of a chunk belongs to lane r % 32. A lane adds its K rows in ascending order, from +0.
//   Lanes are merged 16, 8, 4, 2, 1 apart: (l, l + 16), then (l, l + 8), ...
//   Chunks are merged as neighbours: (0, 1), (2, 3), ..., then pairs of pairs, and so on.
// Where rows or chunks are missing, +0 stands: an accumulator that starts from +0 never becomes -0,
// so adding +0 or merging an empty one changes no result, and a kernel may skip it or not.
//
// So a thread that owns whole lanes can keep them in registers, a warp can load 32 neighbouring
// rows, a block can take any aligned power of two of chunks, and all of them agree to the bit.
//
// ACCUMULATORS
//   F32x2   two f32: their sum, with the rounding error of every addition kept in the second (the
//           error-free TwoSum of Knuth; Ogita, Rump, Oishi 2005, "Accurate sum and dot product").
//           About 48 bits; its range is that of f32. Seven additions an element, eight a merge.
//   double  53 bits and a larger range; as fast where FP64 is wide, slow on consumer GPUs.
//   float   one addition an element; the error of a tree of f32 additions.
#pragma once

#include <ck/types.cuh>

namespace ck {

constexpr int kColumnLanes = 32;

// Binary logarithm of the rows of a chunk; the rows that a lane of it adds; chunks of a column.
// Short columns have short chains, so that few rows still occupy many threads.
CK_HOST_DEVICE int column_chunk_log2(int64_t rows) {
  return rows <= 4096 ? 7 : rows <= 8192 ? 8 : 9;
}
CK_HOST_DEVICE int column_chunk_rows(int64_t rows) { return 1 << column_chunk_log2(rows); }
CK_HOST_DEVICE int column_chain(int64_t rows) {
  return (1 << column_chunk_log2(rows)) / kColumnLanes;
}
CK_HOST_DEVICE int64_t column_chunks(int64_t rows) {
  const int log2 = column_chunk_log2(rows);
  return (rows + (int64_t{1} << log2) - 1) >> log2;
}

struct F32x2 {
  float high;
  float low;
};

// a + b = sum + error, exactly, where nothing overflows.
struct TwoSum {
  float sum;
  float error;
};
CK_DEVICE TwoSum two_sum(float a, float b) {
  const float sum = __fadd_rn(a, b);
  const float part = __fsub_rn(sum, a);
  return {sum, __fadd_rn(__fsub_rn(a, __fsub_rn(sum, part)), __fsub_rn(b, part))};
}

namespace detail {
CK_DEVICE bool is_finite(float x) { return fabsf(x) < __builtin_huge_valf(); }
}  // namespace detail

CK_DEVICE void add(F32x2& a, float x) {
  const TwoSum s = two_sum(a.high, x);
  a.high = s.sum;
  a.low = __fadd_rn(a.low, s.error);
}
CK_DEVICE void add(double& a, float x) { a = __dadd_rn(a, static_cast<double>(x)); }
CK_DEVICE void add(float& a, float x) { a = __fadd_rn(a, x); }

// a += w * x, with the product exact before it is added (f32: one fma).
CK_DEVICE void add_product(F32x2& a, float w, float x) {
  const float product = __fmul_rn(w, x);
  const float rest = __fmaf_rn(w, x, -product);
  const TwoSum s = two_sum(a.high, product);
  a.high = s.sum;
  a.low = __fadd_rn(a.low, __fadd_rn(s.error, rest));
}
CK_DEVICE void add_product(double& a, float w, float x) {
  a = __fma_rn(static_cast<double>(w), static_cast<double>(x), a);
}
CK_DEVICE void add_product(float& a, float w, float x) { a = __fmaf_rn(w, x, a); }

// Two parts of a sum. Commutes to the bit.
CK_DEVICE F32x2 merge(F32x2 a, F32x2 b) {
  const TwoSum s = two_sum(a.high, b.high);
  return {s.sum, __fadd_rn(__fadd_rn(a.low, b.low), s.error)};
}
CK_DEVICE double merge(double a, double b) { return __dadd_rn(a, b); }
CK_DEVICE float merge(float a, float b) { return __fadd_rn(a, b); }

// merge() with the accumulator of the lane `step` away.
CK_DEVICE F32x2 merge_across(F32x2 a, int step) {
  return merge(
      a, F32x2{__shfl_xor_sync(kFullMask, a.high, step), __shfl_xor_sync(kFullMask, a.low, step)});
}
CK_DEVICE double merge_across(double a, int step) {
  return merge(a, __shfl_xor_sync(kFullMask, a, step));
}
CK_DEVICE float merge_across(float a, int step) {
  return merge(a, __shfl_xor_sync(kFullMask, a, step));
}

// The sum over a number of rows, a positive number: a quotient in the accumulator's precision.
CK_DEVICE F32x2 divided(F32x2 a, int64_t rows) {
  const float n = __ll2float_rn(rows);
  const float rest_of_n = __ll2float_rn(rows - static_cast<int64_t>(n));
  const float quotient = __fdiv_rn(a.high, n);
  const float rest = __fmaf_rn(-quotient, rest_of_n, __fmaf_rn(-quotient, n, a.high));
  return {quotient, __fdiv_rn(__fadd_rn(rest, a.low), n)};
}
CK_DEVICE double divided(double a, int64_t rows) { return __ddiv_rn(a, __ll2double_rn(rows)); }
CK_DEVICE float divided(float a, int64_t rows) { return __fdiv_rn(a, __ll2float_rn(rows)); }

// alpha * a.
CK_DEVICE F32x2 scaled(F32x2 a, float alpha) {
  const float product = __fmul_rn(alpha, a.high);
  return {product, __fmaf_rn(alpha, a.low, __fmaf_rn(alpha, a.high, -product))};
}
CK_DEVICE double scaled(double a, float alpha) { return __dmul_rn(static_cast<double>(alpha), a); }
CK_DEVICE float scaled(float a, float alpha) { return __fmul_rn(alpha, a); }

namespace detail {
// An f32 that rounds to every shorter format as s + rest does: s where it is exact, else the one of
// its two neighbours around s + rest whose last bit is 1 (rounding to odd: Boldo, Melquiond 2008).
CK_DEVICE float to_odd(float s, bool above, bool exact) {
  const uint32_t bits = __float_as_uint(s);
  if (exact || s == 0.0f || !is_finite(s) || (bits & 1u) != 0) return s;
  return __uint_as_float(above == (s > 0.0f) ? bits + 1 : bits - 1);
}
}  // namespace detail

// The accumulator as an element: rounded once, to nearest even. An infinite or NaN sum is what the
// f32 additions alone make of it.
template <typename T>
CK_DEVICE T rounded(F32x2 a) {
  if (!detail::is_finite(a.low)) return from_f32<T>(a.high);
  const TwoSum s = two_sum(a.high, a.low);
  if (sizeof(T) == sizeof(float)) return from_f32<T>(s.sum);
  return from_f32<T>(detail::to_odd(s.sum, s.error > 0.0f, s.error == 0.0f));
}
template <typename T>
CK_DEVICE T rounded(double a) {
  const float s = __double2float_rn(a);
  if (sizeof(T) == sizeof(float)) return from_f32<T>(s);
  const double rest = __dsub_rn(a, static_cast<double>(s));
  return from_f32<T>(detail::to_odd(s, rest > 0.0, rest == 0.0));
}
template <typename T>
CK_DEVICE T rounded(float a) {
  return from_f32<T>(a);
}

}  // namespace ck
