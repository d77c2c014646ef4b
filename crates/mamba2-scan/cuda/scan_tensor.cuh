// What the tensor-core kernels of the gated scan share: where weights lie, products in one or three
// TF32 multiplications, and the scan of eight steps in four lanes.
//
// The weights' transpose is the 16 x 8 operand, so that one 16 x 8 result is 16 states by 8 steps
// of one sample. Lane (g, q) = (lane / 4, lane % 4) holds states g and g + 8 at steps 2q and 2q + 1
// of gate and input alike.
//
// Which feature is which k of a multiplication is free, as long as both operands agree. Features
// are taken in groups of 16: lane q has the four from 4q on, of which the first two are k = q and
// k = q + 4 of the group's first multiplication, the other two those of its second. So both
// operands are 16-byte loads.
#pragma once

#include <ck/handoff.cuh>
#include <ck/mma.cuh>

#include "scan.cuh"

namespace mamba2_scan {

constexpr int kFastSamples = 4;  // of a tile: one load of a weight feeds so many samples
constexpr int kFastRows = kFastSamples * kSteps;
constexpr int kFeatureGroup = 16;
constexpr int kFragment = 4 * ck::kWarp;  // floats of a 16 x 8 operand, four a lane
// A group's second operand begins eight banks further on, for the backward kernel's reads.
constexpr int kSecondFragment = kFragment + 8;
constexpr int kGroupFloats = kSecondFragment + kFragment;
constexpr int kFastFeatures = 256;

CK_HOST_DEVICE int rounded_features(int features) { return (features + kSpan - 1) / kSpan * kSpan; }

// How weights are kept: as they are, rounded to TF32, or split into two.
enum class Kept { kRaw, kRounded, kSplit };

CK_HOST_DEVICE int kept_parts(Kept kept) { return kept == Kept::kSplit ? 2 : 1; }
CK_HOST_DEVICE int kept_floats(int features, Kept kept) {
  return rounded_features(features) / kFeatureGroup * 3 * kept_parts(kept) * kGroupFloats;
}

// Where one of three matrices' operands of a group begin.
CK_HOST_DEVICE int group_place(int group, int which, int parts) {
  return (group * 3 + which) * parts * kGroupFloats;
}

// Where in an operand the four floats of lane (state % 8, quarter) begin: states and features (s,
// f), (s + 8, f), (s, f + 1), (s + 8, f + 1). Quarters are permuted by state, so that reads by
// neighbouring states meet different banks.
CK_HOST_DEVICE unsigned lane_place(unsigned state, unsigned quarter) {
  return (state * 4 + (quarter ^ (state / 2 % 4))) * 4;
}

// All threads of the block, whole warps: the weights into shared memory, zeros past the last
// feature or state. A thread keeps to one state; sixteen loads are under way at once.
template <Kept kKept>
CK_DEVICE void keep_weights(float* weights, const Scan& p) {
  constexpr int kBatch = 16;
  constexpr int kParts = kKept == Kept::kSplit ? 2 : 1;
  const unsigned rounded = static_cast<unsigned>(rounded_features(p.features));
  const unsigned features = static_cast<unsigned>(p.features);
  const unsigned s = threadIdx.x % kGroup;
  const unsigned stride = blockDim.x / kGroup;
  const bool is_state = s < static_cast<unsigned>(p.states);
  CK_UNROLL
  for (int which = 0; which < 3; ++which) {
    const float* const from = p.weights[which] + s;
    CK_NO_UNROLL
    for (unsigned first = threadIdx.x / kGroup; first < rounded; first += kBatch * stride) {
      float values[kBatch];
      CK_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const unsigned feature = first + i * stride;
        const bool real = is_state && feature < features;
        values[i] = real ? ck::load_nc(from + feature * static_cast<unsigned>(p.states)) : 0.0f;
      }
      CK_UNROLL
      for (int i = 0; i < kBatch; ++i) {
        const unsigned feature = first + i * stride;
        if (feature >= rounded) continue;
        const int group = static_cast<int>(feature / kFeatureGroup);
        const unsigned in_group = feature % kFeatureGroup;
        float* const to = weights + group_place(group, which, kParts) +
                          in_group / 2 % 2 * kSecondFragment + lane_place(s % 8, in_group / 4) +
                          in_group % 2 * 2 + s / 8;
        if (kKept == Kept::kSplit) {
          ck::split_tf32(values[i], to[0], to[kGroupFloats]);
        } else {
          to[0] = kKept == Kept::kRounded ? ck::to_tf32(values[i]) : values[i];
        }
      }
    }
  }
}

// What a lane's states add to each of their projections.
struct Biases {
  float of[3][2];  // gate, input, readout; states g and g + 8
};
CK_DEVICE Biases lane_biases(const Scan& p, int g) {
  Biases biases;
  CK_UNROLL
  for (int which = 0; which < 3; ++which) {
    CK_UNROLL
    for (int half = 0; half < 2; ++half) biases.of[which][half] = bias_of(p, which, g + half * 8);
  }
  return biases;
}

