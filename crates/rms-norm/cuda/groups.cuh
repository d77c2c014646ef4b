// Groups of kV adjacent columns, loaded and stored as one vector. Functions take all the groups
// that a thread holds: the loads of a tensor stand side by side behind one branch for its type, so
// that they are under way together. (With a branch for each load instead, 4096x4096 bf16 took 197
// us on an H200, and 18 like this.)
#pragma once

#include "problem.cuh"

namespace rms {

// The bits of kV elements of kBytes in all.
template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<2> {
  using type = uint16_t;
};
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
template <>
struct BitsOf<32> {
  struct alignas(16) type {
    uint4 low;
    uint4 high;
  };
};
template <typename T, int kV>
using Bits = typename BitsOf<sizeof(T) * kV>::type;

CK_DEVICE void words_of(uint16_t bits, uint32_t (&w)[1]) { w[0] = bits; }
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
CK_DEVICE void words_of(const BitsOf<32>::type& bits, uint32_t (&w)[8]) {
  w[0] = bits.low.x;
  w[1] = bits.low.y;
  w[2] = bits.low.z;
  w[3] = bits.low.w;
  w[4] = bits.high.x;
  w[5] = bits.high.y;
  w[6] = bits.high.z;
  w[7] = bits.high.w;
}
CK_DEVICE uint32_t bits_of(const uint32_t (&w)[1]) { return w[0]; }
CK_DEVICE uint2 bits_of(const uint32_t (&w)[2]) { return make_uint2(w[0], w[1]); }
CK_DEVICE uint4 bits_of(const uint32_t (&w)[4]) { return make_uint4(w[0], w[1], w[2], w[3]); }
CK_DEVICE BitsOf<32>::type bits_of(const uint32_t (&w)[8]) {
  return {make_uint4(w[0], w[1], w[2], w[3]), make_uint4(w[4], w[5], w[6], w[7])};
}

template <int kV>
struct Group {
  float v[kV];
};

CK_DEVICE float element_of(uint32_t word, int, float) { return __uint_as_float(word); }
template <typename T>
CK_DEVICE float element_of(uint32_t word, int half, T) {
  return ck::to_f32(T{static_cast<uint16_t>(half == 0 ? word : word >> 16)});
}
// The upper half of a word is its bf16 already.
CK_DEVICE float element_of(uint32_t word, int half, ck::bf16) {
  return __uint_as_float(half == 0 ? word << 16 : word & 0xffff0000u);
}

template <typename T, int kV>
CK_DEVICE Group<kV> unpack(const Bits<T, kV>& bits) {
  constexpr int kOfWord = 4 / sizeof(T);
  uint32_t words[(kV + kOfWord - 1) / kOfWord];
  words_of(bits, words);
  Group<kV> group;
  CK_UNROLL
  for (int i = 0; i < kV; ++i) group.v[i] = element_of(words[i / kOfWord], i % kOfWord, T{});
  return group;
}

CK_DEVICE uint32_t pair_of(float low, float high, ck::bf16) {
#if defined(CK_SIM)
  return ck::from_f32<ck::bf16>(low).bits | static_cast<uint32_t>(ck::from_f32<ck::bf16>(high).bits)
                                                << 16;
#else
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
#endif
}
CK_DEVICE uint32_t pair_of(float low, float high, ck::f16) {
#if defined(CK_SIM)
  return ck::from_f32<ck::f16>(low).bits | static_cast<uint32_t>(ck::from_f32<ck::f16>(high).bits)
                                               << 16;
#else
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
#endif
}
template <int kV>
CK_DEVICE Bits<float, kV> pack(const Group<kV>& group, float) {
  uint32_t words[kV];
  CK_UNROLL
  for (int i = 0; i < kV; ++i) words[i] = __float_as_uint(group.v[i]);
  return bits_of(words);
}
template <typename T>
CK_DEVICE Bits<T, 1> pack(const Group<1>& group, T) {
  return ck::from_f32<T>(group.v[0]).bits;
}
CK_DEVICE uint32_t pack(const Group<1>& group, float) { return __float_as_uint(group.v[0]); }
template <int kV, typename T>
CK_DEVICE Bits<T, kV> pack(const Group<kV>& group, T type) {
  uint32_t words[kV / 2];
  CK_UNROLL
  for (int w = 0; w < kV / 2; ++w) {
    words[w] = pair_of(group.v[2 * w], group.v[2 * w + 1], type);
  }
  return bits_of(words);
}

// The columns at which a thread's groups begin: those past the end of the row are never touched,
// and read as +0, which adds nothing to a sum of squares.
template <int kN>
struct Columns {
  int at[kN];
};

template <typename T, int kV, int kN>
CK_DEVICE void load_bits(const T* row, const Columns<kN>& from, const Columns<kN>& columns, int n,
                         Bits<T, kV> (&bits)[kN]) {
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    bits[k] = Bits<T, kV>{};
    if (columns.at[k] < n) bits[k] = *reinterpret_cast<const Bits<T, kV>*>(row + from.at[k]);
  }
}
template <typename T, int kV, int kN>
CK_DEVICE void load_groups(const T* row, const Columns<kN>& from, const Columns<kN>& columns, int n,
                           Group<kV> (&groups)[kN]) {
  Bits<T, kV> bits[kN];
  load_bits<T, kV>(row, from, columns, n, bits);
  CK_UNROLL
  for (int k = 0; k < kN; ++k) groups[k] = unpack<T, kV>(bits[k]);
}
// One store: of an assignment nvcc makes four where the vector is the last that a kernel stores.
template <typename B>
CK_DEVICE void store_bits(void* p, const B& bits) {
#if defined(CK_SIM)
  *static_cast<B*>(p) = bits;
#else
  __stwb(static_cast<B*>(p), bits);
#endif
}
CK_DEVICE void store_bits(void* p, const BitsOf<32>::type& bits) {
  store_bits(p, bits.low);
  store_bits(static_cast<uint4*>(p) + 1, bits.high);
}

