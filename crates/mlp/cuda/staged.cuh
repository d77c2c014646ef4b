// Networks of any size: a node for the rows, one for the sums over them.
//
// A block has eight rows in shared memory; a thread has one column of all of them, and reads
// weights from the cache. No shape is fast here; every shape is right.
#pragma once

#include "fused.cuh"

namespace mlp {

constexpr int kStagedRows = kWarps;  // a warp each for the rewards

// Shared floats: rows of x, u, dz1, dz2.
CK_HOST_DEVICE int staged_floats(const Network& n) {
  return kStagedRows * (n.inputs + n.hidden + (n.mode != kForward ? n.hidden : 0) + n.outputs);
}

// The block: every output of its eight rows; a thread a column. put(row, column, value).
template <bool kKMajor, typename Put>
CK_DEVICE void multiply_staged(const Product& p, const Put& put) {
  const int chains = chains_of(p.outputs);
  const int each = chain_terms(p.terms, chains);
  for (int c = threadIdx.x; c < p.outputs; c += kThreads) {
    float total[kStagedRows];
    float pair[kStagedRows] = {};
    for (int chain = 0; chain < chains; ++chain) {
      const int first = chain * each;
      const int end = min(first + each, p.terms);
      const float bias = chain == 0 && p.bias != nullptr ? p.bias[c] : 0.0f;
      float sums[kStagedRows];
      CK_UNROLL
      for (int r = 0; r < kStagedRows; ++r) sums[r] = bias;
      for (int k = first; k < end; ++k) {
        const int64_t at = kKMajor ? static_cast<int64_t>(k) * p.matrix_stride + c
                                   : static_cast<int64_t>(c) * p.matrix_stride + k;
        const float w = ck::load_nc(p.matrix + at);
        CK_UNROLL
        for (int r = 0; r < kStagedRows; ++r) {
          sums[r] = __fmaf_rn(p.rows[r * p.row_stride + k], w, sums[r]);
        }
      }
      CK_UNROLL
      for (int r = 0; r < kStagedRows; ++r) {
        // The zeros behind the last term.
        if (end == p.terms && p.terms % 4 != 0) sums[r] = __fadd_rn(sums[r], 0.0f);
        if (chain == 0) total[r] = sums[r];
        if (chain == 1) total[r] = __fadd_rn(total[r], sums[r]);
        if (chain == 2) pair[r] = sums[r];
        if (chain == 3) total[r] = __fadd_rn(total[r], __fadd_rn(pair[r], sums[r]));
      }
    }
    CK_UNROLL
    for (int r = 0; r < kStagedRows; ++r) put(r, c, total[r]);
  }
}

// An element of x.
CK_DEVICE float input_at(const Network& n, int64_t row, int column) {
  CK_UNROLL
  for (int s = 0; s < kSources - 1; ++s) {
    if (column < n.sources[s].width) {
      return ck::load_nc(n.sources[s].data + row * n.sources[s].stride + column);
    }
    column -= n.sources[s].width;
  }
  const Source& last = n.sources[kSources - 1];
  return ck::load_nc(last.data + row * last.stride + column);
}

// A warp: the reward of its row, from z2 in shared memory.
CK_DEVICE void staged_reward(const Network& n, const float* z2, int64_t row) {
  const int lane = threadIdx.x % ck::kWarp;
  const float* const next = n.upstream.data + row * n.upstream.stride;
  float sum = 0.0f;
  for (int first = 0; first < quads_of(n.outputs); first += ck::kWarp) {
    float square = 0.0f;
    for (int i = 0; i < 4; ++i) {
      const int c = (first + lane) * 4 + i;
      const float d =
          c < n.outputs ? __fsub_rn(activated(n.activation2, n.slope2, z2[c]), next[c]) : 0.0f;
      square = __fmaf_rn(d, d, square);
    }
    for (int q = 0; q < ck::kWarp; ++q) {
      const float other = __shfl_sync(ck::kFullMask, square, q);
      if (first + q < quads_of(n.outputs)) sum = __fadd_rn(sum, other);
    }
  }
  const float reward = __fmul_rn(0.5f, sum);
  if (lane == 0 && n.reward != nullptr) n.reward[row] = reward;
  if (lane == 0 && n.rewards != nullptr) n.rewards[row] = reward;
}

CK_KERNEL(kThreads) run_staged(const __grid_constant__ Network n) {
  CK_DYNAMIC_SHARED(float, shared);
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) * kStagedRows;
  const int rows = static_cast<int>(min(static_cast<int64_t>(kStagedRows), n.batch - row0));
  float* const x = shared;
  float* const u = x + kStagedRows * n.inputs;
  float* const dz2 = u + kStagedRows * n.hidden;
  float* const dz1 = dz2 + kStagedRows * n.outputs;
  ck::dependency_wait();
  for (int i = threadIdx.x; i < kStagedRows * n.inputs; i += kThreads) {
    const int row = i / n.inputs;
    x[i] = row < rows ? input_at(n, row0 + row, i % n.inputs) : 0.0f;
  }
  // Reports the bad ones.
  if (n.actions != nullptr && static_cast<int>(threadIdx.x) < rows)
    action_of(n, row0 + threadIdx.x);
  if (!CK_MUTANT(mlp_staged_skips_arrival_barrier)) __syncthreads();
  const Product to_hidden = {x, n.inputs, n.w1, n.hidden, n.b1, n.inputs, n.hidden, false};
  multiply_staged<true>(to_hidden, [&](int row, int c, float z) {
    const int action = n.actions != nullptr && row < rows ? n.actions[row0 + row] : -1;
    if (action >= 0 && action < n.action_count) {
      z = __fadd_rn(z, n.w1[static_cast<int64_t>(n.inputs + action) * n.hidden + c]);
    }
    const float unit = activated(n.activation1, n.slope1, z);
    u[row * n.hidden + c] = unit;
    if (n.mode == kForward) return;
    dz1[row * n.hidden + c] = derivative(n.activation1, n.slope1, z);
    if (n.u != nullptr && row < rows) n.u[(row0 + row) * n.hidden + c] = unit;
  });
  if (!CK_MUTANT(mlp_staged_skips_hidden_barrier)) __syncthreads();
  const Product to_output = {u, n.hidden, n.w2, n.outputs, n.b2, n.hidden, n.outputs, false};
  multiply_staged<true>(to_output, [&](int row, int c, float z) {
    const bool real = row < rows;
    if (n.mode == kForward) {
      float y = activated(n.activation2, n.slope2, z);
      if (n.residual) y = __fadd_rn(y, x[row * n.inputs + c]);
      if (real) n.y[(row0 + row) * n.y_stride + c] = y;
    } else if (n.mode == kCuriosity) {
      dz2[row * n.outputs + c] = z;
    } else {
      const float dy = real ? n.upstream.data[(row0 + row) * n.upstream.stride + c] : 0.0f;
      dz2[row * n.outputs + c] = gated(dy, derivative(n.activation2, n.slope2, z));
    }
  });
  if (n.mode == kForward) return;
  if (n.mode == kCuriosity) {
    if (!CK_MUTANT(mlp_staged_skips_output_barrier)) __syncthreads();
    const int warp = threadIdx.x / ck::kWarp;
    if (warp < rows) staged_reward(n, dz2 + warp * n.outputs, row0 + warp);
    if (!CK_MUTANT(mlp_staged_skips_reward_barrier)) __syncthreads();
    for (int i = threadIdx.x; i < kStagedRows * n.outputs; i += kThreads) {
      const int row = i / n.outputs;
      const float z = dz2[i];
      const float next =
          row < rows ? n.upstream.data[(row0 + row) * n.upstream.stride + i % n.outputs] : 0.0f;
      const float d = __fmul_rn(__fsub_rn(activated(n.activation2, n.slope2, z), next), n.scale);
      dz2[i] = gated(d, derivative(n.activation2, n.slope2, z));
    }
  }
  if (n.dz2 == nullptr && n.dx == nullptr) return;
  if (!CK_MUTANT(mlp_staged_skips_dz2_barrier)) __syncthreads();
  if (n.dz2 != nullptr) {
    for (int i = threadIdx.x; i < rows * n.outputs; i += kThreads) {
      n.dz2[row0 * n.outputs + i] = dz2[i];
    }
  }
  const Product back = {dz2, n.outputs, n.w2, n.outputs, nullptr, n.outputs, n.hidden, false};
  multiply_staged<false>(back, [&](int row, int c, float du) {
    float* const to = dz1 + row * n.hidden + c;
    *to = gated(du, *to);
    if (n.dz1 != nullptr && row < rows) n.dz1[(row0 + row) * n.hidden + c] = *to;
  });
  if (n.dx == nullptr) return;
  if (!CK_MUTANT(mlp_staged_skips_dz1_barrier)) __syncthreads();
  const Product to_input = {dz1, n.hidden, n.w1, n.hidden, nullptr, n.hidden, n.inputs, false};
  multiply_staged<false>(to_input, [&](int row, int c, float value) {
    if (row >= rows) return;
    const int64_t r = row0 + row;
    if (n.residual) value = __fadd_rn(value, n.upstream.data[r * n.upstream.stride + c]);
    n.dx[r * n.dx_stride + c] = value;
  });
}

