// Gradients of up to 8 steps, 16 states and 256 features on tensor cores, in one launch: history is
// read once.
//
// A block makes one partial sum, whose samples it takes in tiles of four. Four of its warps, the
// projectors, multiply a tile with the weights, scan it forward and back and leave the gradients of
// its projections in shared memory; the other four, the summers, multiply these with the tile for
// the weights' gradients and with the weights for those of history and current, and ask for further
// tiles. Each unit of a multiprocessor has one warp of either kind, so that tensor cores work while
// a projector scans.
//
//   projector w: 64 features of four samples, as the forward kernel has them; the others' parts of
//     sample w come through shared memory, and sample w is scanned: lane (g, q) has states g and
//     g + 8 at steps 2q and 2q + 1. That is at once the 16 x 8 operand, states by steps, with step
//     2q as k = q and step 2q + 1 as k = q + 4: a summer's lane reads what a projector's lane
//     stored.
//   summer w: the sums of 64 features by 48 columns, 96 registers, until the last tile.
//
//   ready (summers to projectors): tile i has arrived, and the place of tile i - 2's terms is free.
//   terms (projectors to summers): those of tile i are there. Four tiles are in shared memory: one
//   at either side, two on their way.
//
// An H200's multiprocessor at B 8192, K 8, H 256, S 16 (128 blocks of 16 tiles), clocks a tile:
//   memory: 37 KB at 17.7 bytes a clock, 2.1k; with gradients of inputs 37 KB more, 4.2k.
//   multiplications: 216 each of projecting, summing and going back, on each of four units, at 4
//     (peak) to 6.4 (as others measured mma.sync): 1.7k to 2.8k, with gradients of inputs 2.6k to
//     4.1k.
//   shared memory at 128 bytes a clock: 37 KB in, 74 read, 48 of weights, 27 of parts, 41 of terms,
//     1.8k; going back 48 of weights and 64 of terms more, 2.7k.
//   instructions, on each of four schedulers: about 1.6k of a projector, 0.9k of a summer; going
//     back 1.6k.
// Predicted, not measured: 2.9k and 4.5k a tile; with start, end and the sum's node 29 to 31 and 43
// us.
//
// Bank conflicts: pieces of 16 bytes are permuted by row such that eight lanes that read two rows
// by four pieces (projecting) or four rows two apart by two pieces (summing) meet all banks once.
// Reads of terms across (back) meet half of them.
#pragma once

#include "partials.cuh"
#include "scan_tensor.cuh"

