// What a kernel of this crate is told, and what a sequence, a gate and a norm look like on the device.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>
#include <ck/types.cuh>

#include "gdn_scan.h"

namespace gdn {

// A division by a number that the host knows: a multiplication on the device, where a real division
// is forty instructions that everything else of a step waits for. For dividends below 2^31.
struct Divisor {
  uint32_t magic;
  uint32_t shift;
};

inline Divisor divisor_of(uint32_t value) {
  uint32_t log = 0;
  while (uint64_t{1} << log < value) ++log;
  const uint64_t magic = (uint64_t{1} << (31 + log)) / value + 1;
  return Divisor{static_cast<uint32_t>(magic), 31 + log};
}

CK_DEVICE uint32_t divide(uint32_t dividend, Divisor by) {
  return static_cast<uint32_t>(static_cast<uint64_t>(dividend) * by.magic >> by.shift);
}

// gdn_scan_params, checked and with its defaults filled in. Passed to kernels by value.
struct Problem {
  void* state;
  const void* source;  // where states are read: state_source, or state itself
  const int32_t* slots_in;
  const int32_t* slots_out;
  const int32_t* cu_seqlens;
  const void* q;
  const void* k;
  const void* v;
  const void* g;
  const void* beta;
  const float* a_log;
  const float* dt_bias;
  void* out;
  void* snapshots;
  uint32_t* status;
  int64_t slots;
  int64_t slot_stride;
  int64_t q_stride;
  int64_t k_stride;
  int64_t v_stride;
  int64_t out_stride;
  int64_t g_stride;
  int64_t beta_stride;
  int64_t total_t;
  int64_t snapshot_count;
  Divisor by_value_heads;
  Divisor by_group;  // grouped heads: HV / H; tiled ones: H
  int sequences;
  int key_heads;
  int value_heads;
  int key_dim;
  int value_dim;
  int max_t;
  int dtype;
  int layout;
  int head_map;
  int decay_form;
  int beta_form;
  int norm;
  int key_decay;
  float scale;
  float norm_eps;
};

// Element `at` of an array of q's type: its bits first, its value apart from them. A conversion next
// to its load would wait for it there, inside the branch, and every load behind would begin late: that
// cost 1.3 of 5.7 us of a single step.
CK_DEVICE uint32_t load_bits(const void* array, int64_t at, int dtype) {
  if (dtype == GDN_F32) return static_cast<const uint32_t*>(array)[at];
  return static_cast<const uint16_t*>(array)[at];
}

CK_DEVICE float value_of(uint32_t bits, int dtype) {
  if (dtype == GDN_F32) return __uint_as_float(bits);
  const uint16_t half = static_cast<uint16_t>(bits);
  return dtype == GDN_BF16 ? ck::to_f32(ck::bf16{half}) : ck::to_f32(ck::f16{half});
}

CK_DEVICE void store_out(const Problem& p, int64_t at, float x) {
  if (p.dtype == GDN_BF16) {
    static_cast<ck::bf16*>(p.out)[at] = ck::from_f32<ck::bf16>(x);
  } else if (p.dtype == GDN_F16) {
    static_cast<ck::f16*>(p.out)[at] = ck::from_f32<ck::f16>(x);
  } else {
    static_cast<float*>(p.out)[at] = x;
  }
}

// The state as it is kept: what the next token reads.
template <typename S>
CK_DEVICE float as_kept(float x) {
  return CK_MUTANT(state_not_rounded) ? x : ck::to_f32(ck::from_f32<S>(x));
}

// The first bad device value stays; later ones find the word taken.
CK_DEVICE void report(const Problem& p, uint32_t cause, int sequence) {
  if (p.status == nullptr) return;
  const uint32_t at = sequence < 0xffffff ? sequence : 0xffffff;
  atomicCAS(p.status, 0u, cause << 24 | at);
}

struct Sequence {
  int index;
  int tokens;     // T_i
  int64_t first;  // row of its token 0
  int64_t in;     // slot it starts from; < 0: from zeros
  int64_t out;    // slot it leaves its state in; < 0: none
  bool pad;
};

// kOneToken: of a step, which has no offsets.
template <bool kOneToken = false>
CK_DEVICE Sequence open_sequence(const Problem& p, int index, bool reports) {
  Sequence s;
  s.index = index;
  s.tokens = kOneToken ? 1 : p.max_t;
  s.first = kOneToken ? index : static_cast<int64_t>(index) * p.max_t;
  if (!kOneToken && p.cu_seqlens != nullptr) {
    const int64_t first = p.cu_seqlens[index];
    const int64_t last = p.cu_seqlens[index + 1];
    s.first = first;
    s.tokens = static_cast<int>(last - first);
    const bool decrease = !CK_MUTANT(decreasing_offsets_pass) && last < first;
    const bool too_many = !CK_MUTANT(max_t_unchecked) && last - first > p.max_t;
    if (first < 0 || last > p.total_t || decrease || too_many) {
      s.first = 0;
      s.tokens = 0;
      if (reports) report(p, GDN_DEVICE_BAD_OFFSETS, index);
    }
  }
  s.in = p.slots_in != nullptr ? p.slots_in[index] : index;
  s.out = p.slots_out != nullptr ? p.slots_out[index] : s.in;
  if (s.in >= p.slots || s.out >= p.slots) {
    s.in = CK_MUTANT(bad_slot_is_slot_0) ? 0 : -1;
    s.out = s.in;
    if (reports) report(p, GDN_DEVICE_BAD_SLOT, index);
  }
  // A pad is marked by a negative slot; slot 0 is alive.
  s.pad = CK_MUTANT(slot_0_is_a_pad) ? s.in <= 0 && s.out <= 0 : s.in < 0 && s.out < 0;
  return s;
}

// Whether the last state has to be written: not where it is already there.
CK_DEVICE bool stores_state(const Problem& p, const Sequence& s) {
  return s.out >= 0 && (s.tokens > 0 || s.in != s.out || p.source != p.state);
}

CK_DEVICE int key_head_of(const Problem& p, int head) {
  const int quotient = static_cast<int>(divide(static_cast<uint32_t>(head), p.by_group));
  const bool tiled = CK_MUTANT(head_map_swapped) ? p.head_map != GDN_TILED : p.head_map == GDN_TILED;
  return tiled ? head - quotient * p.key_heads : quotient;
}

// Elements from the start of a pool to the state of `head` in `slot`. 64 bits: pools pass 2^31.
CK_DEVICE int64_t state_offset(const Problem& p, int64_t slot, int head) {
  const int64_t size = p.key_dim * p.value_dim;
  if (CK_MUTANT(slot_stride_packed)) return (slot * p.value_heads + head) * size;
  return slot * p.slot_stride + head * size;
}

// Elements from the start of snapshots to the state of `head` after token t, or -1: not kept.
CK_DEVICE int64_t snapshot_offset(const Problem& p, const Sequence& s, int t, int head) {
  const int64_t size = p.key_dim * p.value_dim;
  if (p.snapshots == nullptr) return -1;
  if (p.snapshot_count == 0) return ((s.first + t) * p.value_heads + head) * size;
  const int64_t dropped = s.tokens > p.snapshot_count ? s.tokens - p.snapshot_count : 0;
  if (t < dropped) return -1;
  // By the call's own order of sequences, whatever their slots.
  const int64_t sequence = CK_MUTANT(snapshot_by_slot) ? s.in % p.sequences : s.index;
  return ((sequence * p.snapshot_count + (CK_MUTANT(snapshot_first) ? t : t - dropped)) *
              p.value_heads +
          head) *
         size;
}

// The raw gates of a token and head.
struct DecayGate {
  uint32_t g;
  float a_log;
  float dt_bias;
};

// Elements from the start of g to a token's first decay of a head.
CK_DEVICE int64_t decay_offset(const Problem& p, int64_t token, int head) {
  return token * p.g_stride + (p.key_decay ? static_cast<int64_t>(head) * p.key_dim : head);
}

// The decay of a head's key r, which counts with a decay per key alone, from its decay_offset.
CK_DEVICE DecayGate load_decay(const Problem& p, int64_t offset, int head, int r) {
  const int64_t each = p.key_decay ? static_cast<int64_t>(head) * p.key_dim + r : head;
  const int64_t at = offset + (p.key_decay ? r : 0);
  if (p.decay_form != GDN_DECAY_GATE) return DecayGate{load_bits(p.g, at, GDN_F32), 0.0f, 0.0f};
  return DecayGate{load_bits(p.g, at, p.dtype), p.a_log[head], p.dt_bias[each]};
}

CK_DEVICE float decay_of(const Problem& p, const DecayGate& gate) {
  if (p.decay_form == GDN_DECAY_LINEAR) return __uint_as_float(gate.g);
  if (p.decay_form == GDN_DECAY_LOG) return ck::exp(__uint_as_float(gate.g));
  const float x = __fadd_rn(value_of(gate.g, p.dtype), gate.dt_bias);
  return ck::exp_nonpositive(-__fmul_rn(ck::exp(gate.a_log), ck::softplus(x)));
}

CK_DEVICE int64_t beta_offset(const Problem& p, int64_t token, int head) {
  return token * p.beta_stride + head;
}

CK_DEVICE uint32_t load_beta(const Problem& p, int64_t at) {
  return load_bits(p.beta, at, p.beta_form == GDN_BETA_GIVEN ? GDN_F32 : p.dtype);
}

CK_DEVICE float beta_of(const Problem& p, uint32_t b) {
  if (p.beta_form == GDN_BETA_GIVEN) return __uint_as_float(b);
  const float gate = ck::sigmoid(value_of(b, p.dtype));
  return p.beta_form == GDN_BETA_TWICE_SIGMOID ? __fmul_rn(2.0f, gate) : gate;
}

// The factor of the norm, from a vector's sum of squares. 1 without a norm: a product with it is
// the other factor, so that no caller has to ask.
CK_DEVICE float norm_factor(const Problem& p, float sum) {
  if (p.norm == GDN_NORM_NONE) return 1.0f;
  if (p.norm == GDN_NORM_EPS_OUTSIDE) {
    return __fdiv_rn(1.0f, __fadd_rn(__fsqrt_rn(sum), p.norm_eps));
  }
  return __frsqrt_rn(__fadd_rn(sum, p.norm_eps));
}

CK_DEVICE int64_t q_offset(const Problem& p, int64_t token, int head) {
  return token * p.q_stride + static_cast<int64_t>(key_head_of(p, head)) * p.key_dim;
}
CK_DEVICE int64_t k_offset(const Problem& p, int64_t token, int head) {
  return token * p.k_stride + static_cast<int64_t>(key_head_of(p, head)) * p.key_dim;
}
CK_DEVICE int64_t v_offset(const Problem& p, int64_t token, int head) {
  return token * p.v_stride + static_cast<int64_t>(head) * p.value_dim;
}
CK_DEVICE int64_t out_offset(const Problem& p, int64_t token, int head) {
  return token * p.out_stride + static_cast<int64_t>(head) * p.value_dim;
}

}  // namespace gdn
