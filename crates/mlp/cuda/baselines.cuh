// The designs that the fused kernels replace, kept so that every ratio is measured in one run.
#pragma once

#include "staged.cuh"

namespace mlp {

// A thread an output, which computes every hidden unit for it.
CK_KERNEL(kThreads) baseline_forward(const __grid_constant__ Network n) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t row = at / n.outputs;
  const int o = static_cast<int>(at % n.outputs);
  if (row >= n.batch) return;
  float y = n.b2 != nullptr ? n.b2[o] : 0.0f;
  for (int h = 0; h < n.hidden; ++h) {
    float z = n.b1 != nullptr ? n.b1[h] : 0.0f;
    for (int i = 0; i < n.inputs; ++i) {
      z = __fmaf_rn(input_at(n, row, i), n.w1[i * n.hidden + h], z);
    }
    y = __fmaf_rn(activated(n.activation1, n.slope1, z), n.w2[h * n.outputs + o], y);
  }
  n.y[row * n.y_stride + o] = activated(n.activation2, n.slope2, y);
}

// A thread a weight, which walks the batch; one more for the loss.
CK_KERNEL(kThreads)
baseline_weights(const __grid_constant__ Network n, float* d_w1, float* d_b1, float* d_w2,
                 float* d_b2, float* loss) {
  const int weight_rows = n.inputs + n.action_count;
  const int first = (weight_rows + 1) * n.hidden;
  const int at = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int all = first + (n.hidden + 1) * n.outputs;
  if (at == all && loss != nullptr) {
    float sum = 0.0f;
    for (int64_t r = 0; r < n.batch; ++r) sum = __fadd_rn(sum, n.rewards[r]);
    *loss = __fmul_rn(sum, n.scale);
  }
  if (at >= all) return;
  const bool is_first = at < first;
  const int in_matrix = is_first ? at : at - first;
  const int right_count = is_first ? n.hidden : n.outputs;
  const int left_count = is_first ? weight_rows : n.hidden;
  const int l = in_matrix / right_count;
  const int column = in_matrix % right_count;
  const float* const right = (is_first ? n.dz1 : n.dz2) + column;
  float sum = 0.0f;
  for (int64_t r = 0; r < n.batch; ++r) {
    const float a = l == left_count ? 1.0f
                    : !is_first     ? n.u[r * n.hidden + l]
                    : l < n.inputs  ? input_at(n, r, l)
                                    : (n.actions[r] == l - n.inputs ? 1.0f : 0.0f);
    sum = __fmaf_rn(a, right[r * right_count], sum);
  }
  float* const to =
      l == left_count ? (is_first ? d_b1 : d_b2) + column : (is_first ? d_w1 : d_w2) + in_matrix;
  *to = sum;
}

}  // namespace mlp
