// Mamba-2's decode step: a warp takes rows of N state elements, four rows a time.
//
// Time is that of reading and writing the state once. A row's sum over n needs five exchanges
// between 32 lanes; four rows at once need six in all, because each step halves the values that a
// lane carries (tree.cuh's warp_sums). Lane groups that then hold different rows' sums finish one
// row each: D, z and y. Whatever a warp reads it asks for at once, before it computes: state, B and
// C, and each row's x, z and D.
//
// On an H200, 128 heads of 64 x 128, 64 sequences, 137 us, of which 129 are the bytes'. A warp's
// rows read turn by turn 139.5; eight rows a warp, all held at once 145; blocks of 128 threads 138,
// of 256 155; through rings of bulk copies in shared memory, with two blocks of eight warps a
// multiprocessor and two, three or four units a warp under way, 159 to 185 (a warp then waits for
// its unit's own chain of loads; there are too few warps to hide it); 64 registers and more warps
// 143 to 155; the state asked for ahead of the programmatic launch's wait, one sequence of 80
// heads, 4.3 us in place of 3.9; plain or L2 hints in place of streaming ones 5 % more for one
// sequence.
#pragma once

#include <ck/math.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>
#include <ck/platform.cuh>
#include <ck/tree.cuh>
#include <ck/types.cuh>

#include "mamba2_scan.h"

