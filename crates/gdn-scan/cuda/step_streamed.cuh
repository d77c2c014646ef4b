// GDN_PATH_STREAMED: one token, for batches that memory bounds. A block has a head, whose state
// comes by bulk copies, in two parts so that the first sum begins while later rows arrive. A thread
// owns a 32-bit word of each row: one column of f32, two of a 16-bit type.
//
// Tried on an H200; us, 16/32 heads of 128x128, bf16 q k v o, cold, B = 8 / 64 / 256, f32 then bf16
// state:
//   conversions beside loads                           17.9 / 102.6 / 375   14.4 / 65.4 / 241
//   states stored evict-first                          17.7 /  92.1 / 347   11.7 / 56.1 / 216
//   bits loaded first                                  16.3 /  73.5 / 275    9.3 / 45.5 / 143
//   norms and gates by a warp each, 2 parts            14.1 /  70.5 / 272    8.9 / 38.9 / 139
//   f32: no more than two blocks a multiprocessor      10.5 /  69.9 / 269
// The last: at B = 8 two blocks would do and three fit, and where the next kernel's blocks start
// early, some multiprocessors got three. One block each is worse (12.5 / 80 / 312), and so is any
// such bound with 16-bit states.
// No help: 8 parts (up to 7 % worse with 16-bit states) or 4; the later of 2, 4 or 8 parts asked
// for when an earlier one has come; stores by bulk copies (382 against 375 at B = 256); an
// evict-first policy on the bulk loads (286 against 275). Unrolling by 16 rows and not 8 is
// worth 1.3 of 11.1 at B = 8 from the cache, nothing else.
#pragma once

#include <ck/bulk.cuh>

#include "segments.cuh"
#include "step_token.cuh"
#include "words.cuh"

