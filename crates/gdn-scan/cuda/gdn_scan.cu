// C ABI: checks of the host arguments, the choice of a path, and the launches.
#include <ck/host.cuh>

#include <math.h>

#include "baselines.cuh"
#include "gdn_scan.h"
#include "plan.cuh"
#include "step_streamed.cuh"

namespace gdn {

constexpr int64_t kLargest = INT32_MAX;
constexpr int64_t kMaxHeads = 65535;

static int64_t element_bytes(int dtype) { return dtype == GDN_F32 ? 4 : 2; }

struct Extent {
  const void* pointer;
  int64_t bytes;
  int64_t align;
  int argument;
  bool required;
};

static bool overlap(const Extent& a, const Extent& b) {
  if (a.pointer == nullptr || b.pointer == nullptr) return false;
  const uintptr_t a0 = reinterpret_cast<uintptr_t>(a.pointer);
  const uintptr_t b0 = reinterpret_cast<uintptr_t>(b.pointer);
  return a0 < b0 + b.bytes && b0 < a0 + a.bytes;
}

// Elements from the first to past the last of `rows` rows.
static int64_t span(int64_t rows, int64_t stride, int64_t extent) {
  return rows == 0 ? 0 : (rows - 1) * stride + extent;
}

// Whether `rows` rows of `extent` elements, `stride` apart, end within 2^60 elements.
static bool reachable(int64_t rows, int64_t stride, int64_t extent) {
  constexpr int64_t kEnd = int64_t{1} << 60;
  return extent <= kEnd && (rows <= 1 || stride <= (kEnd - extent) / (rows - 1));
}

static int refuse(int kind, int argument) { return CK_STATUS(kind, argument); }

// A gdn_scan_params with its defaults filled in.
struct Call {
  gdn_scan_params p;
  int64_t head;  // elements of a head's state
  int64_t rows;  // of q and its like
};

static int check_enums(const gdn_scan_params& p) {
  const struct {
    int value;
    int last;
    int argument;
  } enums[] = {{p.dtype, GDN_F16, GDN_ARG_dtype},
               {p.state_dtype, GDN_F16, GDN_ARG_state_dtype},
               {p.layout, GDN_VK, GDN_ARG_layout},
               {p.head_map, GDN_TILED, GDN_ARG_head_map},
               {p.decay_form, GDN_DECAY_GATE, GDN_ARG_decay_form},
               {p.beta_form, GDN_BETA_TWICE_SIGMOID, GDN_ARG_beta_form},
               {p.norm, GDN_NORM_EPS_INSIDE, GDN_ARG_norm},
               {p.key_decay, 1, GDN_ARG_key_decay},
               {p.path, GDN_PATH_STREAMED, GDN_ARG_path},
               {p.has_scale, 1, GDN_ARG_has_scale}};
  for (const auto& e : enums) {
    if (e.value < 0 || e.value > e.last) return refuse(CK_BAD_ENUM, e.argument);
  }
  if (p.has_scale && !isfinite(p.scale)) return refuse(CK_BAD_VALUE, GDN_ARG_scale);
  if (p.norm != GDN_NORM_NONE && !(p.norm_eps >= 0.0f && p.norm_eps < INFINITY)) {
    return refuse(CK_BAD_VALUE, GDN_ARG_norm_eps);
  }
  return 0;
}

static int check_sizes(const gdn_scan_params& p) {
  const struct {
    int64_t value;
    int64_t least;
    int64_t most;
    int argument;
  } sizes[] = {{p.sequences, 0, kLargest - 1, GDN_ARG_sequences},
               {p.key_heads, 1, kMaxHeads, GDN_ARG_key_heads},
               {p.value_heads, 1, kMaxHeads, GDN_ARG_value_heads},
               {p.key_dim, 1, GDN_MAX_DIM, GDN_ARG_key_dim},
               {p.value_dim, 1, GDN_MAX_DIM, GDN_ARG_value_dim},
               {p.cu_seqlens != nullptr ? p.total_t : 0, 0, kLargest, GDN_ARG_total_t},
               {p.max_t, 0, kLargest, GDN_ARG_max_t},
               {p.slots, p.slots_in != nullptr ? 0 : p.sequences, kLargest, GDN_ARG_slots}};
  for (const auto& s : sizes) {
    if (s.value < s.least || s.value > s.most) return refuse(CK_BAD_SIZE, s.argument);
  }
  if (p.value_heads % p.key_heads != 0) return refuse(CK_BAD_SIZE, GDN_ARG_value_heads);
  return 0;
}

// Fills in the packed strides; refuses one that is smaller than its row or reaches too far.
static int check_strides(Call& call) {
  gdn_scan_params& p = call.p;
  call.head = p.key_dim * p.value_dim;
  call.rows = p.cu_seqlens != nullptr ? p.total_t : p.sequences * p.max_t;
  const int64_t decays = p.key_decay ? p.value_heads * p.key_dim : p.value_heads;
  const struct {
    int64_t* stride;
    int64_t rows;
    int64_t row;
    int argument;
  } strides[] = {{&p.slot_stride, p.slots, p.value_heads * call.head, GDN_ARG_slot_stride},
                 {&p.q_stride, call.rows, p.key_heads * p.key_dim, GDN_ARG_q_stride},
                 {&p.k_stride, call.rows, p.key_heads * p.key_dim, GDN_ARG_k_stride},
                 {&p.v_stride, call.rows, p.value_heads * p.value_dim, GDN_ARG_v_stride},
                 {&p.out_stride, call.rows, p.value_heads * p.value_dim, GDN_ARG_out_stride},
                 {&p.g_stride, call.rows, decays, GDN_ARG_g_stride},
                 {&p.beta_stride, call.rows, p.value_heads, GDN_ARG_beta_stride}};
  for (const auto& s : strides) {
    if (*s.stride == 0) *s.stride = s.row;
    if (*s.stride < s.row || !reachable(s.rows, *s.stride, s.row)) {
      return refuse(CK_BAD_STRIDE, s.argument);
    }
  }
  if (p.snapshots != nullptr) {
    if (p.snapshot_count < 0 || p.snapshot_count > kLargest) {
      return refuse(CK_BAD_SIZE, GDN_ARG_snapshot_count);
    }
    const int64_t needed = p.snapshot_count == 0 ? call.rows : p.sequences * p.snapshot_count;
    const int64_t each = p.value_heads * call.head;
    if (p.snapshot_rows < needed || !reachable(p.snapshot_rows, each, each)) {
      return refuse(CK_BAD_SIZE, GDN_ARG_snapshot_rows);
    }
  }
  return 0;
}

static int check_pointers(const Call& call) {
  const gdn_scan_params& p = call.p;
  const int64_t io = element_bytes(p.dtype);
  const int64_t kept = element_bytes(p.state_dtype);
  const int64_t gate = p.decay_form == GDN_DECAY_GATE ? io : 4;
  const int64_t beta = p.beta_form == GDN_BETA_GIVEN ? 4 : io;
  const int64_t rows = call.rows;
  const bool some = rows > 0;
  const int64_t decays = p.key_decay ? p.value_heads * p.key_dim : p.value_heads;
  const int64_t keys = p.key_heads * p.key_dim;
  const int64_t values = p.value_heads * p.value_dim;
  const int64_t states = p.value_heads * call.head;
  const int64_t pool = span(p.slots, p.slot_stride, states) * kept;
  const bool gated = p.decay_form == GDN_DECAY_GATE;
  const Extent inputs[] = {
      {p.state_source, pool, kept, GDN_ARG_state_source, false},
      {p.slots_in, p.sequences * 4, 4, GDN_ARG_slots_in, false},
      {p.slots_out, p.sequences * 4, 4, GDN_ARG_slots_out, false},
      {p.cu_seqlens, (p.sequences + 1) * 4, 4, GDN_ARG_cu_seqlens, false},
      {p.q, span(rows, p.q_stride, keys) * io, io, GDN_ARG_q, some},
      {p.k, span(rows, p.k_stride, keys) * io, io, GDN_ARG_k, some},
      {p.v, span(rows, p.v_stride, values) * io, io, GDN_ARG_v, some},
      {p.g, span(rows, p.g_stride, decays) * gate, gate, GDN_ARG_g, some},
      {p.beta, span(rows, p.beta_stride, p.value_heads) * beta, beta, GDN_ARG_beta, some},
      {p.a_log, gated ? p.value_heads * 4 : 0, 4, GDN_ARG_a_log, some && gated},
      {p.dt_bias, gated ? decays * 4 : 0, 4, GDN_ARG_dt_bias, some && gated},
  };
  const Extent outputs[] = {
      {p.state, pool, kept, GDN_ARG_state, p.slots > 0},
      {p.out, span(rows, p.out_stride, values) * io, io, GDN_ARG_out, some},
      {p.snapshots, p.snapshot_rows * states * kept, kept, GDN_ARG_snapshots, false},
      {p.status, 4, 4, GDN_ARG_status, false},
  };
  const auto check = [](const Extent& e) {
    if (e.required && e.pointer == nullptr) return refuse(CK_NULL_POINTER, e.argument);
    return reinterpret_cast<uintptr_t>(e.pointer) % e.align != 0
               ? refuse(CK_MISALIGNED, e.argument)
               : 0;
  };
  for (const Extent& e : inputs) {
    if (const int error = check(e)) return error;
  }
  for (const Extent& e : outputs) {
    if (const int error = check(e)) return error;
  }
  for (const Extent& output : outputs) {
    for (const Extent& input : inputs) {
      if (overlap(output, input)) return refuse(CK_OVERLAP, output.argument);
    }
    for (const Extent& other : outputs) {
      if (other.argument < output.argument && overlap(output, other)) {
        return refuse(CK_OVERLAP, output.argument);
      }
    }
  }
  return 0;
}

static bool is_multiple(const void* pointer, int64_t of) {
  return reinterpret_cast<uintptr_t>(pointer) % of == 0;
}

// Snapshots are the scan's.
static bool is_one_token(const gdn_scan_params& p) {
  return p.max_t == 1 && p.cu_seqlens == nullptr && p.snapshots == nullptr;
}

// Whether a pool begins at, and steps by, whole multiples of `bytes`.
static bool states_aligned(const gdn_scan_params& p, int64_t bytes) {
  return is_multiple(p.state, bytes) && is_multiple(p.state_source, bytes) &&
         p.slot_stride * element_bytes(p.state_dtype) % bytes == 0;
}

static bool segments_take(const gdn_scan_params& p, bool one_token) {
  const bool known = (p.key_dim == 128 && p.value_dim == 128) ||
                     (p.key_dim == 96 && p.value_dim == 192 && p.state_dtype == GDN_F32);
  return known && p.layout == GDN_KV && (one_token || !p.key_decay);
}

static bool streamed_takes(const gdn_scan_params& p, bool one_token, int capability) {
  constexpr int64_t kMaxThreads = 256;
  const int64_t element = element_bytes(p.state_dtype);
  // What a block may have; the small devices of this generation have less.
  const int64_t shared = (capability >= 120 ? 99 : 227) * 1024 - 1024;
  return one_token && capability >= 90 && p.layout == GDN_KV &&
         p.key_dim % (4 * kStreamParts) == 0 && p.value_dim * element % (4 * ck::kWarp) == 0 &&
         p.value_dim * element / 4 <= kMaxThreads &&
         p.key_dim <= kKeysAThread * (p.value_dim * element / 4) &&
         streamed_bytes(static_cast<int>(p.key_dim), static_cast<int>(p.value_dim),
                        static_cast<int>(element)) <=
             shared - static_cast<int64_t>(sizeof(StagedToken<GDN_MAX_DIM, 0>));
}

// Up to so many heads in all, latency and not memory bounds a step.
constexpr int64_t kFewHeads = 128;

// A function of the params and the capability alone. What a path cannot take by its sizes is
// refused where the path is forced; where only the states' alignment is short, another takes it.
static int choose_path(const gdn_scan_params& p, int capability) {
  const bool one_token = is_one_token(p);
  const bool segments = segments_take(p, one_token);
  const bool streamed = streamed_takes(p, one_token, capability);
  // A step moves states by the 32-bit word, bulk copies by 16 bytes.
  const bool can_segment = segments && (!one_token || states_aligned(p, 4));
  const bool can_stream = streamed && states_aligned(p, 16);
  switch (p.path) {
    case GDN_PATH_GENERAL:
      return GDN_PATH_GENERAL;
    case GDN_PATH_SEGMENTS:
      if (!segments) return refuse(CK_UNSUPPORTED, GDN_ARG_path);
      return can_segment ? GDN_PATH_SEGMENTS : GDN_PATH_GENERAL;
    case GDN_PATH_STREAMED:
      if (!streamed) return refuse(CK_UNSUPPORTED, GDN_ARG_path);
      return can_stream ? GDN_PATH_STREAMED : GDN_PATH_GENERAL;
    default:
      break;
  }
  const bool few = p.sequences * p.value_heads <= kFewHeads;
  if (can_segment && (few || !can_stream)) return GDN_PATH_SEGMENTS;
  return can_stream ? GDN_PATH_STREAMED : GDN_PATH_GENERAL;
}

static Problem problem_of(const Call& call) {
  const gdn_scan_params& p = call.p;
  Problem q{};
  q.state = p.state;
  q.source = p.state_source != nullptr ? p.state_source : p.state;
  q.slots_in = p.slots_in;
  q.slots_out = p.slots_out;
  q.cu_seqlens = p.cu_seqlens;
  q.q = p.q;
  q.k = p.k;
  q.v = p.v;
  q.g = p.g;
  q.beta = p.beta;
  q.a_log = p.a_log;
  q.dt_bias = p.dt_bias;
  q.out = p.out;
  q.snapshots = p.snapshots;
  q.status = p.status;
  q.slots = p.slots;
  q.slot_stride = p.slot_stride;
  q.q_stride = p.q_stride;
  q.k_stride = p.k_stride;
  q.v_stride = p.v_stride;
  q.out_stride = p.out_stride;
  q.g_stride = p.g_stride;
  q.beta_stride = p.beta_stride;
  q.total_t = p.total_t;
  q.snapshot_count = p.snapshot_count;
  q.by_value_heads = divisor_of(static_cast<uint32_t>(p.value_heads));
  q.by_group = divisor_of(static_cast<uint32_t>(
      p.head_map == GDN_TILED ? p.key_heads : p.value_heads / p.key_heads));
  q.sequences = static_cast<int>(p.sequences);
  q.key_heads = static_cast<int>(p.key_heads);
  q.value_heads = static_cast<int>(p.value_heads);
  q.key_dim = static_cast<int>(p.key_dim);
  q.value_dim = static_cast<int>(p.value_dim);
  q.max_t = static_cast<int>(p.max_t);
  q.dtype = p.dtype;
  q.layout = p.layout;
  q.head_map = p.head_map;
  q.decay_form = p.decay_form;
  q.beta_form = p.beta_form;
  q.norm = p.norm;
  q.key_decay = p.key_decay;
  q.scale = p.has_scale ? p.scale : 1.0f / sqrtf(static_cast<float>(p.key_dim));
  q.norm_eps = p.norm_eps;
  return q;
}

static int check(const gdn_scan_params& params, Call* call) {
  call->p = params;
  int error = check_enums(call->p);
  if (error == 0) error = check_sizes(call->p);
  if (error == 0) error = check_strides(*call);
  return error;
}

static int run(const gdn_scan_params& params, bool fast, void* stream) {
  Call call;
  int error = check(params, &call);
  if (error != 0 || params.sequences == 0) return error;
  error = check_pointers(call);
  if (error != 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Plan plan{};
  plan.one_token = is_one_token(call.p);
  plan.path = choose_path(call.p, 10 * device.major + device.minor);
  if (plan.path >= 1000) return plan.path;
  plan.fast = fast && plan.path == GDN_PATH_SEGMENTS && plan.one_token;
  plan.pdl = device.major >= 9;
  // The most blocks that any path makes: one for 32 columns.
  const int64_t tiles = (call.p.value_dim + 31) / 32;
  if (call.p.sequences > kLargest / (call.p.value_heads * tiles)) {
    return refuse(CK_BAD_SIZE, GDN_ARG_sequences);
  }
  const Problem problem = problem_of(call);
  switch (call.p.state_dtype) {
    case GDN_F32:
      return launch_f32(problem, plan, stream);
    case GDN_BF16:
      return launch_bf16(problem, plan, stream);
    default:
      return launch_f16(problem, plan, stream);
  }
}

static int check_struct(const gdn_scan_params* params) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, GDN_ARG_params);
  if (params->struct_size != sizeof(gdn_scan_params)) {
    return refuse(CK_BAD_STRUCT, GDN_ARG_struct_size);
  }
  return 0;
}

