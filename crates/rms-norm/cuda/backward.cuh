// The gradients: dx by a block a row, dgamma by column sums over all rows.
//
// backward_rows: scale (unless it is given), c, and dx of one row. A row is taken in tiles, read
// again for dx where it has more than one, the last first, for it is still held. backward_chunks:
// one chunk of rows of the tree of ck/column_sum.cuh, 32 columns a block. Warp w owns the lanes w,
// w + 8, w + 16, w + 24, so that lanes 16 and 8 apart meet in a thread and those 4, 2, 1 apart
// through shared memory. backward_merge: the chunks of a column, neighbours first, by one thread,
// in place.
#pragma once

#include <ck/column_sum.cuh>
#include <ck/pipeline.cuh>

#include "groups.cuh"
#include "plan.cuh"
#include "sum_tree.cuh"

namespace rms {

// rms_norm_backward_params, checked and with its defaults filled in.
struct BackwardProblem {
  const void* x;
  const void* gamma;
  const void* dy;
  const float* rstd;  // given, or null
  float* scales;      // written where rstd is null and dgamma is wanted
  void* dx;
  void* dgamma;
  ck::F32x2* chunks;  // [chunk, n]
  int64_t x_stride;
  int64_t dy_stride;
  int64_t dx_stride;
  int n;
  int rows;
  int gamma_dtype;
  int gamma_mode;
  float eps;
  float columns;    // n
  float inverse_n;  // 1 / n where n is a power of two, else 0
};

// The correctly rounded quotient by the number of columns.
CK_DEVICE float mean_of(const BackwardProblem& p, float sum) {
  return p.inverse_n != 0.0f ? __fmul_rn(sum, p.inverse_n) : __fdiv_rn(sum, p.columns);
}

template <typename T, int kV>
CK_KERNEL_BLOCKS(kWideColumns / kV, 1)
backward_rows(const BackwardProblem p) {
  constexpr int kN = kOptionsHeld;
  CK_SHARED(float, squares, kMaxSums);
  CK_SHARED(float, products, kMaxSums);
  const int logical = blockDim.x * kV;
  const int first = threadIdx.x * kV;
  const int64_t row = blockIdx.x;
  const T* const x = static_cast<const T*>(p.x) + row * p.x_stride;
  const T* const dy = static_cast<const T*>(p.dy) + row * p.dy_stride;
  T* const dx = static_cast<T*>(p.dx) + row * p.dx_stride;
  const int tiles = (p.n - 1) / (kN * logical) + 1;
  ck::dependency_wait();

  Group<kV> r[kN];
  Group<kV> h[kN];  // dy * weight
  const auto columns_of = [&](int tile) {
    Columns<kN> columns;
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      const int64_t at = (static_cast<int64_t>(tile) * kN + k) * logical + first;
      columns.at[k] = at < p.n ? static_cast<int>(at) : p.n;
    }
    return columns;
  };
  const auto load_tile = [&](const Columns<kN>& columns) {
    load_groups<T>(x, columns, columns, p.n, r);
    load_groups<T>(dy, columns, columns, p.n, h);
    if (p.gamma == nullptr) return;
    Group<kV> weights[kN];
    load_either<T>(p.gamma, 0, p.gamma_dtype, columns, columns, p.n, weights);
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      CK_UNROLL
      for (int i = 0; i < kV; ++i) {
        const float g = weights[k].v[i];
        h[k].v[i] =
            __fmul_rn(h[k].v[i], p.gamma_mode == RMS_GAMMA_ONE_PLUS ? __fadd_rn(1.0f, g) : g);
      }
    }
  };

  float a[kV] = {};
  float b[kV] = {};
  CK_NO_UNROLL
  for (int tile = 0; tile < tiles; ++tile) {
    load_tile(columns_of(tile));
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      add_squares(a, r[k].v);
      CK_UNROLL
      for (int i = 0; i < kV; ++i) b[i] = __fmaf_rn(h[k].v[i], r[k].v[i], b[i]);
    }
  }
  put_logical_warp_sum(a, squares);
  put_logical_warp_sum(b, products);
  if (!CK_MUTANT(rms_backward_skips_sums_barrier)) __syncthreads();
  float scale;
  if (p.rstd != nullptr) {
    scale = p.rstd[row];
  } else {
    const float sum = sum_of_logical_warps(squares, logical);
    scale = __frsqrt_rn(__fadd_rn(mean_of(p, sum), p.eps));
    if (p.scales != nullptr && threadIdx.x == 0) p.scales[row] = scale;
  }
  if (p.dx == nullptr) return;
  const float c = mean_of(p, sum_of_logical_warps(products, logical));
  const float k_of_row = __fmul_rn(__fmul_rn(c, scale), scale);

  CK_NO_UNROLL
  for (int tile = tiles - 1; tile >= 0; --tile) {
    const Columns<kN> columns = columns_of(tile);
    if (tile < tiles - 1) load_tile(columns);
    CK_UNROLL
    for (int k = 0; k < kN; ++k) {
      CK_UNROLL
      for (int i = 0; i < kV; ++i) {
        h[k].v[i] = __fmul_rn(scale, __fmaf_rn(-k_of_row, r[k].v[i], h[k].v[i]));
      }
    }
    store_groups<T>(dx, columns, p.n, h);
  }
}

