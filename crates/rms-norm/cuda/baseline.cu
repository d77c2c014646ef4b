// C ABI of the baseline.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "baseline.cuh"

extern "C" int rms_baseline_f32(const float* x, const float* gamma, float* y, int64_t rows,
                                int64_t n, float eps, void* stream) {
  using namespace rms;
  int error = check_sizes(n, rows, 1, 1);
  if (error != 0) return error;
  if (!(eps >= 0.0f && eps < INFINITY)) return refuse(CK_BAD_VALUE, RMS_ARG_eps);
  if (rows == 0) return 0;
  if (x == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_x);
  if (y == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_y);
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(rows);
  config.block = n < kWideColumns ? kNarrowThreads : kWideColumns;
  config.stream = stream;
  return ck::launch<baseline>(config, x, gamma, y, static_cast<int>(n), static_cast<float>(n), eps);
}
