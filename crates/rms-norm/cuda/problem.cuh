// What a kernel is told, and how it finds, reads and writes the elements of a row.
#pragma once

#include <ck/memory.cuh>
#include <ck/platform.cuh>
#include <ck/types.cuh>

#include "quantise.cuh"
#include "rms_norm.h"

namespace rms {

constexpr int kWideColumns = 1024;    // from here on a row has kWideColumns logical threads,
constexpr int kNarrowThreads = 256;   // below it has these
constexpr int kMaxSums = ck::kWarp;   // logical warps of a row, at most

// rms_norm_params, checked and with its defaults filled in. Passed to kernels by value.
struct Problem {
  const void* x;
  const void* residual;
  const void* gamma;
  const void* add;
  const float* tensor_scale;
  void* y;
  void* residual_out;
  float* token_scales;
  float* rstd;
  int64_t x_strides[3];
  int64_t residual_strides[3];
  int64_t gamma_strides[3];
  int64_t add_strides[3];
  int64_t y_strides[3];
  int64_t residual_out_strides[3];
  int gamma_sizes[4];
  int add_sizes[4];
  int n;
  int rows;      // of a channel
  int channels;  // of a sample
  int total;     // rows in all
  int gamma_dtype;
  int y_dtype;
  int residual_dtype;
  int gamma_mode;
  int residual_mode;
  int quantisation;
  bool vector;      // every group of columns starts at its own alignment and ends within its row
  float eps;
  float columns;    // n
  float inverse_n;  // 1 / n where n is a power of two, else 0
  float min_scale;
};

template <typename T>
constexpr int kDtype = RMS_F32;
template <>
constexpr int kDtype<ck::bf16> = RMS_BF16;
template <>
constexpr int kDtype<ck::f16> = RMS_F16;

// The plain instances serve contiguous weighted rows of one type without options, and carry no code
// for what they never meet: a kernel that runs once is bound by fetching its instructions.
template <typename T, bool kPlain>
CK_DEVICE Problem seen_by(Problem p) {
  if (kPlain) {
    p.residual = nullptr;
    p.add = nullptr;
    p.tensor_scale = nullptr;
    p.residual_out = nullptr;
    p.token_scales = nullptr;
    p.rstd = nullptr;
    p.channels = 1;
    p.gamma_mode = RMS_GAMMA_PLAIN;
    p.quantisation = RMS_QUANT_NONE;
    p.vector = true;
    p.gamma_dtype = kDtype<T>;
    p.y_dtype = kDtype<T>;
  }
  return p;
}

// A row by its place in each dimension.
struct Row {
  int index;
  int row;
  int channel;
  int sample;
};

template <bool kPlain>
CK_DEVICE Row row_at(const Problem& p, int index) {
  if (kPlain || p.rows == p.total) return Row{index, index, 0, 0};
  const int channel = index / p.rows;
  const int row = CK_MUTANT(rms_row_of_sample) ? index % (p.rows * p.channels) : index % p.rows;
  return Row{index, row, channel % p.channels, channel / p.channels};
}

CK_DEVICE int64_t offset_of(const Row& r, const int64_t (&strides)[3]) {
  if (CK_MUTANT(rms_offsets_in_32_bits)) {
    return static_cast<int>(r.row * static_cast<int>(strides[0]) +
                            r.channel * static_cast<int>(strides[1]) +
                            r.sample * static_cast<int>(strides[2]));
  }
  return r.row * strides[0] + r.channel * strides[1] + r.sample * strides[2];
}

// Of a tensor that repeats.
CK_DEVICE int64_t wrapped_offset_of(const Row& r, const int (&sizes)[4],
                                    const int64_t (&strides)[3]) {
  const int64_t row = sizes[1] == 1 ? 0 : r.row % sizes[1];
  const int64_t channel = sizes[2] == 1 ? 0 : r.channel % sizes[2];
  const int64_t sample = sizes[3] == 1 ? 0 : r.sample % sizes[3];
  return row * strides[0] + channel * strides[1] + sample * strides[2];
}

// The bits of kV elements of kBytes in all.
template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<4> {
  using type = uint32_t;
};
template <>
struct BitsOf<8> {
  using type = uint2;
};
template <>
struct BitsOf<16> {
  using type = uint4;
};
template <typename T, int kV>
using Bits = typename BitsOf<sizeof(T) * kV>::type;

CK_DEVICE void words_of(uint32_t bits, uint32_t (&w)[1]) { w[0] = bits; }
CK_DEVICE void words_of(uint2 bits, uint32_t (&w)[2]) {
  w[0] = bits.x;
  w[1] = bits.y;
}
CK_DEVICE void words_of(uint4 bits, uint32_t (&w)[4]) {
  w[0] = bits.x;
  w[1] = bits.y;
  w[2] = bits.z;
  w[3] = bits.w;
}
CK_DEVICE uint32_t bits_of(const uint32_t (&w)[1]) { return w[0]; }
CK_DEVICE uint2 bits_of(const uint32_t (&w)[2]) { return make_uint2(w[0], w[1]); }
CK_DEVICE uint4 bits_of(const uint32_t (&w)[4]) { return make_uint4(w[0], w[1], w[2], w[3]); }

CK_DEVICE float element_of(uint32_t word, int, float) { return __uint_as_float(word); }
template <typename T>
CK_DEVICE float element_of(uint32_t word, int half, T) {
  return ck::to_f32(T{static_cast<uint16_t>(half == 0 ? word : word >> 16)});
}

// A group of kV adjacent elements as f32.
template <int kV>
struct Group {
  float v[kV];
};

template <typename T, int kV>
CK_DEVICE Group<kV> unpack(const Bits<T, kV>& bits) {
  constexpr int kOfWord = 4 / sizeof(T);
  uint32_t words[kV / kOfWord];
  words_of(bits, words);
  Group<kV> group;
  CK_UNROLL
  for (int i = 0; i < kV; ++i) group.v[i] = element_of(words[i / kOfWord], i % kOfWord, T{});
  return group;
}

CK_DEVICE uint32_t bits_of_element(float x) { return __float_as_uint(x); }
template <typename T>
CK_DEVICE uint32_t bits_of_element(T x) {
  return x.bits;
}

template <typename T, int kV>
CK_DEVICE Bits<T, kV> pack(const Group<kV>& group) {
  constexpr int kOfWord = 4 / sizeof(T);
  uint32_t words[kV / kOfWord];
  CK_UNROLL
  for (int w = 0; w < kV / kOfWord; ++w) {
    words[w] = bits_of_element(ck::from_f32<T>(group.v[w * kOfWord]));
    if (kOfWord == 2) {
      words[w] |= bits_of_element(ck::from_f32<T>(group.v[w * kOfWord + kOfWord - 1])) << 16;
    }
  }
  return bits_of(words);
}

template <int kV>
CK_DEVICE Group<kV> filled(float value) {
  Group<kV> group;
  CK_UNROLL
  for (int i = 0; i < kV; ++i) group.v[i] = value;
  return group;
}

CK_DEVICE float load_element(const float* p) { return *p; }
template <typename T>
CK_DEVICE float load_element(const T* p) {
  return ck::to_f32(T{*reinterpret_cast<const uint16_t*>(p)});
}
CK_DEVICE void store_element(float* p, float x) { *p = x; }
template <typename T>
CK_DEVICE void store_element(T* p, float x) {
  *reinterpret_cast<uint16_t*>(p) = ck::from_f32<T>(x).bits;
}

// Elements column .. column + kV - 1 of a row of n; those past its end are +0, which adds nothing to
// a sum of squares.
template <int kV, typename T>
CK_DEVICE Group<kV> load_group(const T* row, int column, int n, bool vector) {
  if (column >= n) return filled<kV>(0.0f);
  if (vector) return unpack<T, kV>(*reinterpret_cast<const Bits<T, kV>*>(row + column));
  Group<kV> group = filled<kV>(0.0f);
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    if (column + i < n) group.v[i] = load_element(row + column + i);
  }
  return group;
}