constexpr int kStagedLeft = 8;  // rows of weights of a block

CK_HOST_DEVICE int staged_blocks(int left, int right) {
  return (left + 1 + kStagedLeft - 1) / kStagedLeft * ((right + kThreads - 1) / kThreads);
}

// A block: eight rows of one matrix of weights, the biases behind the last, up to 256 columns, one
// partial sum.
CK_KERNEL(kThreads) sum_rows(const __grid_constant__ Network n) {
  const int weight_rows = n.inputs + n.action_count;
  const int blocks1 = staged_blocks(weight_rows, n.hidden);
  const int blocks = blocks1 + staged_blocks(n.hidden, n.outputs);
  const int partial = blockIdx.x / blocks;
  const int block = blockIdx.x % blocks;
  const bool is_first = block < blocks1;
  const int left_count = is_first ? weight_rows : n.hidden;
  const int right_count = is_first ? n.hidden : n.outputs;
  const int across = (right_count + kThreads - 1) / kThreads;
  const int in_matrix = is_first ? block : block - blocks1;
  const int left0 = in_matrix / across * kStagedLeft;
  const int column = in_matrix % across * kThreads + static_cast<int>(threadIdx.x);
  const Columns columns = columns_of(weight_rows, n.hidden, n.outputs);
  float* const sums = n.partials + partial * columns.count;
  const float* const right = is_first ? n.dz1 : n.dz2;
  const int64_t first = static_cast<int64_t>(partial) * n.rows;
  const int64_t end = min(first + n.rows, static_cast<int64_t>(n.batch));
  ck::dependency_wait();
  if (block == 0 && threadIdx.x == 0 && n.mode == kCuriosity) {
    float sum = 0.0f;
    for (int64_t r = first; r < end; ++r) sum = __fadd_rn(sum, ck::load_cg(n.rewards + r));
    sums[columns.loss] = sum;
  }
  if (column >= right_count) return;
  float total[kStagedLeft] = {};
  for (int64_t r = first; r < end; ++r) {
    const float b = ck::load_cg(right + r * right_count + column);
    CK_UNROLL
    for (int j = 0; j < kStagedLeft; ++j) {
      const int l = left0 + j;
      if (l > left_count) continue;
      if (l == left_count) {
        total[j] = __fadd_rn(total[j], b);
      } else if (!is_first) {
        total[j] = __fmaf_rn(ck::load_cg(n.u + r * n.hidden + l), b, total[j]);
      } else if (l < n.inputs) {
        total[j] = __fmaf_rn(input_at(n, r, l), b, total[j]);
      } else if (n.actions[r] == l - n.inputs) {
        total[j] = __fadd_rn(total[j], b);
      }
    }
  }
  CK_UNROLL
  for (int j = 0; j < kStagedLeft; ++j) {
    const int l = left0 + j;
    if (l > left_count) continue;
    float* const to = l == left_count ? sums + (is_first ? columns.b1 : columns.b2)
                                      : sums + (is_first ? 0 : columns.w2) +
                                            static_cast<int64_t>(l) * padded(right_count);
    to[column] = total[j];
  }
}

}  // namespace mlp