template <typename T, int kV, int kN>
CK_DEVICE void store_groups(T* row, const Columns<kN>& columns, int n,
                            const Group<kV> (&groups)[kN]) {
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    if (columns.at[k] < n) {
      store_bits(row + columns.at[k], pack(groups[k], T{}));
    }
  }
}

// The groups at `first` and every `step` columns further.
template <int kN>
CK_DEVICE Columns<kN> columns_from(int first, int step) {
  Columns<kN> columns;
  CK_UNROLL
  for (int k = 0; k < kN; ++k) columns.at[k] = first + k * step;
  return columns;
}

// A tensor of x's type T or of f32.
template <typename T, int kV, int kN>
CK_DEVICE void load_either(const void* base, int64_t row, int dtype, const Columns<kN>& from,
                           const Columns<kN>& columns, int n, Group<kV> (&groups)[kN]) {
  if (dtype == kDtype<T>) {
    load_groups<T>(static_cast<const T*>(base) + row, from, columns, n, groups);
  } else {
    load_groups<float>(static_cast<const float*>(base) + row, from, columns, n, groups);
  }
}
template <typename T, int kV, int kN>
CK_DEVICE void store_either(void* base, int64_t row, int dtype, const Columns<kN>& columns, int n,
                            const Group<kV> (&groups)[kN]) {
  if (dtype == kDtype<T>) {
    store_groups<T>(static_cast<T*>(base) + row, columns, n, groups);
  } else {
    store_groups<float>(static_cast<float*>(base) + row, columns, n, groups);
  }
}

// Columns of a tensor that repeats. The host has made sure that no vector crosses a seam.
template <int kN>
CK_DEVICE Columns<kN> wrapped(const Columns<kN>& columns, int size, int n) {
  Columns<kN> from = columns;
  if (size == n || CK_MUTANT(rms_columns_do_not_wrap)) return from;
  CK_UNROLL
  for (int k = 0; k < kN; ++k) from.at[k] = columns.at[k] % size;
  return from;
}

// r: x, or x + residual.
template <typename T, int kV, int kN>
CK_DEVICE void load_input(const Problem& p, const Place& place, const Columns<kN>& columns,
                          Group<kV> (&r)[kN]) {
  Bits<T, kV> bits[kN];
  load_bits<T, kV>(static_cast<const T*>(p.x) + place.x, columns, columns, p.n, bits);
  if (p.residual == nullptr) {
    CK_UNROLL
    for (int k = 0; k < kN; ++k) r[k] = unpack<T, kV>(bits[k]);
    return;
  }
  load_either<T>(p.residual, place.residual, p.residual_dtype, columns, columns, p.n, r);
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    const Group<kV> x = unpack<T, kV>(bits[k]);
    CK_UNROLL
    for (int i = 0; i < kV; ++i) r[k].v[i] = sum_of<T>(p, x.v[i], r[k].v[i]);
  }
}

