// Gradients of up to 8 steps, 16 states and 256 features in one launch: history is read once.
//
// A block makes one partial sum, whose samples it takes in tiles of eight. A tile (its 64 rows of
// history, 8 of current) lies in shared memory, a span of 32 features by the warp whose span it is,
// while it is projected, scanned forward and back, and multiplied with the gradients of its
// projections; the next tile arrives meanwhile. Each warp projects its span, eight steps of a
// sample and four states a lane; the spans' sums meet in the space of the next tile, which is asked
// for only then. The sums for weights stay in registers, 48 a thread, until the block has done its
// last tile.
//
// Shared memory hands a multiprocessor's registers 32 floats a clock, broadcast or not, against 128
// multiply-adds: eight rows by eight columns a thread are the least that keeps up. On an H200 at B
// 8192, K 8, H 256, S 16: gradients of the weights 104 us, with those of history and current 154;
// projections and scan alone, waiting for each next tile, 65; the multiply-adds' floors are 34, 51
// and 17. A thread's 48 sums for weights leave eight features by four columns, three loads for 32
// multiply-adds, and the scan keeps half of the warps waiting. Tried: a row pair by four columns
// with whole chains over the features 145; pieces unrolled by two 107; rows of the weights'
// products by sixteen 103; a node for each stage 294 and 639.
#pragma once

#include "scan_gradients.cuh"
#include "temporal_scan.cuh"