namespace mamba2_scan {

constexpr int kProjectors = 4;  // warps; each scans one sample of a tile
constexpr int kSummers = 4;
constexpr int kBackThreads = (kProjectors + kSummers) * ck::kWarp;
constexpr int kBackStages = 4;
constexpr int kBackStageRows = kFastRows + kFastSamples;
constexpr int kSummerFeatures = kFastFeatures / kSummers;
constexpr int kBlocks = kSummerFeatures / kSpan;  // of 32 features, of a summer
static_assert(kProjectors == kFastSamples, "a projector a sample");

// Terms of a tile: [sample][gate, input][big, small], an operand each; and [big, small][sample]
// [state] of the readout.
constexpr int kTileTerms = kFastSamples * 2 * 2 * kFragment;
constexpr int kReadoutTerms = kFastSamples * kGroup;
constexpr int kTermBuffers = 2;
// Parts of sums on their way between projectors: [to][from][gate, input], and [from] readouts.
constexpr int kParts = kProjectors * (kProjectors - 1) * 2 * kFragment;
constexpr int kReadoutParts = kProjectors * kFragment;

CK_HOST_DEVICE int fast_backward_floats(int features) {
  return kept_floats(features, Kept::kRaw) +
         kBackStages * kBackStageRows * rounded_features(features) +
         kTermBuffers * (kTileTerms + 2 * kReadoutTerms) + kParts + kReadoutParts;
}

// Named barriers.
constexpr int kReady = 1;  // and 2
constexpr int kTerms = 3;  // and 4
constexpr int kAmongProjectors = 5;
constexpr int kAmongSummers = 6;

struct FastBack {
  float* partials;  // null where no gradient of weights or biases is asked for
  float* d_history;
  float* d_current;
  int tiles_each;
  float zero;
  bool wide;  // rows of d_history are 16-byte aligned
};

// The parts of a block's shared memory.
struct BackShared {
  float* weights;
  float* stages;
  float* terms;
  float* readout_terms;
  float* parts;
  float* readout_parts;
  int pitch;  // floats of a row
};
CK_DEVICE BackShared back_shared(float* shared, int features) {
  BackShared to;
  to.pitch = rounded_features(features);
  to.weights = shared;
  to.stages = to.weights + kept_floats(features, Kept::kRaw);
  to.terms = to.stages + kBackStages * kBackStageRows * to.pitch;
  to.readout_terms = to.terms + kTermBuffers * kTileTerms;
  to.parts = to.readout_terms + kTermBuffers * 2 * kReadoutTerms;
  to.readout_parts = to.parts + kParts;
  return to;
}

// Where pieces of a row lie: of a step's, and of a sample's row of current.
CK_DEVICE int step_piece(int step, int piece) { return (piece ^ (step & 6) ^ (step & 1) << 2) * 4; }
CK_DEVICE int sample_piece(int sample, int piece) {
  return (piece ^ (sample & 2) ^ (sample & 1) << 2) * 4;
}

CK_DEVICE float* stage_of(const BackShared& shared, int tile) {
  return shared.stages + tile % kBackStages * kBackStageRows * shared.pitch;
}

// The summers: all features of a tile's rows; those past the last sample or step meet terms of
// zero.
CK_DEVICE void ask_tile(float* stage, const Scan& p, int pitch, int tile, int summer) {
  const FastRow rows = rows_of(p, tile, summer);
  for (int piece = threadIdx.x % ck::kWarp; piece < pitch / 4; piece += ck::kWarp) {
    const int feature = piece * 4;
    float* const to = stage + summer * pitch;
    // Of steps up to 3, from 4 on, and of samples.
    const int places[3] = {step_piece(summer, piece), step_piece(summer + 4, piece),
                           sample_piece(summer, piece)};
    if (p.grouped && feature < p.features) {
      CK_UNROLL
      for (int k = 0; k < kOwnRows; ++k) {
        ck::copy_async_16(to + k * 4 * pitch + places[k == kOwnRows - 1 ? 2 : k % 2],
                          rows.at[k] + feature);
      }
    } else {
      CK_UNROLL
      for (int k = 0; k < kOwnRows; ++k) {
        ask_features(to + k * 4 * pitch + places[k == kOwnRows - 1 ? 2 : k % 2], rows.at[k],
                     feature, p.features);
      }
    }
  }
}

// The gradient of a context, by the four lanes of a state together.
CK_DEVICE float fast_context_gradient(const Scan& p, int64_t b, int s, bool real, int q) {
  if (p.readout == M2_READOUT_CONTEXT) return real ? p.d_out[b * p.states + s] : 0.0f;
  if (p.readout == M2_READOUT_SUM) return real ? p.d_out[b] : 0.0f;
  float sum = 0.0f;
  if (real) {
    for (int j = s + q * p.states; j < p.features;
         j += (CK_MUTANT(m2_fast_back_skips_tiles_of_d_out) ? 8 : 4) * p.states) {
      sum = __fadd_rn(sum, p.d_out[b * p.features + j]);
    }
  }
  sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 1));
  return __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 2));
}

// A state's projections at a lane's two steps, and what comes from outside.
struct FastTrack {
  float gates[2];
  float inputs[2];
  float readout;
  float x0;
  float g;
  float d_final;
  bool real;
};
// The gradients of its projections, and of x0 in the lane of the first steps.
struct FastTerms {
  float gates[2];
  float inputs[2];
  float readout;
  float x0;
};

