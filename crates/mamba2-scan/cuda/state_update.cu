// C ABI of the decode step: checks of the host arguments, the choice of a path, the launch.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "mamba2_scan.h"
#include "state_update_plan.cuh"

namespace mamba2_scan {

constexpr int64_t kLargest = INT32_MAX;

static int64_t element_bytes(int dtype) { return dtype == M2_F32 ? 4 : 2; }

static int check_update_enums(const m2_state_update_params& p) {
  if (p.state_dtype < M2_F32 || p.state_dtype > M2_F16) {
    return refuse(CK_BAD_ENUM, M2_ARG_state_dtype);
  }
  if (p.io_dtype < M2_F32 || p.io_dtype > M2_F16) return refuse(CK_BAD_ENUM, M2_ARG_io_dtype);
  if (p.io_dtype == M2_F16) return refuse(CK_UNSUPPORTED, M2_ARG_io_dtype);
  if (p.dt_dtype < M2_F32 || p.dt_dtype > M2_F16) return refuse(CK_BAD_ENUM, M2_ARG_dt_dtype);
  if (p.dt_dtype == M2_F16) return refuse(CK_UNSUPPORTED, M2_ARG_dt_dtype);
  if (p.path < M2_UPDATE_AUTO || p.path > M2_UPDATE_SINGLE) {
    return refuse(CK_BAD_ENUM, M2_ARG_path);
  }
  if (p.decay < M2_DECAY_A || p.decay > M2_DECAY_A_LOG) return refuse(CK_BAD_ENUM, M2_ARG_decay);
  return 0;
}

static int check_update_sizes(const m2_state_update_params& p) {
  if (p.batch < 0 || p.batch > kLargest) return refuse(CK_BAD_SIZE, M2_ARG_batch);
  if (p.heads < 1 || p.heads > M2_MAX_HEADS) return refuse(CK_BAD_SIZE, M2_ARG_heads);
  if (p.groups < 1 || p.heads % p.groups != 0) return refuse(CK_BAD_SIZE, M2_ARG_groups);
  if (p.head_dim < 1 || p.head_dim > M2_MAX_HEAD_DIM) return refuse(CK_BAD_SIZE, M2_ARG_head_dim);
  if (p.state_dim < 1 || p.state_dim > M2_MAX_STATE_DIM) {
    return refuse(CK_BAD_SIZE, M2_ARG_state_dim);
  }
  if (p.slots < (p.slots_in != nullptr ? 0 : p.batch) || p.slots > kLargest) {
    return refuse(CK_BAD_SIZE, M2_ARG_slots);
  }
  if (p.dt_clamp != 0) {
    if (!(p.dt_min == p.dt_min)) return refuse(CK_BAD_VALUE, M2_ARG_dt_min);
    if (!(p.dt_max >= p.dt_min)) return refuse(CK_BAD_VALUE, M2_ARG_dt_max);
  }
  const int64_t row_groups = (p.head_dim + kRows - 1) / kRows;
  if (p.batch > 0 && p.heads * row_groups > kLargest / p.batch) {
    return refuse(CK_BAD_SIZE, M2_ARG_batch);
  }
  return 0;
}

// Strides with their defaults, and every buffer where it must be.
static int settle_update(m2_state_update_params* p) {
  const int64_t channels = p->heads * p->head_dim;
  const int64_t of_groups = p->groups * p->state_dim;
  const int64_t of_slot = channels * p->state_dim;
  const int64_t of_dt = p->dt_per_channel != 0 ? channels : p->heads;
  const struct {
    int64_t* stride;
    int64_t rows;
    int64_t extent;
    int argument;
  } strides[] = {{&p->slot_stride, p->slots, of_slot, M2_ARG_slot_stride},
                 {&p->x_stride, p->batch, channels, M2_ARG_x_stride},
                 {&p->dt_stride, p->batch, of_dt, M2_ARG_dt_stride},
                 {&p->b_stride, p->batch, of_groups, M2_ARG_b_stride},
                 {&p->c_stride, p->batch, of_groups, M2_ARG_c_stride},
                 {&p->z_stride, p->batch, channels, M2_ARG_z_stride},
                 {&p->y_stride, p->batch, channels, M2_ARG_y_stride}};
  for (const auto& s : strides) {
    const int error = settle_stride(s.stride, s.rows, s.extent, s.argument);
    if (error != 0) return error;
  }
  const int64_t n = p->batch;
  const int64_t io = element_bytes(p->io_dtype);
  const int64_t state = element_bytes(p->state_dtype);
  const int64_t dt = element_bytes(p->dt_dtype);
  const int64_t d = p->d_per_channel != 0 ? channels : p->heads;
  const Extent extents[] = {
      {p->slots_in, n * 4, 4, M2_ARG_slots_in, false},
      {p->slots_out, n * 4, 4, M2_ARG_slots_out, false},
      {p->x, span(n, p->x_stride, channels) * io, io, M2_ARG_x, true},
      {p->dt, span(n, p->dt_stride, of_dt) * dt, dt, M2_ARG_dt, true},
      {p->a, p->heads * 4, 4, M2_ARG_a, true},
      {p->dt_bias, p->heads * 4, 4, M2_ARG_dt_bias, false},
      {p->b, span(n, p->b_stride, of_groups) * io, io, M2_ARG_b, true},
      {p->c, span(n, p->c_stride, of_groups) * io, io, M2_ARG_c, true},
      {p->d, d * 4, 4, M2_ARG_d, false},
      {p->z, span(n, p->z_stride, channels) * io, io, M2_ARG_z, false},
      {p->state, span(p->slots, p->slot_stride, of_slot) * state, state, M2_ARG_state, true},
      {p->y, span(n, p->y_stride, channels) * io, io, M2_ARG_y, true},
      {p->status, 4, 4, M2_ARG_status, false},
  };
  return check_extents(extents, 10);
}

static Update make_update(const m2_state_update_params& p) {
  Update u{};
  u.state = p.state;
  u.slots_in = p.slots_in;
  u.slots_out = p.slots_out;
  u.x = p.x;
  u.dt = p.dt;
  u.a = p.a;
  u.dt_bias = p.dt_bias;
  u.b = p.b;
  u.c = p.c;
  u.d = p.d;
  u.z = p.z;
  u.y = p.y;
  u.status = p.status;
  u.slot_stride = p.slot_stride;
  u.x_stride = p.x_stride;
  u.dt_stride = p.dt_stride;
  u.b_stride = p.b_stride;
  u.c_stride = p.c_stride;
  u.z_stride = p.z_stride;
  u.y_stride = p.y_stride;
  u.slots = static_cast<int>(p.slots);
  u.heads = static_cast<int>(p.heads);
  u.heads_of_group = static_cast<int>(p.heads / p.groups);
  u.head_dim = static_cast<int>(p.head_dim);
  u.state_dim = static_cast<int>(p.state_dim);
  u.dt_min = p.dt_min;
  u.dt_max = p.dt_max;
  u.dt_is_bf16 = p.dt_dtype == M2_BF16;
  u.decay_is_log = p.decay == M2_DECAY_A_LOG;
  u.softplus = p.dt_softplus != 0;
  u.clamp = p.dt_clamp != 0;
  u.dt_per_channel = p.dt_per_channel != 0;
  u.d_per_channel = p.d_per_channel != 0;
  return u;
}

// Whether every group of four elements of state, B and C can be moved at once.
static bool is_grouped(const m2_state_update_params& p) {
  const auto grouped = [](const void* pointer, int64_t stride, int64_t element) {
    return reinterpret_cast<uintptr_t>(pointer) % (kQuad * element) == 0 && stride % kQuad == 0;
  };
  const int64_t io = element_bytes(p.io_dtype);
  return p.state_dim % kQuad == 0 &&
         grouped(p.state, p.slot_stride, element_bytes(p.state_dtype)) &&
         grouped(p.b, p.b_stride, io) && grouped(p.c, p.c_stride, io);
}

static UpdatePlan make_update_plan(const m2_state_update_params& p, const ck::Device& device,
                                   Update* u) {
  UpdatePlan plan{};
  plan.io_is_bf16 = p.io_dtype == M2_BF16;
  plan.pdl = device.major >= 9;
  const bool vector = p.path != M2_UPDATE_SINGLE && is_grouped(p) && p.state_dim > 32 &&
                      p.state_dim <= 2 * ck::kWarp * kQuad;
  if (vector) plan.lanes = p.state_dim <= 16 * kQuad ? 16 : 32;
  const int lanes = vector ? plan.lanes : lanes_of_row(u->state_dim);
  u->rows_of_unit = kUpdateThreads / lanes * kRows;
  u->units_of_head = (u->head_dim + u->rows_of_unit - 1) / u->rows_of_unit;
  plan.grid = static_cast<unsigned>(p.batch * p.heads * u->units_of_head);
  return plan;
}

static int state_update(m2_state_update_params p, void* stream) {
  int error = check_update_enums(p);
  if (error == 0) error = check_update_sizes(p);
  if (error == 0) error = settle_update(&p);
  if (error != 0 || p.batch == 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Update update = make_update(p);
  const UpdatePlan plan = make_update_plan(p, device, &update);
  switch (p.state_dtype) {
    case M2_F32:
      return launch_update_f32(update, plan, stream);
    case M2_BF16:
      return launch_update_bf16(update, plan, stream);
    default:
      return launch_update_f16(update, plan, stream);
  }
}

}  // namespace mamba2_scan

extern "C" int m2_state_update(const m2_state_update_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, M2_ARG_params);
  if (params->struct_size != sizeof(m2_state_update_params)) {
    return CK_STATUS(CK_BAD_STRUCT, M2_ARG_struct_size);
  }
  return mamba2_scan::state_update(*params, stream);
}