namespace mamba2_scan {

// m2_state_update_params, checked and with its defaults filled in. Passed to the kernel by value.
struct Update {
  void* state;
  const int32_t* slots_in;
  const int32_t* slots_out;
  const void* x;
  const void* dt;
  const float* a;
  const float* dt_bias;
  const void* b;
  const void* c;
  const float* d;
  const void* z;
  void* y;
  uint32_t* status;
  int64_t slot_stride;
  int64_t x_stride;
  int64_t dt_stride;
  int64_t b_stride;
  int64_t c_stride;
  int64_t z_stride;
  int64_t y_stride;
  int slots;
  int heads;
  int heads_of_group;
  int head_dim;
  int state_dim;
  int rows_of_unit;
  int units_of_head;
  float dt_min;
  float dt_max;
  bool dt_is_bf16;
  bool decay_is_log;
  bool softplus;
  bool clamp;
  bool dt_per_channel;
  bool d_per_channel;
};

constexpr int kUpdateThreads = 64;  // of a block
constexpr int kQuad = 4;            // consecutive elements of a lane
constexpr int kRows = 4;            // rows of a lane group that are under way at once

// Four consecutive elements, read or written at once.
template <typename T>
struct alignas(kQuad * sizeof(T)) Quad {
  T value[kQuad];
};

template <typename T>
CK_DEVICE void widen(const Quad<T>& quad, float* out) {
  CK_UNROLL
  for (int j = 0; j < kQuad; ++j) out[j] = ck::to_f32(quad.value[j]);
}

// The vector types that memory.cuh's loads and stores take.
template <int kBytes>
struct Word;
template <>
struct Word<16> {
  using type = uint4;
};
template <>
struct Word<8> {
  using type = uint2;
};

template <typename T>
CK_DEVICE Quad<T> load_state(const T* p) {
  using W = typename Word<sizeof(Quad<T>)>::type;
  const W word = ck::load_stream(reinterpret_cast<const W*>(p));
  Quad<T> quad;
  __builtin_memcpy(&quad, &word, sizeof(quad));
  return quad;
}

template <typename T>
CK_DEVICE void store_state(T* p, const float* values) {
  using W = typename Word<sizeof(Quad<T>)>::type;
  Quad<T> quad;
  CK_UNROLL
  for (int j = 0; j < kQuad; ++j) quad.value[j] = ck::from_f32<T>(values[j]);
  W word;
  __builtin_memcpy(&word, &quad, sizeof(word));
  ck::store_stream(reinterpret_cast<W*>(p), word);
}

CK_DEVICE void report(uint32_t* status, uint32_t cause, int sequence) {
  if (status == nullptr) return;
  const uint32_t at = sequence < 0xffffff ? sequence : 0xffffff;
  atomicCAS(status, 0u, cause << 24 | at);
}

// What a block works on: rows of one head of one sequence.
struct Place {
  int64_t slot_in;  // negative: zero start
  int64_t slot_out;
  int sequence;
  int head;
  int group;
  int first_row;
  int end_row;
};

// Unit `unit` of the call; `reports` in one thread of those that open it.
CK_DEVICE Place open_place(const Update& u, unsigned unit, bool reports) {
  Place place;
  const unsigned whole = unit / u.units_of_head;
  const int part = static_cast<int>(unit % u.units_of_head);
  place.sequence = static_cast<int>(whole / u.heads);
  place.head = static_cast<int>(whole % u.heads);
  place.group = CK_MUTANT(m2_group_modulo) ? place.head % (u.heads / u.heads_of_group)
                                           : place.head / u.heads_of_group;
  place.first_row = part * u.rows_of_unit;
  place.end_row = min(place.first_row + u.rows_of_unit, u.head_dim);
  place.slot_in = u.slots_in != nullptr ? u.slots_in[place.sequence] : place.sequence;
  place.slot_out = u.slots_out != nullptr ? u.slots_out[place.sequence] : place.slot_in;
  reports = reports && part == 0 && place.head == 0;
  if (place.slot_in >= u.slots) {
    if (reports) report(u.status, M2_DEVICE_BAD_SLOT_IN, place.sequence);
    place.slot_in = -1;
  }
  if (place.slot_out >= u.slots) {
    // A slot in that is also the slot out is reported once.
    if (reports) report(u.status, M2_DEVICE_BAD_SLOT_OUT, place.sequence);
    place.slot_out = -1;
  }
  if (CK_MUTANT(m2_pad_is_slot_zero)) {
    place.slot_in = place.slot_in < 0 ? 0 : place.slot_in;
    place.slot_out = place.slot_out < 0 ? 0 : place.slot_out;
  }
  return place;
}

// What a row needs beside its state: read at once, used when the state is there.
struct Row {
  float dt;
  float x;
  float z;
  float direct;  // D
};

template <typename Io>
CK_DEVICE Row load_row(const Update& u, const Place& place, int row) {
  const int64_t channel = place.head * static_cast<int64_t>(u.head_dim) + row;
  const int64_t at_dt = place.sequence * u.dt_stride + (u.dt_per_channel ? channel : place.head);
  Row loaded;
  loaded.dt = u.dt_is_bf16 ? ck::to_f32(static_cast<const ck::bf16*>(u.dt)[at_dt])
                           : static_cast<const float*>(u.dt)[at_dt];
  loaded.x = ck::to_f32(static_cast<const Io*>(u.x)[place.sequence * u.x_stride + channel]);
  loaded.z = 0.0f;
  if (u.z != nullptr) {
    loaded.z = ck::to_f32(static_cast<const Io*>(u.z)[place.sequence * u.z_stride + channel]);
  }
  loaded.direct = 0.0f;
  if (u.d != nullptr) loaded.direct = u.d[u.d_per_channel ? channel : place.head];
  return loaded;
}

// The step d of a row, and the decay that it makes.
struct Step {
  float d;
  float e;
};

CK_DEVICE Step open_step(const Update& u, float dt, float a, float bias) {
  Step step;
  float d = dt;
  if (u.dt_bias != nullptr) d = __fadd_rn(d, bias);
  const bool early = CK_MUTANT(m2_clamp_before_softplus);
  if (u.clamp && early) d = fminf(fmaxf(d, u.dt_min), u.dt_max);
  if (u.softplus) d = ck::softplus(d);
  if (u.clamp && !early) {
    d = d < u.dt_min ? u.dt_min : d;
    d = d > u.dt_max ? u.dt_max : d;
  }
  step.d = d;
  step.e = ck::exp(__fmul_rn(u.decay_is_log ? -ck::exp(a) : a, d));
  return step;
}

// From the sum over n to y.
template <typename Io>
CK_DEVICE Io finish_row(const Update& u, const Row& row, float sum) {
  float y = sum;
  const float direct = __fmul_rn(row.direct, row.x);
  const bool late = CK_MUTANT(m2_direct_term_after_gate);
  if (u.d != nullptr && !late) y = __fadd_rn(y, direct);
  if (u.z != nullptr) y = __fmul_rn(y, ck::silu(row.z));
  if (u.d != nullptr && late) y = __fadd_rn(y, direct);
  return ck::from_f32<Io>(y);
}

CK_DEVICE float bias_of_head(const Update& u, int head) {
  return u.dt_bias != nullptr ? u.dt_bias[head] : 0.0f;
}

template <typename Io>
CK_DEVICE Io* y_row(const Update& u, const Place& place) {
  return static_cast<Io*>(u.y) + place.sequence * u.y_stride +
         place.head * static_cast<int64_t>(u.head_dim);
}

// Nothing of a pad is read: its y is zero. By `threads` threads, this one being `thread`.
template <typename Io>
CK_DEVICE bool pad_done(const Update& u, const Place& place, int thread, int threads) {
  if (place.slot_in >= 0 || place.slot_out >= 0) return false;
  Io* const y = y_row<Io>(u, place);
  for (int row = place.first_row + thread; row < place.end_row; row += threads) {
    y[row] = ck::from_f32<Io>(0.0f);
  }
  return true;
}

// The new state of one element, and its term of the sum.
template <typename State>
CK_DEVICE float step_element(float s, float e, float dx, float b, float c, float* sum) {
  const float next = __fadd_rn(__fmul_rn(s, e), __fmul_rn(dx, b));
  const float seen =
      CK_MUTANT(m2_output_reads_rounded_state) ? ck::to_f32(ck::from_f32<State>(next)) : next;
  *sum = __fmaf_rn(seen, c, *sum);
  return next;
}

// How kLanes lanes share a row, kQuads groups of four elements each.
template <int kLanes, int kQuads>
struct Lanes {
  static constexpr int kParts = ck::kWarp / kLanes;  // rows that a warp has side by side
  static constexpr int kTurn = kRows * kParts;       // rows of a warp's turn
  int lane_of_row;
  int part;
  int quarter;  // which of the part's rows of a turn this lane finishes
};

template <int kLanes, int kQuads>
CK_DEVICE Lanes<kLanes, kQuads> this_lane() {
  const int lane = threadIdx.x % ck::kWarp;
  return Lanes<kLanes, kQuads>{lane % kLanes, lane / kLanes, lane % kLanes / (kLanes / kRows)};
}

// The element that the lane's group q begins with.
template <int kLanes, int kQuads>
CK_DEVICE int element_of(const Lanes<kLanes, kQuads>& lanes, int q) {
  return (q * kLanes + lanes.lane_of_row) * kQuad;
}

// A lane's elements of the rows of B and C.
template <int kQuads>
struct Inputs {
  float b[kQuads][kQuad];
  float c[kQuads][kQuad];
};

template <typename Io, int kLanes, int kQuads>
CK_DEVICE Inputs<kQuads> load_inputs(const Update& u, const Place& place,
                                     const Lanes<kLanes, kQuads>& lanes) {
  Inputs<kQuads> inputs;
  const Io* const b = static_cast<const Io*>(u.b) + place.sequence * u.b_stride +
                      static_cast<int64_t>(place.group) * u.state_dim;
  const Io* const c = static_cast<const Io*>(u.c) + place.sequence * u.c_stride +
                      static_cast<int64_t>(place.group) * u.state_dim;
  CK_UNROLL
  for (int q = 0; q < kQuads; ++q) {
    const int at = element_of(lanes, q);
    Quad<Io> quad_b{};
    Quad<Io> quad_c{};
    if (at < u.state_dim) {
      quad_b = *reinterpret_cast<const Quad<Io>*>(b + at);
      quad_c = *reinterpret_cast<const Quad<Io>*>(c + at);
    }
    widen(quad_b, inputs.b[q]);
    widen(quad_c, inputs.c[q]);
  }
  return inputs;
}

// The state of a head in a slot.
template <typename State>
CK_DEVICE State* head_state(const Update& u, const Place& place, int64_t slot) {
  return static_cast<State*>(u.state) + slot * u.slot_stride +
         place.head * static_cast<int64_t>(u.head_dim) * u.state_dim;
}

// A warp's turn: rows row0 .. row0 + kTurn - 1, of which a lane holds row0 + part + i * kParts.
// `step` and `own` are of the row that the lane finishes.
template <typename State, typename Io, int kLanes, int kQuads>
CK_DEVICE void take_turn(const Update& u, const Place& place, const Lanes<kLanes, kQuads>& lanes,
                         const Inputs<kQuads>& inputs, const Step& step, const Row& own, int row0,
                         const Quad<State> (&held)[kRows][kQuads]) {
  constexpr int kParts = Lanes<kLanes, kQuads>::kParts;
  const int n = u.state_dim;
  State* const to = head_state<State>(u, place, place.slot_out);
  const float own_dx = __fmul_rn(step.d, own.x);
  float sums[kRows];
  CK_UNROLL
  for (int i = 0; i < kRows; ++i) {
    // What is of a row comes from the lane that finishes it.
    const int source = lanes.part * kLanes + i * (kLanes / kRows);
    const float dx = __shfl_sync(ck::kFullMask, own_dx, source);
    const float e = u.dt_per_channel ? __shfl_sync(ck::kFullMask, step.e, source) : step.e;
    const int row = row0 + lanes.part + i * kParts;
    float sum[kQuad] = {0.0f, 0.0f, 0.0f, 0.0f};
    CK_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      const int at = element_of(lanes, q);
      float s[kQuad];
      widen(held[i][q], s);
      if (at < n) {
        CK_UNROLL
        for (int j = 0; j < kQuad; ++j) {
          s[j] = step_element<State>(s[j], e, dx, inputs.b[q][j], inputs.c[q][j], &sum[j]);
        }
        if (row < place.end_row && place.slot_out >= 0) {
          store_state(to + static_cast<int64_t>(row) * n + at, s);
        }
      }
    }
    sums[i] = __fadd_rn(__fadd_rn(sum[0], sum[1]), __fadd_rn(sum[2], sum[3]));
  }
  float sum = ck::warp_pair_step(ck::warp_pair_step(sums[0], sums[2], kLanes / 2),
                                 ck::warp_pair_step(sums[1], sums[3], kLanes / 2), kLanes / 4);
  CK_UNROLL
  for (int away = kLanes / 8; away > 0; away /= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(ck::kFullMask, sum, away));
  }
  const int own_row = row0 + lanes.part + lanes.quarter * kParts;
  if (lanes.lane_of_row % (kLanes / kRows) == 0 && own_row < place.end_row) {
    y_row<Io>(u, place)[own_row] = finish_row<Io>(u, own, sum);
  }
}

