// C ABI of the gradients.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "backward.cuh"

namespace rms {

constexpr int64_t kWorkspaceAlign = 16;

static int check_backward(const rms_norm_backward_params* params) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_params);
  if (params->struct_size != sizeof(rms_norm_backward_params)) {
    return refuse(CK_BAD_STRUCT, RMS_ARG_struct_size);
  }
  const rms_norm_backward_params& p = *params;
  if (p.x_dtype < RMS_F32 || p.x_dtype > RMS_F16) return refuse(CK_BAD_ENUM, RMS_ARG_x_dtype);
  if (p.gamma_dtype < RMS_F32 || p.gamma_dtype > RMS_F16) {
    return refuse(CK_BAD_ENUM, RMS_ARG_gamma_dtype);
  }
  if (p.gamma_mode < RMS_GAMMA_PLAIN || p.gamma_mode > RMS_GAMMA_AFTER_CAST) {
    return refuse(CK_BAD_ENUM, RMS_ARG_gamma_mode);
  }
  if (p.gamma_mode == RMS_GAMMA_AFTER_CAST) return refuse(CK_UNSUPPORTED, RMS_ARG_gamma_mode);
  if (p.gamma_dtype != p.x_dtype && p.gamma_dtype != RMS_F32) {
    return refuse(CK_UNSUPPORTED, RMS_ARG_gamma_dtype);
  }
  if (!(p.eps >= 0.0f && p.eps < INFINITY)) return refuse(CK_BAD_VALUE, RMS_ARG_eps);
  return check_sizes(p.n, p.rows, 1, 1);
}

static int64_t chunk_bytes(const rms_norm_backward_params& p) {
  return ck::column_chunks(p.rows) * p.n * static_cast<int64_t>(sizeof(ck::F32x2));
}
static size_t workspace_bytes(const rms_norm_backward_params& p) {
  if (p.dgamma == nullptr) return 0;
  const int64_t scales = p.rstd == nullptr ? p.rows * static_cast<int64_t>(sizeof(float)) : 0;
  return static_cast<size_t>(chunk_bytes(p) + scales);
}

static int check_backward_tensors(const rms_norm_backward_params& p, Extent* x, Extent* dy,
                                  Extent* dx, Extent* gamma) {
  const auto rows_of = [&](const void* pointer, int argument) {
    return whole(pointer, p.x_dtype, argument, p.n, p.rows > 0 ? p.rows : 1, 1, 1);
  };
  *x = rows_of(p.x, RMS_ARG_x);
  *dy = rows_of(p.dy, RMS_ARG_dy);
  *dx = rows_of(p.dx, RMS_ARG_dx);
  *gamma = whole(p.gamma, p.gamma_dtype, RMS_ARG_gamma, p.n, 1, 1, 1);
  Extent dgamma = whole(p.dgamma, p.gamma_dtype, RMS_ARG_dgamma, p.n, 1, 1, 1);
  const int64_t none[kDimensions] = {};
  const int64_t x_strides[kDimensions] = {p.x_stride};
  const int64_t dy_strides[kDimensions] = {p.dy_stride};
  const int64_t dx_strides[kDimensions] = {p.dx_stride};
  if (!fill_strides(x, x_strides)) return refuse(CK_BAD_STRIDE, RMS_ARG_x_strides);
  if (!fill_strides(dy, dy_strides)) return refuse(CK_BAD_STRIDE, RMS_ARG_dy_strides);
  if (!fill_strides(dx, dx_strides) || (p.dx != nullptr && !rows_are_apart(*dx))) {
    return refuse(CK_BAD_STRIDE, RMS_ARG_dx_strides);
  }
  fill_strides(gamma, none);
  fill_strides(&dgamma, none);
  if (p.dx == nullptr && p.dgamma == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_dx);
  if (p.rows > 0 && p.x == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_x);
  if (p.rows > 0 && p.dy == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_dy);
  const Extent inputs[] = {*x, *dy, *gamma, per_row(p.rstd, RMS_ARG_rstd, p.rows)};
  const Extent workspace = {
      p.dgamma == nullptr ? nullptr : p.workspace, RMS_INT8,  RMS_ARG_workspace,
      static_cast<int64_t>(p.workspace_bytes),     {1, 1, 1}, {}};
  const Extent outputs[] = {*dx, dgamma, workspace};
  const int aliases[][2] = {{RMS_ARG_dx, RMS_ARG_x}, {RMS_ARG_dx, RMS_ARG_dy}};
  const int error = check_extents(inputs, 4, outputs, 3, aliases, 2);
  if (error != 0 || workspace_bytes(p) == 0) return error;
  if (p.workspace == nullptr) return refuse(CK_BAD_WORKSPACE, RMS_ARG_workspace);
  if (reinterpret_cast<uintptr_t>(p.workspace) % kWorkspaceAlign != 0) {
    return refuse(CK_MISALIGNED, RMS_ARG_workspace);
  }
  return p.workspace_bytes < workspace_bytes(p) ? refuse(CK_BAD_WORKSPACE, RMS_ARG_workspace_bytes)
                                                : 0;
}