// gdn_scan_params of a step: one token, and no offsets.
static int as_step(const gdn_scan_params* params, gdn_scan_params* step) {
  if (const int error = check_struct(params)) return error;
  if (params->cu_seqlens != nullptr) return refuse(CK_UNSUPPORTED, GDN_ARG_cu_seqlens);
  *step = *params;
  step->max_t = 1;
  return 0;
}

static int check_seed(int n_v, int n_k, int d) {
  if (n_v < 0 || n_v > kMaxHeads) return refuse(CK_BAD_SIZE, GDN_ARG_n_v);
  if (n_k < 1 || n_v % n_k != 0) return refuse(CK_BAD_SIZE, GDN_ARG_n_k);
  if (d < 1 || d > GDN_MAX_DIM) return refuse(CK_BAD_SIZE, GDN_ARG_d);
  return 0;
}

static gdn_scan_params seed_params(float* state, const float* q, const float* k, const float* v,
                                   const float* g, const float* beta, float* out, int n_v,
                                   int n_k, int d) {
  gdn_scan_params p{};
  p.struct_size = sizeof(p);
  p.head_map = GDN_TILED;
  p.sequences = 1;
  p.key_heads = n_k;
  p.value_heads = n_v;
  p.key_dim = d;
  p.value_dim = d;
  p.max_t = 1;
  p.slots = 1;
  p.state = state;
  p.q = q;
  p.k = k;
  p.v = v;
  p.g = g;
  p.beta = beta;
  p.out = out;
  return p;
}

