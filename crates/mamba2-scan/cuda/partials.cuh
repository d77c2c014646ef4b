// Partial sums of the gradients of weights and biases: how many, and how they lie.
#pragma once

#include "scan.cuh"

namespace mamba2_scan {

constexpr int kMaxPartials = 128;  // partial sums of a weight's gradient, at most

// A function of the number of samples alone: tiles of a partial sum, and how many there are.
struct Partials {
  int tiles;
  int count;
};
CK_HOST_DEVICE Partials partials_of(int batch) {
  const int tiles = tiles_of(batch);
  const int each = tiles > kMaxPartials ? (tiles + kMaxPartials - 1) / kMaxPartials : 1;
  return Partials{each, (tiles + each - 1) / each};
}

// Columns of a partial sum: three matrices of weights, then three rows of biases.
CK_HOST_DEVICE int64_t gradient_columns(int features, int states) {
  return 3 * (static_cast<int64_t>(features) + 1) * states;
}

}  // namespace mamba2_scan