// A turn a warp. kLanes is 16 or 32, N <= 4 * kLanes * kQuads, and every address is a multiple of
// four elements.
template <typename State, typename Io, int kLanes, int kQuads>
CK_KERNEL_BLOCKS(kUpdateThreads, (kQuads == 1 ? 0 : 4))
state_update(const Update u) {
  using Shape = Lanes<kLanes, kQuads>;
  const Shape lanes = this_lane<kLanes, kQuads>();
  ck::dependency_wait();
  const Place place = open_place(u, blockIdx.x, threadIdx.x == 0);
  if (pad_done<Io>(u, place, threadIdx.x, kUpdateThreads)) return;
  const State* const from = head_state<State>(u, place, place.slot_in);
  const int row0 = place.first_row + static_cast<int>(threadIdx.x) / ck::kWarp * Shape::kTurn;
  if (row0 >= place.end_row) return;
  Quad<State> held[kRows][kQuads];
  CK_UNROLL
  for (int i = 0; i < kRows; ++i) {
    const int row = row0 + lanes.part + i * Shape::kParts;
    CK_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      const int at = element_of(lanes, q);
      held[i][q] = Quad<State>{};
      if (row < place.end_row && at < u.state_dim && place.slot_in >= 0) {
        held[i][q] = load_state(from + static_cast<int64_t>(row) * u.state_dim + at);
      }
    }
  }
  const int own_row = row0 + lanes.part + lanes.quarter * Shape::kParts;
  const Row own = load_row<Io>(u, place, min(own_row, place.end_row - 1));
  const float a = u.a[place.head];
  const float bias = bias_of_head(u, place.head);
  const Inputs<kQuads> inputs = load_inputs<Io>(u, place, lanes);
  const Step step = open_step(u, own.dt, a, bias);
  take_turn<State, Io>(u, place, lanes, inputs, step, own, row0, held);
}

