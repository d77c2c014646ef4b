// The designs that red_columns replaces, for the bench.
#pragma once

#include <ck/platform.cuh>
#include <ck/tree.cuh>

namespace reduce {

constexpr int kBaselineRows = 256;

// One thread a column: what a first kernel looks like. Neighbouring threads read neighbours, but
// three columns are three threads of the whole GPU.
CK_KERNEL(256)
baseline_thread_per_column(const float* x, float* out, const int64_t rows, const int64_t cols) {
  const int64_t col = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  for (int64_t row = 0; row < rows; ++row) sum = __fadd_rn(sum, x[row * cols + col]);
  out[col] = sum;
}

// The sum of a block's threads, to thread 0.
CK_DEVICE float baseline_block_sum(float sum) {
  CK_SHARED(float, warps, kBaselineRows / ck::kWarp);
  sum = ck::warp_sum(sum);
  if (threadIdx.x % ck::kWarp == 0) warps[threadIdx.x / ck::kWarp] = sum;
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < kBaselineRows / ck::kWarp; ++warp) {
    total = __fadd_rn(total, warps[warp]);
  }
  return total;
}

// A block for each column and 256 rows, one thread a row.
CK_KERNEL(kBaselineRows)
baseline_blocks(const float* x, float* parts, const int64_t rows, const int64_t cols) {
  const int64_t run = blockIdx.x / cols;
  const int64_t col = blockIdx.x - run * cols;
  const int64_t row = run * kBaselineRows + threadIdx.x;
  const float sum = baseline_block_sum(row < rows ? x[row * cols + col] : 0.0f);
  if (threadIdx.x == 0) parts[col * ((rows + kBaselineRows - 1) / kBaselineRows) + run] = sum;
}

// A block a column over those.
CK_KERNEL(kBaselineRows)
baseline_merge(const float* parts, float* out, const int64_t runs) {
  float sum = 0.0f;
  for (int64_t run = threadIdx.x; run < runs; run += kBaselineRows) {
    sum = __fadd_rn(sum, parts[blockIdx.x * runs + run]);
  }
  sum = baseline_block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

}  // namespace reduce
