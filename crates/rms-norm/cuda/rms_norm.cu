// C ABI of the norm: checks of the host arguments, the choice of a path, and the launches.
#include <ck/host.cuh>

#include "arguments.cuh"
#include "ggml.cuh"
#include "plan.cuh"
#include "rms_norm.h"

namespace rms {

static int check_enums(const rms_norm_params& p) {
  if (p.x_dtype < RMS_F32 || p.x_dtype > RMS_F16) return refuse(CK_BAD_ENUM, RMS_ARG_x_dtype);
  if (p.gamma_dtype < RMS_F32 || p.gamma_dtype > RMS_F16) {
    return refuse(CK_BAD_ENUM, RMS_ARG_gamma_dtype);
  }
  if (p.y_dtype < RMS_F32 || p.y_dtype > RMS_INT8) return refuse(CK_BAD_ENUM, RMS_ARG_y_dtype);
  if (p.residual_dtype < RMS_F32 || p.residual_dtype > RMS_F16) {
    return refuse(CK_BAD_ENUM, RMS_ARG_residual_dtype);
  }
  if (p.gamma_mode < RMS_GAMMA_PLAIN || p.gamma_mode > RMS_GAMMA_AFTER_CAST) {
    return refuse(CK_BAD_ENUM, RMS_ARG_gamma_mode);
  }
  if (p.residual_mode < RMS_RESIDUAL_UNROUNDED || p.residual_mode > RMS_RESIDUAL_ROUNDED) {
    return refuse(CK_BAD_ENUM, RMS_ARG_residual_mode);
  }
  if (p.quantisation < RMS_QUANT_NONE || p.quantisation > RMS_QUANT_TOKEN) {
    return refuse(CK_BAD_ENUM, RMS_ARG_quantisation);
  }
  switch (p.path) {
    case RMS_PATH_AUTO:
    case RMS_PATH_WARP:
    case RMS_PATH_CLUSTER_2:
    case RMS_PATH_CLUSTER_4:
    case RMS_PATH_CLUSTER_8:
    case RMS_PATH_CLUSTER_16:
    case RMS_PATH_BLOCK:
      return 0;
    default:
      return refuse(CK_BAD_ENUM, RMS_ARG_path);
  }
}

// The tuples of the header.
static int check_types(const rms_norm_params& p) {
  const bool weighted = p.gamma != nullptr || p.add != nullptr;
  if (weighted && p.gamma_dtype != p.x_dtype && p.gamma_dtype != RMS_F32) {
    return refuse(CK_UNSUPPORTED, RMS_ARG_gamma_dtype);
  }
  const bool quantised = p.y_dtype == RMS_FP8_E4M3 || p.y_dtype == RMS_INT8;
  if (quantised != (p.quantisation != RMS_QUANT_NONE)) {
    return refuse(CK_UNSUPPORTED, RMS_ARG_quantisation);
  }
  const bool widened =
      p.x_dtype == RMS_BF16 && p.y_dtype == RMS_F32 && (!weighted || p.gamma_dtype == RMS_F32);
  if (quantised ? p.x_dtype == RMS_F32 : p.y_dtype != p.x_dtype && !widened) {
    return refuse(CK_UNSUPPORTED, RMS_ARG_y_dtype);
  }
  if (p.residual != nullptr && p.residual_dtype != p.x_dtype && p.residual_dtype != RMS_F32) {
    return refuse(CK_UNSUPPORTED, RMS_ARG_residual_dtype);
  }
  return 0;
}

static int check_scalars(const rms_norm_params& p) {
  if (!(p.eps >= 0.0f && p.eps < INFINITY)) return refuse(CK_BAD_VALUE, RMS_ARG_eps);
  if (p.quantisation == RMS_QUANT_TOKEN && !(p.min_scale > 0.0f && p.min_scale < INFINITY)) {
    return refuse(CK_BAD_VALUE, RMS_ARG_min_scale);
  }
  return 0;
}

// A call's tensors, and the problem that the kernels get.
struct Checked {
  Problem problem;
  Extent x, residual, gamma, add, y, residual_out;
};

static void copy_strides(int64_t (&to)[kDimensions], const Extent& from) {
  for (int d = 0; d < kDimensions; ++d) to[d] = from.counts[d] > 1 ? from.strides[d] : 0;
}
static void copy_sizes(int (&to)[4], const Extent& from) {
  to[0] = static_cast<int>(from.columns);
  for (int d = 0; d < kDimensions; ++d) to[d + 1] = static_cast<int>(from.counts[d]);
}

static int check_tensors(const rms_norm_params& p, Checked* c) {
  const int64_t channels = or_one(p.channels);
  const int64_t samples = or_one(p.samples);
  const int64_t total = p.rows * channels * samples;
  if (!sizes_fit(p.gamma_sizes)) return refuse(CK_BAD_SIZE, RMS_ARG_gamma_sizes);
  if (!sizes_fit(p.add_sizes)) return refuse(CK_BAD_SIZE, RMS_ARG_add_sizes);
  const auto whole_of = [&](const void* pointer, int dtype, int argument) {
    return whole(pointer, dtype, argument, p.n, p.rows, channels, samples);
  };
  c->x = whole_of(p.x, p.x_dtype, RMS_ARG_x);
  c->residual = whole_of(p.residual, p.residual_dtype, RMS_ARG_residual);
  c->gamma = repeated(p.gamma, p.gamma_dtype, RMS_ARG_gamma, p.n, p.gamma_sizes);
  c->add = repeated(p.add, p.gamma_dtype, RMS_ARG_add, p.n, p.add_sizes);
  c->y = whole_of(p.y, p.y_dtype, RMS_ARG_y);
  c->residual_out = whole_of(p.residual_out, p.residual_dtype, RMS_ARG_residual_out);
  const struct {
    Extent* extent;
    const int64_t (*strides)[kDimensions];
    int argument;
    bool output;
  } strided[] = {
      {&c->x, &p.x_strides, RMS_ARG_x_strides, false},
      {&c->residual, &p.residual_strides, RMS_ARG_residual_strides, false},
      {&c->gamma, &p.gamma_strides, RMS_ARG_gamma_strides, false},
      {&c->add, &p.add_strides, RMS_ARG_add_strides, false},
      {&c->y, &p.y_strides, RMS_ARG_y_strides, true},
      {&c->residual_out, &p.residual_out_strides, RMS_ARG_residual_out_strides, true},
  };
  for (const auto& s : strided) {
    if (!fill_strides(s.extent, *s.strides)) return refuse(CK_BAD_STRIDE, s.argument);
    if (s.output && s.extent->pointer != nullptr && !rows_are_apart(*s.extent)) {
      return refuse(CK_BAD_STRIDE, s.argument);
    }
  }
  if (p.x == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_x);
  if (p.y == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_y);
  if (p.residual_out != nullptr && p.residual == nullptr) {
    return refuse(CK_NULL_POINTER, RMS_ARG_residual);
  }
  const bool by_tensor = p.quantisation == RMS_QUANT_TENSOR;
  const bool by_token = p.quantisation == RMS_QUANT_TOKEN;
  if (by_tensor && p.tensor_scale == nullptr) {
    return refuse(CK_NULL_POINTER, RMS_ARG_tensor_scale);
  }
  if (by_token && p.token_scales == nullptr) {
    return refuse(CK_NULL_POINTER, RMS_ARG_token_scales);
  }
  const Extent inputs[] = {c->x, c->residual, c->gamma, c->add,
                           per_row(by_tensor ? p.tensor_scale : nullptr, RMS_ARG_tensor_scale, 1)};
  const Extent outputs[] = {
      c->y, c->residual_out,
      per_row(by_token ? p.token_scales : nullptr, RMS_ARG_token_scales, total),
      per_row(p.rstd, RMS_ARG_rstd, total)};
  const int aliases[][2] = {
      {RMS_ARG_y, RMS_ARG_x}, {RMS_ARG_y, RMS_ARG_add}, {RMS_ARG_residual_out, RMS_ARG_residual}};
  const int error = check_extents(inputs, 5, outputs, 4, aliases, 3);
  if (error != 0) return error;

  Problem& q = c->problem;
  q = Problem{};
  q.x = p.x;
  q.residual = p.residual;
  q.gamma = p.gamma;
  q.add = p.add;
  q.tensor_scale = p.tensor_scale;
  q.y = p.y;
  q.residual_out = p.residual_out;
  q.token_scales = p.token_scales;
  q.rstd = p.rstd;
  copy_strides(q.x_strides, c->x);
  copy_strides(q.residual_strides, c->residual);
  copy_strides(q.gamma_strides, c->gamma);
  copy_strides(q.add_strides, c->add);
  copy_strides(q.y_strides, c->y);
  copy_strides(q.residual_out_strides, c->residual_out);
  copy_sizes(q.gamma_sizes, c->gamma);
  copy_sizes(q.add_sizes, c->add);
  q.n = static_cast<int>(p.n);
  q.rows = static_cast<int>(p.rows);
  q.channels = static_cast<int>(channels);
  q.total = static_cast<int>(total);
  q.gamma_dtype = p.gamma_dtype;
  q.y_dtype = p.y_dtype;
  q.residual_dtype = p.residual_dtype;
  q.gamma_mode = p.gamma_mode;
  q.residual_mode = p.residual_mode;
  q.quantisation = p.quantisation;
  q.eps = p.eps;
  q.columns = static_cast<float>(p.n);
  q.inverse_n = exact_inverse(p.n);
  q.min_scale = p.min_scale;
  return 0;
}

// Rows that follow each other by one stride throughout: channels and samples are rows then.
static bool is_flat(const Extent& e) {
  for (int d = 1; d < kDimensions; ++d) {
    if (e.counts[d] > 1 && e.strides[d] != e.strides[d - 1] * e.counts[d - 1]) return false;
  }
  return true;
}
static void flatten(Problem* q, const Checked& c) {
  const auto single = [](const Extent& e) {
    return e.pointer == nullptr || (e.counts[0] == 1 && e.counts[1] == 1 && e.counts[2] == 1);
  };
  const auto flat = [](const Extent& e) { return e.pointer == nullptr || is_flat(e); };
  if (!flat(c.x) || !flat(c.residual) || !flat(c.y) || !flat(c.residual_out)) return;
  if (!single(c.gamma) || !single(c.add)) return;
  q->rows = q->total;
  q->channels = 1;
  q->x_strides[0] = c.x.strides[0];
  q->residual_strides[0] = c.residual.strides[0];
  q->y_strides[0] = c.y.strides[0];
  q->residual_out_strides[0] = c.residual_out.strides[0];
}

static rms_plan_kind kind_of(const rms_norm_params& p, const Problem& q) {
  const bool plain = p.add == nullptr && p.gamma != nullptr && p.rstd == nullptr &&
                     p.gamma_mode == RMS_GAMMA_PLAIN && p.quantisation == RMS_QUANT_NONE &&
                     p.gamma_dtype == p.x_dtype && p.y_dtype == p.x_dtype &&
                     q.gamma_sizes[0] == q.n && q.gamma_sizes[1] == 1 && q.gamma_sizes[2] == 1 &&
                     q.gamma_sizes[3] == 1;
  if (!plain) return RMS_PLAN_OPTIONS;
  if (p.residual == nullptr) return RMS_PLAN_PLAIN;
  const bool own = p.residual_dtype == p.x_dtype && p.residual_mode == RMS_RESIDUAL_UNROUNDED;
  return own ? RMS_PLAN_RESIDUAL : RMS_PLAN_OPTIONS;
}

// Bytes of a row from which a cluster pays for the hand-over, where rows do not fill the machine.
constexpr int64_t kClusterBytes = 32 << 10;
// Rows from which a warp each keeps the machine busy.
constexpr int64_t kWarpRowsOfMultiprocessor = 16;

static int choose_path(const Problem& q, rms_plan_kind kind, int64_t element, bool clusters,
                       int64_t multiprocessors) {
  if (q.n < kWideColumns) return RMS_PATH_WARP;
  if (q.n == kWideColumns && kind == RMS_PLAN_PLAIN &&
      q.total >= kWarpRowsOfMultiprocessor * multiprocessors) {
    return RMS_PATH_WARP;
  }
  if (clusters && q.n * element >= kClusterBytes && q.quantisation != RMS_QUANT_TOKEN &&
      q.total * 8 <= multiprocessors) {
    return RMS_PATH_CLUSTER_8;
  }
  return RMS_PATH_BLOCK;
}

// The dispatch: a pure function of the arguments, the compute capability and the number of
// multiprocessors. docs/rms-norm.md has it as a table, which the cases `dispatch-*` check.
static int make_plan(const rms_norm_params& p, Checked* c, int capability, int multiprocessors,
                     Plan* plan) {
  Problem& q = c->problem;
  flatten(&q, *c);
  const Extent* const tensors[] = {&c->x,   &c->residual, &c->gamma,
                                   &c->add, &c->y,        &c->residual_out};
  const auto all_grouped = [&](int group) {
    for (const Extent* e : tensors) {
      if (!grouped(*e, group)) return false;
    }
    return true;
  };
  const bool clusters = capability >= 90;
  const int full = static_cast<int>(16 / element_bytes(p.x_dtype));
  *plan = Plan{};
  plan->wide = q.n >= kWideColumns;
  plan->pdl = clusters;
  rms_plan_kind kind = kind_of(p, q);
  const int path = p.path != RMS_PATH_AUTO
                       ? p.path
                       : choose_path(q, kind, element_bytes(p.x_dtype), clusters, multiprocessors);
  const int logical = plan->wide ? kWideColumns : kNarrowThreads;
  const int64_t total = q.total;
  plan->choice.path = path;
  if (path == RMS_PATH_WARP) {
    if (kind != RMS_PLAN_PLAIN || q.n > kWideColumns || !all_grouped(full)) {
      kind = RMS_PLAN_OPTIONS;
    }
    const bool vector = !plan->wide && all_grouped(kGroup);
    plan->group = kind == RMS_PLAN_PLAIN ? full : vector ? kGroup : 1;
    const bool is_short = kind == RMS_PLAN_PLAIN && q.n <= kShortColumns;
    const int64_t lanes = is_short ? kShortColumns / full : ck::kWarp;
    plan->choice.threads = kWarpThreads;
    plan->choice.blocks = (total * lanes + kWarpThreads - 1) / kWarpThreads;
  } else if (path == RMS_PATH_BLOCK) {
    if (q.n > kManyHeld * logical) kind = RMS_PLAN_OPTIONS;
    plan->held = q.n <= kFewHeld * logical ? kFewHeld : kManyHeld;
    plan->group = kind == RMS_PLAN_RESIDUAL && plan->held == kFewHeld ? kGroup : full;
    if (kind == RMS_PLAN_OPTIONS || !all_grouped(plan->group)) {
      kind = RMS_PLAN_OPTIONS;
      plan->group = all_grouped(kGroup) ? kGroup : 1;
    }
    plan->choice.threads = logical / plan->group;
    plan->choice.blocks = total;
  } else {
    if (!clusters || !plan->wide || q.quantisation == RMS_QUANT_TOKEN) {
      return refuse(CK_UNSUPPORTED, RMS_ARG_path);
    }
    while (1 << plan->log_cluster < path) ++plan->log_cluster;
    plan->choice.threads = path == 2 ? kWideColumns / 2 : kClusterThreads;
    plan->group = kClusterGroup;
    const int64_t held = int64_t{kClusterHeld} * kClusterGroup * plan->choice.threads * path;
    if (kind != RMS_PLAN_PLAIN || q.n > held || !all_grouped(kClusterGroup)) {
      kind = RMS_PLAN_OPTIONS;
      plan->choice.threads = kWideColumns / path;
      plan->group = 1;
    }
    plan->choice.blocks = total * path;
    if (plan->choice.blocks > INT32_MAX) return refuse(CK_BAD_SIZE, RMS_ARG_rows);
  }
  plan->choice.kind = kind;
  plan->choice.vector = plan->group;
  return 0;
}

static int check(const rms_norm_params& p, Checked* c) {
  int error = check_enums(p);
  if (error == 0) error = check_scalars(p);
  if (error == 0) error = check_sizes(p.n, p.rows, p.channels, p.samples);
  if (error == 0) error = check_types(p);
  if (error == 0 && p.rows > 0) error = check_tensors(p, c);
  return error;
}

static int norm(const rms_norm_params& p, void* stream) {
  Checked c;
  int error = check(p, &c);
  if (error != 0 || p.rows == 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Plan plan;
  error = make_plan(p, &c, 10 * device.major + device.minor, device.sm_count, &plan);
  if (error != 0) return error;
  switch (p.x_dtype) {
    case RMS_F32:
      return launch_f32(c.problem, plan, stream);
    case RMS_BF16:
      return launch_bf16(c.problem, plan, stream);
    default:
      return launch_f16(c.problem, plan, stream);
  }
}

// llama.cpp fuses an addition only behind a product.
static int ggml(const rms_norm_params& p, float* sums, void* stream) {
  if (p.x_dtype != RMS_F32) return refuse(CK_UNSUPPORTED, RMS_ARG_x_dtype);
  if (p.gamma_dtype != RMS_F32) return refuse(CK_UNSUPPORTED, RMS_ARG_gamma_dtype);
  if (p.y_dtype != RMS_F32) return refuse(CK_UNSUPPORTED, RMS_ARG_y_dtype);
  if (p.gamma_mode != RMS_GAMMA_PLAIN) return refuse(CK_UNSUPPORTED, RMS_ARG_gamma_mode);
  if (p.quantisation != RMS_QUANT_NONE) return refuse(CK_UNSUPPORTED, RMS_ARG_quantisation);
  if (p.path != RMS_PATH_AUTO) return refuse(CK_UNSUPPORTED, RMS_ARG_path);
  if (p.residual != nullptr) return refuse(CK_UNSUPPORTED, RMS_ARG_residual);
  if (p.add != nullptr && p.gamma == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_gamma);
  Checked c;
  int error = check(p, &c);
  if (error != 0 || p.rows == 0) return error;
  const Extent sums_extent = per_row(sums, RMS_ARG_sums, c.problem.total);
  const Extent others[] = {c.x, c.gamma, c.add, c.y,
                           per_row(p.rstd, RMS_ARG_rstd, c.problem.total)};
  error = check_extents(others, 5, &sums_extent, 1, nullptr, 0);
  if (error != 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(c.problem.total);
  config.block = p.n < kWideColumns ? kNarrowThreads : kWideColumns;
  config.pdl = device.major >= 9;
  config.stream = stream;
  return ck::launch<ggml_norm>(config, c.problem, sums);
}

static int check_struct(const rms_norm_params* params) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, RMS_ARG_params);
  if (params->struct_size != sizeof(rms_norm_params)) {
    return refuse(CK_BAD_STRUCT, RMS_ARG_struct_size);
  }
  return 0;
}

}  // namespace rms