// Four lanes: a state's eight steps, forward and back.
CK_DEVICE FastTerms scan_state(const FastTrack& track, int steps, int q) {
  ck::SigmoidPair gates[2];
  Run runs[2];
  bool is_step[2];
  CK_UNROLL
  for (int j = 0; j < 2; ++j) {
    is_step[j] = CK_MUTANT(m2_fast_back_scans_steps_that_are_not) ? true : 2 * q + j < steps;
    gates[j] = ck::sigmoid_and_complement(track.gates[j]);
    if (!is_step[j]) gates[j] = ck::SigmoidPair{1.0f, 0.0f};
    runs[j] = Run{gates[j].value, is_step[j] ? track.inputs[j] : 0.0f};
  }
  const Run own = then(runs[0], runs[1]);
  Run through = own;    // all steps up to and with this lane's
  float after = own.a;  // what the gates from this lane's on leave of a gradient
  CK_UNROLL
  for (int away = 1; away < 4; away *= 2) {
    const Run before = {__shfl_up_sync(ck::kFullMask, through.a, away, 4),
                        __shfl_up_sync(ck::kFullMask, through.v, away, 4)};
    const float later = __shfl_down_sync(ck::kFullMask, after, away, 4);
    if (q >= away) through = then(before, through);
    if (q + away < 4) after = __fmul_rn(later, after);
  }
  Run before = {__shfl_up_sync(ck::kFullMask, through.a, 1, 4),
                __shfl_up_sync(ck::kFullMask, through.v, 1, 4)};
  float later = __shfl_down_sync(ck::kFullMask, after, 1, 4);
  if (q == 0) before = Run{1.0f, 0.0f};
  if (q == 3) later = 1.0f;
  const Run all = {__shfl_sync(ck::kFullMask, through.a, 3, 4),
                   __shfl_sync(ck::kFullMask, through.v, 3, 4)};
  const float last = __fmaf_rn(all.a, track.x0, all.v);
  float states[2];
  states[0] = __fmaf_rn(before.a, track.x0, before.v);
  states[1] = __fmaf_rn(runs[0].a, states[0], runs[0].v);
  if (CK_MUTANT(m2_fast_gate_gradient_takes_next_state)) states[0] = states[1];
  const float lambda = __fmaf_rn(track.g, track.readout, track.d_final);
  FastTerms terms;
  float lambdas[2];
  lambdas[1] = __fmul_rn(lambda, later);
  lambdas[0] = __fmul_rn(gates[1].value, lambdas[1]);
  CK_UNROLL
  for (int j = 0; j < 2; ++j) {
    const bool counts = track.real && is_step[j];
    const float slope = __fmul_rn(gates[j].value, gates[j].complement);
    terms.gates[j] = counts ? __fmul_rn(__fmul_rn(lambdas[j], states[j]), slope) : 0.0f;
    terms.inputs[j] = counts ? lambdas[j] : 0.0f;
  }
  terms.readout = track.real ? __fmul_rn(track.g, last) : 0.0f;
  terms.x0 = __fmul_rn(lambda, after);
  return terms;
}

// Four numbers into the parts of an operand.
template <bool kSplit>
CK_DEVICE void store_operand(float* to, const float (&x)[4]) {
  Operand<4> o;
  CK_UNROLL
  for (int i = 0; i < 4; ++i) set<kSplit>(o, i, x[i]);
  *reinterpret_cast<float4*>(to) = make_float4(o.big[0], o.big[1], o.big[2], o.big[3]);
  if (kSplit) {
    *reinterpret_cast<float4*>(to + kFragment) =
        make_float4(o.small[0], o.small[1], o.small[2], o.small[3]);
  }
}

// Where the parts of a projector's sums for another's sample lie.
CK_DEVICE int parts_place(int to, int from) {
  return (to * (kProjectors - 1) + (from < to ? from : from - 1)) * 2 * kFragment;
}

// A projector's share of the features of a tile.
template <bool kSplit>
CK_DEVICE void project_tile(FastSums& sums, const BackShared& shared, const float* stage,
                            int projector, int g, int q) {
  const int groups = shared.pitch / kFeatureGroup;
  const int each = (groups + kProjectors - 1) / kProjectors;
  const int end = min((projector + 1) * each, groups);
  CK_NO_UNROLL
  for (int group = projector * each; group < end; ++group) {
    const int piece = group * 4 + q;
    float4 rows[kFastSamples + 1];
    CK_UNROLL
    for (int i = 0; i < kFastSamples; ++i) {
      rows[i] = shared_quad(stage + (i * kSteps + g) * shared.pitch + step_piece(g, piece));
    }
    const int sample = g % kFastSamples;
    rows[kFastSamples] =
        shared_quad(stage + (kFastRows + sample) * shared.pitch + sample_piece(sample, piece));
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      Operand<4> w[3];
      CK_UNROLL
      for (int which = 0; which < 3; ++which) {
        float raw[4];
        load_four(raw, shared.weights + group_place(group, which, 1) + half * kSecondFragment +
                           lane_place(g, q));
        // Rounded already where one multiplication is enough.
        CK_UNROLL
        for (int i = 0; i < 4; ++i) {
          if (kSplit) {
            ck::split_tf32(raw[i], w[which].big[i], w[which].small[i]);
          } else {
            w[which].big[i] = raw[i];
          }
        }
      }
      multiply_rows<kSplit>(sums, w, rows, half);
    }
  }
}

