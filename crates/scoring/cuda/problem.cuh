// What a scoring kernel is told, and what one question of it looks like on the device.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>
#include <ck/tree.cuh>
#include <ck/types.cuh>

#include "scoring.h"

namespace scoring {

constexpr int kThreads = 512;                 // most threads of a block that takes few rows
constexpr int kStreamThreads = 256;           // of a block that streams many
constexpr int kTile = 256;                    // candidates of one softmax tile
constexpr int kTileLane = kTile / ck::kWarp;  // of one lane
constexpr int kGroup = 4;                     // consecutive elements of one lane
constexpr int kSpan = kGroup * ck::kWarp;     // elements that a warp takes at once
constexpr int kSegmentSpans = 4;
constexpr int kSegment = kSegmentSpans * kSpan;  // elements whose products share an accumulator

// cs_score_params, checked and with its defaults filled in. Passed to kernels by value.
struct Problem {
  const void* queries;
  const void* candidates;
  const int32_t* offsets;
  const int32_t* indices;
  const uint8_t* mask;
  const float* bias;
  const float* scales;
  const float* temperatures;
  const float* query_inverse_norms;
  const float* candidate_inverse_norms;
  float* probabilities;
  float* logits;
  float* log_probabilities;
  float* log_sum_exp;
  int32_t* argmax;
  float* top_values;
  int32_t* top_indices;
  float* expected_index;
  uint32_t* status;
  void* workspace;
  int64_t query_stride;
  int64_t candidate_stride;
  int64_t question_stride;
  int64_t sum_k;
  int questions;
  int max_k;
  int table_rows;
  int dim;
  int layout;
  int top_k;
  float scale;
  float temperature;
  float eps;
};

// What a kernel instance may rely on, so that the plain ones carry no code for what they never
// meet: a kernel of one launch runs most of its instructions once, and is bound by fetching them.
enum Access {
  kScalar = 0,  // anything, element by element
  kVector = 1,  // rows start and end at multiples of a group
  kPlain = 2,   // and: rows by strides alone, no mask, no bias, no per-question or per-row factors,
                // probabilities and logits the only outputs, no status word
};

template <int kAccess>
CK_DEVICE Problem seen_by(Problem p) {
  if (kAccess == kPlain) {
    p.offsets = nullptr;
    p.indices = nullptr;
    p.mask = nullptr;
    p.bias = nullptr;
    p.scales = nullptr;
    p.temperatures = nullptr;
    p.query_inverse_norms = nullptr;
    p.candidate_inverse_norms = nullptr;
    p.log_probabilities = nullptr;
    p.log_sum_exp = nullptr;
    p.argmax = nullptr;
    p.top_values = nullptr;
    p.top_indices = nullptr;
    p.expected_index = nullptr;
    p.status = nullptr;
    p.layout = CS_DENSE;
    p.top_k = 0;
  }
  return p;
}

// The first bad device value stays; later ones find the word taken.
CK_DEVICE void report(const Problem& p, uint32_t cause, int question) {
  if (p.status == nullptr) return;
  const uint32_t at = question < 0xffffff ? question : 0xffffff;
  atomicCAS(p.status, 0u, cause << 24 | at);
}

struct Question {
  int index;
  int count;         // K_i
  int64_t position;  // of its candidate 0 in the per-candidate arrays
  float scale;
  float temperature;
};

// A finite positive number whose inverse is finite.
CK_HOST_DEVICE bool usable_factor(float x) {
  return x > 0x1p-128f && x < INFINITY;  // 1 / 2^-128 overflows
}

CK_DEVICE Question open_question(const Problem& p, int index, bool reports) {
  Question q;
  q.index = index;
  q.count = p.max_k;
  q.position = static_cast<int64_t>(index) * p.max_k;
  if (p.offsets != nullptr) {
    const int64_t first = p.offsets[index];
    const int64_t last = p.offsets[index + 1];
    q.position = first;
    q.count = static_cast<int>(last - first);
    if (first < 0 || last < first || last > p.sum_k || last - first > p.max_k) {
      q.count = 0;
      q.position = 0;
      if (reports) report(p, CS_DEVICE_BAD_OFFSETS, index);
    }
  }
  q.scale = p.scales != nullptr ? p.scales[index] : p.scale;
  q.temperature = p.temperatures != nullptr ? p.temperatures[index] : p.temperature;
  // The host has checked the scalars.
  if (p.scales == nullptr && p.temperatures == nullptr) return q;
  if (!usable_factor(q.scale) || !usable_factor(q.temperature)) {
    q.temperature = __uint_as_float(0x7fffffffu);  // NaN: so are all logits
    if (reports) report(p, CS_DEVICE_BAD_TEMPERATURE, index);
  }
  return q;
}

// The stored row of candidate k, or -1 where its index lies outside the table.
CK_DEVICE int64_t candidate_row(const Problem& p, const Question& q, int k) {
  if (p.layout == CS_SHARED) return k;
  if (p.layout == CS_INDEXED) {
    const int32_t row = p.indices[q.position + k];
    if (row < 0 || row >= p.table_rows) {
      report(p, CS_DEVICE_BAD_INDEX, q.index);
      return -1;
    }
    return row;
  }
  return q.position + k;
}

// Elements from the start of `candidates` to row `row`, which is candidate k of question q. A
// shared block of candidates is a dense one with question_stride 0.
CK_DEVICE int64_t row_offset(const Problem& p, const Question& q, int k, int64_t row) {
  if (p.layout == CS_DENSE || p.layout == CS_SHARED)
    return q.index * p.question_stride + k * p.candidate_stride;
  return row * p.candidate_stride;
}

}  // namespace scoring
