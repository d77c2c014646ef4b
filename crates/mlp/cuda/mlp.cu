// C ABI of the networks: checks of the host arguments, workspace, paths, launches.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "baselines.cuh"
#include "finish.cuh"
#include "fused.cuh"
#include "mlp.h"
#include "staged.cuh"

namespace mlp {

static bool is_finite(float x) { return x - x == 0.0f; }

// What a call's kernels are told.
struct Call {
  Network network;
  Sums sums;
  bool with_sums;
  int path;
};

static bool is_activation(int32_t a) { return a >= MLP_NONE && a <= MLP_SIGMOID; }

struct Extents {
  int64_t value;
  int argument;
};

// Enums, slopes, batch, sizes; the sizes of a sum of inputs are checked by the caller.
template <int kCount>
static int check_sizes(int32_t path, int64_t batch, const Extents (&sizes)[kCount]) {
  if (path < MLP_PATH_AUTO || path > MLP_PATH_FUSED) return refuse(CK_BAD_ENUM, MLP_ARG_path);
  if (batch < 0 || batch > INT32_MAX) return refuse(CK_BAD_SIZE, MLP_ARG_batch);
  for (const Extents& size : sizes) {
    if (size.value < 1) return refuse(CK_BAD_SIZE, size.argument);
    if (size.value > MLP_MAX_DIM) return refuse(CK_UNSUPPORTED, size.argument);
  }
  return 0;
}

template <typename Params>
static int check_activations(const Params& p) {
  if (!is_activation(p.activation1)) return refuse(CK_BAD_ENUM, MLP_ARG_activation1);
  if (!is_activation(p.activation2)) return refuse(CK_BAD_ENUM, MLP_ARG_activation2);
  if (!is_finite(p.slope1)) return refuse(CK_BAD_VALUE, MLP_ARG_slope1);
  if (!is_finite(p.slope2)) return refuse(CK_BAD_VALUE, MLP_ARG_slope2);
  return 0;
}

static int check_residual(int32_t residual, int64_t inputs, int64_t outputs) {
  return residual != 0 && inputs != outputs ? refuse(CK_UNSUPPORTED, MLP_ARG_residual) : 0;
}

static bool in_quads(const void* pointer, int64_t stride) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 && stride % 4 == 0;
}

static Source source_of(const float* data, int64_t stride, int64_t width, int64_t before = 0) {
  return Source{data, stride, static_cast<int>(width), in_quads(data, stride) && before % 4 == 0};
}

template <typename Params>
static Network network_of(const Params& p, int mode, int32_t activation1, int32_t activation2) {
  Network n{};
  n.mode = mode;
  n.w1 = p.w1;
  n.b1 = p.b1;
  n.w2 = p.w2;
  n.b2 = p.b2;
  n.batch = static_cast<int>(p.batch);
  n.hidden = static_cast<int>(p.hidden);
  n.outputs = static_cast<int>(p.outputs);
  n.activation1 = activation1;
  n.activation2 = activation2;
  n.rows = partials_of(n.batch).rows;
  n.w1_quads = in_quads(p.w1, p.hidden);
  n.w2_quads = in_quads(p.w2, p.outputs);
  return n;
}

template <typename Params>
static void add_sums(Call* call, const Params& p) {
  const Network& n = call->network;
  call->sums.d_w1 = p.d_w1;
  call->sums.d_b1 = p.d_b1;
  call->sums.d_w2 = p.d_w2;
  call->sums.d_b2 = p.d_b2;
  call->sums.beta = p.beta;
  call->sums.partial_count = partials_of(n.batch).count;
  call->sums.batch = n.batch;
  call->sums.weight_rows = n.inputs + n.action_count;
  call->sums.hidden = n.hidden;
  call->sums.outputs = n.outputs;
  call->with_sums =
      p.d_w1 != nullptr || p.d_b1 != nullptr || p.d_w2 != nullptr || p.d_b2 != nullptr;
}

// Elements of a matrix or of strided rows, in bytes.
static int64_t matrix_bytes(int64_t rows, int64_t columns) { return rows * columns * 4; }