template <bool kSplit>
CK_DEVICE void projector_main(const Scan& p, const FastBack& f, const BackShared& shared, int first,
                              int end) {
  const int lane = threadIdx.x % ck::kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const int projector = threadIdx.x / ck::kWarp;
  const Biases biases = lane_biases(p, g);
  float bias_sums[2][2] = {};  // of gate and input, states g and g + 8
  float readout_sums[2] = {};
  for (int tile = first; tile < end; ++tile) {
    const int buffer = CK_MUTANT(m2_fast_back_has_one_place_for_terms) ? 0 : (tile - first) % 2;
    const int64_t b = static_cast<int64_t>(tile) * kFastSamples + projector;
    // What the scan needs from global memory arrives behind the products.
    FastTrack tracks[2];
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      FastTrack& track = tracks[half];
      const int s = g + half * 8;
      track.real = b < p.batch && s < p.states;
      track.g = fast_context_gradient(p, b, s, track.real, q);
      const int64_t at = b * p.states + s;
      track.x0 = track.real && p.x0 != nullptr ? p.x0[at] : 0.0f;
      track.d_final = track.real && p.d_final != nullptr ? p.d_final[at] : 0.0f;
    }
    ck::barrier_sync(kReady + (tile - first) % 2, kBackThreads);
    FastSums sums = {};
    project_tile<kSplit>(sums, shared, stage_of(shared, tile), projector, g, q);
    float own_gates[4] = {};
    float own_inputs[4] = {};
    CK_UNROLL
    for (int i = 0; i < kFastSamples; ++i) {
      float gate[4];
      float input[4];
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        gate[j] = total<kSplit>(sums.gates[i], j);
        input[j] = total<kSplit>(sums.inputs[i], j);
        if (i == projector) {
          own_gates[j] = gate[j];
          own_inputs[j] = input[j];
        }
      }
      if (i == projector) continue;
      float* const to = shared.parts + parts_place(i, projector) + lane * 4;
      *reinterpret_cast<float4*>(to) = make_float4(gate[0], gate[1], gate[2], gate[3]);
      *reinterpret_cast<float4*>(to + kFragment) =
          make_float4(input[0], input[1], input[2], input[3]);
    }
    *reinterpret_cast<float4*>(shared.readout_parts + projector * kFragment + lane * 4) =
        make_float4(total<kSplit>(sums.readout, 0), total<kSplit>(sums.readout, 1),
                    total<kSplit>(sums.readout, 2), total<kSplit>(sums.readout, 3));
    if (!CK_MUTANT(m2_fast_back_skips_parts_barrier)) {
      ck::barrier_sync(kAmongProjectors, kProjectors * ck::kWarp);
    }
    // In the order of the features, wherever in a tile the sample is.
    float gates[4];
    float inputs[4];
    CK_UNROLL
    for (int from = 0; from < kProjectors; ++from) {
      float gate[4];
      float input[4];
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        gate[j] = own_gates[j];
        input[j] = own_inputs[j];
      }
      if (from != projector) {
        const float* const part = shared.parts + parts_place(projector, from) + lane * 4;
        load_four(gate, part);
        load_four(input, part + kFragment);
      }
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        gates[j] = from == 0 ? gate[j] : __fadd_rn(gates[j], gate[j]);
        inputs[j] = from == 0 ? input[j] : __fadd_rn(inputs[j], input[j]);
      }
    }
    float gate_terms[4];
    float input_terms[4];
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      FastTrack& track = tracks[half];
      const int s = g + half * 8;
      CK_UNROLL
      for (int j = 0; j < 2; ++j) {
        track.gates[j] = __fadd_rn(gates[half * 2 + j], biases.of[0][half]);
        track.inputs[j] = __fadd_rn(inputs[half * 2 + j], biases.of[1][half]);
      }
      // The sample's column of the readouts.
      const float* const column =
          shared.readout_parts + (lane / 4 * 4 + projector / 2) * 4 + half * 2 + projector % 2;
      track.readout = biases.of[2][half];
      CK_UNROLL
      for (int from = 0; from < kProjectors; ++from) {
        track.readout = __fadd_rn(track.readout, column[from * kFragment]);
      }
      const FastTerms terms = scan_state(track, p.steps, q);
      CK_UNROLL
      for (int j = 0; j < 2; ++j) {
        gate_terms[j * 2 + half] = terms.gates[j];
        input_terms[j * 2 + half] = terms.inputs[j];
        bias_sums[0][half] = __fadd_rn(bias_sums[0][half], terms.gates[j]);
        bias_sums[1][half] = __fadd_rn(bias_sums[1][half], terms.inputs[j]);
      }
      readout_sums[half] = __fadd_rn(readout_sums[half], terms.readout);
      if (q != 0) continue;
      Operand<1> readout;
      set<kSplit>(readout, 0, terms.readout);
      float* const to = shared.readout_terms + buffer * 2 * kReadoutTerms + projector * kGroup + s;
      to[0] = readout.big[0];
      if (kSplit) to[kReadoutTerms] = readout.small[0];
      if (track.real && p.d_x0 != nullptr) p.d_x0[b * p.states + s] = terms.x0;
    }
    float* const to = shared.terms + buffer * kTileTerms + projector * 4 * kFragment + lane * 4;
    store_operand<kSplit>(to, gate_terms);
    store_operand<kSplit>(to + 2 * kFragment, input_terms);
    ck::barrier_arrive(kTerms + (tile - first) % 2, kBackThreads);
  }
  if (f.partials == nullptr) return;
  // Of the biases: the four lanes of a state, then the samples.
  if (!CK_MUTANT(m2_fast_back_skips_parts_reuse_barrier)) {
    ck::barrier_sync(kAmongProjectors, kProjectors * ck::kWarp);
  }
  CK_UNROLL
  for (int half = 0; half < 2; ++half) {
    CK_UNROLL
    for (int which = 0; which < 2; ++which) {
      float& sum = bias_sums[which][half];
      sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, 2));
    }
    if (q != 0) continue;
    float* const to = shared.parts + projector * kWeights + g + half * 8;
    to[0] = bias_sums[0][half];
    to[kGroup] = bias_sums[1][half];
    to[2 * kGroup] = readout_sums[half];
  }
  if (!CK_MUTANT(m2_fast_back_skips_biases_barrier)) {
    ck::barrier_sync(kAmongProjectors, kProjectors * ck::kWarp);
  }
  const int column = threadIdx.x;
  if (column >= kWeights || column % kGroup >= p.states) return;
  float sum = shared.parts[column];
  CK_UNROLL
  for (int from = 1; from < kProjectors; ++from) {
    sum = __fadd_rn(sum, shared.parts[from * kWeights + column]);
  }
  float* const row = f.partials + blockIdx.x * gradient_columns(p.features, p.states);
  row[3 * static_cast<int64_t>(p.features) * p.states + column / kGroup * p.states +
      column % kGroup] = sum;
}