namespace gdn {

constexpr int kStreamParts = 2;

// Dynamic shared memory: the state.
CK_HOST_DEVICE unsigned streamed_bytes(int key_dim, int value_dim, int element) {
  return static_cast<unsigned>(key_dim) * static_cast<unsigned>(value_dim * element);
}

// Shared memory of a multiprocessor is 228 KiB: a block of more than a quarter asks for this much.
constexpr unsigned kQuarter = 57 * 1024;
constexpr unsigned kOverThird = 77 * 1024;

// A block has at least so many threads for each of the keys: a thread loads few elements of q.
constexpr int kKeysAThread = 4;

// Of the usual size: K = V = 128; else as the problem says.
template <typename S, int kDtype, bool kUsual>
CK_KERNEL_BLOCKS((kUsual ? 128 / kWordColumns<S> : 256), 1)
step_streamed(Problem p) {
  constexpr int kColumns = kWordColumns<S>;
  constexpr int kK = kUsual ? 128 : GDN_MAX_DIM;
  constexpr int kEach = kUsual ? kColumns : kKeysAThread;
  using Staged = StagedToken<kK, 0>;
  CK_DYNAMIC_SHARED(uint32_t, words);
  CK_SHARED(uint64_t, arrived, kStreamParts);
  CK_SHARED(Staged, staged, 1);
  p.dtype = kDtype;
  if (kUsual) {
    p.key_dim = 128;
    p.value_dim = 128;
  }
  const int thread = threadIdx.x;
  const int threads = p.value_dim / kColumns;
  const int rows = p.key_dim / kStreamParts;
  const int column = thread * kColumns;
  const int index = static_cast<int>(divide(blockIdx.x, p.by_value_heads));
  const int head = static_cast<int>(blockIdx.x) - index * p.value_heads;
  const StepToken token = locate_token(p, index, head);
  int64_t in = state_offset(p, index, head);
  int64_t out = in;
  const int64_t out_at = out_offset(p, index, head);
  // The last warp's, which the norms leave free where there are more than two.
  const bool copies = thread == threads - ck::kWarp;
  if (copies) {
    for (int part = 0; part < kStreamParts; ++part) ck::mbarrier_init(&arrived[part], 1);
    ck::fence_mbarrier_init();
  }
  // racecheck takes the barriers' initialisation for the whole warp's.
  __syncwarp();
  if (is_nowhere(token, in)) return;
  ck::dependency_wait();
  if (p.slots_in != nullptr || p.slots_out != nullptr) {
    const Sequence s = open_sequence<true>(p, index, head == 0 && thread == 0);
    if (s.pad) {
      for (int c = 0; c < kColumns; ++c) store_out(p, out_at + column + c, 0.0f);
      return;
    }
    in = s.in < 0 ? -1 : state_offset(p, s.in, head);
    out = s.out < 0 ? -1 : state_offset(p, s.out, head);
  }
  if (in >= 0) {
    if (copies) {
      const uint32_t* const source =
          reinterpret_cast<const uint32_t*>(static_cast<const S*>(p.source) + in);
      const unsigned bytes = rows * threads * sizeof(uint32_t);
      for (int part = 0; part < kStreamParts; ++part) {
        const int at = part * rows * threads;
        ck::mbarrier_arrive_expect_tx(&arrived[part], bytes);
        ck::bulk_load(words + at, source + at, bytes, &arrived[part]);
      }
    }
  } else {
    // Each thread's own words: no other thread reads them.
    for (int r = 0; r < p.key_dim; ++r) words[r * threads + thread] = 0;
  }
  uint32_t raw_v[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    raw_v[c] = load_bits(p.v, token.v + column + c, p.dtype);
  }
  // Also: the barriers are initialised.
  const auto raw = load_token<kEach>(p, token, head, threads);
  stage_token(p, token, raw, head, threads, *staged);
  if (!CK_MUTANT(stream_no_stage_barrier)) __syncthreads();
  make_scalars(p, raw, threads, *staged);
  if (!CK_MUTANT(stream_no_scalar_barrier)) __syncthreads();
  float scalars[kStepScalars];
  four(staged->scalars, scalars);
  const float alpha = scalars[kAlpha];
  if (p.norm != GDN_NORM_NONE) {
    for (int r = thread; r < p.key_dim; r += threads) {
      staged->k[r] = __fmul_rn(staged->k[r], scalars[kKeyFactor]);
      staged->q[r] = __fmul_rn(staged->q[r], scalars[kQueryFactor]);
    }
    if (!CK_MUTANT(stream_no_factor_barrier)) __syncthreads();
  }
  float sum[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) sum[c] = 0.0f;
  const uint32_t* from = words + thread;
  for (int part = 0; part < kStreamParts; ++part) {
    if (in >= 0 && !CK_MUTANT(stream_no_wait)) ck::mbarrier_wait(&arrived[part], 0);
    CK_UNROLL_BY(4)
    for (int r = part * rows; r < (part + 1) * rows; r += 4) {
      float keys[4];
      float alphas[4] = {alpha, alpha, alpha, alpha};
      four(staged->k + r, keys);
      if (p.key_decay) four(staged->decay + r, alphas);
      CK_UNROLL
      for (int j = 0; j < 4; ++j) {
        float x[kColumns];
        unpack<S>(from[j * threads], x);
        CK_UNROLL
        for (int c = 0; c < kColumns; ++c) {
          sum[c] = __fadd_rn(sum[c], __fmul_rn(__fmul_rn(alphas[j], x[c]), keys[j]));
        }
      }
      from += 4 * threads;
    }
  }
  float delta[kColumns];
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    delta[c] = __fmul_rn(scalars[kBeta], __fsub_rn(value_of(raw_v[c], p.dtype), sum[c]));
    sum[c] = 0.0f;
  }
  uint32_t* to =
      out < 0 ? nullptr : reinterpret_cast<uint32_t*>(static_cast<S*>(p.state) + out) + thread;
  from = words + thread;
  CK_UNROLL_BY(4)
  for (int r = 0; r < p.key_dim; r += 4) {
    float keys[4];
    float alphas[4] = {alpha, alpha, alpha, alpha};
    float queries[4];
    four(staged->k + r, keys);
    if (p.key_decay) four(staged->decay + r, alphas);
    four(staged->q + r, queries);
    CK_UNROLL
    for (int j = 0; j < 4; ++j) {
      float x[kColumns];
      unpack<S>(from[j * threads], x);
      CK_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        x[c] = __fadd_rn(__fmul_rn(alphas[j], x[c]), __fmul_rn(keys[j], delta[c]));
        sum[c] = __fadd_rn(sum[c], __fmul_rn(x[c], queries[j]));
      }
      if (to != nullptr) ck::store_stream(to + j * threads, pack<S>(x));
    }
    from += 4 * threads;
    if (to != nullptr) to += 4 * threads;
  }
  CK_UNROLL
  for (int c = 0; c < kColumns; ++c) store_out(p, out_at + column + c, __fmul_rn(sum[c], p.scale));
}

}  // namespace gdn