static int prepare(mlp_forward_params p, Call* call) {
  int error = check_activations(p);
  if (error == 0) {
    error = check_sizes(p.path, p.batch,
                        {Extents{p.inputs, MLP_ARG_inputs}, Extents{p.hidden, MLP_ARG_hidden},
                         Extents{p.outputs, MLP_ARG_outputs}});
  }
  if (error == 0) error = check_residual(p.residual, p.inputs, p.outputs);
  if (error == 0) error = settle_stride(&p.x_stride, p.batch, p.inputs, MLP_ARG_x_stride);
  if (error == 0) error = settle_stride(&p.y_stride, p.batch, p.outputs, MLP_ARG_y_stride);
  if (error != 0) return error;
  const Extent extents[] = {
      {p.x, span(p.batch, p.x_stride, p.inputs) * 4, 4, MLP_ARG_x, true},
      {p.w1, matrix_bytes(p.inputs, p.hidden), 4, MLP_ARG_w1, true},
      {p.b1, p.hidden * 4, 4, MLP_ARG_b1, false},
      {p.w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_w2, true},
      {p.b2, p.outputs * 4, 4, MLP_ARG_b2, false},
      {p.y, span(p.batch, p.y_stride, p.outputs) * 4, 4, MLP_ARG_y, true},
  };
  error = check_extents(extents, 5);
  if (error != 0) return error;
  *call = Call{};
  Network& n = call->network;
  n = network_of(p, kForward, p.activation1, p.activation2);
  n.sources[0] = source_of(p.x, p.x_stride, p.inputs);
  n.inputs = static_cast<int>(p.inputs);
  n.slope1 = p.slope1;
  n.slope2 = p.slope2;
  n.residual = p.residual != 0;
  n.y = p.y;
  n.y_stride = p.y_stride;
  n.y_quads = in_quads(p.y, p.y_stride);
  call->path = p.path;
  return 0;
}

static int prepare(mlp_risk_params p, Call* call) {
  int error = check_sizes(p.path, p.batch,
                          {Extents{p.h_dim, MLP_ARG_h_dim}, Extents{p.hidden, MLP_ARG_hidden},
                           Extents{p.outputs, MLP_ARG_outputs}});
  if (error != 0) return error;
  if (p.isv_dim < 0) return refuse(CK_BAD_SIZE, MLP_ARG_isv_dim);
  if (p.isv_dim > MLP_MAX_DIM - 1 - p.h_dim) return refuse(CK_UNSUPPORTED, MLP_ARG_isv_dim);
  if (error == 0) error = settle_stride(&p.h_stride, p.batch, p.h_dim, MLP_ARG_h_stride);
  if (error == 0) error = settle_stride(&p.isv_stride, p.batch, p.isv_dim, MLP_ARG_isv_stride);
  if (error == 0) error = settle_stride(&p.error_stride, p.batch, 1, MLP_ARG_error_stride);
  if (error == 0) error = settle_stride(&p.y_stride, p.batch, p.outputs, MLP_ARG_y_stride);
  if (error != 0) return error;
  const int64_t inputs = p.h_dim + p.isv_dim + 1;
  const bool isv = p.isv_dim > 0;
  const Extent extents[] = {
      {p.h, span(p.batch, p.h_stride, p.h_dim) * 4, 4, MLP_ARG_h, true},
      {p.isv, isv ? span(p.batch, p.isv_stride, p.isv_dim) * 4 : 0, 4, MLP_ARG_isv, isv},
      {p.error, span(p.batch, p.error_stride, 1) * 4, 4, MLP_ARG_error, true},
      {p.w1, matrix_bytes(inputs, p.hidden), 4, MLP_ARG_w1, true},
      {p.b1, p.hidden * 4, 4, MLP_ARG_b1, false},
      {p.w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_w2, true},
      {p.b2, p.outputs * 4, 4, MLP_ARG_b2, false},
      {p.y, span(p.batch, p.y_stride, p.outputs) * 4, 4, MLP_ARG_y, true},
  };
  error = check_extents(extents, 7);
  if (error != 0) return error;
  *call = Call{};
  Network& n = call->network;
  n = network_of(p, kForward, MLP_RELU, MLP_SIGMOID);
  n.sources[0] = source_of(p.h, p.h_stride, p.h_dim);
  n.sources[1] = source_of(p.isv, p.isv_stride, p.isv_dim, p.h_dim);
  n.sources[2] = source_of(p.error, p.error_stride, 1, p.h_dim + p.isv_dim);
  n.inputs = static_cast<int>(inputs);
  n.y = p.y;
  n.y_stride = p.y_stride;
  n.y_quads = in_quads(p.y, p.y_stride);
  call->path = p.path;
  return 0;
}