template <int kPasses>
static int run_baseline(float* state, const float* q, const float* k, const float* v,
                        const float* g, const float* beta, float* out, int n_v, int n_k, int d,
                        void* stream) {
  int error = check_seed(n_v, n_k, d);
  if (error != 0 || n_v == 0) return error;
  Call call;
  error = check(seed_params(state, q, k, v, g, beta, out, n_v, n_k, d), &call);
  if (error == 0) error = check_pointers(call);
  if (error != 0) return error;
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  const float scale = 1.0f / sqrtf(static_cast<float>(d));
  ck::LaunchConfig config;
  config.grid = n_v;
  config.block = d;
  config.pdl = device.major >= 9;
  config.stream = stream;
  return ck::launch<seed_step<kPasses>>(config,
                                        SeedProblem{state, q, k, v, g, beta, out, n_k, d, scale});
}

}  // namespace gdn

extern "C" uint32_t gdn_abi_version(void) { return GDN_ABI_VERSION; }

extern "C" const char* gdn_error_string(int code) {
  if (code == 0) return "gdn-scan: success";
  switch (code) {
#define GDN_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                    \
    return "gdn-scan: " #name ": " sentence;
#define GDN_SENTENCES(number, name)                                                              \
  GDN_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                \
  GDN_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")         \
  GDN_SENTENCE(CK_BAD_VALUE, number, name, "is not finite or outside the range of the header")   \
  GDN_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                      \
  GDN_SENTENCE(CK_BAD_STRIDE, number, name, "is smaller than what it steps over, or too large")  \
  GDN_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")             \
  GDN_SENTENCE(CK_OVERLAP, number, name, "overlaps an input or another output")                  \
  GDN_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here") \
  GDN_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or short")                            \
  GDN_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    GDN_ARGUMENTS(GDN_SENTENCES)