// The rows that a thread copies from, of the eighth of a warp or the warp that `of_four` numbers:
// row of_four + 4 k of a tile, k < 8 history's by sample and step, k = 8 current's. Rows past the
// last sample or step are others' again.
constexpr int kOwnRows = kFastRows / 4 + 1;
struct FastRow {
  const float* at[kOwnRows];
};
CK_DEVICE FastRow rows_of(const Scan& p, int tile, int of_four) {
  FastRow rows;
  const int last = p.steps - 1;
  const int64_t early = min(of_four, last) * p.step_stride;
  const int64_t late = min(of_four + 4, last) * p.step_stride;
  CK_UNROLL
  for (int i = 0; i < kFastSamples; ++i) {
    const int64_t b = min(tile * kFastSamples + i, p.batch - 1);
    const float* const sample = p.history + b * p.history_stride;
    rows.at[2 * i] = sample + early;
    rows.at[2 * i + 1] = sample + late;
  }
  const int64_t b = min(tile * kFastSamples + of_four, p.batch - 1);
  rows.at[kOwnRows - 1] = p.current + b * p.current_stride;
  return rows;
}

// Numbers of an operand; `small` is not looked at where one multiplication is enough.
template <int kCount>
struct Operand {
  float big[kCount];
  float small[kCount];
};

template <bool kSplit, int kCount>
CK_DEVICE void set(Operand<kCount>& to, int i, float x) {
  if (kSplit) {
    ck::split_tf32(x, to.big[i], to.small[i]);
  } else {
    to.big[i] = ck::to_tf32(x);
  }
}

CK_DEVICE void load_four(float (&to)[4], const float* from) {
  const float4 v = shared_quad(from);
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}

// Sums of small products apart from those of the large, which are then cut off less often.
struct Sums {
  float big[4];
  float small[4];
};

// The three multiplications of one product, small ones first. Callers take a part of all their
// products before the next, so that none waits for the one before it.
constexpr int kMultiplications = 3;
template <bool kSplit>
CK_DEVICE void multiply(float (&small)[4], float (&big)[4], const Operand<4>& a,
                        const Operand<2>& b, int part) {
  if (kSplit && part == 0 && !CK_MUTANT(m2_fast_leaves_out_small_weights)) {
    ck::mma_tf32(small, a.small, b.big);
  }
  if (kSplit && part == 1 && !CK_MUTANT(m2_fast_leaves_out_small_rows)) {
    ck::mma_tf32(small, a.big, b.small);
  }
  if (part == 2) ck::mma_tf32(big, a.big, b.big);
}

template <bool kSplit>
CK_DEVICE float total(const Sums& sums, int i) {
  return kSplit ? __fadd_rn(sums.small[i], sums.big[i]) : sums.big[i];
}

struct FastSums {
  Sums gates[kFastSamples];
  Sums inputs[kFastSamples];
  Sums readout;
};

// Adds the products of 8 features: of four samples' rows of history, and the samples' of current.
// `half` says which two of a piece's four features.
template <bool kSplit>
CK_DEVICE void multiply_rows(FastSums& sums, const Operand<4> (&w)[3],
                             const float4 (&rows)[kFastSamples + 1], int half) {
  Operand<2> h[kFastSamples + 1];
  CK_UNROLL
  for (int i = 0; i <= kFastSamples; ++i) {
    set<kSplit>(h[i], 0, component(rows[i], half * 2));
    set<kSplit>(h[i], 1, component(rows[i], half * 2 + 1));
  }
  CK_UNROLL
  for (int part = 0; part < kMultiplications; ++part) {
    CK_UNROLL
    for (int i = 0; i < kFastSamples; ++i) {
      multiply<kSplit>(sums.gates[i].small, sums.gates[i].big, w[0], h[i], part);
      multiply<kSplit>(sums.inputs[i].small, sums.inputs[i].big, w[1], h[i], part);
    }
    multiply<kSplit>(sums.readout.small, sums.readout.big, w[2], h[kFastSamples], part);
  }
}

// x -> a x + v: a run of steps.
struct Run {
  float a;
  float v;
};
CK_DEVICE Run then(const Run& first, const Run& second) {
  return Run{__fmul_rn(second.a, first.a), __fmaf_rn(second.a, first.v, second.v)};
}

// All steps of the four lanes of a state, which lane q begins at 2q: every lane gets it.
CK_DEVICE Run all_steps(Run run, int q) {
  CK_UNROLL
  for (int away = 1; away < 4; away *= 2) {
    const Run other = {__shfl_xor_sync(ck::kFullMask, run.a, away),
                       __shfl_xor_sync(ck::kFullMask, run.v, away)};
    const bool is_later = CK_MUTANT(m2_fast_runs_out_of_order) ? (q & away) == 0 : (q & away) != 0;
    run = is_later ? then(other, run) : then(run, other);
  }
  return run;
}

}  // namespace mamba2_scan