namespace mamba2_scan {

constexpr int kFusedFeatures = 256;
constexpr int kFusedThreads = 256;
constexpr int kFusedWarps = kFusedThreads / ck::kWarp;
constexpr int kTermStride = 48;  // floats between rows of terms: 16 of the gate, 16 of the input
constexpr int kSums = (2 * kSteps + 1) * kOwn;  // of a lane
static_assert(kFusedFeatures == kFusedWarps * kSpan, "a span a warp");
static_assert(kSums * ck::kWarp <= kStageFloats, "a warp's sums fit its span of a tile");

CK_HOST_DEVICE int spans_of(int features) { return (features + kSpan - 1) / kSpan; }

// Shared floats: weights, two tiles, the terms of their rows and of current's.
CK_HOST_DEVICE int fused_shared_floats(int features) {
  return spans_of(features) * (kSpan * kWeightStride + 2 * kStageFloats) + kTileRows * kTermStride +
         kTile * kGroup;
}

struct Fused {
  float* partials;  // null where no gradient of weights or biases is asked for
  float* d_history;
  float* d_current;
  int tiles_each;
  bool biases;
};

// A warp: its span's sums for a tile, into `sums`, [sum][lane].
CK_DEVICE void project_span(const Scan& p, const float* stage, const float* weights, float* to) {
  const ScanLane lane = scan_lane();
  const int warp = threadIdx.x / ck::kWarp;
  const int first = warp * kSpan;
  const int pieces = min(kPieces, (p.features - first + 3) / 4);
  Projected sums;
  begin_chains(sums, p, lane.quad * kOwn, warp == 0, true);
  project_stage(sums, stage, weights + first * kWeightStride, pieces, lane, true);
  float* const own = to + threadIdx.x % ck::kWarp;
  CK_UNROLL
  for (int c = 0; c < kOwn; ++c) {
    CK_UNROLL
    for (int t = 0; t < kSteps; ++t) {
      own[(t * kOwn + c) * ck::kWarp] = sums.gates[t][c];
      own[((kSteps + t) * kOwn + c) * ck::kWarp] = sums.inputs[t][c];
    }
    own[(2 * kSteps * kOwn + c) * ck::kWarp] = sums.readout[c];
  }
}

// The total of one sum over the spans. kFull: there are as many as there can be.
template <bool kFull>
CK_DEVICE float span_total(const float* sums, int sum, int spans) {
  const float* const own = sums + sum * ck::kWarp + threadIdx.x % ck::kWarp;
  float total = own[0];
  CK_UNROLL
  for (int span = 1; span < kFusedWarps; ++span) {
    if (kFull || span < spans) total = __fadd_rn(total, own[span * kStageFloats]);
  }
  return total;
}

CK_DEVICE float dot_piece(float sum, const float4& a, const float4& b) {
  sum = __fmaf_rn(a.x, b.x, sum);
  sum = __fmaf_rn(a.y, b.y, sum);
  sum = __fmaf_rn(a.z, b.z, sum);
  return __fmaf_rn(a.w, b.w, sum);
}

// A sample and state that a thread scans, and what comes in from outside.
struct Track {
  float x0;
  float g;
  float d_final;
};

// One thread a sample and state: the totals of its projections, forward, and back to their
// gradients. `own` is the state's place in its quad. kFull: all steps and spans that there can be;
// its code has no branches, so that eight gates are under way at once.
template <bool kFull>
CK_DEVICE void scan_track(const Scan& p, const Track& track, const ScanLane& lane, int own,
                          int64_t b, const float* sums, float* terms, float* readout_terms) {
  const int spans = spans_of(p.features);
  const int s = lane.quad * kOwn + own;
  ck::SigmoidPair gates[kSteps];
  float before[kSteps];
  float x = track.x0;
  CK_UNROLL
  for (int t = 0; t < kSteps; ++t) {
    if (!kFull && t >= p.steps) continue;
    gates[t] = ck::sigmoid_and_complement(span_total<kFull>(sums, t * kOwn + own, spans));
    before[t] = x;
    x = __fmaf_rn(gates[t].value, x, span_total<kFull>(sums, (kSteps + t) * kOwn + own, spans));
  }
  const float readout = span_total<kFull>(sums, 2 * kSteps * kOwn + own, spans);
  const bool real = s < p.states && b < p.batch;
  float lambda = __fmaf_rn(track.g, readout, track.d_final);
  readout_terms[lane.sample * kGroup + s] = real ? __fmul_rn(track.g, x) : 0.0f;
  CK_UNROLL
  for (int t = kSteps - 1; t >= 0; --t) {
    if (!kFull && t >= p.steps) continue;
    float* const row = terms + (t * kTile + lane.sample) * kTermStride;
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

// Adds a tile's products: rows by step, then by sample. A warp has its span of features.
CK_DEVICE void add_tile(const Scan& p, WeightSums& sums, const float* stage, const float* terms,
                        const float* readout_terms, int samples) {
  const int lane = threadIdx.x % ck::kWarp;
  const int quad = lane % 8;
  const int piece = lane / 8 * 2;
  const int feature = static_cast<int>(threadIdx.x) / ck::kWarp * kSpan + piece * 4;
  if (feature >= p.features) return;
  // Past the last feature there is nothing to read; what is summed there is not stored.
  const int second = feature + 4 < p.features ? piece + 1 : piece;
  const float* const own_terms = terms + quad * 4;
  if (samples == kTile) {
    CK_NO_UNROLL
    for (int t = 0; t < p.steps; ++t) {
      CK_UNROLL
      for (int i = 0; i < kTile; ++i) {
        const int row = t * kTile + i;
        add_row(sums, stage + piece_offset(row, piece), stage + piece_offset(row, second),
                own_terms + row * kTermStride);
      }
    }
  } else {
    CK_NO_UNROLL
    for (int t = 0; t < p.steps; ++t) {
      CK_NO_UNROLL
      for (int i = 0; i < samples; ++i) {
        const int row = t * kTile + i;
        add_row(sums, stage + piece_offset(row, piece), stage + piece_offset(row, second),
                own_terms + row * kTermStride);
      }
    }
  }
  CK_NO_UNROLL
  for (int i = 0; i < samples; ++i) {
    const float4 low = shared_quad(stage + piece_offset(kTileRows + i, piece));
    const float4 high = shared_quad(stage + piece_offset(kTileRows + i, second));
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

constexpr int kBackFeatures = 4;  // of a thread, a warp's lanes apart

// The first feature of this thread: half of the warps have the first 128, half the others.
CK_DEVICE int back_feature() {
  return static_cast<int>(threadIdx.x) / ck::kWarp % 2 * kBackFeatures * ck::kWarp +
         static_cast<int>(threadIdx.x) % ck::kWarp;
}

// Weights of four columns of one feature; zeros past the last feature.
CK_DEVICE float4 back_weights(const float* weights, int feature, int column, int features) {
  return feature < features ? shared_quad(weights + feature * kWeightStride + column)
                            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Back through the weights of gate and input: a thread has four features of the rows of two steps.
CK_DEVICE void back_rows(const Scan& p, const Fused& f, const float* weights, const float* terms,
                         int64_t first_sample, int samples) {
  constexpr int kRowsOfThread = 2 * kTile;
  const int feature = back_feature();
  const int step = static_cast<int>(threadIdx.x) / ck::kWarp / 2 * 2;
  if (feature >= p.features || step >= p.steps) return;
  const bool both_steps = step + 1 < p.steps;
  float sums[kRowsOfThread][kBackFeatures] = {};
  CK_NO_UNROLL
  for (int s = 0; s < 2 * kGroup; s += 4) {
    float4 w[kBackFeatures];
    CK_UNROLL
    for (int j = 0; j < kBackFeatures; ++j) {
      w[j] = back_weights(weights, feature + j * ck::kWarp, s, p.features);
    }
    CK_UNROLL
    for (int r = 0; r < kRowsOfThread; ++r) {
      if (r >= kTile && !both_steps) continue;
      const float4 term = shared_quad(terms + (step * kTile + r) * kTermStride + s);
      CK_UNROLL
      for (int j = 0; j < kBackFeatures; ++j) sums[r][j] = dot_piece(sums[r][j], w[j], term);
    }
  }
  CK_UNROLL
  for (int r = 0; r < kRowsOfThread; ++r) {
    const int t = step + r / kTile;
    const int i = r % kTile;
    if (t >= p.steps || i >= samples) continue;
    float* const to = f.d_history + ((first_sample + i) * p.steps + t) * p.features;
    CK_UNROLL
    for (int j = 0; j < kBackFeatures; ++j) {
      const int k = feature + j * ck::kWarp;
      if (k < p.features) ck::store_stream(to + k, sums[r][j]);
    }
  }
}

// And of the readout: a thread has four features of two samples.
CK_DEVICE void back_current(const Scan& p, const Fused& f, const float* weights,
                            const float* readout_terms, int64_t first_sample, int samples) {
  const int feature = back_feature();
  CK_NO_UNROLL
  for (int i = static_cast<int>(threadIdx.x) / ck::kWarp / 2; i < samples; i += kFusedWarps / 2) {
    const int64_t row = (first_sample + i) * p.features;
    CK_UNROLL
    for (int j = 0; j < kBackFeatures; ++j) {
      const int k = feature + j * ck::kWarp;
      if (k >= p.features) continue;
      float sum = 0.0f;
      CK_UNROLL
      for (int s = 0; s < kGroup; s += 4) {
        sum = dot_piece(sum, shared_quad(weights + k * kWeightStride + 2 * kGroup + s),
                        shared_quad(readout_terms + i * kGroup + s));
      }
      if (p.readout == M2_READOUT_TILE_ADD) sum = __fadd_rn(p.d_out[row + k], sum);
      f.d_current[row + k] = sum;
    }
  }
}

CK_KERNEL_BLOCKS(kFusedThreads, 1) scan_backward_fused(const Scan p, const Fused f) {
  CK_DYNAMIC_SHARED(float, shared);
  const int spans = spans_of(p.features);
  const int tile_floats = spans * kStageFloats;
  float* const weights = shared;
  float* const tiles = weights + spans * kSpan * kWeightStride;
  float* const terms = tiles + 2 * tile_floats;
  float* const readout_terms = terms + kTileRows * kTermStride;
  const ScanLane lane = scan_lane();
  const int warp = threadIdx.x / ck::kWarp;
  const bool has_span = warp < spans;
  const bool scans = warp < kOwn;  // a warp for each place in a quad of states
  const bool full = p.steps == kSteps && spans == kFusedWarps;
  const int own_state = lane.quad * kOwn + warp;
  const int first = blockIdx.x * f.tiles_each;
  const int end = min(first + f.tiles_each, tiles_of(p.batch));
  WeightSums sums = {};
  float bias_sum = 0.0f;
  ck::dependency_wait();
  if (has_span) ask_stage(tiles + warp * kStageFloats, p, first, 0, warp * kSpan, true);
  ask_weights(weights, p, 0, 0, (p.features + 3) / 4 * 4);
  ck::copy_async_commit();
  ck::copy_async_wait<0>();
  if (!CK_MUTANT(m2_fused_skips_weights_barrier)) __syncthreads();
  int buffer = 0;
  for (int tile = first; tile < end; ++tile, buffer ^= 1) {
    const int64_t first_sample = static_cast<int64_t>(tile) * kTile;
    const int samples = static_cast<int>(min(static_cast<int64_t>(kTile), p.batch - first_sample));
    const float* const stage = tiles + buffer * tile_floats + warp * kStageFloats;
    float* const other = tiles + (buffer ^ 1) * tile_floats;
    const int64_t b = first_sample + lane.sample;
    // What the scan needs from global memory arrives behind the projections.
    Track track = {};
    if (scans && b < p.batch && own_state < p.states) {
      track.g = context_gradient(p, b, own_state);
      if (p.x0 != nullptr) track.x0 = p.x0[b * p.states + own_state];
      if (p.d_final != nullptr) track.d_final = p.d_final[b * p.states + own_state];
    }
    // A warp reads what its own lanes asked for.
    if (!CK_MUTANT(m2_fused_skips_arrival)) ck::copy_async_wait<0>();
    if (!CK_MUTANT(m2_fused_skips_arrival_sync)) __syncwarp();
    if (has_span) project_span(p, stage, weights, other + warp * kStageFloats);
    if (!CK_MUTANT(m2_fused_skips_sums_barrier)) __syncthreads();
    if (scans && full) {
      scan_track<true>(p, track, lane, warp, b, other, terms, readout_terms);
    } else if (scans) {
      scan_track<false>(p, track, lane, warp, b, other, terms, readout_terms);
    }
    if (!CK_MUTANT(m2_fused_skips_terms_barrier)) __syncthreads();
    if (has_span && tile + 1 < end) {
      ask_stage(other + warp * kStageFloats, p, tile + 1, 0, warp * kSpan, true);
    }
    ck::copy_async_commit();
    if (f.partials != nullptr) {
      if (has_span) add_tile(p, sums, stage, terms, readout_terms, samples);
      if (f.biases) bias_sum = add_bias_terms(p, bias_sum, terms, readout_terms, samples);
    }
    if (f.d_history != nullptr) back_rows(p, f, weights, terms, first_sample, samples);
    if (f.d_current != nullptr) back_current(p, f, weights, readout_terms, first_sample, samples);
  }
  if (f.partials == nullptr) return;
  const int64_t matrix = static_cast<int64_t>(p.features) * p.states;
  float* const row = f.partials + blockIdx.x * gradient_columns(p.features, p.states);
  const int quad = threadIdx.x % 8;
  const int feature0 = warp * kSpan + static_cast<int>(threadIdx.x) % ck::kWarp / 8 * kOwnFeatures;
  CK_UNROLL
  for (int j = 0; j < kOwnFeatures; ++j) {
    const int feature = feature0 + j;
    if (feature >= p.features) continue;
    CK_UNROLL
    for (int c = 0; c < 4; ++c) {
      const int column = quad * 4 + c;
      const int s = column % kGroup;
      if (s < p.states) row[column / kGroup * matrix + feature * p.states + s] = sums.rows[j][c];
    }
    CK_UNROLL
    for (int c = 0; c < 2; ++c) {
      const int s = quad * 2 + c;
      if (s < p.states) row[2 * matrix + feature * p.states + s] = sums.readout[j][c];
    }
  }
  const int column = threadIdx.x;
  if (column < kWeights && column % kGroup < p.states) {
    row[3 * matrix + column / kGroup * p.states + column % kGroup] = bias_sum;
  }
}

}  // namespace mamba2_scan
