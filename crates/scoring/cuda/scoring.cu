// C ABI: checks of the host arguments, the choice of a path, and the launches.
#include <ck/host.cuh>

#include "merge_question.cuh"
#include "plan.cuh"
#include "rows.cuh"
#include "scoring.h"

namespace scoring {

// The front of every workspace belongs to the paths whose blocks meet there: the words of
// CS_PATH_SPREAD, then CS_PATH_SWEEP's store. What they rely on finding there nobody else writes,
// so calls of any sizes and paths may share a workspace.
constexpr int64_t kSpreadWords = CS_MAX_SPREAD_CANDIDATES;
constexpr size_t kSpreadBytes = kSpreadWords * sizeof(uint64_t);
constexpr size_t kFrontBytes = kSpreadBytes + (sizeof(SweepStore) + 255) / 256 * 256;
constexpr int64_t kLargest = INT32_MAX;
constexpr size_t kWorkspaceAlign = 16;

static size_t align_up(size_t bytes) {
  return (bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign;
}

static size_t element_bytes(int dtype) { return dtype == CS_F32 ? 4 : 2; }

// A problem with its defaults filled in, and the bytes behind each pointer.
struct Checked {
  Problem problem;
  int dtype;
  bool cosine;
};

struct Extent {
  const void* pointer;
  int64_t bytes;
  int64_t align;
  int argument;
};

static bool usable(const Extent& e) {
  return reinterpret_cast<uintptr_t>(e.pointer) % e.align == 0;
}
static bool overlap(const Extent& a, const Extent& b) {
  if (a.pointer == nullptr || b.pointer == nullptr) return false;
  const uintptr_t a0 = reinterpret_cast<uintptr_t>(a.pointer);
  const uintptr_t b0 = reinterpret_cast<uintptr_t>(b.pointer);
  return a0 < b0 + b.bytes && b0 < a0 + a.bytes;
}

// Elements from the first to past the last of `rows` rows.
static int64_t span(int64_t rows, int64_t stride, int64_t dim) {
  return rows == 0 ? 0 : (rows - 1) * stride + dim;
}

// Whether `rows` rows of `extent` elements, `stride` apart, end within 2^60 elements.
static bool reachable(int64_t rows, int64_t stride, int64_t extent) {
  constexpr int64_t kEnd = int64_t{1} << 60;
  return extent <= kEnd && (rows <= 1 || stride <= (kEnd - extent) / (rows - 1));
}

static int refuse(int kind, int argument) { return CK_STATUS(kind, argument); }

static int check_sizes(const cs_score_params& p) {
  if (p.dtype < CS_F32 || p.dtype > CS_F16) return refuse(CK_BAD_ENUM, CS_ARG_dtype);
  if (p.similarity < CS_DOT || p.similarity > CS_COSINE) {
    return refuse(CK_BAD_ENUM, CS_ARG_similarity);
  }
  if (p.layout < CS_DENSE || p.layout > CS_INDEXED) return refuse(CK_BAD_ENUM, CS_ARG_layout);
  switch (p.path) {
    case CS_PATH_AUTO:
    case CS_PATH_BLOCK:
    case CS_PATH_CLUSTER_2:
    case CS_PATH_CLUSTER_4:
    case CS_PATH_CLUSTER_8:
    case CS_PATH_CLUSTER_16:
    case CS_PATH_SPREAD:
    case CS_PATH_TWO_NODES:
    case CS_PATH_SWEEP:
      break;
    default:
      return refuse(CK_BAD_ENUM, CS_ARG_path);
  }
  if (p.top_k < 0 || p.top_k > CS_MAX_TOP_K) return refuse(CK_BAD_SIZE, CS_ARG_top_k);
  if (p.questions < 0 || p.questions >= kLargest) return refuse(CK_BAD_SIZE, CS_ARG_questions);
  const bool by_offsets = p.offsets != nullptr;
  if (p.layout == CS_RAGGED && !by_offsets) return refuse(CK_NULL_POINTER, CS_ARG_offsets);
  if (by_offsets && p.layout != CS_RAGGED && p.layout != CS_INDEXED) {
    return refuse(CK_UNSUPPORTED, CS_ARG_offsets);
  }
  // With offsets, max_k = 0 says that every question is empty.
  if (p.max_k < (by_offsets ? 0 : 1) || p.max_k > kLargest - kTile) {
    return refuse(CK_BAD_SIZE, CS_ARG_max_k);
  }
  if (by_offsets && (p.sum_k < 0 || p.sum_k > kLargest)) return refuse(CK_BAD_SIZE, CS_ARG_sum_k);
  if (p.layout == CS_INDEXED && (p.table_rows < 1 || p.table_rows > kLargest)) {
    return refuse(CK_BAD_SIZE, CS_ARG_table_rows);
  }
  if (p.dim < 1 || p.dim > kLargest - kSegment) return refuse(CK_BAD_SIZE, CS_ARG_dim);
  if (p.query_stride != 0 && p.query_stride < p.dim) {
    return refuse(CK_BAD_STRIDE, CS_ARG_query_stride);
  }
  if (p.candidate_stride != 0 && p.candidate_stride < p.dim) {
    return refuse(CK_BAD_STRIDE, CS_ARG_candidate_stride);
  }
  // Everything that the strides reach lies within 64-bit byte offsets.
  const int64_t row = p.candidate_stride != 0 ? p.candidate_stride : p.dim;
  if (!reachable(p.questions, p.query_stride, p.dim)) {
    return refuse(CK_BAD_STRIDE, CS_ARG_query_stride);
  }
  const int64_t rows = p.layout == CS_RAGGED    ? p.sum_k
                       : p.layout == CS_INDEXED ? p.table_rows
                                                : p.max_k;
  if (!reachable(rows, row, p.dim)) return refuse(CK_BAD_STRIDE, CS_ARG_candidate_stride);
  const int64_t block = span(p.max_k, row, p.dim);
  if (p.layout == CS_DENSE &&
      !reachable(p.questions, p.question_stride != 0 ? p.question_stride : p.max_k * row, block)) {
    return refuse(CK_BAD_STRIDE, CS_ARG_question_stride);
  }
  if (p.question_stride != 0) {
    if (p.layout != CS_DENSE || p.question_stride < block) {
      return refuse(CK_BAD_STRIDE, CS_ARG_question_stride);
    }
  }
  return 0;
}

static int check_scalars(const cs_score_params& p) {
  if (p.scales == nullptr && !usable_factor(p.scale)) return refuse(CK_BAD_VALUE, CS_ARG_scale);
  if (p.temperatures == nullptr && !usable_factor(p.temperature)) {
    return refuse(CK_BAD_VALUE, CS_ARG_temperature);
  }
  if (!(p.eps >= 0.0f && p.eps < INFINITY)) return refuse(CK_BAD_VALUE, CS_ARG_eps);
  return 0;
}

static int check_pointers(const cs_score_params& p, const Problem& q) {
  const bool by_offsets = p.offsets != nullptr;
  const int64_t results = by_offsets ? p.sum_k : p.questions * p.max_k;
  const int64_t element = element_bytes(p.dtype);
  int64_t rows = 0;
  switch (p.layout) {
    case CS_DENSE:
      rows = 0;  // blocks, below
      break;
    case CS_RAGGED:
      rows = p.sum_k;
      break;
    case CS_SHARED:
      rows = p.max_k;
      break;
    default:
      rows = p.table_rows;
  }
  const int64_t stored = p.layout == CS_DENSE ? span(p.questions, q.question_stride,
                                                     span(p.max_k, q.candidate_stride, p.dim))
                                              : span(rows, q.candidate_stride, p.dim);
  const int64_t factors = p.layout == CS_DENSE ? results : rows;
  if (p.queries == nullptr) return refuse(CK_NULL_POINTER, CS_ARG_queries);
  if (p.candidates == nullptr && stored > 0) return refuse(CK_NULL_POINTER, CS_ARG_candidates);
  if (p.layout == CS_INDEXED && p.indices == nullptr && results > 0) {
    return refuse(CK_NULL_POINTER, CS_ARG_indices);
  }
  if (p.top_k == 0 && p.top_values != nullptr) return refuse(CK_BAD_SIZE, CS_ARG_top_k);
  if (p.top_k == 0 && p.top_indices != nullptr) return refuse(CK_BAD_SIZE, CS_ARG_top_k);
  const int64_t n = p.questions;
  const Extent inputs[] = {
      {p.queries, span(n, q.query_stride, p.dim) * element, element, CS_ARG_queries},
      {p.candidates, stored * element, element, CS_ARG_candidates},
      {p.offsets, (n + 1) * 4, 4, CS_ARG_offsets},
      {p.indices, p.layout == CS_INDEXED ? results * 4 : 0, 4, CS_ARG_indices},
      {p.mask, results, 1, CS_ARG_mask},
      {p.bias, results * 4, 4, CS_ARG_bias},
      {p.scales, n * 4, 4, CS_ARG_scales},
      {p.temperatures, n * 4, 4, CS_ARG_temperatures},
      {p.query_inverse_norms, n * 4, 4, CS_ARG_query_inverse_norms},
      {p.candidate_inverse_norms, factors * 4, 4, CS_ARG_candidate_inverse_norms},
  };
  const Extent outputs[] = {
      {p.probabilities, results * 4, 4, CS_ARG_probabilities},
      {p.logits, results * 4, 4, CS_ARG_logits},
      {p.log_probabilities, results * 4, 4, CS_ARG_log_probabilities},
      {p.log_sum_exp, n * 4, 4, CS_ARG_log_sum_exp},
      {p.argmax, n * 4, 4, CS_ARG_argmax},
      {p.top_values, n * p.top_k * 4, 4, CS_ARG_top_values},
      {p.top_indices, n * p.top_k * 4, 4, CS_ARG_top_indices},
      {p.expected_index, n * 4, 4, CS_ARG_expected_index},
      {p.status, 4, 4, CS_ARG_status},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), kWorkspaceAlign, CS_ARG_workspace},
  };
  constexpr int kResults = 8;  // the outputs before status
  bool asked = false;
  for (int i = 0; i < kResults; ++i) asked = asked || outputs[i].pointer != nullptr;
  if (!asked) return refuse(CK_NULL_POINTER, CS_ARG_probabilities);
  for (const Extent& e : inputs) {
    if (!usable(e)) return refuse(CK_MISALIGNED, e.argument);
  }
  for (const Extent& e : outputs) {
    if (!usable(e)) return refuse(CK_MISALIGNED, e.argument);
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

static Problem fill_defaults(const cs_score_params& p) {
  Problem q{};
  q.queries = p.queries;
  q.candidates = p.candidates;
  q.offsets = p.offsets;
  q.indices = p.indices;
  q.mask = p.mask;
  q.bias = p.bias;
  q.scales = p.scales;
  q.temperatures = p.temperatures;
  q.query_inverse_norms = p.query_inverse_norms;
  q.candidate_inverse_norms = p.candidate_inverse_norms;
  q.probabilities = p.probabilities;
  q.logits = p.logits;
  q.log_probabilities = p.log_probabilities;
  q.log_sum_exp = p.log_sum_exp;
  q.argmax = p.argmax;
  q.top_values = p.top_values;
  q.top_indices = p.top_indices;
  q.expected_index = p.expected_index;
  q.status = p.status;
  q.workspace = p.workspace;
  q.query_stride = p.query_stride != 0 ? p.query_stride : p.dim;
  q.candidate_stride = p.candidate_stride != 0 ? p.candidate_stride : p.dim;
  q.question_stride = p.question_stride != 0 ? p.question_stride : p.max_k * q.candidate_stride;
  if (p.layout == CS_SHARED) q.question_stride = 0;
  q.sum_k = p.sum_k;
  q.questions = static_cast<int>(p.questions);
  q.max_k = static_cast<int>(p.max_k);
  q.table_rows = static_cast<int>(p.table_rows);
  q.dim = static_cast<int>(p.dim);
  q.layout = p.layout;
  q.top_k = p.top_k;
  q.scale = p.scale;
  q.temperature = p.temperature;
  q.eps = p.eps;
  return q;
}

// Groups of four elements can be loaded at once: rows start at a multiple of the group and end at
// one.
static bool rows_are_grouped(const Problem& q, int64_t element) {
  const uintptr_t bytes = kGroup * element;
  const auto aligned = [&](const void* p) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; };
  return q.dim % kGroup == 0 && aligned(q.queries) && aligned(q.candidates) &&
         q.query_stride % kGroup == 0 && q.candidate_stride % kGroup == 0 &&
         (q.layout != CS_DENSE || q.question_stride % kGroup == 0);
}

// What seen_by<kPlain> takes for granted.
static bool is_plain(const Problem& q) {
  return (q.layout == CS_DENSE || q.layout == CS_SHARED) && q.mask == nullptr &&
         q.bias == nullptr && q.scales == nullptr && q.temperatures == nullptr &&
         q.query_inverse_norms == nullptr && q.candidate_inverse_norms == nullptr &&
         q.log_probabilities == nullptr && q.log_sum_exp == nullptr && q.argmax == nullptr &&
         q.top_values == nullptr && q.top_indices == nullptr && q.expected_index == nullptr;
}

// Bytes of the second node's store, behind the spread words. Sized for a top list or an argmax
// whether or not one is asked for, so that the size depends on params' sizes alone.
static size_t store_bytes(int64_t questions, int64_t max_k, int ranks, TileStore* store,
                          char* base) {
  const int64_t tiles = (max_k + kTile - 1) / kTile;
  const size_t logits = align_up(sizeof(float) * questions * max_k);
  const size_t stats = align_up(sizeof(Stats) * questions * tiles);
  if (store != nullptr) {
    store->logits = reinterpret_cast<float*>(base);
    store->stats = reinterpret_cast<Stats*>(base + logits);
    store->keys = reinterpret_cast<uint64_t*>(base + logits + stats);
  }
  return logits + stats + align_up(sizeof(uint64_t) * questions * tiles * ranks);
}

static int ranks_reserved(int top_k) { return top_k > 0 ? top_k : 1; }

// Few questions: independent blocks over the whole GPU, handing over through the workspace, beat a
// cluster at every size but the smallest (255x512 on an H200: 2.3 us against 2.9).
constexpr int64_t kSpreadMaxQuestions = 8;
constexpr int64_t kSpreadMinCandidates = 16;
constexpr int64_t kFewCandidates = 1024;

static bool spread_helps(int64_t questions, int64_t max_k) {
  return questions <= kSpreadMaxQuestions && max_k >= kSpreadMinCandidates &&
         max_k <= CS_MAX_ONE_NODE_K && questions * max_k <= kSpreadWords;
}

// One question of many candidates: the whole GPU, all of whose blocks wait for each other.
constexpr int64_t kSweepMinCandidates = 1537;
constexpr int64_t kSweepStreamCandidates = 16384;

static bool sweep_helps(int64_t questions, int64_t max_k) {
  return questions == 1 && max_k >= kSweepMinCandidates && max_k <= CS_MAX_SWEEP_K;
}

// Whether rows can be streamed: bulk copies need a device that has them, rows that start and end on
// 16 bytes, and a query that fits beside the rings.
static bool can_stream(const Problem& q, int access, const ck::Device& device, int64_t element) {
  return device.major >= 9 && access != kScalar && q.dim <= kStagedMaxDim &&
         rows_are_grouped(q, sizeof(float)) && q.dim * element % 16 == 0 &&
         q.query_stride * element % 16 == 0 && q.candidate_stride * element % 16 == 0 &&
         q.question_stride * element % 16 == 0;
}

static int clamp(int64_t value, int low, int high) {
  return static_cast<int>(value < low ? low : value > high ? high : value);
}

// Largest power of two that is at most `value`, within 1..16.
static int cluster_at_most(int64_t value) {
  int cluster = 1;
  while (cluster < 16 && cluster * 2 <= value) cluster *= 2;
  return cluster;
}

static int make_plan(const cs_score_params& p, const Problem& q, const ck::Device& device,
                     Plan* plan) {
  *plan = Plan{};
  plan->device = device;
  const int64_t element = element_bytes(p.dtype);
  plan->cosine = p.similarity == CS_COSINE;
  plan->access = !rows_are_grouped(q, element) ? kScalar : is_plain(q) ? kPlain : kVector;
  const bool clusters = device.major >= 9;
  plan->pdl = clusters;
  plan->threads = kThreads;
  plan->cluster = 1;
  const bool has_spread = p.workspace != nullptr && p.workspace_bytes >= kSpreadBytes &&
                          q.max_k <= CS_MAX_ONE_NODE_K && p.questions * p.max_k <= kSpreadWords;
  int path = p.path;
  const bool has_sweep = p.workspace != nullptr && p.workspace_bytes >= kFrontBytes;
  if (path == CS_PATH_AUTO) {
    if (sweep_helps(p.questions, p.max_k) && (has_sweep || p.max_k > CS_MAX_ONE_NODE_K)) {
      path = CS_PATH_SWEEP;
    } else if (q.max_k > CS_MAX_ONE_NODE_K) {
      path = CS_PATH_TWO_NODES;
    } else if (has_spread && spread_helps(p.questions, p.max_k)) {
      path = CS_PATH_SPREAD;
    } else {
      // As many blocks as there are SMs to fill and warps' worth of candidates to score.
      const int64_t by_machine = device.sm_count / p.questions;
      const int64_t by_work = (p.max_k + 7) / 8;
      path = clusters ? cluster_at_most(by_machine < by_work ? by_machine : by_work) : 1;
    }
  }
  plan->path = path;
  if (path == CS_PATH_SPREAD) {
    if (p.workspace == nullptr || q.max_k > CS_MAX_ONE_NODE_K ||
        p.questions * p.max_k > CS_MAX_SPREAD_CANDIDATES) {
      return refuse(CK_UNSUPPORTED, CS_ARG_path);
    }
    if (!has_spread) return refuse(CK_BAD_WORKSPACE, CS_ARG_workspace_bytes);
    // Two blocks a multiprocessor, readers among them, but one where a question has few candidates:
    // its writers then do not share a multiprocessor.
    const int64_t blocks =
        p.questions * p.max_k <= kFewCandidates ? device.sm_count : 2 * device.sm_count;
    const int64_t by_machine = blocks / p.questions - 1;
    plan->writers = clamp(by_machine < p.max_k ? by_machine : p.max_k, 1, blocks);
    const int64_t rows = (p.max_k + plan->writers - 1) / plan->writers;
    plan->streamed = rows > kThreads / ck::kWarp && can_stream(q, plan->access, device, element);
    plan->threads = kThreads;
    plan->slots = kStreamMaxSlots;
    if (plan->streamed) {
      // The slots that a warp's rows can fill, and no more than fit.
      const int64_t pairs = (rows + 2 * kStreamWarps - 1) / (2 * kStreamWarps);
      const int64_t segments = (p.dim + kSegment - 1) / kSegment;
      plan->slots = clamp(pairs * segments + 1, 2, kStreamMaxSlots);
      plan->threads = kStreamThreads;
    } else if (plan->access == kVector) {
      plan->access = kScalar;
    }
  } else if (path == CS_PATH_TWO_NODES || path == CS_PATH_SWEEP) {
    const bool sweeps = path == CS_PATH_SWEEP;
    if (sweeps && (p.questions != 1 || p.max_k > CS_MAX_SWEEP_K)) {
      return refuse(CK_UNSUPPORTED, CS_ARG_path);
    }
    if (p.workspace == nullptr) return refuse(CK_UNSUPPORTED, CS_ARG_path);
    const size_t needed =
        kFrontBytes +
        (sweeps ? 0 : store_bytes(p.questions, p.max_k, ranks_reserved(p.top_k), nullptr, nullptr));
    if (p.workspace_bytes < needed) return refuse(CK_BAD_WORKSPACE, CS_ARG_workspace_bytes);
    plan->streamed = can_stream(q, plan->access, device, element);
    plan->threads = plan->streamed ? kStreamThreads : kThreads;
    plan->slots = kStreamSlots;
    if (sweeps) {
      // Few rows a warp: less set-up before the first. Many: the copies need no registers.
      if (p.max_k < kSweepStreamCandidates) plan->streamed = false;
      if (p.dim > kStagedMaxDim) plan->access = kScalar;
      plan->sweep = reinterpret_cast<SweepStore*>(static_cast<char*>(p.workspace) + kSpreadBytes);
    } else {
      store_bytes(p.questions, p.max_k, ranks_reserved(p.top_k), &plan->store,
                  static_cast<char*>(p.workspace) + kFrontBytes);
      plan->store.tiles = tiles_of(q.max_k);
      plan->store.ranks = ranks_kept(q);
      const int64_t units = p.questions * plan->store.tiles;
      plan->cluster = clusters ? cluster_at_most(4 * device.sm_count / units) : 1;
      if (!plan->streamed && plan->access == kVector) plan->access = kScalar;
    }
  } else {
    plan->cluster = path;
    if (plan->cluster > 1 && !clusters) return refuse(CK_UNSUPPORTED, CS_ARG_path);
    if (q.max_k > CS_MAX_ONE_NODE_K) return refuse(CK_UNSUPPORTED, CS_ARG_path);
    // Every warp's loads are under way at once where it has one row; more rows are streamed.
    const int64_t rows_of_block = (p.max_k + plan->cluster - 1) / plan->cluster;
    const bool few = rows_of_block <= kThreads / ck::kWarp;
    plan->streamed = !few && can_stream(q, plan->access, device, element);
    plan->threads = plan->streamed || rows_of_block <= kTile / ck::kWarp ? kTile : kThreads;
    // Without streaming, only plain and scalar instances exist.
    if (!plan->streamed && plan->access == kVector) plan->access = kScalar;
  }
  int64_t blocks_of_question = plan->cluster;
  if (path == CS_PATH_SPREAD) blocks_of_question = plan->writers + 1;
  if (path == CS_PATH_TWO_NODES) blocks_of_question *= plan->store.tiles;
  if (p.questions > kLargest / blocks_of_question) return refuse(CK_BAD_SIZE, CS_ARG_questions);
  return 0;
}

static int merge(const Problem& q, const Plan& plan, void* stream) {
  const int parts = q.max_k > 0 ? (q.max_k + kMergeCandidates - 1) / kMergeCandidates : 1;
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(q.questions) * parts;
  config.block = kMergeThreads;
  config.pdl = plan.pdl;
  config.stream = stream;
  return ck::launch<merge_question>(config, q, plan.store, parts);
}

static int score(const cs_score_params& p, void* stream) {
  int error = check_sizes(p);
  if (error == 0) error = check_scalars(p);
  if (error != 0) return error;
  if (p.questions == 0) return 0;
  const Problem q = fill_defaults(p);
  error = check_pointers(p, q);
  if (error != 0) return error;
  // What is wrong on every device is said before one is asked for.
  if (p.path == CS_PATH_AUTO && p.max_k > CS_MAX_ONE_NODE_K && p.workspace == nullptr) {
    return refuse(CK_BAD_WORKSPACE, CS_ARG_workspace);
  }
  ck::Device device;
  error = ck::current_device(&device);
  if (error != 0) return error;
  Plan plan;
  error = make_plan(p, q, device, &plan);
  if (error != 0) return error;
  switch (p.dtype) {
    case CS_F32:
      error = launch_f32(q, plan, stream);
      break;
    case CS_BF16:
      error = launch_bf16(q, plan, stream);
      break;
    default:
      error = launch_f16(q, plan, stream);
  }
  if (error == 0 && plan.path == CS_PATH_TWO_NODES) error = merge(q, plan, stream);
  return error;
}

}  // namespace scoring

