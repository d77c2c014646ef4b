// Gradients of up to 8 steps, 16 states and 256 features in one launch: history is read once.
//
// A block makes one partial sum, whose samples it takes in tiles of eight. A tile (its 64 rows of
// history, 8 of current) lies in shared memory while it is projected, scanned forward and back, and
// multiplied with the gradients of its projections; the next tile arrives meanwhile. The sums for
// weights stay in registers, 48 a thread, until the block has done its last tile.
//
// Weights lie transposed, [48 columns][features + 4]: sixteen bytes are four features of one column,
// for projecting, and one column of four features, for going back, both without bank conflicts.
#pragma once

#include "scan_gradients.cuh"
#include "temporal_scan.cuh"

namespace mamba2_scan {

constexpr int kFusedFeatures = 256;
constexpr int kFusedThreads = 256;
constexpr int kFusedWarps = kFusedThreads / ck::kWarp;
constexpr int kTermStride = 48;  // floats between rows of terms: 16 of the gate, 16 of the input
static_assert(kFusedWarps == kSteps, "a warp projects the rows of one step");

// Shared floats: weights, two tiles, the terms of their rows and of current's.
CK_HOST_DEVICE int fused_row(int features) { return (features + kSpan - 1) / kSpan * kSpan; }
CK_HOST_DEVICE int fused_shared_floats(int features) {
  return kWeights * (fused_row(features) + 4) + 2 * kStageRows * fused_row(features) +
         kTileRows * kTermStride + kTile * kGroup;
}

struct Fused {
  float* partials;  // null where no gradient of weights or biases is asked for
  float* d_history;
  float* d_current;
  int tiles_each;
  bool biases;
  bool vector_stores;  // rows of d_history and d_current begin at multiples of 16 bytes
};

// Where feature `piece * 4` of a tile's row lies.
CK_DEVICE int fused_offset(int row_floats, int row, int piece) {
  return row * row_floats + piece / kPieces * kSpan + ((piece % kPieces) ^ (row % kTile)) * 4;
}

// The block asks for a tile's rows: first those of history by step, then those of current.
CK_DEVICE void ask_tile(float* tile, const Scan& p, int first_sample, int row_floats) {
  const int pieces = row_floats / 4;
  const int rows = kTileRows + kTile;
  CK_NO_UNROLL
  for (int at = threadIdx.x; at < rows * pieces; at += kFusedThreads) {
    const int row = at / pieces;
    const int piece = at % pieces;
    const int64_t b = min(first_sample + row % kTile, p.batch - 1);
    const int step = min(row / kTile, p.steps - 1);
    const float* const from = row < kTileRows
                                  ? p.history + b * p.history_stride + step * p.step_stride
                                  : p.current + b * p.current_stride;
    float* const to = tile + fused_offset(row_floats, row, piece);
    if (!p.grouped) {
      ask_features(to, from, piece * 4, p.features);
    } else if (piece * 4 < p.features) {
      ck::copy_async_16(to, from + piece * 4);
    } else {
      *reinterpret_cast<float4*>(to) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
}

// The block asks for all weights, transposed; zeros where there are none.
CK_DEVICE void ask_transposed(float* weights, const Scan& p, int row_floats) {
  const int stride = row_floats + 4;
  CK_NO_UNROLL
  for (int at = threadIdx.x; at < kWeights * row_floats; at += kFusedThreads) {
    const int feature = at / kWeights;
    const int column = at % kWeights;
    const int which = column / kGroup;
    const int s = column % kGroup;
    float* const to = weights + column * stride + feature;
    const float* const matrix = which == 0   ? p.weights[0]
                                : which == 1 ? p.weights[1]
                                             : p.weights[2];
    if (feature < p.features && s < p.states) {
      ck::copy_async_4(to, matrix + feature * p.states + s);
    } else {
      *to = 0.0f;
    }
  }
}

CK_DEVICE float dot_piece(float sum, const float4& a, const float4& b) {
  sum = __fmaf_rn(a.x, b.x, sum);
  sum = __fmaf_rn(a.y, b.y, sum);
  sum = __fmaf_rn(a.z, b.z, sum);
  return __fmaf_rn(a.w, b.w, sum);
}

// A warp: gates and inputs of the rows of step `warp`, into their terms. A lane has two samples, and
// states q and q + 8 of gate and input.
CK_DEVICE void project_rows(const Scan& p, const float* tile, const float* weights, float* terms,
                            int row_floats) {
  constexpr int kColumns = 4;
  constexpr int kApart = 8;  // columns of a lane
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int q = lane % kApart;
  const int sample = lane / kApart;  // and sample + 4
  const int row = warp * kTile + sample;
  const int stride = row_floats + 4;
  float sums[2][kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const float bias = bias_of(p, c / 2, q + c % 2 * kApart);
    sums[0][c] = bias;
    sums[1][c] = bias;
  }
  const int pieces = (p.features + 3) / 4;
  CK_UNROLL_BY(2)
  for (int piece = 0; piece < pieces; ++piece) {
    const float4 first = shared_quad(tile + fused_offset(row_floats, row, piece));
    const float4 second = shared_quad(tile + fused_offset(row_floats, row + kTile / 2, piece));
    CK_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const float4 w = shared_quad(weights + (q + c * kApart) * stride + piece * 4);
      sums[0][c] = dot_piece(sums[0][c], first, w);
      sums[1][c] = dot_piece(sums[1][c], second, w);
    }
  }
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    terms[row * kTermStride + q + c * kApart] = sums[0][c];
    terms[(row + kTile / 2) * kTermStride + q + c * kApart] = sums[1][c];
  }
}

// A sample and state that a thread scans, and what comes in from outside.
struct Track {
  float x0;
  float g;
  float d_final;
};

// One thread a sample and state: forward and back, from projections to their gradients in place.
CK_DEVICE void scan_track(const Scan& p, const Track& track, int sample, int s, int64_t b,
                          const float* tile, const float* weights, float* terms,
                          float* readout_terms, int row_floats) {
  float readout = bias_of(p, 2, s);
  const int pieces = (p.features + 3) / 4;
  const float* const w = weights + (2 * kGroup + s) * (row_floats + 4);
  CK_UNROLL_BY(4)
  for (int piece = 0; piece < pieces; ++piece) {
    readout = dot_piece(readout,
                        shared_quad(tile + fused_offset(row_floats, kTileRows + sample, piece)),
                        shared_quad(w + piece * 4));
  }
  ck::SigmoidPair gates[kSteps];
  float before[kSteps];
  float x = track.x0;
  CK_UNROLL
  for (int t = 0; t < kSteps; ++t) {
    if (t >= p.steps) continue;
    const float* const row = terms + (t * kTile + sample) * kTermStride;
    gates[t] = ck::sigmoid_and_complement(row[s]);
    before[t] = x;
    x = __fmaf_rn(gates[t].value, x, row[kGroup + s]);
  }
  const bool real = s < p.states && b < p.batch;
  float lambda = __fmaf_rn(track.g, readout, track.d_final);
  readout_terms[sample * kGroup + s] = real ? __fmul_rn(track.g, x) : 0.0f;
  CK_UNROLL
  for (int t = kSteps - 1; t >= 0; --t) {
    if (t >= p.steps) continue;
    float* const row = terms + (t * kTile + sample) * kTermStride;
    const float slope = __fmul_rn(gates[t].value, gates[t].complement);
    row[s] = real ? __fmul_rn(__fmul_rn(lambda, before[t]), slope) : 0.0f;
    row[kGroup + s] = real ? lambda : 0.0f;
    lambda = __fmul_rn(gates[t].value, lambda);
  }
  if (real && p.d_x0 != nullptr) p.d_x0[b * p.states + s] = lambda;
}

// A thread's sums: eight features by four columns of gate and input, and by two of the readout.
constexpr int kOwnFeatures = 8;
struct WeightSums {
  float rows[kOwnFeatures][4];
  float readout[kOwnFeatures][2];
};

CK_DEVICE void add_row(WeightSums& sums, const float* row_first, const float* row_second,
                       const float* terms) {
  const float4 low = shared_quad(row_first);
  const float4 high = shared_quad(row_second);
  const float4 term = shared_quad(terms);
  CK_UNROLL
  for (int j = 0; j < 4; ++j) {
    multiply_add(sums.rows[j], component(low, j), term);
    multiply_add(sums.rows[4 + j], component(high, j), term);
  }
}

// Adds a tile's products: rows by step, then by sample. A warp has 32 features.
CK_DEVICE void add_tile(const Scan& p, WeightSums& sums, const float* tile, const float* terms,
                        const float* readout_terms, int samples, int row_floats) {
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int quad = lane % 8;
  const int piece = warp * kPieces + lane / 8 * 2;
  if (warp * kSpan >= p.features) return;
  const float* const own_terms = terms + quad * 4;
  if (samples == kTile) {
    CK_NO_UNROLL
    for (int t = 0; t < p.steps; ++t) {
      CK_UNROLL
      for (int i = 0; i < kTile; ++i) {
        const int row = t * kTile + i;
        add_row(sums, tile + fused_offset(row_floats, row, piece),
                tile + fused_offset(row_floats, row, piece + 1), own_terms + row * kTermStride);
      }
    }
  } else {
    CK_NO_UNROLL
    for (int t = 0; t < p.steps; ++t) {
      CK_NO_UNROLL
      for (int i = 0; i < samples; ++i) {
        const int row = t * kTile + i;
        add_row(sums, tile + fused_offset(row_floats, row, piece),
                tile + fused_offset(row_floats, row, piece + 1), own_terms + row * kTermStride);
      }
    }
  }
  CK_NO_UNROLL
  for (int i = 0; i < samples; ++i) {
    const float4 low = shared_quad(tile + fused_offset(row_floats, kTileRows + i, piece));
    const float4 high = shared_quad(tile + fused_offset(row_floats, kTileRows + i, piece + 1));
    CK_UNROLL
    for (int c = 0; c < 2; ++c) {
      const float term = readout_terms[i * kGroup + quad * 2 + c];
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        sums.readout[j][c] = __fmaf_rn(component(low, j), term, sums.readout[j][c]);
        sums.readout[4 + j][c] = __fmaf_rn(component(high, j), term, sums.readout[4 + j][c]);
      }
    }
  }
}