// Lanes of a row: the least power of two whose groups of four reach N, at most a warp.
CK_HOST_DEVICE int lanes_of_row(int n) {
  int lanes = 1;
  while (lanes < ck::kWarp && lanes * kQuad < n) lanes *= 2;
  return lanes;
}

// Any N, any address: element by element.
template <typename State, typename Io>
CK_KERNEL(kUpdateThreads)
state_update_single(const Update u) {
  const int lanes = lanes_of_row(u.state_dim);
  const int parts = ck::kWarp / lanes;
  const int lane = threadIdx.x % ck::kWarp;
  const int lane_of_row = lane % lanes;
  ck::dependency_wait();
  const Place place = open_place(u, blockIdx.x, threadIdx.x == 0);
  if (pad_done<Io>(u, place, threadIdx.x, blockDim.x)) return;
  const int n = u.state_dim;
  const int64_t head_offset = place.head * static_cast<int64_t>(u.head_dim) * n;
  State* const pool = static_cast<State*>(u.state);
  const Io* const b = static_cast<const Io*>(u.b) + place.sequence * u.b_stride +
                      static_cast<int64_t>(place.group) * n;
  const Io* const c = static_cast<const Io*>(u.c) + place.sequence * u.c_stride +
                      static_cast<int64_t>(place.group) * n;
  const int stride = static_cast<int>(blockDim.x) / ck::kWarp * parts;
  // All lanes of a warp stay in the loop together: the butterfly needs them.
  for (int row0 = place.first_row + static_cast<int>(threadIdx.x) / ck::kWarp * parts;
       row0 < place.end_row; row0 += stride) {
    const int own_row = row0 + lane / lanes;
    const bool real = own_row < place.end_row;
    const int row = real ? own_row : place.end_row - 1;
    const Row own = load_row<Io>(u, place, row);
    const Step step = open_step(u, own.dt, u.a[place.head], bias_of_head(u, place.head));
    const float dx = __fmul_rn(step.d, own.x);
    const int64_t row_offset = head_offset + static_cast<int64_t>(row) * n;
    float sum[kQuad] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int at = lane_of_row * kQuad; at < n; at += lanes * kQuad) {
      CK_UNROLL
      for (int j = 0; j < kQuad; ++j) {
        if (at + j >= n) continue;
        const float s = real && place.slot_in >= 0
                            ? ck::to_f32(pool[place.slot_in * u.slot_stride + row_offset + at + j])
                            : 0.0f;
        const float next = step_element<State>(s, step.e, dx, ck::to_f32(b[at + j]),
                                               ck::to_f32(c[at + j]), &sum[j]);
        if (real && place.slot_out >= 0) {
          pool[place.slot_out * u.slot_stride + row_offset + at + j] = ck::from_f32<State>(next);
        }
      }
    }
    float total = __fadd_rn(__fadd_rn(sum[0], sum[1]), __fadd_rn(sum[2], sum[3]));
    for (int away = lanes / 2; away > 0; away /= 2) {
      total = __fadd_rn(total, __shfl_xor_sync(ck::kFullMask, total, away));
    }
    if (lane_of_row == 0 && real) {
      y_row<Io>(u, place)[row] = finish_row<Io>(u, own, total);
    }
  }
}

}  // namespace mamba2_scan