#undef GDN_SENTENCES
#undef GDN_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" const char* gdn_device_status_string(uint32_t status) {
  switch (status >> 24) {
    case GDN_DEVICE_OK:
      return "gdn-scan: no bad device value";
    case GDN_DEVICE_BAD_OFFSETS:
      return "gdn-scan: cu_seqlens: decrease, or pass total_t or max_t; the sequence has no tokens";
    case GDN_DEVICE_BAD_SLOT:
      return "gdn-scan: slots_in or slots_out: beyond the pool; the sequence counts as a pad";
  }
  return "gdn-scan: unknown device status";
}

extern "C" int gdn_path_for(const gdn_scan_params* params, int one_token, int capability) {
  gdn_scan_params step;
  int error = one_token ? gdn::as_step(params, &step) : gdn::check_struct(params);
  if (error != 0) return error;
  gdn::Call call;
  error = gdn::check(one_token ? step : *params, &call);
  return error != 0 ? error : gdn::choose_path(call.p, capability);
}

extern "C" int gdn_step(const gdn_scan_params* params, void* stream) {
  gdn_scan_params step;
  if (const int error = gdn::as_step(params, &step)) return error;
  return gdn::run(step, false, stream);
}

extern "C" int gdn_step_fast(const gdn_scan_params* params, void* stream) {
  gdn_scan_params step;
  if (const int error = gdn::as_step(params, &step)) return error;
  return gdn::run(step, true, stream);
}

extern "C" int gdn_scan(const gdn_scan_params* params, void* stream) {
  if (const int error = gdn::check_struct(params)) return error;
  return gdn::run(*params, false, stream);
}

extern "C" int gdn_scan_step_f32(float* state, const float* q, const float* k, const float* v,
                                 const float* g, const float* beta, float* out, int n_v, int n_k,
                                 int d, void* stream) {
  const int error = gdn::check_seed(n_v, n_k, d);
  if (error != 0 || n_v == 0) return error;
  return gdn::run(gdn::seed_params(state, q, k, v, g, beta, out, n_v, n_k, d), false,
                       stream);
}

extern "C" int gdn_baseline_four_pass(float* state, const float* q, const float* k,
                                      const float* v, const float* g, const float* beta,
                                      float* out, int n_v, int n_k, int d, void* stream) {
  return gdn::run_baseline<4>(state, q, k, v, g, beta, out, n_v, n_k, d, stream);
}

extern "C" int gdn_baseline_two_pass(float* state, const float* q, const float* k, const float* v,
                                     const float* g, const float* beta, float* out, int n_v,
                                     int n_k, int d, void* stream) {
  return gdn::run_baseline<2>(state, q, k, v, g, beta, out, n_v, n_k, d, stream);
}
