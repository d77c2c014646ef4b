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
CK_HOST_DEVICE int lane_place(int state, int quarter) {
  return (state * 4 + (quarter ^ (state / 2 % 4))) * 4;
}

// All threads of the block: the weights into shared memory, zeros past the last feature or state.
template <Kept kKept>
CK_DEVICE void keep_weights(float* weights, const Scan& p) {
  constexpr int kBatch = 8;  // loads under way at once
  constexpr int kParts = kKept == Kept::kSplit ? 2 : 1;
  const int matrix = rounded_features(p.features) * kGroup;
  const int stride = static_cast<int>(blockDim.x);
  CK_NO_UNROLL
  for (int first = threadIdx.x; first < 3 * matrix; first += kBatch * stride) {
    float values[kBatch];
    CK_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int at = first + i * stride;
      const int which = (at >= matrix) + (at >= 2 * matrix);
      const int feature = (at - which * matrix) / kGroup;
      const int s = at % kGroup;
      const float* const from = which == 0   ? p.weights[0]
                                : which == 1 ? p.weights[1]
                                             : p.weights[2];
      const bool real = at < 3 * matrix && feature < p.features && s < p.states;
      values[i] = real ? ck::load_nc(from + feature * p.states + s) : 0.0f;
    }
    CK_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int at = first + i * stride;
      if (at >= 3 * matrix) continue;
      const int which = (at >= matrix) + (at >= 2 * matrix);
      const int feature = (at - which * matrix) / kGroup;
      const int s = at % kGroup;
      const int in_group = feature % kFeatureGroup;
      float* const to = weights + group_place(feature / kFeatureGroup, which, kParts) +
                        in_group % 4 / 2 * kSecondFragment + lane_place(s % 8, in_group / 4) +
                        in_group % 2 * 2 + s / 8;
      if (kKept == Kept::kSplit) {
        ck::split_tf32(values[i], to[0], to[kGroupFloats]);
      } else {
        to[0] = kKept == Kept::kRounded ? ck::to_tf32(values[i]) : values[i];
      }
    }
  }
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
  if (kSplit && part == 0) ck::mma_tf32(small, a.small, b.big);
  if (kSplit && part == 1) ck::mma_tf32(small, a.big, b.small);
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
