// A column is a segment: its elements, a row apart, come through an iterator.
//
// CUB includes <iostream> for messages that it never prints here; library.json keeps that header
// out, whose initialiser would be the library's only use of the C++ runtime.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_reduce.cuh>

#include "cub_columns.h"

namespace {

// Element i of the columns laid end to end.
struct ByColumn {
  const float* x;
  int64_t rows;
  int64_t cols;
  __host__ __device__ float operator()(int64_t i) const {
    const int64_t col = i / rows;
    return x[(i - col * rows) * cols + col];
  }
};

struct FirstOf {
  int64_t rows;
  __host__ __device__ int64_t operator()(int64_t col) const { return col * rows; }
};

cudaError_t sum(const float* x, float* out, int64_t rows, int64_t cols, void* workspace,
                size_t* bytes, cudaStream_t stream) {
  const thrust::counting_iterator<int64_t> count(0);
  const auto values = thrust::make_transform_iterator(count, ByColumn{x, rows, cols});
  const auto first = thrust::make_transform_iterator(count, FirstOf{rows});
  return cub::DeviceSegmentedReduce::Sum(workspace, *bytes, values, out, cols, first, first + 1,
                                         stream);
}

}  // namespace

extern "C" size_t cub_columns_workspace_bytes(int64_t rows, int64_t cols) {
  size_t bytes = 0;
  return sum(nullptr, nullptr, rows, cols, nullptr, &bytes, nullptr) == cudaSuccess ? bytes : 0;
}

extern "C" int cub_columns_f32(const float* x, float* out, int64_t rows, int64_t cols,
                               void* workspace, size_t workspace_bytes, void* stream) {
  return sum(x, out, rows, cols, workspace, &workspace_bytes, static_cast<cudaStream_t>(stream));
}
