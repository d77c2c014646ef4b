// A thread's share of a chunk: four lanes, or one lane of four columns, each a chain of K terms.
//
// Elements come through a ring in shared memory that belongs to the thread alone: asynchronous
// copies keep up to a whole chain under way without a register, the next chain's among them, and
// the loop that adds is short, which counts where a kernel runs for a few microseconds and every
// line of its code is fetched once.
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

// The runs of a thread, one after another: `start()` is where the next begins, null behind the
// last. A run is loads of four, `unit` elements apart, copied by groups of four, of which kRing are
// under way.
constexpr int kTogether = 4;
constexpr int kRingGroups = 4;

template <typename T, int kRing, typename Start>
struct Feed {
  static constexpr int kSize = kTogether * kRing;
  Quad<T>* slots;  // slot s of this thread at s * blockDim.x
  Start& start;
  int64_t unit;
  int groups;   // of a run
  const T* at;  // what is copied next
  int left;     // groups of its run
  bool over;
  int slot;  // that is read next
};

// Fills a group of slots from `slot` on.
template <typename T, int kRing, typename Start>
CK_DEVICE void copy_group(Feed<T, kRing, Start>& f, int slot) {
  if (!f.over && f.left == 0) {
    f.at = f.start();
    f.over = f.at == nullptr;
    f.left = f.groups;
  }
  if (!f.over) {
    CK_UNROLL
    for (int j = 0; j < kTogether; ++j) {
      copy_quad(f.slots + (slot + j) * blockDim.x, f.at);
      f.at += f.unit;
    }
    --f.left;
  }
  ck::copy_async_commit();
}

template <int kRing, typename T, typename Start>
CK_DEVICE Feed<T, kRing, Start> open_feed(Quad<T>* ring, Start& start, int64_t unit, int groups) {
  Feed<T, kRing, Start> f = {ring + threadIdx.x, start, unit, groups, nullptr, 0, false, 0};
  CK_NO_UNROLL
  for (int slot = 0; slot < f.kSize; slot += kTogether) copy_group(f, slot);
  return f;
}

// One run: load n of it goes to op(sum[n % kLanes], element). Slots are filled again once what they
// held is in the sums.
template <int kLanes, typename T, int kRing, typename Start, typename A, typename Op>
CK_DEVICE void take_run(Feed<T, kRing, Start>& f, A (&sum)[kLanes][kGroup], const Op& op) {
  CK_NO_UNROLL
  for (int n = 0; n < f.groups; ++n) {
    if (!CK_MUTANT(reduce_skips_copy_wait)) ck::copy_async_wait<kRing - 1>();
    Quad<T> quad[kTogether];
    CK_UNROLL
    for (int j = 0; j < kTogether; ++j) quad[j] = f.slots[(f.slot + j) * blockDim.x];
    CK_UNROLL
    for (int j = 0; j < kTogether; ++j) {
      CK_UNROLL
      for (int i = 0; i < kGroup; ++i) op(sum[j % kLanes][i], element(quad[j], i));
    }
    copy_group(f, f.slot);
    f.slot = (f.slot + kTogether) % f.kSize;
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
