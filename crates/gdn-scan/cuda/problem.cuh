// What a kernel of this crate is told, and what a sequence, a gate and a norm look like on the device.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>
#include <ck/types.cuh>

#include "gdn_scan.h"

namespace gdn {

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

// Element `at` of an array of q's type.
CK_DEVICE float load_io(const void* array, int64_t at, int dtype) {
  if (dtype == GDN_BF16) return ck::to_f32(static_cast<const ck::bf16*>(array)[at]);
  if (dtype == GDN_F16) return ck::to_f32(static_cast<const ck::f16*>(array)[at]);
  return static_cast<const float*>(array)[at];
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

CK_DEVICE Sequence open_sequence(const Problem& p, int index, bool reports) {
  Sequence s;
  s.index = index;
  s.tokens = p.max_t;
  s.first = static_cast<int64_t>(index) * p.max_t;
  if (p.cu_seqlens != nullptr) {
    const int64_t first = p.cu_seqlens[index];
    const int64_t last = p.cu_seqlens[index + 1];
    s.first = first;
    s.tokens = static_cast<int>(last - first);
    if (!CK_MUTANT(offsets_unchecked) &&
        (first < 0 || last < first || last > p.total_t || last - first > p.max_t)) {
      s.first = 0;
      s.tokens = 0;
      if (reports) report(p, GDN_DEVICE_BAD_OFFSETS, index);
    }
  }
  s.in = p.slots_in != nullptr ? p.slots_in[index] : index;
  s.out = p.slots_out != nullptr ? p.slots_out[index] : s.in;
  if (!CK_MUTANT(slots_unchecked) && (s.in >= p.slots || s.out >= p.slots)) {
    s.in = -1;
    s.out = -1;
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
  const bool tiled = CK_MUTANT(head_map_swapped) ? p.head_map != GDN_TILED : p.head_map == GDN_TILED;
  return tiled ? head % p.key_heads : head / (p.value_heads / p.key_heads);
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
  const int64_t sequence = CK_MUTANT(snapshot_by_slot) ? s.in : s.index;
  return ((sequence * p.snapshot_count + (CK_MUTANT(snapshot_first) ? t : t - dropped)) *
              p.value_heads +
          head) *
         size;
}

// The decay of a token, and with key_decay of its key r.
CK_DEVICE float decay_of(const Problem& p, int64_t token, int head, int r) {
  const int64_t each = p.key_decay ? static_cast<int64_t>(head) * p.key_dim + r : head;
  const int64_t at = token * p.g_stride + each;
  if (p.decay_form == GDN_DECAY_GATE) {
    const float x = __fadd_rn(load_io(p.g, at, p.dtype), p.dt_bias[each]);
    return ck::exp_nonpositive(-__fmul_rn(ck::exp(p.a_log[head]), ck::softplus(x)));
  }
  const float g = static_cast<const float*>(p.g)[at];
  return p.decay_form == GDN_DECAY_LOG ? ck::exp(g) : g;
}

CK_DEVICE float beta_of(const Problem& p, int64_t token, int head) {
  const int64_t at = token * p.beta_stride + head;
  if (p.beta_form == GDN_BETA_GIVEN) return static_cast<const float*>(p.beta)[at];
  const float gate = ck::sigmoid(load_io(p.beta, at, p.dtype));
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

CK_DEVICE float add_square(float sum, float x) { return __fadd_rn(sum, __fmul_rn(x, x)); }

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
