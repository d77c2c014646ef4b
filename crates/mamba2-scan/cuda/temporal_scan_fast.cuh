// The scan of up to 8 steps, 16 states and 256 features on tensor cores: a warp takes four samples
// at once, and no warp waits for another.
//
// History passes through a ring of the warp's own, 32 features of 32 rows (and of four of current)
// a stage, three stages; the weights' operands, split into two TF32 beforehand, lie in shared
// memory for the block. A weight's load feeds four samples: 16 bytes a lane for 4 x 3
// multiplications. Gates, inputs and readouts end in registers, where four lanes scan a state.
//
// An H200's multiprocessor at B 8192, K 8, H 256, S 16 (62 samples): 570 KB of history and current
// at 17.7 bytes a clock are 32.0k clocks, 17.9 us. Shared memory: 9 KB a sample copied in, 9 read,
// 18 of weights, 2.3 MB at 128 bytes a clock are 17.9k clocks. Multiplications: 216 a sample of
// 1024 multiply-adds; 4 clocks apiece on each of four units if they reach the unit's peak, 13.4k
// clocks, and about 6.4 as others measured for mma.sync, 21.4k. Splits and the rest: 11k
// instructions on each of four schedulers. Memory is the longest, and 72 KB of it are under way at
// any time where 33 are needed. Predicted, not measured: 21 us.
//
// Bank conflicts: none in a stage, whose 16-byte pieces are permuted by row's parity (eight lanes
// read two rows by four pieces), nor in the operands (32 lanes read 512 bytes).
#pragma once

#include "scan_tensor.cuh"

namespace mamba2_scan {

constexpr int kFastStageRows = kFastRows + kFastSamples;
constexpr int kFastStageFloats = kFastStageRows * kSpan;
constexpr int kFastStages = 3;
constexpr int kFastContexts = kFastSamples * kGroup;  // floats of a warp

CK_HOST_DEVICE int fast_units(int batch) { return (batch + kFastSamples - 1) / kFastSamples; }

CK_HOST_DEVICE int fast_shared_floats(int features, bool split, int warps) {
  return kept_floats(features, split ? Kept::kSplit : Kept::kRounded) +
         warps * (kFastStages * kFastStageFloats + kFastContexts);
}

// Where a piece of a stage's row lies. `turn` is the row's step, or its sample for current.
CK_DEVICE int fast_piece(int row, int turn, int piece) {
  return row * kSpan + (piece ^ (turn % 2 * 4)) * 4;
}

// One warp: 32 features of four samples' rows, from `first` on.
CK_DEVICE void ask_fast_stage(float* stage, const Scan& p, const FastRow& rows, int first) {
  const int lane = threadIdx.x % ck::kWarp;
  const int of_four = lane / kPieces;
  const int piece = lane % kPieces;
  const int feature = first + piece * 4;
  // Steps and samples four apart are permuted alike.
  float* const to = stage + fast_piece(of_four, of_four, piece);
  if (p.grouped && feature < p.features) {
    CK_UNROLL
    for (int k = 0; k < kOwnRows; ++k) {
      ck::copy_async_16_of_256(to + k * 4 * kSpan, rows.at[k] + feature);
    }
  } else {
    CK_UNROLL
    for (int k = 0; k < kOwnRows; ++k) {
      ask_features(to + k * 4 * kSpan, rows.at[k], feature, p.features);
    }
  }
}

// Adds a stage's products.
template <bool kSplit>
CK_DEVICE void multiply_stage(FastSums& sums, const float* stage, const float* weights, int g,
                              int q) {
  constexpr int kParts = kSplit ? 2 : 1;
  CK_UNROLL
  for (int group = 0; group < kSpan / kFeatureGroup; ++group) {
    const int piece = group * 4 + q;
    float4 rows[kFastSamples + 1];
    CK_UNROLL
    for (int i = 0; i < kFastSamples; ++i) {
      rows[i] = shared_quad(stage + fast_piece(i * kSteps + g, g, piece));
    }
    // Columns of the readout are samples; the last four are the first again, and not looked at.
    const int sample = g % kFastSamples;
    rows[kFastSamples] = shared_quad(stage + fast_piece(kFastRows + sample, sample, piece));
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      Operand<4> w[3];
      CK_UNROLL
      for (int which = 0; which < 3; ++which) {
        const float* const from =
            weights + group_place(group, which, kParts) + half * kSecondFragment + lane_place(g, q);
        load_four(w[which].big, from);
        if (kSplit) load_four(w[which].small, from + kGroupFloats);
      }
      multiply_rows<kSplit>(sums, w, rows, half);
    }
  }
}