// What needs no pointer but whether there is one.
static int shape(mlp_backward_params* p, Call* call) {
  int error = check_activations(*p);
  if (error == 0) {
    error = check_sizes(p->path, p->batch,
                        {Extents{p->inputs, MLP_ARG_inputs}, Extents{p->hidden, MLP_ARG_hidden},
                         Extents{p->outputs, MLP_ARG_outputs}});
  }
  if (error == 0) error = check_residual(p->residual, p->inputs, p->outputs);
  if (error == 0) error = settle_stride(&p->x_stride, p->batch, p->inputs, MLP_ARG_x_stride);
  if (error == 0) error = settle_stride(&p->dy_stride, p->batch, p->outputs, MLP_ARG_dy_stride);
  if (error == 0) error = settle_stride(&p->dx_stride, p->batch, p->inputs, MLP_ARG_dx_stride);
  if (error != 0) return error;
  if (!is_finite(p->beta)) return refuse(CK_BAD_VALUE, MLP_ARG_beta);
  *call = Call{};
  Network& n = call->network;
  n = network_of(*p, kBackward, p->activation1, p->activation2);
  n.sources[0] = source_of(p->x, p->x_stride, p->inputs);
  n.inputs = static_cast<int>(p->inputs);
  n.upstream = source_of(p->dy, p->dy_stride, p->outputs);
  n.slope1 = p->slope1;
  n.slope2 = p->slope2;
  n.residual = p->residual != 0;
  n.dx = p->dx;
  n.dx_stride = p->dx_stride;
  call->path = p->path;
  add_sums(call, *p);
  return 0;
}

static int check_pointers(const mlp_backward_params& p, const Call& call) {
  if (!call.with_sums && p.dx == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_d_w1);
  const Extent extents[] = {
      {p.x, span(p.batch, p.x_stride, p.inputs) * 4, 4, MLP_ARG_x, true},
      {p.w1, matrix_bytes(p.inputs, p.hidden), 4, MLP_ARG_w1, true},
      {p.b1, p.hidden * 4, 4, MLP_ARG_b1, false},
      {p.w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_w2, true},
      {p.b2, p.outputs * 4, 4, MLP_ARG_b2, false},
      {p.dy, span(p.batch, p.dy_stride, p.outputs) * 4, 4, MLP_ARG_dy, true},
      {p.d_w1, matrix_bytes(p.inputs, p.hidden), 4, MLP_ARG_d_w1, false},
      {p.d_b1, p.hidden * 4, 4, MLP_ARG_d_b1, false},
      {p.d_w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_d_w2, false},
      {p.d_b2, p.outputs * 4, 4, MLP_ARG_d_b2, false},
      {p.dx, span(p.batch, p.dx_stride, p.inputs) * 4, 4, MLP_ARG_dx, false},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), 16, MLP_ARG_workspace, false},
  };
  return check_extents(extents, 6);
}