// What gamma multiplies by.
template <typename T, int kV, int kN>
CK_DEVICE void load_weights(const Problem& p, int64_t row, const Columns<kN>& columns,
                            Group<kV> (&weights)[kN]) {
  if (p.gamma == nullptr) {
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      CK_UNROLL
      for (int i = 0; i < kV; ++i) weights[k].v[i] = 1.0f;
    }
    return;
  }
  load_either<T>(p.gamma, row, p.gamma_dtype, wrapped(columns, p.gamma_sizes[0], p.n), columns, p.n,
                 weights);
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) weights[k].v[i] = weight_of(p, weights[k].v[i]);
  }
}

// y in place of the weights.
template <typename T, int kV, int kN>
CK_DEVICE void normalise(const Problem& p, const Place& place, const Columns<kN>& columns,
                         float scale, const Group<kV> (&r)[kN], Group<kV> (&y)[kN]) {
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) y[k].v[i] = normalised<T>(p, scale, r[k].v[i], y[k].v[i]);
  }
  if (p.add == nullptr) return;
  Group<kV> add[kN];
  load_either<T>(p.add, place.add, p.gamma_dtype, wrapped(columns, p.add_sizes[0], p.n), columns,
                 p.n, add);
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) y[k].v[i] = __fadd_rn(y[k].v[i], add[k].v[i]);
  }
}

template <int kV, int kN>
CK_DEVICE float largest_of(float so_far, const Columns<kN>& columns, int n,
                           const Group<kV> (&y)[kN]) {
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    CK_UNROLL
    for (int i = 0; i < kV; ++i) {
      if (columns.at[k] < n) so_far = fmaxf(so_far, fabsf(y[k].v[i]));  // a NaN loses
    }
  }
  return so_far;
}

CK_DEVICE uint32_t bytes_of(const Problem& p, const float* y, float step) {
  uint32_t word = 0;
  CK_UNROLL
  for (int i = 0; i < 4; ++i) word |= static_cast<uint32_t>(code_of(p, y[i], step)) << (8 * i);
  return word;
}

// y, or its quantisation by `step`.
template <typename T, int kV, int kN>
CK_DEVICE void store_result(const Problem& p, const Place& place, const Columns<kN>& columns,
                            float step, const Group<kV> (&y)[kN]) {
  if (p.quantisation == RMS_QUANT_NONE) {
    store_either<T>(p.y, place.y, p.y_dtype, columns, p.n, y);
    return;
  }
  uint8_t* const out = static_cast<uint8_t*>(p.y) + place.y;
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    if (columns.at[k] >= p.n) continue;
    if constexpr (kV == 1) {
      out[columns.at[k]] = code_of(p, y[k].v[0], step);
    } else {
      CK_UNROLL
      for (int i = 0; i < kV; i += 4) {
        *reinterpret_cast<uint32_t*>(out + columns.at[k] + i) = bytes_of(p, y[k].v + i, step);
      }
    }
  }
}

// y of a plain row, from the bits of x and gamma.
template <typename T, int kV, int kN>
CK_DEVICE void store_normalised(const Problem& p, const Place& place, const Columns<kN>& columns,
                                float scale, const Bits<T, kV> (&x)[kN],
                                const Bits<T, kV> (&weights)[kN]) {
  Group<kV> y[kN];
  CK_UNROLL
  for (int k = 0; k < kN; ++k) {
    const Group<kV> r = unpack<T, kV>(x[k]);
    y[k] = unpack<T, kV>(weights[k]);
    CK_UNROLL
    for (int i = 0; i < kV; ++i) y[k].v[i] = normalised<T>(p, scale, r.v[i], y[k].v[i]);
  }
  store_groups<T>(static_cast<T*>(p.y) + place.y, columns, p.n, y);
}

// residual_out from r: where r was rounded to its type before, rounding again changes nothing.
template <typename T, int kV, int kN>
CK_DEVICE void store_sum(const Problem& p, const Place& place, const Columns<kN>& columns,
                         const Group<kV> (&r)[kN]) {
  if (p.residual_out == nullptr) return;
  store_either<T>(p.residual_out, place.residual_out, p.residual_dtype, columns, p.n, r);
}

}  // namespace rms