// A summer's sums: of each of 4 x 2 features of its lanes' columns, states by gate, input, readout.
struct SummerSums {
  float of[kBlocks][4][3][4];
};

template <bool kSplit>
CK_DEVICE void load_operand(Operand<4>& to, const float* from) {
  load_four(to.big, from);
  if (kSplit) load_four(to.small, from + kFragment);
}

// Adds a tile's products for the weights' gradients. Columns are features: column g of the c-th of
// four results is feature 4g + c of a block of 32.
template <bool kSplit>
CK_DEVICE void sum_tile(SummerSums& sums, const BackShared& shared, const float* stage,
                        const float* terms, const float* readout_terms, int summer, int g, int q) {
  const int lane = threadIdx.x % ck::kWarp;
  CK_NO_UNROLL
  for (int sample = 0; sample <= kFastSamples; ++sample) {
    const bool is_history = sample < kFastSamples;
    Operand<4> a[2] = {};
    if (is_history) {
      load_operand<kSplit>(a[0], terms + sample * 4 * kFragment + lane * 4);
      load_operand<kSplit>(a[1], terms + (sample * 4 + 2) * kFragment + lane * 4);
    } else {
      // Samples are k here, and there are four.
      CK_UNROLL
      for (int half = 0; half < 2; ++half) {
        a[0].big[half] = readout_terms[q * kGroup + g + half * 8];
        if (kSplit) a[0].small[half] = readout_terms[kReadoutTerms + q * kGroup + g + half * 8];
      }
    }
    CK_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      const int feature = summer * kSummerFeatures + block * kSpan;
      if (feature >= shared.pitch) continue;
      const int piece = feature / 4 + g;
      if (is_history) {
        const float* const rows = stage + sample * kSteps * shared.pitch;
        const float4 even = shared_quad(rows + 2 * q * shared.pitch + step_piece(2 * q, piece));
        const float4 odd =
            shared_quad(rows + (2 * q + 1) * shared.pitch + step_piece(2 * q + 1, piece));
        Operand<2> h[4];
        CK_UNROLL
        for (int c = 0; c < 4; ++c) {
          set<kSplit>(h[c], 0, component(even, c));
          set<kSplit>(h[c], 1, component(odd, c));
        }
        CK_UNROLL
        for (int part = 0; part < kMultiplications; ++part) {
          CK_UNROLL
          for (int c = 0; c < 4; ++c) {
            CK_UNROLL
            for (int which = 0; which < 2; ++which) {
              float (&sum)[4] = sums.of[block][c][which];
              multiply<kSplit>(sum, sum, a[which], h[c], part);
            }
          }
        }
      } else {
        const float4 row =
            shared_quad(stage + (kFastRows + q) * shared.pitch + sample_piece(q, piece));
        Operand<2> h[4] = {};
        CK_UNROLL
        for (int c = 0; c < 4; ++c) set<kSplit>(h[c], 0, component(row, c));
        CK_UNROLL
        for (int part = 0; part < kMultiplications; ++part) {
          CK_UNROLL
          for (int c = 0; c < 4; ++c) {
            float (&sum)[4] = sums.of[block][c][2];
            multiply<kSplit>(sum, sum, a[0], h[c], part);
          }
        }
      }
    }
  }
}