static int shape(mlp_curiosity_params* p, Call* call) {
  int error = check_activations(*p);
  if (error == 0) {
    error = check_sizes(
        p->path, p->batch,
        {Extents{p->state_dim, MLP_ARG_state_dim}, Extents{p->action_dim, MLP_ARG_action_dim},
         Extents{p->hidden, MLP_ARG_hidden}, Extents{p->outputs, MLP_ARG_outputs}});
  }
  if (error != 0) return error;
  if (p->state_dim + p->action_dim > MLP_MAX_DIM) {
    return refuse(CK_UNSUPPORTED, MLP_ARG_action_dim);
  }
  error = settle_stride(&p->state_stride, p->batch, p->state_dim, MLP_ARG_state_stride);
  if (error == 0) {
    error = settle_stride(&p->action_stride, p->batch, p->action_dim, MLP_ARG_action_stride);
  }
  if (error == 0) {
    error = settle_stride(&p->next_stride, p->batch, p->outputs, MLP_ARG_next_stride);
  }
  if (error != 0) return error;
  if (!is_finite(p->beta)) return refuse(CK_BAD_VALUE, MLP_ARG_beta);
  const bool dense = p->action != nullptr;
  if (dense && p->action_index != nullptr) return refuse(CK_UNSUPPORTED, MLP_ARG_action_index);
  *call = Call{};
  Network& n = call->network;
  n = network_of(*p, kCuriosity, p->activation1, p->activation2);
  n.sources[0] = source_of(p->state, p->state_stride, p->state_dim);
  n.inputs = static_cast<int>(p->state_dim + (dense ? p->action_dim : 0));
  if (dense) n.sources[1] = source_of(p->action, p->action_stride, p->action_dim, p->state_dim);
  n.actions = p->action_index;
  n.action_count = dense ? 0 : static_cast<int>(p->action_dim);
  n.upstream = source_of(p->next_state, p->next_stride, p->outputs);
  n.slope1 = p->slope1;
  n.slope2 = p->slope2;
  n.scale = p->batch == 0 ? 0.0f : 1.0f / static_cast<float>(p->batch);
  n.reward = p->reward;
  n.status = p->status;
  call->path = p->path;
  add_sums(call, *p);
  call->sums.loss = p->loss;
  call->with_sums = call->with_sums || p->loss != nullptr;
  return 0;
}

static int check_pointers(const mlp_curiosity_params& p, const Call& call) {
  if (!call.with_sums && p.reward == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_reward);
  const int64_t rows = p.state_dim + p.action_dim;
  const bool dense = p.action_index == nullptr;
  const Extent extents[] = {
      {p.state, span(p.batch, p.state_stride, p.state_dim) * 4, 4, MLP_ARG_state, true},
      {p.action, dense ? span(p.batch, p.action_stride, p.action_dim) * 4 : 0, 4, MLP_ARG_action,
       dense},
      {p.action_index, p.batch * 4, 4, MLP_ARG_action_index, false},
      {p.next_state, span(p.batch, p.next_stride, p.outputs) * 4, 4, MLP_ARG_next_state, true},
      {p.w1, matrix_bytes(rows, p.hidden), 4, MLP_ARG_w1, true},
      {p.b1, p.hidden * 4, 4, MLP_ARG_b1, false},
      {p.w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_w2, true},
      {p.b2, p.outputs * 4, 4, MLP_ARG_b2, false},
      {p.reward, p.batch * 4, 4, MLP_ARG_reward, false},
      {p.loss, 4, 4, MLP_ARG_loss, false},
      {p.d_w1, matrix_bytes(rows, p.hidden), 4, MLP_ARG_d_w1, false},
      {p.d_b1, p.hidden * 4, 4, MLP_ARG_d_b1, false},
      {p.d_w2, matrix_bytes(p.hidden, p.outputs), 4, MLP_ARG_d_w2, false},
      {p.d_b2, p.outputs * 4, 4, MLP_ARG_d_b2, false},
      {p.status, 4, 4, MLP_ARG_status, false},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), 16, MLP_ARG_workspace, false},
  };
  return check_extents(extents, 8);
}

// Whether a block can hold the network; sets the rows of its tile, as many as fit.
static bool fit(Network* n, const ck::Device& device) {
  if (n->hidden > kFusedOutputs || n->outputs > kFusedOutputs) return false;
  if (n->dx != nullptr && n->inputs > kFusedOutputs) return false;
  for (n->tile = kTile; n->tile >= kWarpRows; n->tile /= 2) {
    if (layout_of(*n).count * int64_t{4} <= device.shared_bytes_optin) return true;
  }
  return false;
}

static bool is_wide(const Network& n) {
  return n.hidden > kSmallOutputs || n.outputs > kSmallOutputs ||
         (n.dx != nullptr && n.inputs > kSmallOutputs);
}

