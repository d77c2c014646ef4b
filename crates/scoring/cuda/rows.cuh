// Logits of a question's candidates, by warps.
//
// The order of every sum over D is fixed by scoring.h: element e belongs to segment e / 512, lane
// (e / 4) % 32, accumulator e % 4, whatever the load width, so alignment never changes a bit. A
// warp may own whole rows (score_rows), or the warps of a block share a row by segments
// (score_rows_split), or stream whole rows through shared memory (score_rows_streamed): the bits
// are the same.
#pragma once

#include <ck/bulk.cuh>

#include "problem.cuh"

namespace scoring {

constexpr float kTinySquare = 7.888609052210118e-31f;  // 2^-100

// Elements e .. e+3 of a row of `dim`, e < dim. Without groups, those past the end are +0, which
// adds nothing to a sum from +0.
template <int kAccess>
CK_DEVICE float4 load_group(const float* row, int e, int dim) {
  if (kAccess != kScalar) return ck::load_nc(reinterpret_cast<const float4*>(row + e));
  float4 v = make_float4(ck::load_nc(row + e), 0.0f, 0.0f, 0.0f);
  if (e + 1 < dim) v.y = ck::load_nc(row + e + 1);
  if (e + 2 < dim) v.z = ck::load_nc(row + e + 2);
  if (e + 3 < dim) v.w = ck::load_nc(row + e + 3);
  return v;
}

template <int kAccess, typename T>
CK_DEVICE float4 load_group(const T* row, int e, int dim) {
  const uint16_t* const bits = reinterpret_cast<const uint16_t*>(row);
  if (kAccess != kScalar) {
    const uint2 packed = ck::load_nc(reinterpret_cast<const uint2*>(bits + e));
    return make_float4(ck::to_f32(T{static_cast<uint16_t>(packed.x)}),
                       ck::to_f32(T{static_cast<uint16_t>(packed.x >> 16)}),
                       ck::to_f32(T{static_cast<uint16_t>(packed.y)}),
                       ck::to_f32(T{static_cast<uint16_t>(packed.y >> 16)}));
  }
  float4 v = make_float4(ck::to_f32(T{ck::load_nc(bits + e)}), 0.0f, 0.0f, 0.0f);
  if (e + 1 < dim) v.y = ck::to_f32(T{ck::load_nc(bits + e + 1)});
  if (e + 2 < dim) v.z = ck::to_f32(T{ck::load_nc(bits + e + 2)});
  if (e + 3 < dim) v.w = ck::to_f32(T{ck::load_nc(bits + e + 3)});
  return v;
}

// A whole group in shared memory.
CK_DEVICE float4 load_shared_group(const float* group) {
  return *reinterpret_cast<const float4*>(group);
}
template <typename T>
CK_DEVICE float4 load_shared_group(const T* group) {
  const uint2 packed = *reinterpret_cast<const uint2*>(group);
  return make_float4(ck::to_f32(T{static_cast<uint16_t>(packed.x)}),
                     ck::to_f32(T{static_cast<uint16_t>(packed.x >> 16)}),
                     ck::to_f32(T{static_cast<uint16_t>(packed.y)}),
                     ck::to_f32(T{static_cast<uint16_t>(packed.y >> 16)}));
}

CK_DEVICE void multiply_add(float4& sum, const float4& a, const float4& b) {
  sum.x = __fmaf_rn(a.x, b.x, sum.x);
  sum.y = __fmaf_rn(a.y, b.y, sum.y);
  sum.z = __fmaf_rn(a.z, b.z, sum.z);
  sum.w = __fmaf_rn(a.w, b.w, sum.w);
}

CK_DEVICE float lane_sum(const float4& a) {
  return __fadd_rn(__fadd_rn(a.x, a.y), __fadd_rn(a.z, a.w));
}

// x * 2^-exponent in two steps, so that no factor leaves the range of f32.
struct PowerOfTwo {
  float first;
  float second;
};
CK_DEVICE float exact_power_of_two(int e) {  // -126..127
  return __uint_as_float(static_cast<uint32_t>(e + 127) << 23);
}
CK_DEVICE PowerOfTwo inverse_power_of_two(int exponent) {
  const int half = exponent / 2;
  return PowerOfTwo{exact_power_of_two(-half), exact_power_of_two(-(exponent - half))};
}
CK_DEVICE float scaled(float x, const PowerOfTwo& s) {
  return __fmul_rn(__fmul_rn(x, s.first), s.second);
}
CK_DEVICE float4 scaled(const float4& v, const PowerOfTwo& s) {
  return make_float4(scaled(v.x, s), scaled(v.y, s), scaled(v.z, s), scaled(v.w, s));
}

// floor(log2 x) of a finite x > 0, subnormals too.
CK_DEVICE int exponent_of(float x) {
  const uint32_t bits = __float_as_uint(x);
  const int biased = bits >> 23;
  return biased != 0 ? biased - 127 : -118 - __clz(static_cast<int>(bits));
}

CK_DEVICE bool in_range(float sum_of_squares) {
  return sum_of_squares >= kTinySquare && sum_of_squares < INFINITY;
}

// value = (dot / max(|q|, eps_q)) / max(|c|, eps_c), or with a supplied inverse norm its product.
CK_DEVICE float cosine(float dot, float qq, float cc, float eps_q, float eps_c,
                       const float* inverse_q, const float* inverse_c) {
  float value = dot;
  if (inverse_q != nullptr) {
    value = __fmul_rn(value, *inverse_q);
  } else {
    const float norm = fmaxf(__fsqrt_rn(qq), eps_q);
    if (norm != 0.0f) value = __fdiv_rn(value, norm);  // the dot product of a zero vector is 0
  }
  if (inverse_c != nullptr) {
    value = __fmul_rn(value, *inverse_c);
  } else {
    const float norm = fmaxf(__fsqrt_rn(cc), eps_c);
    if (norm != 0.0f) value = __fdiv_rn(value, norm);  // the dot product of a zero vector is 0
  }
  return value;
}

// Sums of one vector pair, of one lane or of the whole warp.
struct Sums {
  float dot;
  float cc;
};

// One segment (kSegment elements from `start`) of a candidate against the query: adds this lane's
// part to its sums.
template <typename T, bool kCosine, int kAccess>
CK_DEVICE void segment_sums(const T* q, const T* c, int start, int dim, int lane, Sums& sums,
                            float& qq_sum) {
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float4 a[kSegmentSpans];
  float4 b[kSegmentSpans];
  CK_UNROLL
  for (int u = 0; u < kSegmentSpans; ++u) {
    const int e = start + lane * kGroup + u * kSpan;
    b[u] = e < dim ? load_group<kAccess>(c, e, dim) : zero;
    a[u] = e < dim ? load_group<kAccess>(q, e, dim) : zero;
  }
  float4 dot = zero;
  float4 cc = zero;
  float4 qq = zero;
  CK_UNROLL
  for (int u = 0; u < kSegmentSpans; ++u) {
    multiply_add(dot, a[u], b[u]);
    if (kCosine) {
      multiply_add(cc, b[u], b[u]);
      multiply_add(qq, a[u], a[u]);
    }
  }
  sums.dot = __fadd_rn(sums.dot, lane_sum(dot));
  if (kCosine) {
    sums.cc = __fadd_rn(sums.cc, lane_sum(cc));
    qq_sum = __fadd_rn(qq_sum, lane_sum(qq));
  }
}

// The largest magnitude of a row, NaN if there is one.
template <int kAccess, typename T>
CK_DEVICE float row_magnitude(const T* row, int dim, int lane) {
  float largest = 0.0f;
  bool nan = false;
  CK_NO_UNROLL
  for (int e = lane * kGroup; e < dim; e += kSpan) {
    const float4 v = load_group<kAccess>(row, e, dim);
    largest = fmaxf(fmaxf(largest, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
    nan = nan || v.x != v.x || v.y != v.y || v.z != v.z || v.w != v.w;
  }
  largest = ck::warp_max(largest);
  return __any_sync(ck::kFullMask, nan) ? NAN : largest;
}

// A pair whose norms leave the range of f32, once more on scaled vectors. Rare, so small, not fast.
template <int kAccess, typename T>
CK_DEVICE float rescued_cosine(const T* q, const T* c, bool scale_q, bool scale_c, float eps,
                               int dim, int lane, const float* inverse_q, const float* inverse_c) {
  const float largest_q = scale_q ? row_magnitude<kAccess>(q, dim, lane) : 1.0f;
  const float largest_c = scale_c ? row_magnitude<kAccess>(c, dim, lane) : 1.0f;
  // A NaN anywhere, or an infinity in a vector whose norm is asked for.
  if (!(largest_q < INFINITY) || !(largest_c < INFINITY)) return NAN;
  const PowerOfTwo by_q = inverse_power_of_two(largest_q > 0.0f ? exponent_of(largest_q) : 0);
  const PowerOfTwo by_c = inverse_power_of_two(largest_c > 0.0f ? exponent_of(largest_c) : 0);
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float dot_sum = 0.0f;
  float qq_sum = 0.0f;
  float cc_sum = 0.0f;
  CK_NO_UNROLL
  for (int start = 0; start < dim; start += kSegment) {
    float4 dot = zero;
    float4 qq = zero;
    float4 cc = zero;
    const int end = min(dim, start + kSegment);
    CK_NO_UNROLL
    for (int e = start + lane * kGroup; e < end; e += kSpan) {
      const float4 a = scaled(load_group<kAccess>(q, e, dim), by_q);
      const float4 b = scaled(load_group<kAccess>(c, e, dim), by_c);
      multiply_add(dot, a, b);
      multiply_add(qq, a, a);
      multiply_add(cc, b, b);
    }
    dot_sum = __fadd_rn(dot_sum, lane_sum(dot));
    qq_sum = __fadd_rn(qq_sum, lane_sum(qq));
    cc_sum = __fadd_rn(cc_sum, lane_sum(cc));
  }
  return cosine(ck::warp_sum(dot_sum), ck::warp_sum(qq_sum), ck::warp_sum(cc_sum),
                scaled(eps, by_q), scaled(eps, by_c), inverse_q, inverse_c);
}

// Asks for a row before the wait on the previous kernel: it may still be written, so nothing is
// read, but its lines are then on their way to L2.
template <typename T>
CK_DEVICE void prefetch_row(const T* row, int dim, int lane) {
  constexpr int kLine = 128 / sizeof(T);
  for (int e = lane * kLine; e < dim; e += kLine * ck::kWarp) ck::prefetch_l2(row + e);
}

// Where the candidate that a lane looks after is stored, and whether it counts.
struct Candidate {
  int64_t row;     // -1: masked, outside the table, or not there
  int64_t offset;  // elements from the start of `candidates`
};

CK_DEVICE Candidate find_candidate(const Problem& p, const Question& question, int k, bool exists) {
  Candidate candidate{-1, 0};
  if (exists && (p.mask == nullptr || p.mask[question.position + k] != 0)) {
    candidate.row = candidate_row(p, question, k);
    if (candidate.row >= 0) candidate.offset = row_offset(p, question, k, candidate.row);
  }
  return candidate;
}

// From the sums of the warp's candidates (the first `owners` lanes each hold those of their own) to
// their logits. All lanes of the warp call this, since a rescued row takes a whole warp.
template <typename T, bool kCosine, int kAccess>
CK_DEVICE float finish_logit(const Problem& p, const Question& question, const Candidate& candidate,
                             int k, Sums sums, float qq, int lane, int owners) {
  const bool masked = candidate.row < 0;
  float value = sums.dot;
  if (kCosine) {
    const T* const q = static_cast<const T*>(p.queries) + question.index * p.query_stride;
    const bool given_c = p.candidate_inverse_norms != nullptr;
    const float* const inverse_q =
        p.query_inverse_norms != nullptr ? p.query_inverse_norms + question.index : nullptr;
    const float* const inverse_c =
        given_c && !masked ? p.candidate_inverse_norms + candidate.row : nullptr;
    const bool rescue_q = inverse_q == nullptr && !in_range(qq);
    const bool rescue_c = !given_c && !in_range(sums.cc);
    if (!masked) value = cosine(sums.dot, qq, sums.cc, p.eps, p.eps, inverse_q, inverse_c);
    uint32_t to_rescue =
        __ballot_sync(ck::kFullMask, lane < owners && !masked && (rescue_q || rescue_c));
    while (to_rescue != 0) {
      const int r = __ffs(static_cast<int>(to_rescue)) - 1;
      to_rescue &= to_rescue - 1;
      const int64_t offset = __shfl_sync(ck::kFullMask, candidate.offset, r);
      const int64_t row = __shfl_sync(ck::kFullMask, candidate.row, r);
      const bool scale_c = __shfl_sync(ck::kFullMask, rescue_c ? 1 : 0, r) != 0;
      const float again = rescued_cosine<kAccess>(
          q, static_cast<const T*>(p.candidates) + offset, rescue_q, scale_c, p.eps, p.dim, lane,
          inverse_q, given_c ? p.candidate_inverse_norms + row : nullptr);
      if (lane == r) value = again;
    }
  }
  if (masked) return -INFINITY;
  // x / 1 = x for every x.
  float logit = __fmul_rn(value, question.scale);
  if (question.temperature != 1.0f) logit = __fdiv_rn(logit, question.temperature);
  if (p.bias != nullptr) logit = __fadd_rn(logit, p.bias[question.position + k]);
  return logit;
}

// The logit of candidate k, by one warp; every lane gets it.
template <typename T, bool kCosine, int kAccess>
CK_DEVICE float score_row(const Problem& p, const Question& question, int k, int lane) {
  const T* const q = static_cast<const T*>(p.queries) + question.index * p.query_stride;
  const Candidate candidate = find_candidate(p, question, k, true);
  // A row that does not count is read as the query's: some legal row, whose result is dropped.
  const T* const c = candidate.row < 0 ? q : static_cast<const T*>(p.candidates) + candidate.offset;
  Sums sums{0.0f, 0.0f};
  float qq = 0.0f;
  CK_NO_UNROLL
  for (int start = 0; start < p.dim; start += kSegment) {
    segment_sums<T, kCosine, kAccess>(q, c, start, p.dim, lane, sums, qq);
  }
  sums.dot = ck::warp_sum(sums.dot);
  if (kCosine) {
    sums.cc = ck::warp_sum(sums.cc);
    qq = ck::warp_sum(qq);
  }
  return finish_logit<T, kCosine, kAccess>(p, question, candidate, k, sums, qq, lane, 1);
}

// Scratch of score_rows_split: the lanes' partial sums of one pass.
constexpr int kSplitTasks = 32;  // (row, segment) pairs of a pass
struct SplitScratch {
  float dot[kSplitTasks][ck::kWarp];
  float cc[kSplitTasks][ck::kWarp];
  float qq[kSplitTasks][ck::kWarp];  // by segment
};

// Whether the warps of a block share each of its `rows` rows: where rows are long, and fewer than
// the warps that would otherwise take one each.
CK_DEVICE bool splits(int dim, int rows) {
  return dim > kSegment && dim <= kSplitTasks * kSegment &&
         rows < static_cast<int>(blockDim.x / ck::kWarp);
}

// Candidates first .. end - 1 by all warps of the block, which share rows by segments, so that one
// row of a long D is in flight at once. `put(k, logit)` takes each logit. Ends after a barrier.
template <typename T, bool kCosine, int kAccess, typename Put>
CK_DEVICE void score_rows_split(const Problem& p, const Question& question, int first, int end,
                                SplitScratch& scratch, const Put& put) {
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int warps = blockDim.x / ck::kWarp;
  const int segments = (p.dim + kSegment - 1) / kSegment;
  const int rows_of_pass = kSplitTasks / segments;
  const T* const q = static_cast<const T*>(p.queries) + question.index * p.query_stride;
  for (int pass = first; pass < end; pass += rows_of_pass) {
    const int rows = min(rows_of_pass, end - pass);
    for (int task = warp; task < rows * segments; task += warps) {
      const int r = task / segments;
      const int segment = task % segments;
      const Candidate candidate = find_candidate(p, question, pass + r, true);
      const T* const c =
          candidate.row < 0 ? q : static_cast<const T*>(p.candidates) + candidate.offset;
      Sums sums{0.0f, 0.0f};
      float qq = 0.0f;
      segment_sums<T, kCosine, kAccess>(q, c, segment * kSegment, p.dim, lane, sums, qq);
      scratch.dot[task][lane] = sums.dot;
      if (kCosine) scratch.cc[task][lane] = sums.cc;
      if (kCosine && r == 0) scratch.qq[segment][lane] = qq;
    }
    if (!CK_MUTANT(scoring_split_skips_barrier)) __syncthreads();
    for (int r = warp; r < rows; r += warps) {
      Sums sums{0.0f, 0.0f};
      float qq = 0.0f;
      for (int segment = 0; segment < segments; ++segment) {
        sums.dot = __fadd_rn(sums.dot, scratch.dot[r * segments + segment][lane]);
        if (kCosine) {
          sums.cc = __fadd_rn(sums.cc, scratch.cc[r * segments + segment][lane]);
          qq = __fadd_rn(qq, scratch.qq[segment][lane]);
        }
      }
      sums.dot = ck::warp_sum(sums.dot);
      if (kCosine) {
        sums.cc = ck::warp_sum(sums.cc);
        qq = ck::warp_sum(qq);
      }
      const int k = pass + r;
      const Candidate candidate = find_candidate(p, question, k, true);
      const float logit =
          finish_logit<T, kCosine, kAccess>(p, question, candidate, k, sums, qq, lane, 1);
      if (lane == 0) put(k, logit);
    }
    if (!CK_MUTANT(scoring_split_reuses_scratch_early)) __syncthreads();
  }
}

// The query in shared memory, as f32. Ends without a barrier.
template <int kAccess, typename T>
CK_DEVICE void stage_query(const T* q, int dim, float* query) {
  for (int e = threadIdx.x * kGroup; e < dim; e += blockDim.x * kGroup) {
    *reinterpret_cast<float4*>(query + e) = load_group<kAccess>(q, e, dim);
  }
}
// Bytes of it, and the longest that is staged.
constexpr int kStagedMaxDim = 4096;
CK_HOST_DEVICE int query_bytes(int dim) {
  return (dim + kGroup - 1) / kGroup * kGroup * static_cast<int>(sizeof(float));
}

// Sum of squares of the staged query, by one warp; every lane gets it.
CK_DEVICE float query_square(const float* query, int dim, int lane) {
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float qq = 0.0f;
  CK_NO_UNROLL
  for (int start = 0; start < dim; start += kSegment) {
    float4 sum = zero;
    CK_UNROLL
    for (int u = 0; u < kSegmentSpans; ++u) {
      const int e = start + u * kSpan + lane * kGroup;
      const float4 a = e < dim ? load_shared_group(query + e) : zero;
      multiply_add(sum, a, a);
    }
    qq = __fadd_rn(qq, lane_sum(sum));
  }
  return ck::warp_sum(qq);
}

// Candidates first + warp + i * step below `end`, a row to a warp: the loads of the next 1024
// elements, of this row or the next, are under way while the sums of this one cross the warp.
// put(k, logit) takes each. Rows are grouped. Every thread of the block calls this.
//
// Did not help: twice the threads with half the registers, and logits made from sums that wait in
// shared memory until the last row (4096x1024 hot on an H200: 8.8 us, 7.9 so).
template <typename T, bool kCosine, int kAccess, typename Put>
CK_DEVICE void score_rows_ahead(const Problem& p, const Question& question, int first, int end,
                                int step, float* query, const Put& put) {
  constexpr int kSegments = 2;  // under way
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const int lane = threadIdx.x % ck::kWarp;
  const int dim = p.dim;
  const T* const q = static_cast<const T*>(p.queries) + question.index * p.query_stride;
  int k = first + threadIdx.x / ck::kWarp;
  Candidate candidate = find_candidate(p, question, k, k < end);
  float4 b[kSegments * kSegmentSpans];
  const auto load = [&](int start) {
    // A row that does not count is read as the query's: some legal row, whose result is dropped.
    const T* const row =
        candidate.row < 0 ? q : static_cast<const T*>(p.candidates) + candidate.offset;
    CK_UNROLL
    for (int u = 0; u < kSegments * kSegmentSpans; ++u) {
      const int e = start + u * kSpan + lane * kGroup;
      b[u] = e < dim ? load_group<kAccess>(row, e, dim) : zero;
    }
  };
  if (k < end) load(0);
  stage_query<kAccess>(q, dim, query);
  if (!CK_MUTANT(scoring_ahead_skips_query_barrier)) __syncthreads();
  const float qq = kCosine ? query_square(query, dim, lane) : 0.0f;
  CK_NO_UNROLL
  for (; k < end; k += step) {
    const Candidate current = candidate;
    Sums sums{0.0f, 0.0f};
    CK_NO_UNROLL
    for (int start = 0; start < dim; start += kSegments * kSegment) {
      CK_UNROLL
      for (int s = 0; s < kSegments; ++s) {
        float4 dot = zero;
        float4 cc = zero;
        CK_UNROLL
        for (int u = s * kSegmentSpans; u < (s + 1) * kSegmentSpans; ++u) {
          const int e = start + u * kSpan + lane * kGroup;
          const float4 a = e < dim ? load_shared_group(query + e) : zero;
          multiply_add(dot, a, b[u]);
          if (kCosine) multiply_add(cc, b[u], b[u]);
        }
        // A segment past the end adds +0, which changes nothing.
        sums.dot = __fadd_rn(sums.dot, lane_sum(dot));
        if (kCosine) sums.cc = __fadd_rn(sums.cc, lane_sum(cc));
      }
      if (start + kSegments * kSegment < dim) {
        load(start + kSegments * kSegment);
      } else if (k + step < end) {
        candidate = find_candidate(p, question, k + step, true);
        load(0);
      }
    }
    if (kCosine) {
      const float both = ck::warp_sums(sums.dot, sums.cc);
      sums.dot = __shfl_sync(ck::kFullMask, both, 0);
      sums.cc = __shfl_sync(ck::kFullMask, both, ck::kWarp / 2);
    } else {
      sums.dot = ck::warp_sum(sums.dot);
    }
    const float logit =
        finish_logit<T, kCosine, kAccess>(p, question, current, k, sums, qq, lane, 1);
    if (lane == 0) put(k, logit);
  }
}

// Streaming: each warp keeps a ring of slots in shared memory, which bulk copies fill with the same
// segment of two neighbouring candidates.
constexpr int kStreamRows = 2;
constexpr int kStreamSlots = 3;     // of a warp, where blocks share a multiprocessor
constexpr int kStreamMaxSlots = 6;  // where a block has it to itself
template <typename T>
struct StreamSlot {
  alignas(128) T rows[kStreamRows][kSegment];
};
constexpr int kStreamWarps = kStreamThreads / ck::kWarp;
constexpr int kStreamStep = kStreamWarps * kStreamRows;  // candidates that a block takes at once

// Shared memory of a streaming block: rings, barriers, the query.
template <typename T>
CK_HOST_DEVICE int stream_bytes(int dim, int slots) {
  return kStreamWarps * slots * static_cast<int>(sizeof(StreamSlot<T>) + sizeof(uint64_t)) +
         query_bytes(dim);
}

// Candidates first + kStreamRows * warp + i * step and the next, below `end`: two neighbours to a
// warp at a time, for throughput. A step of kStreamStep makes first .. end - 1 the block's own.
// Copies run slots - 1 segments ahead whatever the warps are doing, and take neither registers nor
// load instructions: with cp.async, or with loads into registers, the load/store pipe was the limit
// (65536x1024: 72.5 and 81.8 us on an H200). The logits of 32 candidates are finished together, one
// a lane. Every thread of the block calls this.
template <typename T, bool kCosine, int kAccess, typename Put>
CK_DEVICE void score_rows_streamed(const Problem& p, const Question& question, int first, int end,
                                   int step, unsigned char* shared, int slots, const Put& put) {
  const int lane = threadIdx.x % ck::kWarp;
  const int warp = threadIdx.x / ck::kWarp;
  const int dim = p.dim;
  const T* const q = static_cast<const T*>(p.queries) + question.index * p.query_stride;
  StreamSlot<T>* const ring = reinterpret_cast<StreamSlot<T>*>(shared) + warp * slots;
  uint64_t* const barriers =
      reinterpret_cast<uint64_t*>(reinterpret_cast<StreamSlot<T>*>(shared) + kStreamWarps * slots);
  uint64_t* const full = barriers + warp * slots;
  float* const query = reinterpret_cast<float*>(barriers + kStreamWarps * slots);

  if (lane == 0) {
    for (int slot = 0; slot < slots; ++slot) ck::mbarrier_init(full + slot, 1);
    ck::fence_mbarrier_init();
  }
  __syncwarp();

  // Lane 0's place in the warp's work, ahead of the rest.
  int ahead_k = first + warp * kStreamRows;
  int ahead_start = 0;
  const T* rows[kStreamRows];
  const auto find_rows = [&] {
    CK_UNROLL
    for (int r = 0; r < kStreamRows; ++r) {
      const Candidate candidate = find_candidate(p, question, ahead_k + r, ahead_k + r < end);
      rows[r] = candidate.row < 0 ? q : static_cast<const T*>(p.candidates) + candidate.offset;
    }
  };
  if (lane == 0 && ahead_k < end) find_rows();
  const auto issue = [&](int slot) {
    if (lane != 0 || ahead_k >= end) return;
    const unsigned bytes = min(kSegment, dim - ahead_start) * static_cast<int>(sizeof(T));
    ck::mbarrier_arrive_expect_tx(full + slot, kStreamRows * bytes);
    CK_UNROLL
    for (int r = 0; r < kStreamRows; ++r) {
      ck::bulk_load(ring[slot].rows[r], rows[r] + ahead_start, bytes, full + slot);
    }
    ahead_start += kSegment;
    if (ahead_start < dim) return;
    ahead_start = 0;
    ahead_k += step;
    // Plain rows follow each other by their stride; the last pair may lack its second.
    if (kAccess == kPlain && ahead_k + kStreamRows <= end) {
      CK_UNROLL
      for (int r = 0; r < kStreamRows; ++r) rows[r] += step * p.candidate_stride;
    } else if (ahead_k < end) {
      find_rows();
    }
  };
  for (int slot = 0; slot < slots - 1; ++slot) issue(slot);

  stage_query<kAccess>(q, dim, query);
  if (!CK_MUTANT(scoring_stream_skips_query_barrier)) __syncthreads();
  const float qq = kCosine ? query_square(query, dim, lane) : 0.0f;

  int slot = 0;
  unsigned parity = 0;
  int held = 0;  // candidates whose sums wait in lanes 0 .. held - 1
  Sums mine{0.0f, 0.0f};
  int my_k = end;
  CK_NO_UNROLL
  for (int k = first + warp * kStreamRows; k < end; k += step) {
    Sums sums[kStreamRows] = {};
    CK_NO_UNROLL
    for (int start = 0; start < dim; start += kSegment) {
      // The slot that every lane has left since the last __syncwarp.
      issue(slot == 0 ? slots - 1 : slot - 1);
      if (!CK_MUTANT(scoring_stream_skips_full_wait)) ck::mbarrier_wait(full + slot, parity);
      const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      float4 dot[kStreamRows];
      float4 cc[kStreamRows];
      CK_UNROLL
      for (int r = 0; r < kStreamRows; ++r) {
        dot[r] = zero;
        cc[r] = zero;
      }
      CK_UNROLL
      for (int u = 0; u < kSegmentSpans; ++u) {
        const int at = u * kSpan + lane * kGroup;
        if (start + at < dim) {
          const float4 a = load_shared_group(query + start + at);
          CK_UNROLL
          for (int r = 0; r < kStreamRows; ++r) {
            const float4 b = load_shared_group(ring[slot].rows[r] + at);
            multiply_add(dot[r], a, b);
            if (kCosine) multiply_add(cc[r], b, b);
          }
        }
      }
      CK_UNROLL
      for (int r = 0; r < kStreamRows; ++r) {
        sums[r].dot = __fadd_rn(sums[r].dot, lane_sum(dot[r]));
        if (kCosine) sums[r].cc = __fadd_rn(sums[r].cc, lane_sum(cc[r]));
      }
      if (!CK_MUTANT(scoring_stream_skips_reuse_sync)) __syncwarp();
      if (++slot == slots) {
        slot = 0;
        parity ^= 1;
      }
    }
    // The sums, each to the lane that will finish its candidate.
    if constexpr (kStreamRows == 1) {
      const float all =
          kCosine ? ck::warp_sums(sums[0].dot, sums[0].cc) : ck::warp_sum(sums[0].dot);
      sums[0].dot = all;
      if (kCosine) {
        sums[0].dot = __shfl_sync(ck::kFullMask, all, 0);
        sums[0].cc = __shfl_sync(ck::kFullMask, all, ck::kWarp / 2);
      }
    } else if (kCosine) {
      const float all = ck::warp_sums(sums[0].dot, sums[0].cc, sums[kStreamRows - 1].dot,
                                      sums[kStreamRows - 1].cc);
      const int from = lane - held == 1 ? 2 * ck::kWarp / 4 : 0;
      const float dot = __shfl_sync(ck::kFullMask, all, from);
      const float cc = __shfl_sync(ck::kFullMask, all, from + ck::kWarp / 4);
      sums[0] = Sums{dot, cc};
    } else {
      const float all = ck::warp_sums(sums[0].dot, sums[kStreamRows - 1].dot);
      sums[0].dot = __shfl_sync(ck::kFullMask, all, lane - held == 1 ? ck::kWarp / 2 : 0);
    }
    if (lane >= held && lane < held + kStreamRows && k + lane - held < end) {
      mine = sums[0];
      my_k = k + lane - held;
    }
    held += kStreamRows;
    if (held == ck::kWarp || k + step >= end) {
      const bool exists = lane < held && my_k < end;
      const Candidate candidate = find_candidate(p, question, my_k, exists);
      const float logit =
          finish_logit<T, kCosine, kAccess>(p, question, candidate, my_k, mine, qq, lane, held);
      if (exists) put(my_k, logit);
      held = 0;
      my_k = end;
    }
  }
}

}  // namespace scoring