// Four consecutive features of a row, as far as there are.
CK_DEVICE void store_features(float* row, int feature, int features, const float4& v, bool wide) {
  if (wide && feature < features) {
    ck::store_stream(reinterpret_cast<float4*>(row + feature), v);
    return;
  }
  CK_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (feature + i < features) row[feature + i] = component(v, i);
  }
}

// A weight of the backward products: those of features 16 j + 2g and the next, states 4 h + q and 8
// further.
CK_DEVICE void load_across(float (&to)[4], const BackShared& shared, int group, int which, int h,
                           int g, int q) {
  load_four(to, shared.weights + group_place(group, which, 1) + g % 2 * kSecondFragment +
                    lane_place(4 * h + q, g / 2));
}

template <bool kSplit>
CK_DEVICE void set_kept(Operand<2>& to, int i, float x) {
  if (kSplit) {
    ck::split_tf32(x, to.big[i], to.small[i]);
  } else {
    to.big[i] = x;
  }
}

// d_history of a tile: 16 rows, the steps of two samples, by 8 features at a time. Rows g and g + 8
// are steps 2 (g % 4) and the next of sample g / 4.
template <bool kSplit>
CK_DEVICE void back_history(const Scan& p, const FastBack& f, const BackShared& shared,
                            const float* terms, int tile, int summer, int g, int q) {
  constexpr int kPairs = kFastSamples / 2;
  Operand<4> a[kPairs][2][2];  // [samples][gate, input][states 0.., 4..]
  CK_UNROLL
  for (int pair = 0; pair < kPairs; ++pair) {
    CK_UNROLL
    for (int which = 0; which < 2; ++which) {
      CK_UNROLL
      for (int h = 0; h < 2; ++h) {
        // What the projector's lane of this state and these steps left: states s and s + 8 of one,
        // then of the other. Rows come before columns in an operand; only an addition brings the
        // registers into this order for good, else they are moved before each multiplication.
        const float* const from =
            terms +
            ((pair * 2 + (CK_MUTANT(m2_fast_back_takes_another_sample) ? 0 : g / 4)) * 2 + which) *
                2 * kFragment +
            ((4 * h + q) * 4 + g % 4) * 4;
        Operand<4> by_state;
        load_operand<kSplit>(by_state, from);
        CK_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int from_i = CK_MUTANT(m2_fast_back_swaps_states_and_steps) ? i : i % 2 * 2 + i / 2;
          a[pair][which][h].big[i] = __fadd_rn(by_state.big[from_i], f.zero);
          if (kSplit) a[pair][which][h].small[i] = __fadd_rn(by_state.small[from_i], f.zero);
        }
      }
    }
  }
  // From this lane's first row on: samples and steps that there are.
  const int64_t b = static_cast<int64_t>(tile) * kFastSamples + g / 4;
  const int step = 2 * (g % 4);
  const int samples = static_cast<int>(min(static_cast<int64_t>(kFastSamples), p.batch - b));
  const int steps = p.steps - step;
  float* const rows = f.d_history + (b * p.steps + step) * p.features;
  CK_NO_UNROLL
  for (int in_own = 0; in_own < kSummerFeatures / kFeatureGroup; ++in_own) {
    const int group = summer * (kSummerFeatures / kFeatureGroup) + in_own;
    if (group * kFeatureGroup >= p.features) return;
    float sums[kPairs][2][4] = {};
    CK_UNROLL
    for (int which = 0; which < 2; ++which) {
      CK_UNROLL
      for (int h = 0; h < 2; ++h) {
        float raw[4];
        load_across(raw, shared, group, which, h, g, q);
        Operand<2> w[2];
        CK_UNROLL
        for (int i = 0; i < 4; ++i) set_kept<kSplit>(w[i / 2], i % 2, raw[i]);
        CK_UNROLL
        for (int part = 0; part < kMultiplications; ++part) {
          CK_UNROLL
          for (int pair = 0; pair < kPairs; ++pair) {
            CK_UNROLL
            for (int c = 0; c < 2; ++c) {
              float (&sum)[4] = sums[pair][c];
              multiply<kSplit>(sum, sum, a[pair][which][h], w[c], part);
            }
          }
        }
      }
    }
    // Columns 2q and 2q + 1 of the two results are features 4q .. 4q + 3.
    const int feature = group * kFeatureGroup + 4 * q;
    CK_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      CK_UNROLL
      for (int i = 0; i < 2; ++i) {
        const float4 v = make_float4(sums[pair][0][i * 2], sums[pair][1][i * 2],
                                     sums[pair][0][i * 2 + 1], sums[pair][1][i * 2 + 1]);
        if (pair * 2 >= samples || i >= steps) continue;
        store_features(rows + (pair * 2 * p.steps + i) * p.features, feature, p.features, v,
                       f.wide);
      }
    }
  }
}

