// What a kernel is told, and how it finds, reads and writes the elements of a row.
#pragma once

#include <ck/memory.cuh>
#include <ck/platform.cuh>
#include <ck/types.cuh>

#include "quantise.cuh"
#include "rms_norm.h"

namespace rms {

// A member function of the device side.
#if defined(CK_SIM)
#define RMS_MEMBER inline
#else
#define RMS_MEMBER __device__ __forceinline__
#endif

constexpr int kWideColumns = 1024;   // from here on a row has kWideColumns logical threads,
constexpr int kNarrowThreads = 256;  // below it has these
constexpr int kMaxSums = ck::kWarp;  // logical warps of a row, at most

// rms_norm_params, checked and with its defaults filled in. Passed to kernels by value.
struct Problem {
  const void* x;
  const void* residual;
  const void* gamma;
  const void* add;
  const float* tensor_scale;
  void* y;
  void* residual_out;
  float* token_scales;
  float* rstd;
  int64_t x_strides[3];
  int64_t residual_strides[3];
  int64_t gamma_strides[3];
  int64_t add_strides[3];
  int64_t y_strides[3];
  int64_t residual_out_strides[3];
  int gamma_sizes[4];
  int add_sizes[4];
  int n;
  int rows;      // of a channel
  int channels;  // of a sample
  int total;     // rows in all
  int gamma_dtype;
  int y_dtype;
  int residual_dtype;
  int gamma_mode;
  int residual_mode;
  int quantisation;
  float eps;
  float columns;    // n
  float inverse_n;  // 1 / n where n is a power of two, else 0
  float min_scale;
};

template <typename T>
constexpr int kDtype = RMS_F32;
template <>
constexpr int kDtype<ck::bf16> = RMS_BF16;
template <>
constexpr int kDtype<ck::f16> = RMS_F16;

// What a kernel instance may rely on, so that the plain ones carry no code for what they never
// meet: a kernel that runs once is bound by fetching its instructions.
enum Kind {
  kPlain = 0,     // one weight for all rows, one type, whole vectors, no option
  kResidual = 1,  // and a residual of that type, r unrounded
  kOptions = 2,   // everything
};

template <typename T, int kKind>
CK_DEVICE Problem seen_by(Problem p) {
  if (kKind == kOptions) return p;
  p.add = nullptr;
  p.tensor_scale = nullptr;
  p.token_scales = nullptr;
  p.rstd = nullptr;
  p.gamma_mode = RMS_GAMMA_PLAIN;
  p.residual_mode = RMS_RESIDUAL_UNROUNDED;
  p.quantisation = RMS_QUANT_NONE;
  p.gamma_dtype = kDtype<T>;
  p.y_dtype = kDtype<T>;
  p.residual_dtype = kDtype<T>;
  if (kKind == kPlain) {
    p.residual = nullptr;
    p.residual_out = nullptr;
  }
  return p;
}

// A row by its place in each dimension.
struct Row {
  int index;
  int row;
  int channel;
  int sample;
};

CK_DEVICE Row row_at(const Problem& p, int index) {
  if (p.rows == p.total) return Row{index, index, 0, 0};
  const int channel = index / p.rows;
  const int row = CK_MUTANT(rms_row_of_sample) ? index % (p.rows * p.channels) : index % p.rows;
  return Row{index, row, channel % p.channels, channel / p.channels};
}

CK_DEVICE int64_t offset_of(const Row& r, const int64_t (&strides)[3]) {
  const int64_t offset = r.row * strides[0] + r.channel * strides[1] + r.sample * strides[2];
  // Offsets that wrap around too early, at a size that the simulator can hold.
  return CK_MUTANT(rms_offsets_wrap) ? offset % 4096 : offset;
}

// Of a tensor that repeats.
CK_DEVICE int64_t wrapped_offset_of(const Row& r, const int (&sizes)[4],
                                    const int64_t (&strides)[3]) {
  const int64_t row = sizes[1] == 1 ? 0 : r.row % sizes[1];
  const int64_t channel = sizes[2] == 1 ? 0 : r.channel % sizes[2];
  const int64_t sample = sizes[3] == 1 ? 0 : r.sample % sizes[3];
  return row * strides[0] + channel * strides[1] + sample * strides[2];
}

// Where the row begins in each tensor.
struct Place {
  int64_t x;
  int64_t residual;
  int64_t gamma;
  int64_t add;
  int64_t y;
  int64_t residual_out;
};
template <int kKind>
CK_DEVICE Place place_of(const Problem& p, const Row& r) {
  Place place{};
  place.x = offset_of(r, p.x_strides);
  place.y = offset_of(r, CK_MUTANT(rms_y_by_the_strides_of_x) ? p.x_strides : p.y_strides);
  if (p.residual != nullptr) place.residual = offset_of(r, p.residual_strides);
  if (p.residual_out != nullptr) place.residual_out = offset_of(r, p.residual_out_strides);
  if (kKind != kOptions) return place;
  if (p.gamma != nullptr) place.gamma = wrapped_offset_of(r, p.gamma_sizes, p.gamma_strides);
  if (p.add != nullptr) place.add = wrapped_offset_of(r, p.add_sizes, p.add_strides);
  return place;
}

// The correctly rounded s / n, then + eps, then 1 / sqrt.
CK_DEVICE float scale_of(const Problem& p, float s) {
  // A product with an exact inverse is rounded as the quotient is.
  const float mean = p.inverse_n != 0.0f ? __fmul_rn(s, p.inverse_n) : __fdiv_rn(s, p.columns);
  return __frsqrt_rn(__fadd_rn(mean, p.eps));
}

// What becomes of one element.
template <typename T>
CK_DEVICE float sum_of(const Problem& p, float x, float residual) {
  const float r = __fadd_rn(x, residual);
  const bool rounded = p.residual_mode == RMS_RESIDUAL_ROUNDED && p.residual_dtype == kDtype<T>;
  return rounded ? ck::to_f32(ck::from_f32<T>(r)) : r;
}
CK_DEVICE float weight_of(const Problem& p, float gamma) {
  return p.gamma_mode == RMS_GAMMA_ONE_PLUS ? __fadd_rn(1.0f, gamma) : gamma;
}
template <typename T>
CK_DEVICE float normalised(const Problem& p, float scale, float r, float weight) {
  float t = __fmul_rn(scale, r);
  if (p.gamma_mode == RMS_GAMMA_AFTER_CAST) t = ck::to_f32(ck::from_f32<T>(t));
  return __fmul_rn(t, weight);
}
CK_DEVICE uint8_t code_of(const Problem& p, float y, float step) {
  const float q = __fdiv_rn(y, step);
  return p.y_dtype == RMS_INT8 ? int8_of(q) : fp8_of(q);
}

// The scale of a token whose largest |y| is `largest`.
CK_DEVICE float token_scale_of(const Problem& p, float largest) {
  return fmaxf(__fdiv_rn(largest, p.y_dtype == RMS_INT8 ? 127.0f : 448.0f), p.min_scale);
}

}  // namespace rms