template <int kV, typename T>
CK_DEVICE void store_group(T* row, int column, int n, bool vector, const Group<kV>& group) {
  if (column >= n) return;
  if (vector) {
    *reinterpret_cast<Bits<T, kV>*>(row + column) = pack<T, kV>(group);
    return;
  }
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    if (column + i < n) store_element(row + column + i, group.v[i]);
  }
}

// The same for a tensor of x's type T or of f32.
template <typename T, int kV>
CK_DEVICE Group<kV> load_either(const void* base, int64_t row, int dtype, int column, int n,
                                bool vector) {
  if (dtype == kDtype<T>) {
    return load_group<kV>(static_cast<const T*>(base) + row, column, n, vector);
  }
  return load_group<kV>(static_cast<const float*>(base) + row, column, n, vector);
}
template <typename T, int kV>
CK_DEVICE void store_either(void* base, int64_t row, int dtype, int column, int n, bool vector,
                            const Group<kV>& group) {
  if (dtype == kDtype<T>) {
    store_group<kV>(static_cast<T*>(base) + row, column, n, vector, group);
  } else {
    store_group<kV>(static_cast<float*>(base) + row, column, n, vector, group);
  }
}

// gamma or add: columns wrap as rows do. The host has made sure that no vector crosses the seam.
template <typename T, int kV>
CK_DEVICE Group<kV> load_repeated(const void* base, int64_t row, int dtype, int size, int column,
                                  int n, bool vector) {
  if (column >= n) return filled<kV>(0.0f);
  if (size == n || vector) {
    const int at = size == n || CK_MUTANT(rms_columns_do_not_wrap) ? column : column % size;
    return load_either<T, kV>(base, row, dtype, at, size == n ? n : size, vector);
  }
  Group<kV> group = filled<kV>(0.0f);
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    if (column + i >= n) continue;
    const int64_t at = row + (column + i) % size;
    group.v[i] = dtype == kDtype<T> ? load_element(static_cast<const T*>(base) + at)
                                    : load_element(static_cast<const float*>(base) + at);
  }
  return group;
}

