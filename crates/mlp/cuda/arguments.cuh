// Checks of host arguments that several entries share.
#pragma once

#include <ck/host.cuh>

#include "mlp.h"

namespace mlp {

struct Extent {
  const void* pointer;
  int64_t bytes;
  int64_t align;
  int argument;
  bool required;
};

static inline int refuse(int kind, int argument) { return CK_STATUS(kind, argument); }

static inline bool overlap(const Extent& a, const Extent& b) {
  if (a.pointer == nullptr || b.pointer == nullptr || a.bytes == 0 || b.bytes == 0) return false;
  const uintptr_t a0 = reinterpret_cast<uintptr_t>(a.pointer);
  const uintptr_t b0 = reinterpret_cast<uintptr_t>(b.pointer);
  return a0 < b0 + b.bytes && b0 < a0 + a.bytes;
}

// Elements from the first to past the last of `rows` rows.
static inline int64_t span(int64_t rows, int64_t stride, int64_t extent) {
  return rows == 0 ? 0 : (rows - 1) * stride + extent;
}

// Fills in a packed stride and refuses one that is smaller than what it steps over, or that leads
// beyond 2^60 elements.
static inline int settle_stride(int64_t* stride, int64_t rows, int64_t extent, int argument) {
  constexpr int64_t kEnd = int64_t{1} << 60;
  if (*stride == 0) *stride = extent;
  if (*stride < extent || (rows > 1 && *stride > (kEnd - extent) / (rows - 1))) {
    return refuse(CK_BAD_STRIDE, argument);
  }
  return 0;
}

// Missing, misaligned and overlapping buffers. Outputs come last, from `first_output` on.
template <int kCount>
static int check_extents(const Extent (&extents)[kCount], int first_output) {
  for (const Extent& e : extents) {
    if (e.required && e.pointer == nullptr && e.bytes > 0) {
      return refuse(CK_NULL_POINTER, e.argument);
    }
  }
  for (const Extent& e : extents) {
    if (reinterpret_cast<uintptr_t>(e.pointer) % e.align != 0) {
      return refuse(CK_MISALIGNED, e.argument);
    }
  }
  for (int output = first_output; output < kCount; ++output) {
    for (int other = 0; other < output; ++other) {
      if (overlap(extents[output], extents[other])) {
        return refuse(CK_OVERLAP, extents[output].argument);
      }
    }
  }
  return 0;
}

}  // namespace mlp