// A thread with a column adds the terms of its bias.
CK_DEVICE float add_bias_terms(const Scan& p, float sum, const float* terms,
                               const float* readout_terms, int samples) {
  const int column = threadIdx.x;
  if (column < 2 * kGroup) {
    for (int t = 0; t < p.steps; ++t) {
      for (int i = 0; i < samples; ++i) {
        sum = __fadd_rn(sum, terms[(t * kTile + i) * kTermStride + column]);
      }
    }
  } else if (column < kWeights) {
    for (int i = 0; i < samples; ++i) {
      sum = __fadd_rn(sum, readout_terms[i * kGroup + column - 2 * kGroup]);
    }
  }
  return sum;
}

CK_DEVICE void store_features(float* to, const float* values, int feature, int features,
                              bool vector) {
  if (vector) {
    if (feature < features) {
      ck::store_stream(reinterpret_cast<float4*>(to + feature),
                       make_float4(values[0], values[1], values[2], values[3]));
    }
    return;
  }
  CK_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (feature + j < features) to[feature + j] = values[j];
  }
}

// Back through the weights of gate and input: a thread has four features of the rows of two steps.
CK_DEVICE void back_rows(const Scan& p, const Fused& f, const float* weights, const float* terms,
                         int64_t first_sample, int samples, int row_floats) {
  constexpr int kRowsOfThread = 16;
  const int warp = threadIdx.x / ck::kWarp;
  const int feature = (warp % 2 * ck::kWarp + static_cast<int>(threadIdx.x) % ck::kWarp) * 4;
  const int row0 = warp / 2 * kRowsOfThread;
  if (feature >= p.features || row0 / kTile >= p.steps) return;
  const bool both_steps = row0 / kTile + 1 < p.steps;
  const int stride = row_floats + 4;
  float sums[kRowsOfThread][4] = {};
  CK_NO_UNROLL
  for (int s = 0; s < 2 * kGroup; s += 4) {
    float4 w[4];
    CK_UNROLL
    for (int j = 0; j < 4; ++j) w[j] = shared_quad(weights + (s + j) * stride + feature);
    CK_UNROLL
    for (int r = 0; r < kRowsOfThread; ++r) {
      if (r >= kTile && !both_steps) continue;
      const float4 term = shared_quad(terms + (row0 + r) * kTermStride + s);
      CK_UNROLL
      for (int j = 0; j < 4; ++j) multiply_add(sums[r], component(term, j), w[j]);
    }
  }
  CK_UNROLL
  for (int r = 0; r < kRowsOfThread; ++r) {
    const int t = row0 / kTile + r / kTile;
    const int i = r % kTile;
    if (t >= p.steps || i >= samples) continue;
    float* const to = f.d_history + ((first_sample + i) * p.steps + t) * p.features;
    store_features(to, sums[r], feature, p.features, f.vector_stores);
  }
}

