// Checks of the host arguments, before anything is queued.
#pragma once

#include <ck/status.h>

#include <cmath>

#include "problem.cuh"

namespace rms {

constexpr int64_t kLargest = INT32_MAX - kWideColumns;
constexpr int kDimensions = 3;  // rows, channels, samples

static inline int refuse(int kind, int argument) { return CK_STATUS(kind, argument); }

static inline int64_t element_bytes(int dtype) {
  return dtype == RMS_F32 ? 4 : dtype == RMS_BF16 || dtype == RMS_F16 ? 2 : 1;
}

// A tensor as the host sees it: counts and strides without defaults, from rows to samples.
struct Extent {
  const void* pointer;
  int dtype;
  int argument;
  int64_t columns;
  int64_t counts[kDimensions];
  int64_t strides[kDimensions];
};

static inline int64_t or_one(int64_t size) { return size == 0 ? 1 : size; }

// Fills in packed strides. False for a stride that is negative, or reaches beyond 2^60 elements.
static inline bool fill_strides(Extent* e, const int64_t (&given)[kDimensions]) {
  constexpr int64_t kEnd = int64_t{1} << 60;
  int64_t packed = e->columns;
  int64_t end = e->columns;  // elements from the first to past the last
  for (int d = 0; d < kDimensions; ++d) {
    if (given[d] < 0) return false;
    e->strides[d] = given[d] != 0 ? given[d] : packed;
    if (e->counts[d] > 1) {
      if (e->strides[d] > (kEnd - end) / (e->counts[d] - 1)) return false;
      end += (e->counts[d] - 1) * e->strides[d];
    }
    if (e->strides[d] > kEnd / e->counts[d]) return false;
    packed = e->strides[d] * e->counts[d];
  }
  return true;
}

static inline int64_t span(const Extent& e) {
  int64_t end = e.columns;
  for (int d = 0; d < kDimensions; ++d) end += (e.counts[d] - 1) * e.strides[d];
  return end;
}

// Whether no two rows share an element: in the order of strides, each steps over what the smaller
// ones reach.
static inline bool rows_are_apart(const Extent& e) {
  bool used[kDimensions] = {};
  int64_t reach = e.columns;
  for (int round = 0; round < kDimensions; ++round) {
    int next = -1;
    for (int d = 0; d < kDimensions; ++d) {
      if (!used[d] && (next < 0 || e.strides[d] < e.strides[next])) next = d;
    }
    used[next] = true;
    if (e.counts[next] == 1) continue;
    if (e.strides[next] < reach) return false;
    reach += (e.counts[next] - 1) * e.strides[next];
  }
  return true;
}

static inline bool misaligned(const Extent& e) {
  return reinterpret_cast<uintptr_t>(e.pointer) % element_bytes(e.dtype) != 0;
}

static inline bool overlap(const Extent& a, const Extent& b) {
  if (a.pointer == nullptr || b.pointer == nullptr) return false;
  const uintptr_t a0 = reinterpret_cast<uintptr_t>(a.pointer);
  const uintptr_t b0 = reinterpret_cast<uintptr_t>(b.pointer);
  return a0 < b0 + span(b) * element_bytes(b.dtype) && b0 < a0 + span(a) * element_bytes(a.dtype);
}

static inline bool same_elements(const Extent& a, const Extent& b) {
  if (a.pointer != b.pointer || a.dtype != b.dtype || a.columns != b.columns) return false;
  for (int d = 0; d < kDimensions; ++d) {
    if (a.counts[d] != b.counts[d]) return false;
    if (a.counts[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// A tensor with the problem's own sizes.
static inline Extent whole(const void* pointer, int dtype, int argument, int64_t n, int64_t rows,
                           int64_t channels, int64_t samples) {
  return Extent{pointer, dtype, argument, n, {rows, channels, samples}, {}};
}
static inline Extent per_row(const void* pointer, int argument, int64_t total) {
  return Extent{pointer, RMS_F32, argument, total, {1, 1, 1}, {total, total, total}};
}

// Of a tensor that repeats.
static inline Extent repeated(const void* pointer, int dtype, int argument, int64_t n,
                              const int64_t (&sizes)[4]) {
  return Extent{pointer,
                dtype,
                argument,
                sizes[0] == 0 ? n : sizes[0],
                {or_one(sizes[1]), or_one(sizes[2]), or_one(sizes[3])},
                {}};
}
static inline bool sizes_fit(const int64_t (&sizes)[4]) {
  for (const int64_t size : sizes) {
    if (size < 0 || size > kLargest) return false;
  }
  return true;
}

// Whether groups of `group` elements of every row start at their own alignment.
static inline bool grouped(const Extent& e, int group) {
  if (e.pointer == nullptr) return true;
  if (e.columns % group != 0) return false;
  if (reinterpret_cast<uintptr_t>(e.pointer) % (group * element_bytes(e.dtype)) != 0) return false;
  for (int d = 0; d < kDimensions; ++d) {
    if (e.counts[d] > 1 && e.strides[d] % group != 0) return false;
  }
  return true;
}

static inline int check_sizes(int64_t n, int64_t rows, int64_t channels, int64_t samples) {
  if (n < 1 || n > kLargest) return refuse(CK_BAD_SIZE, RMS_ARG_n);
  if (rows < 0 || rows > kLargest) return refuse(CK_BAD_SIZE, RMS_ARG_rows);
  if (channels < 0 || channels > kLargest) return refuse(CK_BAD_SIZE, RMS_ARG_channels);
  if (samples < 0 || samples > kLargest) return refuse(CK_BAD_SIZE, RMS_ARG_samples);
  if (rows * or_one(channels) > kLargest) return refuse(CK_BAD_SIZE, RMS_ARG_channels);
  if (rows * or_one(channels) * or_one(samples) > kLargest) {
    return refuse(CK_BAD_SIZE, RMS_ARG_samples);
  }
  return 0;
}

// Null pointers are the caller's to judge.
static inline int check_extents(const Extent* inputs, int input_count, const Extent* outputs,
                                int output_count, const int (*aliases)[2], int alias_count) {
  for (int i = 0; i < input_count; ++i) {
    if (misaligned(inputs[i])) return refuse(CK_MISALIGNED, inputs[i].argument);
  }
  for (int i = 0; i < output_count; ++i) {
    if (misaligned(outputs[i])) return refuse(CK_MISALIGNED, outputs[i].argument);
  }
  for (int o = 0; o < output_count; ++o) {
    for (int i = 0; i < input_count; ++i) {
      bool allowed = false;
      for (int a = 0; a < alias_count; ++a) {
        allowed = allowed ||
                  (aliases[a][0] == outputs[o].argument && aliases[a][1] == inputs[i].argument);
      }
      if (allowed && same_elements(outputs[o], inputs[i])) continue;
      if (overlap(outputs[o], inputs[i])) return refuse(CK_OVERLAP, outputs[o].argument);
    }
    for (int other = 0; other < o; ++other) {
      if (overlap(outputs[o], outputs[other])) return refuse(CK_OVERLAP, outputs[o].argument);
    }
  }
  return 0;
}

// The inverse of a power of two, else 0.
static inline float exact_inverse(int64_t n) {
  return (n & (n - 1)) == 0 ? 1.0f / static_cast<float>(n) : 0.0f;
}

}  // namespace rms
