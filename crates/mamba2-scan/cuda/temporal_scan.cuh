// The scan over any number of steps, states and features: forward, or up to the gradients of its
// projections, which later nodes turn into those of weights and inputs.
//
// On an H200 at B 8192, K 8, H 256, S 16: 38 us, where the multiply-adds take 17 and the bytes 18.
// A lane's eight rows by eight columns are 272 multiply-adds for 21 16-byte loads; the
// multiply-adds wait for these and for each other (two warps a scheduler, 168 registers a thread).
// Tried: two pieces a turn of the loop 38.5; weights loaded and stored in place of copied 60;
// chains by spans of 32 features, as the gradients have them, 42; without the readout's products, a
// quarter of the loads, 2 us less.
#pragma once

#include "scan.cuh"

namespace mamba2_scan {

constexpr int kContextFloats = kTile * M2_MAX_STATES;  // of a warp, for tile-adding

// Shared floats of a block: weights of `features` features, then each warp's ring and contexts.
CK_HOST_DEVICE int scan_shared_floats(int warps, int features, bool tile_add) {
  return features * kWeightStride +
         warps * (kStages * kStageFloats + (tile_add ? kContextFloats : 0));
}

// The gradient of a context.
CK_DEVICE float context_gradient(const Scan& p, int64_t b, int s) {
  if (p.readout == M2_READOUT_CONTEXT) return p.d_out[b * p.states + s];
  if (p.readout == M2_READOUT_SUM) return p.d_out[b];
  float sum = 0.0f;
  for (int j = s; j < p.features; j += p.states) sum = __fadd_rn(sum, p.d_out[b * p.features + j]);
  return sum;
}

// From the state after the last step, back to the gradients of the projections of one state. Those
// of the places past the last state are zero whatever the features hold.
CK_DEVICE void scan_back(const Scan& p, int64_t b, int s, float last, float readout) {
  const int padded = padded_states(p.states);
  const bool real = s < p.states;
  const float g = real ? context_gradient(p, b, s) : 0.0f;
  p.d_readouts[b * padded + s] = real ? __fmul_rn(g, last) : 0.0f;
  const float from_final = real && p.d_final != nullptr ? p.d_final[b * p.states + s] : 0.0f;
  float lambda = __fmaf_rn(g, readout, from_final);
  for (int t = p.steps - 1; t >= 0; --t) {
    // The forward pass left the gate and the state before the step here.
    const int64_t at = (b * p.steps + t) * padded + s;
    const ck::SigmoidPair a = ck::sigmoid_and_complement(p.d_gates[at]);
    const float before = CK_MUTANT(m2_gate_gradient_takes_last_state) ? last : p.d_inputs[at];
    const float slope =
        CK_MUTANT(m2_gate_gradient_without_complement) ? a.value : __fmul_rn(a.value, a.complement);
    p.d_inputs[at] = real ? lambda : 0.0f;
    p.d_gates[at] = real ? __fmul_rn(__fmul_rn(lambda, before), slope) : 0.0f;
    lambda = __fmul_rn(a.value, lambda);
  }
  if (real && p.d_x0 != nullptr) p.d_x0[b * p.states + s] = lambda;
}

// A sample's four contexts of a lane, added up over a group of states: all lanes of the sample get
// the sum of the lane's quads so far.
CK_DEVICE float quad_sum(const float* contexts) {
  return __fadd_rn(__fadd_rn(contexts[0], contexts[1]), __fadd_rn(contexts[2], contexts[3]));
}

// Eight samples a warp and turn; `features` is how many features' weights lie in shared memory at
// once.
template <bool kBackward>
CK_KERNEL_BLOCKS(kScanWarps* ck::kWarp, 1)
temporal_scan(const Scan p, const int features) {
  CK_DYNAMIC_SHARED(float, shared);
  const ScanLane lane = scan_lane();
  const int warp = threadIdx.x / ck::kWarp;
  const int warps = blockDim.x / ck::kWarp;
  float* const weights = shared;
  float* const ring = shared + features * kWeightStride + warp * kStages * kStageFloats;
  float* const contexts =
      shared + features * kWeightStride + warps * kStages * kStageFloats + warp * kContextFloats;
  const int tiles = tiles_of(p.batch);
  const int groups = groups_of(p.states);
  const int rounded = (p.features + 3) / 4 * 4;
  const bool resident = groups == 1 && rounded <= features;
  bool loaded = false;
  ck::dependency_wait();
  for (int round = blockIdx.x; round * warps < tiles; round += gridDim.x) {
    const int tile = round * warps + warp;
    const bool active = tile < tiles;
    const int64_t b = static_cast<int64_t>(tile) * kTile + lane.sample;
    const bool real = active && b < p.batch;
    float total = 0.0f;
    for (int group = 0; group < groups; ++group) {
      const int s0 = group * kGroup + lane.quad * kOwn;
      float x[kOwn];
      Projected totals = {};
      CK_UNROLL
      for (int c = 0; c < kOwn; ++c) {
        x[c] = real && p.x0 != nullptr && s0 + c < p.states ? p.x0[b * p.states + s0 + c] : 0.0f;
      }
      for (int step = 0; step < p.steps; step += kSteps) {
        const bool first_steps = step == 0;
        for (int block = 0; block < rounded; block += features) {
          const int count = min(features, rounded - block);
          const int spans = (count + kSpan - 1) / kSpan;
          if (active) ask_stage(ring, p, tile, step, block, first_steps);
          ck::copy_async_commit();
          if (!resident || !loaded) {
            if (!CK_MUTANT(m2_scan_skips_weights_reuse_barrier)) __syncthreads();
            ask_weights(weights, p, group, block, count);
            ck::copy_async_commit();
            ck::copy_async_wait<0>();
            if (!CK_MUTANT(m2_scan_skips_weights_barrier)) __syncthreads();
            loaded = true;
          }
          if (!active) continue;
          for (int span = 0; span < spans; ++span) {
            if (span + 1 < spans) {
              ask_stage(ring + (span + 1) % kStages * kStageFloats, p, tile, step,
                        block + (span + 1) * kSpan, first_steps);
            }
            ck::copy_async_commit();
            if (!CK_MUTANT(m2_scan_skips_arrival)) ck::copy_async_wait<1>();
            if (!CK_MUTANT(m2_scan_skips_arrival_sync)) __syncwarp();
            const float* const stage = ring + span % kStages * kStageFloats;
            const int pieces = min(kPieces, (count - span * kSpan) / 4);
            const float* const w = weights + span * kSpan * kWeightStride;
            const bool is_first = block + span == 0;
            if (kBackward) {
              // By spans, as the fused kernel has them.
              Projected sums;
              begin_chains(sums, p, s0, is_first, true);
              project_stage(sums, stage, w, pieces, lane, first_steps);
              end_span(totals, sums, is_first, first_steps);
            } else {
              if (is_first) begin_chains(totals, p, s0, true, first_steps);
              project_stage(totals, stage, w, pieces, lane, first_steps);
            }
            // Every lane has read the stage before it is filled again.
            if (!CK_MUTANT(m2_scan_skips_stage_reuse_sync)) __syncwarp();
          }
        }
        CK_UNROLL
        for (int t = 0; t < kSteps; ++t) {
          if (step + t >= p.steps || !real) continue;
          const int64_t at = (b * p.steps + step + t) * padded_states(p.states) + s0;
          CK_UNROLL
          for (int c = 0; c < kOwn; ++c) {
            if (kBackward) {
              p.d_gates[at + c] = totals.gates[t][c];
              p.d_inputs[at + c] = x[c];
            }
            const float a = ck::sigmoid(totals.gates[t][c]);
            x[c] = __fmaf_rn(a, x[c], totals.inputs[t][c]);
          }
        }
      }
      if (kBackward) {
        CK_UNROLL
        for (int c = 0; c < kOwn; ++c) {
          if (real) scan_back(p, b, s0 + c, x[c], totals.readout[c]);
        }
      } else {
        float context[kOwn];
        CK_UNROLL
        for (int c = 0; c < kOwn; ++c) {
          context[c] = __fmul_rn(totals.readout[c], x[c]);
          const bool stored = real && s0 + c < p.states;
          if (stored && p.final_state != nullptr) p.final_state[b * p.states + s0 + c] = x[c];
          if (stored && p.out != nullptr && p.readout == M2_READOUT_CONTEXT) {
            p.out[b * p.states + s0 + c] = context[c];
          }
          if (p.readout == M2_READOUT_TILE_ADD) {
            contexts[lane.sample * M2_MAX_STATES + s0 + c] = context[c];
          }
          // What a padded state's weights of zero make of x0 is zero already, but for NaN.
          if (s0 + c >= p.states) context[c] = 0.0f;
        }
        const float quad = quad_sum(context);
        total = group == 0 ? quad : __fadd_rn(total, quad);
      }
    }
    const bool reads_out = !kBackward && p.out != nullptr && active;
    if (reads_out && p.readout == M2_READOUT_SUM) {
      // Lanes of a sample are eight apart.
      total = __fadd_rn(total, __shfl_xor_sync(ck::kFullMask, total, 2 * kTile));
      total = __fadd_rn(total, __shfl_xor_sync(ck::kFullMask, total, kTile));
      if (real && lane.quad == 0) p.out[b] = total;
    }
    if (reads_out && p.readout == M2_READOUT_TILE_ADD) {
      if (!CK_MUTANT(m2_scan_skips_contexts_sync)) __syncwarp();
      const int samples = min(kTile, p.batch - tile * kTile);
      for (int i = 0; i < samples; ++i) {
        const int64_t row = static_cast<int64_t>(tile) * kTile + i;
        const float* const current = p.current + row * p.current_stride;
        for (int j = threadIdx.x % ck::kWarp; j < p.features; j += ck::kWarp) {
          const int s = j % p.states;
          p.out[row * p.features + j] =
              __fadd_rn(ck::load_nc(current + j), contexts[i * M2_MAX_STATES + s]);
        }
      }
      // Every lane has read the contexts before the next tile's.
      if (!CK_MUTANT(m2_scan_skips_contexts_reuse_sync)) __syncwarp();
    }
  }
}

}  // namespace mamba2_scan