template <bool kSplit>
CK_KERNEL_BLOCKS(kScanWarps* ck::kWarp, 1)
temporal_scan_fast(const Scan p) {
  CK_DYNAMIC_SHARED(float, shared);
  constexpr Kept kKept = kSplit ? Kept::kSplit : Kept::kRounded;
  constexpr int kParts = kSplit ? 2 : 1;
  const int lane = threadIdx.x % ck::kWarp;
  const int g = lane / 4;
  const int q = lane % 4;
  const int warp = threadIdx.x / ck::kWarp;
  const int warps = blockDim.x / ck::kWarp;
  float* const weights = shared;
  float* const ring = shared + kept_floats(p.features, kKept) +
                      warp * (kFastStages * kFastStageFloats + kFastContexts);
  float* const contexts = ring + kFastStages * kFastStageFloats;
  const int units = fast_units(p.batch);
  const int spans = rounded_features(p.features) / kSpan;
  // Units of a round go to all blocks before they go to a block's next warp: a last round that is
  // not full still keeps every multiprocessor busy.
  const int first_unit = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  const int units_apart = warps * static_cast<int>(gridDim.x);
  int asked_unit = first_unit;
  int asked_span = 0;
  int asked_stage = 0;
  FastRow rows = rows_of(p, first_unit, lane / kPieces);
  const auto ask_next = [&] {
    if (asked_unit < units) {
      ask_fast_stage(ring + asked_stage * kFastStageFloats, p, rows, asked_span * kSpan);
      if (++asked_span == spans) {
        asked_span = 0;
        asked_unit += units_apart;
        rows = rows_of(p, asked_unit, lane / kPieces);
      }
    }
    asked_stage = asked_stage + 1 == kFastStages ? 0 : asked_stage + 1;
    ck::copy_async_commit();
  };
  ck::dependency_wait();
  for (int i = 0; i < kFastStages; ++i) ask_next();
  keep_weights<kKept>(weights, p);
  if (!CK_MUTANT(m2_fast_skips_weights_barrier)) __syncthreads();
  const Biases biases = lane_biases(p, g);
  int stage = 0;
  for (int unit = first_unit; unit < units; unit += units_apart) {
    FastSums sums = {};
    for (int span = 0; span < spans; ++span) {
      if (!CK_MUTANT(m2_fast_skips_arrival)) ck::copy_async_wait<kFastStages - 1>();
      if (!CK_MUTANT(m2_fast_skips_arrival_sync)) __syncwarp();
      multiply_stage<kSplit>(sums, ring + stage * kFastStageFloats,
                             weights + group_place(span * (kSpan / kFeatureGroup), 0, kParts), g,
                             q);
      // Every lane has read the stage before it is filled again.
      if (!CK_MUTANT(m2_fast_skips_stage_reuse_sync)) __syncwarp();
      ask_next();
      stage = stage + 1 == kFastStages ? 0 : stage + 1;
    }
    // Of the sample that this lane stores, the q-th, states g and g + 8.
    float last[2] = {};
    float context[2] = {};
    CK_UNROLL
    for (int i = 0; i < kFastSamples; ++i) {
      const int64_t b = min(unit * kFastSamples + i, p.batch - 1);
      CK_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int s = g + half * 8;
        Run steps[2];
        CK_UNROLL
        for (int j = 0; j < 2; ++j) {
          const bool is_step =
              CK_MUTANT(m2_fast_scans_steps_that_are_not) ? true : 2 * q + j < p.steps;
          const int at = half * 2 + j;
          const float gate = __fadd_rn(total<kSplit>(sums.gates[i], at), biases.of[0][half]);
          const float input = __fadd_rn(total<kSplit>(sums.inputs[i], at), biases.of[1][half]);
          steps[j] = is_step ? Run{ck::sigmoid(gate), input} : Run{1.0f, 0.0f};
        }
        const Run run = all_steps(then(steps[0], steps[1]), q);
        const float x0 = p.x0 != nullptr && s < p.states ? p.x0[b * p.states + s] : 0.0f;
        const float x = __fmaf_rn(run.a, x0, run.v);
        // Column i of the readouts.
        const int holder = lane / 4 * 4 + (CK_MUTANT(m2_fast_reads_another_readout) ? 1 : i / 2);
        const float c =
            __shfl_sync(ck::kFullMask, total<kSplit>(sums.readout, half * 2 + i % 2), holder);
        const float product = __fmul_rn(__fadd_rn(c, biases.of[2][half]), x);
        last[half] = q == i ? x : last[half];
        context[half] = q == i ? product : context[half];
      }
    }
    const int64_t b = static_cast<int64_t>(unit) * kFastSamples + q;
    const bool real = b < p.batch;
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int s = g + half * 8;
      if (s >= p.states) context[half] = 0.0f;
      if (!real || s >= p.states) continue;
      if (p.final_state != nullptr) p.final_state[b * p.states + s] = last[half];
      if (p.out != nullptr && p.readout == M2_READOUT_CONTEXT) {
        p.out[b * p.states + s] = context[half];
      }
    }
    if (p.out != nullptr && p.readout == M2_READOUT_SUM) {
      float sum = __fadd_rn(context[0], context[1]);
      CK_UNROLL
      for (int away = 4; away < ck::kWarp; away *= 2) {
        sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, away));
      }
      if (real && g == 0) p.out[b] = sum;
    }
    if (p.out != nullptr && p.readout == M2_READOUT_TILE_ADD) {
      contexts[q * kGroup + g] = context[0];
      contexts[q * kGroup + g + 8] = context[1];
      if (!CK_MUTANT(m2_fast_skips_contexts_sync)) __syncwarp();
      const int samples = min(kFastSamples, p.batch - unit * kFastSamples);
      for (int i = 0; i < samples; ++i) {
        const int64_t row = static_cast<int64_t>(unit) * kFastSamples + i;
        const float* const current = p.current + row * p.current_stride;
        for (int j = lane; j < p.features; j += ck::kWarp) {
          p.out[row * p.features + j] =
              __fadd_rn(ck::load_nc(current + j), contexts[i * kGroup + j % p.states]);
        }
      }
      // The next unit's stages come with barriers enough before its contexts.
    }
  }
}

}  // namespace mamba2_scan