constexpr int kChunkColumns = 32;
constexpr int kChunkWarps = 8;
constexpr int kLanesOfWarp = ck::kColumnLanes / kChunkWarps;

template <typename T>
CK_KERNEL_BLOCKS(kChunkColumns* kChunkWarps, 1)
backward_chunks(const BackwardProblem p, const int column_blocks) {
  CK_SHARED(float, high, kChunkWarps* kChunkColumns);
  CK_SHARED(float, low, kChunkWarps* kChunkColumns);
  const int warp = threadIdx.x / kChunkColumns;
  const int64_t column = static_cast<int64_t>(blockIdx.x % column_blocks) * kChunkColumns +
                         threadIdx.x % kChunkColumns;
  const int64_t chunk = blockIdx.x / column_blocks;
  const int chain = ck::column_chain(p.rows);
  const int64_t start = chunk * ck::column_chunk_rows(p.rows);
  const T* const x = static_cast<const T*>(p.x) + column;
  const T* const dy = static_cast<const T*>(p.dy) + column;
  ck::dependency_wait();
  const float* const scales = p.rstd != nullptr ? p.rstd : p.scales;

  ck::F32x2 lanes[kLanesOfWarp] = {};
  if (column < p.n) {
    CK_NO_UNROLL
    for (int i = 0; i < chain; ++i) {
      CK_UNROLL
      for (int l = 0; l < kLanesOfWarp; ++l) {
        const int64_t row = start + i * ck::kColumnLanes + l * kChunkWarps + warp;
        if (row >= p.rows) continue;
        const Bits<T, 1> x_bits = *reinterpret_cast<const Bits<T, 1>*>(x + row * p.x_stride);
        const Bits<T, 1> dy_bits = *reinterpret_cast<const Bits<T, 1>*>(dy + row * p.dy_stride);
        const float normalised = __fmul_rn(scales[row], unpack<T, 1>(x_bits).v[0]);
        ck::add_product(lanes[l], unpack<T, 1>(dy_bits).v[0], normalised);
      }
    }
  }
  // Lanes 16 apart are two places apart here, those 8 apart one.
  CK_UNROLL
  for (int step = kLanesOfWarp / 2; step > 0; step /= 2) {
    CK_UNROLL
    for (int l = 0; l < step; ++l) lanes[l] = ck::merge(lanes[l], lanes[l + step]);
  }
  high[threadIdx.x] = lanes[0].high;
  low[threadIdx.x] = lanes[0].low;
  CK_NO_UNROLL
  for (int step = kChunkWarps / 2; step > 0; step /= 2) {
    if (!CK_MUTANT(rms_chunks_skip_merge_barrier)) __syncthreads();
    if (warp >= step) continue;
    const int other = threadIdx.x + step * kChunkColumns;
    const ck::F32x2 sum = ck::merge(ck::F32x2{high[threadIdx.x], low[threadIdx.x]},
                                    ck::F32x2{high[other], low[other]});
    high[threadIdx.x] = sum.high;
    low[threadIdx.x] = sum.low;
  }
  if (warp == 0 && column < p.n) {
    p.chunks[chunk * p.n + column] = ck::F32x2{high[threadIdx.x], low[threadIdx.x]};
  }
}

constexpr int kMergeThreads = 128;

template <typename T>
CK_KERNEL(kMergeThreads)
backward_merge(const BackwardProblem p) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kMergeThreads + threadIdx.x;
  if (column >= p.n) return;
  ck::dependency_wait();
  const int64_t chunks = ck::column_chunks(p.rows);
  ck::F32x2* const of_column = p.chunks + column;
  for (int64_t width = 1; width < chunks; width *= 2) {
    for (int64_t c = 0; c + width < chunks; c += 2 * width) {
      of_column[c * p.n] = ck::merge(of_column[c * p.n], of_column[(c + width) * p.n]);
    }
  }
  const ck::F32x2 sum = chunks == 0 ? ck::F32x2{0.0f, 0.0f} : of_column[0];
  if (p.gamma_dtype == kDtype<T>) {
    const Bits<T, 1> bits = pack(Group<1>{{ck::to_f32(ck::rounded<T>(sum))}}, T{});
    *reinterpret_cast<Bits<T, 1>*>(static_cast<T*>(p.dgamma) + column) = bits;
  } else {
    static_cast<float*>(p.dgamma)[column] = ck::rounded<float>(sum);
  }
}

}  // namespace rms
