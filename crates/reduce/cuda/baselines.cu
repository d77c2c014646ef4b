// C ABI of the baselines.
#include "baselines.cuh"
#include "checks.cuh"

namespace reduce {

static int check_baseline(const void* x, const void* out, int64_t rows, int64_t cols) {
  if (x == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_x);
  if (out == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_out);
  if (rows < 1 || rows > kMostCols) return refuse(CK_BAD_SIZE, RED_ARG_rows);
  const int64_t runs = (rows + kBaselineRows - 1) / kBaselineRows;
  if (cols < 1 || cols > kMostCols / runs) return refuse(CK_BAD_SIZE, RED_ARG_cols);
  return 0;
}

}  // namespace reduce

extern "C" int red_baseline_thread_per_column(const float* x, float* out, int64_t rows,
                                              int64_t cols, void* stream) {
  if (const int error = reduce::check_baseline(x, out, rows, cols)) return error;
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>((cols + 255) / 256);
  config.block = 256;
  config.stream = stream;
  return ck::launch<reduce::baseline_thread_per_column>(config, x, out, rows, cols);
}

extern "C" int red_baseline_block_per_column(const float* x, float* out, int64_t rows, int64_t cols,
                                             void* workspace, size_t workspace_bytes,
                                             void* stream) {
  if (const int error = reduce::check_baseline(x, out, rows, cols)) return error;
  const int64_t runs = (rows + reduce::kBaselineRows - 1) / reduce::kBaselineRows;
  if (workspace == nullptr) return CK_STATUS(CK_NULL_POINTER, RED_ARG_workspace);
  if (workspace_bytes < sizeof(float) * static_cast<size_t>(runs * cols)) {
    return CK_STATUS(CK_BAD_WORKSPACE, RED_ARG_workspace_bytes);
  }
  ck::LaunchConfig config;
  config.block = reduce::kBaselineRows;
  config.stream = stream;
  config.grid = static_cast<unsigned>(runs * cols);
  float* const parts = static_cast<float*>(workspace);
  if (const int error = ck::launch<reduce::baseline_blocks>(config, x, parts, rows, cols)) {
    return error;
  }
  config.grid = static_cast<unsigned>(cols);
  return ck::launch<reduce::baseline_merge>(config, static_cast<const float*>(parts), out, runs);
}