// d_current of a tile: 16 features by samples at a time; rows g and g + 8 are features 2g and 2g +
// 1.
template <bool kSplit>
CK_DEVICE void back_current_fast(const Scan& p, const FastBack& f, const BackShared& shared,
                                 const float* readout_terms, int tile, int summer, int g, int q) {
  CK_NO_UNROLL
  for (int in_own = 0; in_own < kSummerFeatures / kFeatureGroup; ++in_own) {
    const int group = summer * (kSummerFeatures / kFeatureGroup) + in_own;
    if (group * kFeatureGroup >= p.features) return;
    float sums[4] = {};
    CK_UNROLL
    for (int h = 0; h < 2; ++h) {
      float raw[4];
      load_across(raw, shared, group, 2, h, g, q);
      Operand<4> w;
      CK_UNROLL
      for (int i = 0; i < 4; ++i) {
        // Rows before columns.
        const float x = raw[i % 2 * 2 + i / 2];
        if (kSplit) {
          ck::split_tf32(x, w.big[i], w.small[i]);
        } else {
          w.big[i] = x;
        }
      }
      Operand<2> t;
      CK_UNROLL
      for (int i = 0; i < 2; ++i) {
        const float* const from = readout_terms + g % kFastSamples * kGroup + 4 * h + q + 8 * i;
        t.big[i] = from[0];
        if (kSplit) t.small[i] = from[kReadoutTerms];
      }
      CK_UNROLL
      for (int part = 0; part < kMultiplications; ++part) {
        multiply<kSplit>(sums, sums, w, t, part);
      }
    }
    if (2 * q >= kFastSamples) continue;
    const int feature = group * kFeatureGroup + 2 * g;
    CK_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int64_t b = static_cast<int64_t>(tile) * kFastSamples + 2 * q + i;
      if (b >= p.batch) continue;
      CK_UNROLL
      for (int j = 0; j < 2; ++j) {
        if (feature + j >= p.features) continue;
        const int64_t at = b * p.features + feature + j;
        const float sum = sums[j * 2 + i];
        f.d_current[at] = p.readout == M2_READOUT_TILE_ADD ? __fadd_rn(p.d_out[at], sum) : sum;
      }
    }
  }
}

