// The gated scan: what its kernels are told, and the projections that all of them begin with.
//
// A warp takes a tile of eight samples, eight steps and sixteen states at once: a lane has one
// sample and four states, so that its 8 x 4 gates and 8 x 4 inputs are scanned in registers.
// Features pass through shared memory, 32 at a time, in a ring of the warp's own; weights lie there
// for the block. Four features of a row are one 16-byte load, and feed 256 multiply-adds with the
// weights': one load for each sixteen multiply-adds keeps the arithmetic units busy.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>

#include "mamba2_scan.h"

namespace mamba2_scan {

constexpr int kTile = M2_TILE;        // samples of a warp
constexpr int kSteps = 8;             // steps that it takes at once
constexpr int kGroup = 16;            // states
constexpr int kOwn = 4;               // states of a lane
constexpr int kWeights = 3 * kGroup;  // of a feature: gate, input, readout
// Floats between features' weights. Neighbouring features begin in different banks, so that a warp
// can also read one weight of 32 of them.
constexpr int kWeightStride = kWeights + 4;
constexpr int kSpan = 32;                      // features in a stage of the ring
constexpr int kPieces = kSpan / 4;             // 16-byte pieces of a row in a stage
constexpr int kTileRows = kTile * kSteps;      // rows of history in a stage
constexpr int kStageRows = kTileRows + kTile;  // and of current
constexpr int kStageFloats = kStageRows * kSpan;
constexpr int kStages = 2;
constexpr int kScanWarps = 8;  // most of a block

// m2_temporal_scan_params or m2_scan_backward_params, checked and with defaults filled in.
struct Scan {
  const float* history;
  const float* current;
  const float* weights[3];  // gate, input, readout
  const float* biases[3];
  const float* x0;
  float* out;
  float* final_state;
  const float* d_out;
  const float* d_final;
  float* d_x0;
  // Workspace: dA and dV, [B, K, padded S]; dC, [B, padded S].
  float* d_gates;
  float* d_inputs;
  float* d_readouts;
  int64_t history_stride;
  int64_t step_stride;
  int64_t current_stride;
  int batch;
  int steps;
  int features;
  int states;
  int readout;
  bool grouped;  // rows start and end at multiples of four features, 16 bytes aligned
};

CK_HOST_DEVICE int groups_of(int states) { return (states + kGroup - 1) / kGroup; }
CK_HOST_DEVICE int padded_states(int states) { return groups_of(states) * kGroup; }
CK_HOST_DEVICE int tiles_of(int batch) { return (batch + kTile - 1) / kTile; }

// Where the piece `piece` of a stage's row lies: pieces are permuted by row, so that the rows of
// eight samples are read without bank conflicts.
CK_DEVICE int piece_offset(int row, int piece) {
  return row * kSpan + ((piece ^ (row % kTile)) * 4);
}

// Asks for four features of a row, as far as they exist; zeros behind the last.
CK_DEVICE void ask_features(float* to, const float* row, int feature, int features) {
  CK_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (feature + j < features) {
      ck::copy_async_4(to + j, row + feature + j);
    } else {
      to[j] = 0.0f;
    }
  }
}

// One warp: features first .. first + 31 of a tile's rows from step `step` on, and of its rows of
// current if `with_current`. Rows past the last sample or step are others' again; nobody looks.
CK_DEVICE void ask_stage(float* stage, const Scan& p, int tile, int step, int first,
                         bool with_current) {
  const int lane = threadIdx.x % ck::kWarp;
  const int piece = lane % kPieces;
  constexpr int kPassRows = ck::kWarp / kPieces;
  const int feature = first + piece * 4;
  if (p.grouped && feature >= p.features) return;
  // Not unrolled: eight pointers that live through the sums cost sixteen registers.
  CK_NO_UNROLL
  for (int sample = lane / kPieces; sample < kTile; sample += kPassRows) {
    const int64_t b = min(tile * kTile + sample, p.batch - 1);
    const float* row = p.history + b * p.history_stride + step * p.step_stride;
    float* to = stage + piece_offset(sample, piece);
    if (p.grouped) {
      CK_UNROLL_BY(4)
      for (int t = 0; t < kSteps; ++t, to += kTile * kSpan) {
        ck::copy_async_16(to, row + feature);
        if (step + t + 1 < p.steps) row += p.step_stride;
      }
      if (with_current) ck::copy_async_16(to, p.current + b * p.current_stride + feature);
    } else {
      CK_NO_UNROLL
      for (int t = 0; t < kSteps; ++t, to += kTile * kSpan) {
        ask_features(to, row, feature, p.features);
        if (step + t + 1 < p.steps) row += p.step_stride;
      }
      if (with_current) ask_features(to, p.current + b * p.current_stride, feature, p.features);
    }
  }
}

