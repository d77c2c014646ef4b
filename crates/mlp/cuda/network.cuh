// A network as its kernels see it: sizes, the order of its sums, activations, the rows it reads.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>

#include "mlp.h"

namespace mlp {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / ck::kWarp;
constexpr int kWarpRows = 8;  // rows of a warp: its lanes are columns and chains

CK_HOST_DEVICE int padded(int n) { return (n + 3) / 4 * 4; }

// Floats between rows in shared memory: an odd number of quads, so that eight lanes read quads of
// eight neighbouring rows, or of one row, without bank conflicts.
CK_HOST_DEVICE int row_floats(int n) { return (n + 3) / 4 / 2 * 8 + 4; }

// The order of a dot product: chains, a function of the number of outputs; terms of a chain.
CK_HOST_DEVICE int chains_of(int outputs) { return outputs <= 64 ? 4 : outputs <= 128 ? 2 : 1; }
CK_HOST_DEVICE int chain_terms(int terms, int chains) {
  return (terms + 4 * chains - 1) / (4 * chains) * 4;
}

// Partial sums of weights' gradients, a function of the number of rows: rows of one, and how many.
struct Partials {
  int rows;
  int count;
};
CK_HOST_DEVICE Partials partials_of(int batch) {
  const int units = batch / MLP_PARTIAL_ROWS + (batch % MLP_PARTIAL_ROWS != 0 ? 1 : 0);
  const int each = units > MLP_MAX_PARTIALS ? (units + MLP_MAX_PARTIALS - 1) / MLP_MAX_PARTIALS : 1;
  return Partials{each * MLP_PARTIAL_ROWS, (units + each - 1) / each};
}

// The first `count` elements of a quad, zeros for the others.
CK_DEVICE float4 first_of(float4 v, int count) {
  if (count >= 4 || CK_MUTANT(mlp_keeps_padding)) return v;
  if (count < 2) v.y = 0.0f;
  if (count < 3) v.z = 0.0f;
  v.w = 0.0f;
  return v;
}

// Where rows of features lie.
struct Source {
  const float* data;
  int64_t stride;
  int width;
  bool quads;  // rows, and their places in shared memory, are 16 bytes aligned
};

constexpr int kSources = 3;

enum Mode { kForward, kBackward, kCuriosity };

struct Network {
  Source sources[kSources];  // side by side they are x
  const float* w1;
  const float* b1;
  const float* w2;
  const float* b2;
  Source upstream;         // dy, or what is predicted
  const int32_t* actions;  // row `inputs + action` of w1 is added to z1; or null
  float* y;
  int64_t y_stride;
  float* dx;
  int64_t dx_stride;
  float* reward;
  uint32_t* status;
  float* partials;  // [partial sum, columns]; null where no sum is asked for
  // Staged alone: rows of u, dz1 and dz2, [B, padded].
  float* u;
  float* dz1;
  float* dz2;
  float* rewards;  // [B]
  int mode;
  int batch;
  int inputs;        // of the dense part
  int action_count;  // rows of w1 behind it
  int hidden;
  int outputs;
  int activation1;
  int activation2;
  float slope1;
  float slope2;
  float scale;  // 1 / B
  int tile;     // rows in shared memory
  int rows;     // of a partial sum
  bool residual;
  bool w1_quads;
  bool w2_quads;
  bool y_quads;
};

// Columns of a partial sum: w1, b1, w2, b2, each row padded, and the sum of the rewards.
struct Columns {
  int64_t b1;
  int64_t w2;
  int64_t b2;
  int64_t loss;
  int64_t count;
};
CK_HOST_DEVICE Columns columns_of(int weight_rows, int hidden, int outputs) {
  Columns c;
  c.b1 = static_cast<int64_t>(weight_rows) * padded(hidden);
  c.w2 = c.b1 + padded(hidden);
  c.b2 = c.w2 + static_cast<int64_t>(hidden) * padded(outputs);
  c.loss = c.b2 + padded(outputs);
  c.count = c.loss + 4;
  return c;
}

CK_DEVICE float4 quad_at(const float* p) { return *reinterpret_cast<const float4*>(p); }
CK_DEVICE void put_quad(float* p, const float4& v) { *reinterpret_cast<float4*>(p) = v; }

CK_DEVICE float component(const float4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

template <typename F>
CK_DEVICE float4 each_of(const float4& z, const F& f) {
  return make_float4(f(z.x), f(z.y), f(z.z), f(z.w));
}
template <typename F>
CK_DEVICE float each_of(float z, const F& f) {
  return f(z);
}

// V is float or float4.
template <typename V>
CK_DEVICE V activated(int activation, float slope, const V& z) {
  switch (activation) {
    case MLP_RELU:
      return each_of(z, [](float x) { return x <= 0.0f ? 0.0f : x; });
    case MLP_LEAKY_RELU:
      return each_of(z, [slope](float x) { return x <= 0.0f ? __fmul_rn(slope, x) : x; });
    case MLP_SILU:
      return each_of(z, [](float x) { return ck::silu(x); });
    case MLP_GELU_ERF:
      return each_of(z, [](float x) { return ck::gelu_erf(x); });
    case MLP_GELU_TANH:
      return each_of(z, [](float x) { return ck::gelu_tanh(x); });
    case MLP_TANH:
      return each_of(z, [](float x) { return ck::tanh(x); });
    case MLP_SIGMOID:
      return each_of(z, [](float x) { return ck::sigmoid(x); });
  }
  return z;
}

template <typename V>
CK_DEVICE V derivative(int activation, float slope, const V& z) {
  switch (activation) {
    case MLP_RELU:
      return each_of(z, [](float x) {
        return (CK_MUTANT(mlp_relu_slope_of_zero) ? x < 0.0f : x <= 0.0f) ? 0.0f : 1.0f;
      });
    case MLP_LEAKY_RELU:
      return each_of(z, [slope](float x) { return x <= 0.0f ? slope : 1.0f; });
    case MLP_SILU:
      return each_of(z, [](float x) { return ck::silu_slope(x); });
    case MLP_GELU_ERF:
      return each_of(z, [](float x) { return ck::gelu_erf_slope(x); });
    case MLP_GELU_TANH:
      return each_of(z, [](float x) { return ck::gelu_tanh_slope(x); });
    case MLP_TANH:
      return each_of(z, [](float x) { return ck::tanh_slope(x); });
    case MLP_SIGMOID:
      return each_of(z, [](float x) {
        const ck::SigmoidPair pair = ck::sigmoid_and_complement(x);
        return __fmul_rn(pair.value, pair.complement);
      });
  }
  return each_of(z, [](float) { return 1.0f; });
}

// A gradient through a derivative: a closed gate lets nothing through, not even a NaN.
CK_DEVICE float gated(float gradient, float slope) {
  return slope == 0.0f && !CK_MUTANT(mlp_multiplies_closed_gate) ? 0.0f
                                                                 : __fmul_rn(gradient, slope);
}

CK_DEVICE float dot_quad(float sum, const float4& a, const float4& b) {
  sum = __fmaf_rn(a.x, b.x, sum);
  sum = __fmaf_rn(a.y, b.y, sum);
  sum = __fmaf_rn(a.z, b.z, sum);
  return __fmaf_rn(a.w, b.w, sum);
}

// The row of an action, or -1; the first bad one is reported.
CK_DEVICE int action_of(const Network& n, int64_t row) {
  const int action = n.actions[row];
  if (action >= 0 && action < n.action_count) return action;
  if (n.status != nullptr) {
    constexpr int64_t kMost = (1 << 24) - 1;
    atomicCAS(n.status, 0u,
              static_cast<uint32_t>(MLP_DEVICE_BAD_ACTION) << 24 |
                  static_cast<uint32_t>(row < kMost ? row : kMost));
  }
  return -1;
}

}  // namespace mlp