static int choose(Call* call, const ck::Device& device, bool* fused) {
  *fused = call->path != MLP_PATH_STAGED && fit(&call->network, device);
  return call->path == MLP_PATH_FUSED && !*fused ? refuse(CK_UNSUPPORTED, MLP_ARG_path) : 0;
}

// Floats of a workspace: the partial sums, then what the staged path keeps of the rows.
static int64_t partial_floats(const Call& call) {
  const Sums& s = call.sums;
  return call.with_sums ? s.partial_count * columns_of(s.weight_rows, s.hidden, s.outputs).count
                        : 0;
}
static int64_t workspace_floats(const Call& call, bool fused) {
  const Network& n = call.network;
  if (!call.with_sums || fused) return partial_floats(call);
  const int64_t of_row = 2 * n.hidden + n.outputs + (n.mode == kCuriosity ? 1 : 0);
  return partial_floats(call) + n.batch * of_row;
}

static void place(Call* call, void* workspace, bool fused) {
  if (!call->with_sums) return;
  Network& n = call->network;
  n.partials = static_cast<float*>(workspace);
  call->sums.partials = n.partials;
  if (fused) return;
  n.u = n.partials + partial_floats(*call);
  n.dz1 = n.u + static_cast<int64_t>(n.batch) * n.hidden;
  n.dz2 = n.dz1 + static_cast<int64_t>(n.batch) * n.hidden;
  if (n.mode == kCuriosity) n.rewards = n.dz2 + static_cast<int64_t>(n.batch) * n.outputs;
}

static ck::LaunchConfig config_of(const ck::Device& device, void* stream) {
  ck::LaunchConfig config;
  config.block = kThreads;
  config.pdl = device.major >= 9;
  config.stream = stream;
  return config;
}

// One node of fused networks, none of them without rows.
template <int kMost>
static int launch_fused(const Call* calls, int count, const ck::Device& device, void* stream) {
  Group<kMost> group{};
  ck::LaunchConfig config = config_of(device, stream);
  bool wide = false;
  for (int i = 0; i < count; ++i) {
    const Network& n = calls[i].network;
    if (n.batch == 0) continue;
    wide = wide || is_wide(n);
    const unsigned bytes = static_cast<unsigned>(layout_of(n).count * 4);
    if (bytes > config.shared_bytes) config.shared_bytes = bytes;
    group.networks[group.count++] = n;
  }
  for (int i = 0; i < group.count; ++i) {
    const Network& n = group.networks[i];
    int blocks = partials_of(n.batch).count;
    if (n.mode == kForward) {
      const int tiles = n.batch / n.tile + (n.batch % n.tile != 0 ? 1 : 0);
      const int most = device.sm_count * (wide ? 1 : 2);
      blocks = tiles < most ? tiles : most;
    }
    group.first[i + 1] = group.first[i] + blocks;
  }
  if (group.count == 0) return 0;
  config.grid = static_cast<unsigned>(group.first[group.count]);
  return wide ? ck::launch<run_fused<true, kMost>>(config, group)
              : ck::launch<run_fused<false, kMost>>(config, group);
}

// One node: the sums of partial sums.
template <int kMost>
static int launch_sums(const Call* calls, int count, const ck::Device& device, void* stream) {
  SumsGroup<kMost> group{};
  for (int i = 0; i < count; ++i) {
    if (!calls[i].with_sums) continue;
    const Sums& s = calls[i].sums;
    const int64_t columns = columns_of(s.weight_rows, s.hidden, s.outputs).count;
    group.first[group.count + 1] =
        group.first[group.count] + static_cast<int>((columns + kSumColumns - 1) / kSumColumns);
    group.sums[group.count++] = s;
  }
  if (group.count == 0) return 0;
  ck::LaunchConfig config = config_of(device, stream);
  config.grid = static_cast<unsigned>(group.first[group.count]);
  return ck::launch<sum_partials<kMost>>(config, group);
}

static int launch_staged(const Network& n, ck::LaunchConfig config) {
  config.grid =
      static_cast<unsigned>((static_cast<int64_t>(n.batch) + kStagedRows - 1) / kStagedRows);
  config.shared_bytes = static_cast<unsigned>(staged_floats(n) * 4);
  return ck::launch<run_staged>(config, n);
}