template <typename T>
static int launch_backward(const BackwardProblem& problem, bool vector, ck::LaunchConfig config) {
  const int logical = problem.n < kWideColumns ? kNarrowThreads : kWideColumns;
  const bool scales = problem.dgamma != nullptr && problem.rstd == nullptr;
  int error = 0;
  if (problem.rows > 0 && (problem.dx != nullptr || scales)) {
    config.grid = static_cast<unsigned>(problem.rows);
    config.block = logical / (vector ? kGroup : 1);
    error = vector ? ck::launch<backward_rows<T, kGroup>>(config, problem)
                   : ck::launch<backward_rows<T, 1>>(config, problem);
  }
  if (error != 0 || problem.dgamma == nullptr) return error;
  if (problem.rows > 0) {
    const int64_t column_blocks = (problem.n - 1) / kChunkColumns + 1;
    const int64_t blocks = column_blocks * ck::column_chunks(problem.rows);
    config.grid = static_cast<unsigned>(blocks);
    config.block = kChunkColumns * kChunkWarps;
    error = ck::launch<backward_chunks<T>>(config, problem, static_cast<int>(column_blocks));
    if (error != 0) return error;
  }
  config.grid = static_cast<unsigned>((problem.n - 1) / kMergeThreads + 1);
  config.block = kMergeThreads;
  return ck::launch<backward_merge<T>>(config, problem);
}

static int backward(const rms_norm_backward_params& p, void* stream) {
  Extent x, dy, dx, gamma;
  int error = check_backward_tensors(p, &x, &dy, &dx, &gamma);
  if (error != 0) return error;
  const int64_t column_blocks = (p.n - 1) / kChunkColumns + 1;
  if (p.dgamma != nullptr && column_blocks * ck::column_chunks(p.rows) > INT32_MAX) {
    return refuse(CK_BAD_SIZE, RMS_ARG_rows);
  }
  if (p.rows == 0 && p.dgamma == nullptr) return 0;
  BackwardProblem q{};
  q.x = p.x;
  q.gamma = p.gamma;
  q.dy = p.dy;
  q.rstd = p.rstd;
  q.dx = p.dx;
  q.dgamma = p.dgamma;
  if (p.dgamma != nullptr) {
    q.chunks = static_cast<ck::F32x2*>(p.workspace);
    if (p.rstd == nullptr) {
      q.scales = reinterpret_cast<float*>(static_cast<char*>(p.workspace) + chunk_bytes(p));
    }
  }
  q.x_stride = x.strides[0];
  q.dy_stride = dy.strides[0];
  q.dx_stride = dx.strides[0];
  q.n = static_cast<int>(p.n);
  q.rows = static_cast<int>(p.rows);
  q.gamma_dtype = p.gamma_dtype;
  q.gamma_mode = p.gamma_mode;
  q.eps = p.eps;
  q.columns = static_cast<float>(p.n);
  q.inverse_n = exact_inverse(p.n);
  const bool vector =
      grouped(x, kGroup) && grouped(dy, kGroup) && grouped(dx, kGroup) && grouped(gamma, kGroup);
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  ck::LaunchConfig config;
  config.pdl = device.major >= 9;
  config.stream = stream;
  switch (p.x_dtype) {
    case RMS_F32:
      return launch_backward<float>(q, vector, config);
    case RMS_BF16:
      return launch_backward<ck::bf16>(q, vector, config);
    default:
      return launch_backward<ck::f16>(q, vector, config);
  }
}

}  // namespace rms

extern "C" size_t rms_norm_backward_workspace_bytes(const rms_norm_backward_params* params) {
  return rms::check_backward(params) == 0 ? rms::workspace_bytes(*params) : 0;
}

extern "C" int rms_norm_backward(const rms_norm_backward_params* params, void* stream) {
  const int error = rms::check_backward(params);
  return error != 0 ? error : rms::backward(*params, stream);
}