// What gamma multiplies by.
template <typename T, int kV, bool kPlain>
CK_DEVICE Group<kV> load_weight(const Problem& p, int64_t row, int column) {
  if (kPlain) return load_group<kV>(static_cast<const T*>(p.gamma), column, p.n, true);
  if (p.gamma == nullptr) return filled<kV>(1.0f);
  Group<kV> weight = load_repeated<T, kV>(p.gamma, row, p.gamma_dtype, p.gamma_sizes[0], column,
                                          p.n, p.vector);
  if (p.gamma_mode == RMS_GAMMA_ONE_PLUS) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) weight.v[i] = __fadd_rn(1.0f, weight.v[i]);
  }
  return weight;
}

// Where the row begins in each tensor.
struct Place {
  int64_t x;
  int64_t residual;
  int64_t gamma;
  int64_t add;
  int64_t y;
  int64_t residual_out;
};
CK_DEVICE Place place_of(const Problem& p, const Row& r) {
  Place place{};
  place.x = offset_of(r, p.x_strides);
  if (p.residual != nullptr) place.residual = offset_of(r, p.residual_strides);
  if (p.gamma != nullptr) place.gamma = wrapped_offset_of(r, p.gamma_sizes, p.gamma_strides);
  if (p.add != nullptr) place.add = wrapped_offset_of(r, p.add_sizes, p.add_strides);
  place.y = offset_of(r, CK_MUTANT(rms_y_by_the_strides_of_x) ? p.x_strides : p.y_strides);
  if (p.residual_out != nullptr) place.residual_out = offset_of(r, p.residual_out_strides);
  return place;
}