// A checked call whose workspace is in place.
static int launch_call(const Call& call, bool fused, const ck::Device& device, void* stream) {
  const Network& n = call.network;
  if (n.batch > 0) {
    int error = 0;
    const ck::LaunchConfig config = config_of(device, stream);
    if (fused) {
      error = launch_fused<1>(&call, 1, device, stream);
    } else {
      error = launch_staged(n, config);
      if (error == 0 && call.with_sums) {
        ck::LaunchConfig sums = config;
        const int blocks =
            staged_blocks(n.inputs + n.action_count, n.hidden) + staged_blocks(n.hidden, n.outputs);
        sums.grid = static_cast<unsigned>(call.sums.partial_count * blocks);
        error = ck::launch<sum_rows>(sums, n);
      }
    }
    if (error != 0) return error;
  }
  return call.with_sums ? launch_sums<1>(&call, 1, device, stream) : 0;
}

template <typename Params>
static int run_forward(const Params& p, void* stream) {
  Call call;
  int error = prepare(p, &call);
  if (error != 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  bool fused = false;
  error = choose(&call, device, &fused);
  return error != 0 ? error : launch_call(call, fused, device, stream);
}

// Checks all of a call and puts its workspace in place.
template <typename Params>
static int prepare_back(Params p, Call* call, const ck::Device& device, bool* fused) {
  int error = shape(&p, call);
  if (error == 0) error = check_pointers(p, *call);
  if (error == 0) error = choose(call, device, fused);
  if (error != 0) return error;
  const size_t needed = static_cast<size_t>(workspace_floats(*call, *fused)) * sizeof(float);
  if (needed > 0 && p.workspace == nullptr) return refuse(CK_BAD_WORKSPACE, MLP_ARG_workspace);
  if (p.workspace_bytes < needed) return refuse(CK_BAD_WORKSPACE, MLP_ARG_workspace_bytes);
  place(call, p.workspace, *fused);
  return 0;
}

template <typename Params>
static int run_back(const Params& p, void* stream) {
  ck::Device device;
  int error = ck::current_device(&device);
  if (error != 0) return error;
  Call call;
  bool fused = false;
  error = prepare_back(p, &call, device, &fused);
  return error != 0 ? error : launch_call(call, fused, device, stream);
}

template <typename Params>
static size_t workspace_bytes(Params p) {
  Call call;
  if (shape(&p, &call) != 0) return 0;
  ck::Device device;
  bool fused = false;
  if (ck::current_device(&device) == 0 && choose(&call, device, &fused) != 0) return 0;
  return static_cast<size_t>(workspace_floats(call, fused)) * sizeof(float);
}

template <typename Params>
static int nodes(Params p) {
  Call call;
  if (shape(&p, &call) != 0) return 0;
  ck::Device device;
  bool fused = false;
  if (ck::current_device(&device) != 0 || choose(&call, device, &fused) != 0) return 0;
  const int sums = call.with_sums ? 1 : 0;
  if (call.network.batch == 0) return sums;
  return 1 + (fused ? sums : 2 * sums);
}

// A network of a group, checked.
static int prepare_member(const mlp_forward_params& p, Call* call, const ck::Device& device,
                          bool* fused) {
  const int error = prepare(p, call);
  return error != 0 ? error : choose(call, device, fused);
}
static int prepare_member(const mlp_backward_params& p, Call* call, const ck::Device& device,
                          bool* fused) {
  return prepare_back(p, call, device, fused);
}

template <typename Params>
static int run_group(const Params* params, int32_t count, void* stream) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_params);
  if (count < 1 || count > MLP_MAX_GROUP) return refuse(CK_BAD_SIZE, MLP_ARG_count);
  ck::Device device;
  int error = ck::current_device(&device);
  if (error != 0) return error;
  Call calls[MLP_MAX_GROUP];
  for (int i = 0; i < count; ++i) {
    if (params[i].struct_size != sizeof(Params)) return refuse(CK_BAD_STRUCT, MLP_ARG_struct_size);
    bool fused = false;
    error = prepare_member(params[i], &calls[i], device, &fused);
    if (error != 0) return error;
    if (!fused) return refuse(CK_UNSUPPORTED, MLP_ARG_count);
  }
  error = launch_fused<MLP_MAX_GROUP>(calls, count, device, stream);
  return error != 0 ? error : launch_sums<MLP_MAX_GROUP>(calls, count, device, stream);
}