// And of the readout: a thread has four features of two samples.
CK_DEVICE void back_current(const Scan& p, const Fused& f, const float* weights,
                            const float* readout_terms, int64_t first_sample, int samples,
                            int row_floats) {
  const int warp = threadIdx.x / ck::kWarp;
  const int feature = (warp % 2 * ck::kWarp + static_cast<int>(threadIdx.x) % ck::kWarp) * 4;
  if (feature >= p.features) return;
  const int stride = row_floats + 4;
  CK_NO_UNROLL
  for (int i = warp / 2; i < samples; i += kFusedWarps / 2) {
    float sums[4] = {};
    CK_UNROLL
    for (int s = 0; s < kGroup; ++s) {
      multiply_add(sums, readout_terms[i * kGroup + s],
                   shared_quad(weights + (2 * kGroup + s) * stride + feature));
    }
    const int64_t row = (first_sample + i) * p.features;
    if (p.readout == M2_READOUT_TILE_ADD) {
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        if (feature + j < p.features) sums[j] = __fadd_rn(p.d_out[row + feature + j], sums[j]);
      }
    }
    store_features(f.d_current + row, sums, feature, p.features, f.vector_stores);
  }
}

CK_KERNEL_BLOCKS(kFusedThreads, 1) scan_backward_fused(const Scan p, const Fused f) {
  CK_DYNAMIC_SHARED(float, shared);
  const int row_floats = fused_row(p.features);
  const int tile_floats = kStageRows * row_floats;
  float* const weights = shared;
  float* const tiles = weights + kWeights * (row_floats + 4);
  float* const terms = tiles + 2 * tile_floats;
  float* const readout_terms = terms + kTileRows * kTermStride;
  const int warp = threadIdx.x / ck::kWarp;
  const int first = blockIdx.x * f.tiles_each * kTile;
  const int end = min(first + f.tiles_each * kTile, p.batch);
  const int own_sample = threadIdx.x / kGroup;  // of the threads that scan
  const int own_state = threadIdx.x % kGroup;
  const bool scans = own_sample < kTile;
  WeightSums sums = {};
  float bias_sum = 0.0f;
  ck::dependency_wait();
  ask_tile(tiles, p, first, row_floats);
  ask_transposed(weights, p, row_floats);
  ck::copy_async_commit();
  int buffer = 0;
  for (int tile = first; tile < end; tile += kTile, buffer ^= 1) {
    const int samples = min(kTile, end - tile);
    float* const here = tiles + buffer * tile_floats;
    const int64_t b = static_cast<int64_t>(tile) + own_sample;
    // What the scan needs from global memory arrives behind the projections.
    Track track = {};
    if (scans && b < p.batch && own_state < p.states) {
      track.g = context_gradient(p, b, own_state);
      if (p.x0 != nullptr) track.x0 = p.x0[b * p.states + own_state];
      if (p.d_final != nullptr) track.d_final = p.d_final[b * p.states + own_state];
    }
    if (!CK_MUTANT(m2_fused_skips_arrival)) ck::copy_async_wait<0>();
    if (!CK_MUTANT(m2_fused_skips_tile_barrier)) __syncthreads();
    if (tile + kTile < end) ask_tile(tiles + (buffer ^ 1) * tile_floats, p, tile + kTile, row_floats);
    ck::copy_async_commit();
    if (warp < p.steps) project_rows(p, here, weights, terms, row_floats);
    if (!CK_MUTANT(m2_fused_skips_projections_barrier)) __syncthreads();
    if (scans) {
      scan_track(p, track, own_sample, own_state, b, here, weights, terms, readout_terms,
                 row_floats);
    }
    if (!CK_MUTANT(m2_fused_skips_terms_barrier)) __syncthreads();
    if (f.partials != nullptr) {
      add_tile(p, sums, here, terms, readout_terms, samples, row_floats);
      if (f.biases) bias_sum = add_bias_terms(p, bias_sum, terms, readout_terms, samples);
    }
    if (f.d_history != nullptr) back_rows(p, f, weights, terms, tile, samples, row_floats);
    if (f.d_current != nullptr) {
      back_current(p, f, weights, readout_terms, tile, samples, row_floats);
    }
  }
  if (f.partials == nullptr) return;
  const int64_t matrix = static_cast<int64_t>(p.features) * p.states;
  float* const row = f.partials + blockIdx.x * gradient_columns(p.features, p.states);
  const int lane = threadIdx.x % ck::kWarp;
  const int feature0 = warp * kSpan + lane / 8 * kOwnFeatures;
  CK_UNROLL
  for (int j = 0; j < kOwnFeatures; ++j) {
    const int feature = feature0 + j;
    if (feature >= p.features) continue;
    CK_UNROLL
    for (int c = 0; c < 4; ++c) {
      const int column = lane % 8 * 4 + c;
      const int s = column % kGroup;
      if (s < p.states) row[column / kGroup * matrix + feature * p.states + s] = sums.rows[j][c];
    }
    CK_UNROLL
    for (int c = 0; c < 2; ++c) {
      const int s = lane % 8 * 2 + c;
      if (s < p.states) row[2 * matrix + feature * p.states + s] = sums.readout[j][c];
    }
  }
  const int column = threadIdx.x;
  if (column < kWeights && column % kGroup < p.states) {
    row[3 * matrix + column / kGroup * p.states + column % kGroup] = bias_sum;
  }
}

}  // namespace mamba2_scan