extern "C" uint32_t cs_abi_version(void) { return CS_ABI_VERSION; }

extern "C" const char* cs_error_string(int code) {
  if (code == 0) return "scoring: success";
  switch (code) {
#define CS_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                   \
    return "scoring: " #name ": " sentence;
#define CS_SENTENCES(number, name)                                                                \
  CS_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                  \
  CS_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")           \
  CS_SENTENCE(CK_BAD_VALUE, number, name, "is not finite or outside the range of the header")     \
  CS_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                        \
  CS_SENTENCE(CK_BAD_STRIDE, number, name, "is smaller than what it steps over, or too large")    \
  CS_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")               \
  CS_SENTENCE(CK_OVERLAP, number, name, "overlaps an input or another output")                    \
  CS_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here")   \
  CS_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or less than cs_score_workspace_bytes") \
  CS_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    CS_ARGUMENTS(CS_SENTENCES)
#undef CS_SENTENCES
#undef CS_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" const char* cs_device_status_string(uint32_t status) {
  switch (status >> 24) {
    case CS_DEVICE_OK:
      return "scoring: no bad device value";
    case CS_DEVICE_BAD_OFFSETS:
      return "scoring: offsets: decrease, or pass sum_k or max_k; the question counts as empty";
    case CS_DEVICE_BAD_INDEX:
      return "scoring: indices: outside the table; the candidate counts as masked";
    case CS_DEVICE_BAD_TEMPERATURE:
      return "scoring: scales or temperatures: not finite or not positive; the row is NaN";
  }
  return "scoring: unknown device status";
}

