// Checks of host arguments that more than one entry makes.
#pragma once

#include <ck/host.cuh>

#include "reduce.h"

namespace reduce {

// A buffer, as an argument names it.
struct Argument {
  const void* pointer;
  int64_t bytes;
  int64_t align;
  int argument;
};

constexpr int64_t kMostRows = (int64_t{1} << 40) - 1;
constexpr int64_t kMostCols = INT32_MAX;
constexpr int64_t kWorkspaceAlign = 16;

inline int refuse(int kind, int argument) { return CK_STATUS(kind, argument); }

inline bool overlap(const Argument& a, const Argument& b) {
  if (a.pointer == nullptr || b.pointer == nullptr) return false;
  const uintptr_t a0 = reinterpret_cast<uintptr_t>(a.pointer);
  const uintptr_t b0 = reinterpret_cast<uintptr_t>(b.pointer);
  return a.bytes > 0 && b.bytes > 0 && a0 < b0 + b.bytes && b0 < a0 + a.bytes;
}

// Every pointer aligned; no output on an input, nor on an earlier output.
template <size_t kInputs, size_t kOutputs>
inline int check_arguments(const Argument (&inputs)[kInputs], const Argument (&outputs)[kOutputs]) {
  const auto misaligned = [](const Argument& s) {
    return reinterpret_cast<uintptr_t>(s.pointer) % s.align != 0;
  };
  for (const Argument& input : inputs) {
    if (misaligned(input)) return refuse(CK_MISALIGNED, input.argument);
  }
  for (size_t i = 0; i < kOutputs; ++i) {
    if (misaligned(outputs[i])) return refuse(CK_MISALIGNED, outputs[i].argument);
    for (const Argument& input : inputs) {
      if (overlap(outputs[i], input)) return refuse(CK_OVERLAP, outputs[i].argument);
    }
    for (size_t j = 0; j < i; ++j) {
      if (overlap(outputs[i], outputs[j])) return refuse(CK_OVERLAP, outputs[i].argument);
    }
  }
  return 0;
}

}  // namespace reduce