// x + residual as stored, and as normalised.
template <typename T, int kV>
CK_DEVICE Group<kV> load_input(const Problem& p, const Place& place, int column) {
  Group<kV> r = load_group<kV>(static_cast<const T*>(p.x) + place.x, column, p.n, p.vector);
  if (p.residual == nullptr) return r;
  const Group<kV> residual = load_either<T, kV>(p.residual, place.residual, p.residual_dtype,
                                                column, p.n, p.vector);
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    r.v[i] = __fadd_rn(r.v[i], residual.v[i]);
    if (p.residual_mode == RMS_RESIDUAL_ROUNDED && p.residual_dtype == kDtype<T>) {
      r.v[i] = ck::to_f32(ck::from_f32<T>(r.v[i]));
    }
  }
  return r;
}

// The correctly rounded s / n, then + eps, then 1 / sqrt.
CK_DEVICE float scale_of(const Problem& p, float s) {
  // A product with an exact inverse is rounded as the quotient is.
  const float mean =
      p.inverse_n != 0.0f ? __fmul_rn(s, p.inverse_n) : __fdiv_rn(s, p.columns);
  return __frsqrt_rn(__fadd_rn(mean, p.eps));
}

template <typename T, int kV>
CK_DEVICE Group<kV> normalised(const Problem& p, const Place& place, int column, float scale,
                               const Group<kV>& r, const Group<kV>& weight) {
  Group<kV> y;
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    float t = __fmul_rn(scale, r.v[i]);
    if (p.gamma_mode == RMS_GAMMA_AFTER_CAST) t = ck::to_f32(ck::from_f32<T>(t));
    y.v[i] = __fmul_rn(t, weight.v[i]);
  }
  if (p.add != nullptr) {
    const Group<kV> add = load_repeated<T, kV>(p.add, place.add, p.gamma_dtype, p.add_sizes[0],
                                               column, p.n, p.vector);
    CK_UNROLL
    for (int i = 0; i < kV; ++i) y.v[i] = __fadd_rn(y.v[i], add.v[i]);
  }
  return y;
}

// y, or its quantisation by `step`.
template <typename T, int kV>
CK_DEVICE void store_result(const Problem& p, const Place& place, int column, float step,
                            const Group<kV>& y) {
  if (p.quantisation == RMS_QUANT_NONE) {
    store_either<T, kV>(p.y, place.y, p.y_dtype, column, p.n, p.vector, y);
    return;
  }
  if (column >= p.n) return;
  uint8_t* const out = static_cast<uint8_t*>(p.y) + place.y + column;
  uint8_t bytes[kV];
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    const float q = __fdiv_rn(y.v[i], step);
    bytes[i] = p.y_dtype == RMS_INT8 ? int8_of(q) : fp8_of(q);
  }
  if (kV == 4 && p.vector) {
    *reinterpret_cast<uint32_t*>(out) = bytes[0] | bytes[1 % kV] << 8 | bytes[2 % kV] << 16 |
                                        static_cast<uint32_t>(bytes[3 % kV]) << 24;
    return;
  }
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    if (column + i < p.n) out[i] = bytes[i];
  }
}

// residual_out from r: where r was rounded to its type before, rounding again changes nothing.
template <typename T, int kV>
CK_DEVICE void store_sum(const Problem& p, const Place& place, int column, const Group<kV>& r) {
  if (p.residual_out == nullptr) return;
  store_either<T, kV>(p.residual_out, place.residual_out, p.residual_dtype, column, p.n, p.vector,
                      r);
}

// The scale of a token whose largest |y| is `largest`.
CK_DEVICE float token_scale_of(const Problem& p, float largest) {
  return fmaxf(__fdiv_rn(largest, p.y_dtype == RMS_INT8 ? 127.0f : 448.0f), p.min_scale);
}

template <int kV>
CK_DEVICE float largest_of(float so_far, const Group<kV>& y, int column, int n) {
  CK_UNROLL
  for (int i = 0; i < kV; ++i) {
    if (column + i < n) so_far = fmaxf(so_far, fabsf(y.v[i]));  // a NaN loses
  }
  return so_far;
}

}  // namespace rms