extern "C" size_t cs_score_workspace_bytes(const cs_score_params* params) {
  if (params == nullptr || params->struct_size != sizeof(cs_score_params)) return 0;
  if (scoring::check_sizes(*params) != 0) return 0;
  const int64_t questions = params->questions;
  const int64_t max_k = params->max_k;
  const bool automatic = params->path == CS_PATH_AUTO;
  if (params->path == CS_PATH_SWEEP || (automatic && scoring::sweep_helps(questions, max_k))) {
    return scoring::kFrontBytes;
  }
  if (params->path == CS_PATH_TWO_NODES || max_k > CS_MAX_ONE_NODE_K) {
    return scoring::kFrontBytes + scoring::store_bytes(questions, max_k,
                                                       scoring::ranks_reserved(params->top_k),
                                                       nullptr, nullptr);
  }
  const bool spread =
      params->path == CS_PATH_SPREAD || (automatic && scoring::spread_helps(questions, max_k));
  return spread ? scoring::kSpreadBytes : 0;
}

extern "C" int cs_score(const cs_score_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_params);
  if (params->struct_size != sizeof(cs_score_params)) {
    return CK_STATUS(CK_BAD_STRUCT, CS_ARG_struct_size);
  }
  return scoring::score(*params, stream);
}

extern "C" int cs_score_candidates_batch(const float* queries, const float* candidates,
                                         float* probabilities, float* logits, int questions,
                                         int max_k, int dim, float scale, float temperature,
                                         int normalize, void* stream) {
  constexpr int kSeedMaxK = 255;
  if (probabilities == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_probabilities);
  if (questions < 1) return CK_STATUS(CK_BAD_SIZE, CS_ARG_questions);
  if (max_k > kSeedMaxK) return CK_STATUS(CK_BAD_SIZE, CS_ARG_max_k);
  cs_score_params p{};
  p.struct_size = sizeof(p);
  p.similarity = normalize != 0 ? CS_COSINE : CS_DOT;
  p.questions = questions;
  p.max_k = max_k;
  p.dim = dim;
  p.scale = scale;
  p.temperature = temperature;
  p.eps = 1e-12f;
  p.queries = queries;
  p.candidates = candidates;
  p.probabilities = probabilities;
  p.logits = logits;
  return scoring::score(p, stream);
}

extern "C" int cs_score_candidates(const float* query, const float* candidates,
                                   float* probabilities, float* logits, int max_k, int dim,
                                   float scale, float temperature, int normalize, void* stream) {
  return cs_score_candidates_batch(query, candidates, probabilities, logits, 1, max_k, dim, scale,
                                   temperature, normalize, stream);
}