// All threads of the block ask for the weights of states group * 16 .. and features first ..
// first + count - 1, count a multiple of four; zeros where there are none. Copied asynchronously: a
// load and a store apiece would wait for each other's latency, 30 us in all.
CK_DEVICE void ask_weights(float* weights, const Scan& p, int group, int first, int count) {
  CK_UNROLL_BY(4)
  for (int at = threadIdx.x; at < count * kWeights; at += blockDim.x) {
    const int feature = first + at / kWeights;
    const int which = at % kWeights / kGroup;
    const int s = group * kGroup + at % kGroup;
    float* const to = weights + at / kWeights * kWeightStride + at % kWeights;
    // Selected, not indexed: an array of parameters that is indexed becomes a stack.
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

// A lane's place: its sample in the tile and its quad of states in the group.
struct ScanLane {
  int sample;
  int quad;
};
CK_DEVICE ScanLane scan_lane() {
  const int lane = threadIdx.x % ck::kWarp;
  return ScanLane{lane % kTile, lane / kTile};
}

// A lane's sums: gates and inputs of eight steps, and the readout.
struct Projected {
  float gates[kSteps][kOwn];
  float inputs[kSteps][kOwn];
  float readout[kOwn];
};

CK_DEVICE float bias_of(const Scan& p, int which, int s) {
  return p.biases[which] != nullptr && s < p.states ? p.biases[which][s] : 0.0f;
}

// What chains begin with: the biases, or +0 in spans after the first.
CK_DEVICE void begin_chains(Projected& sums, const Scan& p, int s0, bool from_bias,
                            bool with_readout) {
  CK_UNROLL
  for (int c = 0; c < kOwn; ++c) {
    const float gate = from_bias ? bias_of(p, 0, s0 + c) : 0.0f;
    const float input = from_bias ? bias_of(p, 1, s0 + c) : 0.0f;
    if (with_readout) sums.readout[c] = from_bias ? bias_of(p, 2, s0 + c) : 0.0f;
    CK_UNROLL
    for (int t = 0; t < kSteps; ++t) {
      sums.gates[t][c] = gate;
      sums.inputs[t][c] = input;
    }
  }
}

CK_DEVICE float added(float total, float sum, bool is_first) {
  return is_first ? sum : __fadd_rn(total, sum);
}

// Adds a span's chains to those before.
CK_DEVICE void end_span(Projected& totals, const Projected& sums, bool is_first,
                        bool with_readout) {
  CK_UNROLL
  for (int c = 0; c < kOwn; ++c) {
    CK_UNROLL
    for (int t = 0; t < kSteps; ++t) {
      totals.gates[t][c] = added(totals.gates[t][c], sums.gates[t][c], is_first);
      totals.inputs[t][c] = added(totals.inputs[t][c], sums.inputs[t][c], is_first);
    }
    if (with_readout) totals.readout[c] = added(totals.readout[c], sums.readout[c], is_first);
  }
}

CK_DEVICE void multiply_add(float* sums, float x, const float4& w) {
  sums[0] = __fmaf_rn(x, w.x, sums[0]);
  sums[1] = __fmaf_rn(x, w.y, sums[1]);
  sums[2] = __fmaf_rn(x, w.z, sums[2]);
  sums[3] = __fmaf_rn(x, w.w, sums[3]);
}

CK_DEVICE float4 shared_quad(const float* p) { return *reinterpret_cast<const float4*>(p); }

CK_DEVICE float component(const float4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

// Adds four features' products.
template <bool kReadout>
CK_DEVICE void project_piece(Projected& sums, const float* stage, const float* weights, int piece,
                             const ScanLane& lane) {
  float4 gate[4];
  float4 input[4];
  CK_UNROLL
  for (int j = 0; j < 4; ++j) {
    gate[j] = shared_quad(weights + j * kWeightStride + lane.quad * kOwn);
    input[j] = shared_quad(weights + j * kWeightStride + kGroup + lane.quad * kOwn);
  }
  CK_UNROLL
  for (int t = 0; t < kSteps; ++t) {
    const float4 h = shared_quad(stage + piece_offset(t * kTile + lane.sample, piece));
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      multiply_add(sums.gates[t], component(h, j), gate[j]);
      multiply_add(sums.inputs[t], component(h, j), input[j]);
    }
  }
  if (kReadout) {
    const float4 h = shared_quad(stage + piece_offset(kTileRows + lane.sample, piece));
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      multiply_add(sums.readout, component(h, j),
                   shared_quad(weights + j * kWeightStride + 2 * kGroup + lane.quad * kOwn));
    }
  }
}

// Adds a stage's products: its first `pieces` groups of four features.
CK_DEVICE void project_stage(Projected& sums, const float* stage, const float* weights, int pieces,
                             const ScanLane& lane, bool with_readout) {
  if (with_readout) {
    CK_NO_UNROLL
    for (int piece = 0; piece < pieces; ++piece) {
      project_piece<true>(sums, stage, weights + piece * 4 * kWeightStride, piece, lane);
    }
  } else {
    CK_NO_UNROLL
    for (int piece = 0; piece < pieces; ++piece) {
      project_piece<false>(sums, stage, weights + piece * 4 * kWeightStride, piece, lane);
    }
  }
}

}  // namespace mamba2_scan