static int baseline_risk(const mlp_risk_params& p, void* stream) {
  Call call;
  const int error = prepare(p, &call);
  if (error != 0 || p.batch == 0) return error;
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>((p.batch * p.outputs + kThreads - 1) / kThreads);
  config.block = kThreads;
  config.stream = stream;
  return ck::launch<baseline_forward>(config, call.network);
}

template <typename Params>
static int baseline_back(Params p, void* stream) {
  p.path = MLP_PATH_STAGED;
  ck::Device device;
  int error = ck::current_device(&device);
  if (error != 0) return error;
  Call call;
  bool fused = false;
  error = prepare_back(p, &call, device, &fused);
  if (error != 0) return error;
  if (p.d_w1 == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_d_w1);
  if (p.d_b1 == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_d_b1);
  if (p.d_w2 == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_d_w2);
  if (p.d_b2 == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_d_b2);
  if (p.batch == 0) return refuse(CK_BAD_SIZE, MLP_ARG_batch);
  const Network& n = call.network;
  ck::LaunchConfig config = config_of(device, stream);
  error = launch_staged(n, config);
  if (error != 0) return error;
  config.pdl = false;
  const int weights = (n.inputs + n.action_count + 1) * n.hidden + (n.hidden + 1) * n.outputs;
  config.grid = static_cast<unsigned>((weights + kThreads) / kThreads);
  return ck::launch<baseline_weights>(config, n, p.d_w1, p.d_b1, p.d_w2, p.d_b2, call.sums.loss);
}

template <typename Params>
static int check_struct(const Params* params) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, MLP_ARG_params);
  if (params->struct_size != sizeof(Params)) return refuse(CK_BAD_STRUCT, MLP_ARG_struct_size);
  return 0;
}

}  // namespace mlp

extern "C" int mlp_forward_f32(const mlp_forward_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::run_forward(*params, stream);
}

extern "C" size_t mlp_backward_workspace_bytes(const mlp_backward_params* params) {
  return mlp::check_struct(params) != 0 ? 0 : mlp::workspace_bytes(*params);
}

extern "C" int mlp_backward_nodes(const mlp_backward_params* params) {
  return mlp::check_struct(params) != 0 ? 0 : mlp::nodes(*params);
}

extern "C" int mlp_backward_f32(const mlp_backward_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::run_back(*params, stream);
}

extern "C" size_t mlp_curiosity_workspace_bytes(const mlp_curiosity_params* params) {
  return mlp::check_struct(params) != 0 ? 0 : mlp::workspace_bytes(*params);
}

extern "C" int mlp_curiosity_nodes(const mlp_curiosity_params* params) {
  return mlp::check_struct(params) != 0 ? 0 : mlp::nodes(*params);
}

extern "C" int mlp_curiosity_step_f32(const mlp_curiosity_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::run_back(*params, stream);
}

extern "C" int mlp_risk_forward_f32(const mlp_risk_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::run_forward(*params, stream);
}

extern "C" int mlp_forward_group_f32(const mlp_forward_params* params, int32_t count,
                                     void* stream) {
  return mlp::run_group(params, count, stream);
}

extern "C" int mlp_backward_group_f32(const mlp_backward_params* params, int32_t count,
                                      void* stream) {
  return mlp::run_group(params, count, stream);
}

extern "C" int mlp_baseline_risk_forward(const mlp_risk_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::baseline_risk(*params, stream);
}

extern "C" int mlp_baseline_backward(const mlp_backward_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::baseline_back(*params, stream);
}

extern "C" int mlp_baseline_curiosity_step(const mlp_curiosity_params* params, void* stream) {
  const int error = mlp::check_struct(params);
  return error != 0 ? error : mlp::baseline_back(*params, stream);
}