template <bool kSplit>
CK_DEVICE void summer_main(const Scan& p, const FastBack& f, const BackShared& shared, int first,
                           int end) {
  const int lane = threadIdx.x % ck::kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const int summer = threadIdx.x / ck::kWarp - kProjectors;
  const auto ask = [&](int tile) {
    if (tile < end) ask_tile(stage_of(shared, tile), p, shared.pitch, tile, summer);
    ck::copy_async_commit();
  };
  SummerSums sums = {};
  // The first tiles were asked for before the weights.
  ck::copy_async_wait<kBackStages - 1>();
  ck::barrier_arrive(kReady, kBackThreads);
  ck::copy_async_wait<kBackStages - 2>();
  if (first + 1 < end) ck::barrier_arrive(kReady + 1, kBackThreads);
  for (int tile = first; tile < end; ++tile) {
    const int turn = (tile - first) % 2;
    const int buffer = CK_MUTANT(m2_fast_back_has_one_place_for_terms) ? 0 : turn;
    const float* const stage = stage_of(shared, tile);
    const float* const terms = shared.terms + buffer * kTileTerms;
    const float* const readout_terms = shared.readout_terms + buffer * 2 * kReadoutTerms;
    ck::barrier_sync(kTerms + turn, kBackThreads);
    if (f.partials != nullptr) {
      sum_tile<kSplit>(sums, shared, stage, terms, readout_terms, summer, g, q);
    }
    if (f.d_history != nullptr) back_history<kSplit>(p, f, shared, terms, tile, summer, g, q);
    if (f.d_current != nullptr) {
      back_current_fast<kSplit>(p, f, shared, readout_terms, tile, summer, g, q);
    }
    // All summers have read the tile before another takes its place; projectors have before terms.
    if (!CK_MUTANT(m2_fast_back_skips_stage_reuse_barrier)) {
      ck::barrier_sync(kAmongSummers, kSummers * ck::kWarp);
    }
    ask(tile + kBackStages);
    if (!CK_MUTANT(m2_fast_back_skips_arrival)) ck::copy_async_wait<kBackStages - 2>();
    if (tile + 2 < end) ck::barrier_arrive(kReady + turn, kBackThreads);
  }
  if (f.partials == nullptr) return;
  const int64_t matrix = static_cast<int64_t>(p.features) * p.states;
  float* const row = f.partials + blockIdx.x * gradient_columns(p.features, p.states);
  CK_UNROLL
  for (int block = 0; block < kBlocks; ++block) {
    CK_UNROLL
    for (int c = 0; c < 4; ++c) {
      CK_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int s = g + i / 2 * 8;
        const int feature =
            summer * kSummerFeatures + block * kSpan +
            (CK_MUTANT(m2_fast_back_sums_features_by_result) ? 2 * q + i % 2 + c * 8
                                                             : (2 * q + i % 2) * 4 + c);
        if (feature >= p.features || s >= p.states) continue;
        CK_UNROLL
        for (int which = 0; which < 3; ++which) {
          row[which * matrix + feature * p.states + s] = sums.of[block][c][which][i];
        }
      }
    }
  }
}

template <bool kSplit>
CK_KERNEL_BLOCKS(kBackThreads, 1)
scan_backward_fast(const Scan p, const FastBack f) {
  CK_DYNAMIC_SHARED(float, dynamic);
  const BackShared shared = back_shared(dynamic, p.features);
  const int warp = threadIdx.x / ck::kWarp;
  const int first = blockIdx.x * f.tiles_each;
  const int end = min(first + f.tiles_each, (p.batch + kFastSamples - 1) / kFastSamples);
  ck::dependency_wait();
  if (warp >= kProjectors) {
    for (int i = 0; i < kBackStages; ++i) {
      if (first + i < end) {
        ask_tile(stage_of(shared, first + i), p, shared.pitch, first + i, warp - kProjectors);
      }
      ck::copy_async_commit();
    }
  }
  keep_weights<kSplit ? Kept::kRaw : Kept::kRounded>(shared.weights, p);
  // Nobody reads weights before all threads were at a barrier: projectors wait for tile 0 to be
  // ready, summers for its terms.
  if (warp < kProjectors) {
    projector_main<kSplit>(p, f, shared, first, end);
  } else {
    summer_main<kSplit>(p, f, shared, first, end);
  }
}

}  // namespace mamba2_scan
