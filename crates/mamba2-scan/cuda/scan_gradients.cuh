// From the gradients of the projections to those of weights, biases and inputs: staged kernels for
// any size, and the sum of the partial sums that the fused kernel shares.
#pragma once

#include <ck/column_sum.cuh>

#include "partials.cuh"
#include "scan.cuh"

namespace mamba2_scan {

constexpr int kGradientThreads = 256;
constexpr int kSliceFeatures = kGradientThreads / (kGroup / kOwn);  // of a block

// A block: one partial sum's chains for 64 features and 16 states. A thread: one feature, four
// states.
CK_KERNEL_BLOCKS(kGradientThreads, 1)
weight_partials(const Scan p, float* partials, const int tiles_each, const int slices) {
  ck::dependency_wait();
  const int groups = groups_of(p.states);
  const int slice = blockIdx.x % slices;
  const int group = blockIdx.x / slices % groups;
  const int partial = blockIdx.x / slices / groups;
  const int feature = slice * kSliceFeatures + static_cast<int>(threadIdx.x) % kSliceFeatures;
  const int s0 = group * kGroup + static_cast<int>(threadIdx.x) / kSliceFeatures * kOwn;
  if (feature >= p.features || s0 >= p.states) return;
  const int padded = padded_states(p.states);
  const bool with_biases = feature == 0;
  float sums[3][kOwn] = {};
  float biases[3][kOwn] = {};
  const auto take = [&](int which, float x, const float4& terms) {
    multiply_add(sums[which], x, terms);
    if (with_biases) {
      CK_UNROLL
      for (int c = 0; c < kOwn; ++c) {
        biases[which][c] = __fadd_rn(biases[which][c], component(terms, c));
      }
    }
  };
  const int first = partial * tiles_each * kTile;
  const int end = min(first + tiles_each * kTile, p.batch);
  for (int tile = first; tile < end; tile += kTile) {
    const int samples = min(kTile, end - tile);
    for (int t = 0; t < p.steps; ++t) {
      CK_UNROLL_BY(4)
      for (int i = 0; i < samples; ++i) {
        const int64_t b = tile + i;
        const float x = p.history[b * p.history_stride + t * p.step_stride + feature];
        const int64_t at = (b * p.steps + t) * padded + s0;
        take(0, x, shared_quad(p.d_gates + at));
        take(1, x, shared_quad(p.d_inputs + at));
      }
    }
    for (int i = 0; i < samples; ++i) {
      const int64_t b = tile + i;
      take(2, p.current[b * p.current_stride + feature],
           shared_quad(p.d_readouts + b * padded + s0));
    }
  }
  const int64_t matrix = static_cast<int64_t>(p.features) * p.states;
  float* const row = partials + partial * gradient_columns(p.features, p.states);
  CK_UNROLL
  for (int which = 0; which < 3; ++which) {
    CK_UNROLL
    for (int c = 0; c < kOwn; ++c) {
      if (s0 + c >= p.states) continue;
      row[which * matrix + static_cast<int64_t>(feature) * p.states + s0 + c] = sums[which][c];
      if (with_biases) row[3 * matrix + which * p.states + s0 + c] = biases[which][c];
    }
  }
}

// Where the sums go: gate, input, readout; null where nobody asked.
struct GradientSums {
  float* weights[3];
  float* biases[3];
  float beta;
};

constexpr int kSumColumns = ck::kWarp;                      // of a block
constexpr int kSumParts = kGradientThreads / kSumColumns;   // threads of a column
constexpr int kLanesOfPart = ck::kColumnLanes / kSumParts;  // the tree's lanes of a thread
static_assert(kLanesOfPart == 4, "the merges below are of four lanes");

// The tree of ck/column_sum.cuh over at most one chunk of rows.
CK_KERNEL(kGradientThreads)
sum_partials(const float* partials, const int count, const int features, const int states,
             const GradientSums sums) {
  CK_SHARED(ck::F32x2, parts, kGradientThreads);
  ck::dependency_wait();
  const int64_t columns = gradient_columns(features, states);
  const int in_block = threadIdx.x % kSumColumns;
  const int part = threadIdx.x / kSumColumns;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kSumColumns + in_block;
  ck::F32x2 lanes[kLanesOfPart] = {};
  if (column < columns) {
    CK_UNROLL
    for (int i = 0; i < kLanesOfPart; ++i) {
      CK_UNROLL
      for (int row = part + i * kSumParts; row < kMaxPartials; row += ck::kColumnLanes) {
        if (row < count) ck::add(lanes[i], ck::load_cg(partials + row * columns + column));
      }
    }
  }
  // Lanes 16 apart, then 8: a thread has lanes part, part + 8, part + 16, part + 24.
  ck::F32x2 sum = ck::merge(ck::merge(lanes[0], lanes[2]), ck::merge(lanes[1], lanes[3]));
  parts[threadIdx.x] = sum;
  for (int away = kSumParts / 2; away > 0; away /= 2) {
    if (!CK_MUTANT(m2_sum_skips_barrier)) __syncthreads();
    if (part < away) {
      sum = ck::merge(sum, parts[threadIdx.x + away * kSumColumns]);
      parts[threadIdx.x] = sum;
    }
  }
  if (part != 0 || column >= columns) return;
  const int64_t matrix = static_cast<int64_t>(features) * states;
  const bool is_bias = column >= 3 * matrix;
  const int64_t in_part = is_bias ? column - 3 * matrix : column;
  const int64_t extent = is_bias ? states : matrix;
  const int which = static_cast<int>(in_part / extent);
  float* const weights = which == 0   ? sums.weights[0]
                         : which == 1 ? sums.weights[1]
                                      : sums.weights[2];
  float* const biases = which == 0 ? sums.biases[0] : which == 1 ? sums.biases[1] : sums.biases[2];
  float* const to = is_bias ? biases : weights;
  if (to == nullptr) return;
  const int64_t at = in_part % extent;
  const float value = ck::rounded<float>(sum);
  to[at] = sums.beta == 0.0f ? value : __fmaf_rn(sums.beta, to[at], value);
}

constexpr int kBackRows = 8;  // rows of a block

// Rows of gradients back through the weights: `sources` pairs of weights and terms, [rows, padded
// S].
struct Back {
  const float* weights[2];
  const float* terms[2];
  const float* added;  // [rows, H], or null
  float* out;          // [rows, H], or null
  int64_t rows;
  int sources;
};

// Blocks of `history`, then those of `current`.
CK_KERNEL(kGradientThreads)
input_gradients(const Back history, const Back current, const int history_blocks,
                const int features, const int states) {
  ck::dependency_wait();
  const bool is_history = static_cast<int>(blockIdx.x) < history_blocks;
  Back back = history;
  if (!is_history) back = current;
  const int64_t row0 =
      static_cast<int64_t>(is_history ? blockIdx.x : blockIdx.x - history_blocks) * kBackRows;
  const int padded = padded_states(states);
  for (int k = threadIdx.x; k < features; k += blockDim.x) {
    float sums[kBackRows] = {};
    for (int group = 0; group < padded; group += kGroup) {
      CK_UNROLL
      for (int source = 0; source < 2; ++source) {
        if (source >= back.sources) continue;
        float w[kGroup];
        CK_UNROLL
        for (int s = 0; s < kGroup; ++s) {
          w[s] =
              group + s < states
                  ? ck::load_nc(back.weights[source] + static_cast<int64_t>(k) * states + group + s)
                  : 0.0f;
        }
        CK_UNROLL
        for (int r = 0; r < kBackRows; ++r) {
          if (row0 + r >= back.rows) continue;
          const float* const terms = back.terms[source] + (row0 + r) * padded + group;
          CK_UNROLL
          for (int s = 0; s < kGroup; s += 4) {
            const float4 term = shared_quad(terms + s);
            CK_UNROLL
            for (int c = 0; c < 4; ++c) sums[r] = __fmaf_rn(w[s + c], component(term, c), sums[r]);
          }
        }
      }
    }
    CK_UNROLL
    for (int r = 0; r < kBackRows; ++r) {
      if (row0 + r >= back.rows) continue;
      const int64_t at = (row0 + r) * features + k;
      back.out[at] = back.added != nullptr ? __fadd_rn(back.added[at], sums[r]) : sums[r];
    }
  }
}

}  // namespace mamba2_scan