extern "C" uint32_t rms_abi_version(void) { return RMS_ABI_VERSION; }

extern "C" const char* rms_error_string(int code) {
  if (code == 0) return "rms_norm: success";
  switch (code) {
#define RMS_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                    \
    return "rms_norm: " #name ": " sentence;
#define RMS_SENTENCES(number, name)                                                              \
  RMS_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                \
  RMS_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")         \
  RMS_SENTENCE(CK_BAD_VALUE, number, name, "is not finite or outside the range of the header")   \
  RMS_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                      \
  RMS_SENTENCE(CK_BAD_STRIDE, number, name, "are negative, too large, or let rows overlap")      \
  RMS_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")             \
  RMS_SENTENCE(CK_OVERLAP, number, name, "overlaps another tensor other than exactly")           \
  RMS_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here") \
  RMS_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or smaller than asked for")           \
  RMS_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    RMS_ARGUMENTS(RMS_SENTENCES)
#undef RMS_SENTENCES
#undef RMS_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" int rms_norm_plan(const rms_norm_params* params, int32_t capability,
                             int32_t multiprocessors, rms_plan* plan) {
  int error = rms::check_struct(params);
  if (error == 0 && plan == nullptr) error = rms::refuse(CK_NULL_POINTER, RMS_ARG_params);
  if (error != 0) return error;
  *plan = rms_plan{};
  rms::Checked c;
  error = rms::check(*params, &c);
  if (error != 0 || params->rows == 0) return error;
  rms::Plan made;
  error = rms::make_plan(*params, &c, capability, multiprocessors, &made);
  if (error == 0) *plan = made.choice;
  return error;
}

extern "C" int rms_norm(const rms_norm_params* params, void* stream) {
  const int error = rms::check_struct(params);
  return error != 0 ? error : rms::norm(*params, stream);
}

extern "C" int rms_norm_ggml(const rms_norm_params* params, float* sums, void* stream) {
  const int error = rms::check_struct(params);
  return error != 0 ? error : rms::ggml(*params, sums, stream);
}

extern "C" int rms_norm_f32(const float* x, const float* gamma, float* y, int64_t rows, int64_t n,
                            int64_t x_stride, int64_t y_stride, float eps, void* stream) {
  rms_norm_params p{};
  p.n = n;
  p.rows = rows;
  p.eps = eps;
  p.x_strides[0] = x_stride;
  p.y_strides[0] = y_stride;
  p.x = x;
  p.gamma = gamma;
  p.y = y;
  return rms::norm(p, stream);
}
