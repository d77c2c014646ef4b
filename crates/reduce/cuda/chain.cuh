// A thread's share of a chunk: four lanes, or one lane of four columns, each a chain of K terms.
//
// Elements come through a ring in shared memory that belongs to the thread alone: asynchronous copies
// keep up to a whole chain under way without a register, the next chain's among them, and the loop
// that adds is short, which counts where a kernel runs for a few microseconds and every line of
// its code is fetched once.
#pragma once

#include <ck/pipeline.cuh>

#include "problem.cuh"

namespace reduce {

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

CK_DEVICE float element(const Quad<float>& q, int i) {
  return i == 0 ? q.raw.x : i == 1 ? q.raw.y : i == 2 ? q.raw.z : q.raw.w;
}
template <typename T>
CK_DEVICE float element(const Quad<T>& q, int i) {
  const uint32_t pair = i < 2 ? q.raw.x : q.raw.y;
  return ck::to_f32(T{static_cast<uint16_t>(i % 2 == 0 ? pair : pair >> 16)});
}

CK_DEVICE void copy_quad(Quad<float>* to, const float* from) { ck::copy_async_16(to, from); }
template <typename T>
CK_DEVICE void copy_quad(Quad<T>* to, const T* from) {
  ck::copy_async_8(to, from);
}

// The chains of a thread, one after another: start(i) is where chain i begins, null behind the last.
// Quads are copied in groups; two groups are in the ring.
template <typename T, typename Start>
struct Feed {
  Quad<T>* slots;  // slot s of this thread at s * blockDim.x
  const Start& start;
  int64_t step;  // elements between the terms of a chain
  int chain;     // its terms, a multiple of two groups
  int group;     // a power of two, at least 2
  const T* at;   // what is copied next
  int left;      // of its chain
  int next;      // chain
};

template <typename T, typename Start>
CK_DEVICE void copy_next(Feed<T, Start>& f, int slot) {
  if (f.left == 0) {
    f.at = f.start(f.next);
    if (f.at == nullptr) return;
    f.left = f.chain;
    ++f.next;
  }
  copy_quad(f.slots + slot * blockDim.x, f.at);
  f.at += f.step;
  --f.left;
}

// The ring, full.
template <typename T, typename Start>
CK_DEVICE Feed<T, Start> open_feed(Quad<T>* ring, const Start& start, int64_t step, int chain,
                                   int group) {
  Feed<T, Start> f = {ring + threadIdx.x, start, step, chain, group, nullptr, 0, 0};
  CK_NO_UNROLL
  for (int slot = 0; slot < 2 * group; ++slot) {
    copy_next(f, slot);
    if (slot == group - 1) ck::copy_async_commit();
  }
  ck::copy_async_commit();
  return f;
}

// One chain: op(sum, element) in order. A slot is filled again once what it held is in the sums.
template <typename T, typename Start, typename A, typename Op>
CK_DEVICE void take_chain(Feed<T, Start>& f, A (&sum)[kGroup], const Op& op) {
  CK_NO_UNROLL
  for (int k = 0; k < f.chain; k += f.group) {
    if (!CK_MUTANT(reduce_skips_copy_wait)) ck::copy_async_wait<1>();
    const int first = k & f.group;  // the halves of the ring in turn
    CK_NO_UNROLL
    for (int j = first; j < first + f.group; j += 2) {
      const Quad<T> even = f.slots[j * blockDim.x];
      const Quad<T> odd = f.slots[(j + 1) * blockDim.x];
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) op(sum[i], element(even, i));
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) op(sum[i], element(odd, i));
      copy_next(f, j);
      copy_next(f, j + 1);
    }
    ck::copy_async_commit();
  }
}

CK_DEVICE float load_element(const float* p) { return ck::load_nc(p); }
template <typename T>
CK_DEVICE float load_element(const T* p) {
  return ck::to_f32(T{ck::load_nc(reinterpret_cast<const uint16_t*>(p))});
}

// One lane of one column, element by element: ends of matrices, weights, masks, indices, any
// alignment. Its terms are the rows first, first + 32, .. below m.rows.
template <typename A, typename T, typename Op>
CK_DEVICE A chain_elements(const Items& items, const Matrix<T>& m, int64_t first, int64_t col,
                           int chain, const Op& op) {
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
      op(sum, x);
    }
  }
  return sum;
}

CK_DEVICE bool has_extras(const Items& items) {
  return items.weights != nullptr || items.mask != nullptr || items.index != nullptr;
}

}  // namespace reduce
