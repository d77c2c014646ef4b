// A thread's share of a chunk: four lanes, or one lane of four columns, each a chain of K terms.
#pragma once

#include "problem.cuh"

namespace reduce {

// Loads under way at once. The next is issued before the oldest is added.
constexpr int kInFlight = 4;

template <typename T>
struct Quad;
template <>
struct Quad<float> {
  float4 raw;
};
template <>
struct Quad<ck::bf16> {
  uint2 raw;
};
template <>
struct Quad<ck::f16> {
  uint2 raw;
};

template <typename T>
CK_DEVICE Quad<T> load_quad(const T* p) {
  return {ck::load_nc(reinterpret_cast<const decltype(Quad<T>::raw)*>(p))};
}
CK_DEVICE float element(const Quad<float>& q, int i) {
  return i == 0 ? q.raw.x : i == 1 ? q.raw.y : i == 2 ? q.raw.z : q.raw.w;
}
template <typename T>
CK_DEVICE float element(const Quad<T>& q, int i) {
  const uint32_t pair = i < 2 ? q.raw.x : q.raw.y;
  return ck::to_f32(T{static_cast<uint16_t>(i % 2 == 0 ? pair : pair >> 16)});
}

template <bool kSquares, typename A>
CK_DEVICE void take(A& sum, float x) {
  if (kSquares) {
    ck::add_product(sum, x, x);
  } else {
    ck::add(sum, x);
  }
}

// `chain` loads of four, `step` elements apart: chain is a multiple of kInFlight.
template <bool kSquares, typename T, typename A>
CK_DEVICE void chain_quads(const T* p, int64_t step, int chain, A (&sum)[kGroup]) {
  Quad<T> next[kInFlight];
  CK_UNROLL
  for (int j = 0; j < kInFlight; ++j) {
    next[j] = load_quad(p);
    p += step;
  }
  CK_NO_UNROLL
  for (int k = kInFlight;; k += kInFlight) {
    CK_UNROLL
    for (int j = 0; j < kInFlight; ++j) {
      const Quad<T> now = next[j];
      if (k < chain) next[j] = load_quad(p);
      p += step;
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) take<kSquares>(sum[i], element(now, i));
    }
    if (k >= chain) return;
  }
}

CK_DEVICE float load_element(const float* p) { return ck::load_nc(p); }
template <typename T>
CK_DEVICE float load_element(const T* p) {
  return ck::to_f32(T{ck::load_nc(reinterpret_cast<const uint16_t*>(p))});
}

// One lane of one column, element by element: ends of matrices, weights, masks, indices, any
// alignment. Its terms are the rows first, first + 32, .. below m.rows.
template <bool kSquares, typename A, typename T>
CK_DEVICE A chain_elements(const Items& items, const Matrix<T>& m, int64_t first, int64_t col,
                           int chain) {
  A sum{};
  const int64_t rows = CK_MUTANT(reduce_rows_past_the_end) ? m.rows + 1 : m.rows;
  int64_t end = first + static_cast<int64_t>(chain) * ck::kColumnLanes;
  if (end > rows) end = rows;
  CK_NO_UNROLL
  for (int64_t row = first; row < end; row += ck::kColumnLanes) {
    if (items.mask != nullptr && items.mask[row] == 0) continue;
    int64_t source = row;
    if (items.index != nullptr) {
      source = items.index[row];
      if (source < 0 || source >= items.table_rows) {
        report(items.status, RED_DEVICE_BAD_INDEX, row);
        continue;
      }
    }
    const float x = load_element(m.x + source * m.ld + col);
    if (items.weights != nullptr) {
      ck::add_product(sum, items.weights[row], x);
    } else {
      take<kSquares>(sum, x);
    }
  }
  return sum;
}

CK_DEVICE bool has_extras(const Items& items) {
  return items.weights != nullptr || items.mask != nullptr || items.index != nullptr;
}

}  // namespace reduce
