// C ABI of the sums and the moments: checks of the host arguments, the cut, and the launch.
#include <math.h>

#include "checks.cuh"
#include "plan.cuh"
#include "reduce.h"

namespace reduce {

constexpr int64_t kMostBlocks = INT32_MAX;

static int64_t element_bytes(int dtype) { return dtype == RED_F32 ? 4 : 2; }

// Elements from the first to past the last of `rows` rows.
static int64_t span(int64_t rows, int64_t ld, int64_t cols) {
  return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

static int check_enums(const red_sum_params& p) {
  if (p.dtype < RED_F32 || p.dtype > RED_F16) return refuse(CK_BAD_ENUM, RED_ARG_dtype);
  if (p.out_dtype < RED_OUT_F32 || p.out_dtype > RED_OUT_AS_X) {
    return refuse(CK_BAD_ENUM, RED_ARG_out_dtype);
  }
  if (p.accumulator < RED_SUM_F32X2 || p.accumulator > RED_SUM_F32) {
    return refuse(CK_BAD_ENUM, RED_ARG_accumulator);
  }
  if (p.path < RED_PATH_AUTO || p.path > RED_PATH_PACKED) return refuse(CK_BAD_ENUM, RED_ARG_path);
  if (p.mean < 0 || p.mean > 1) return refuse(CK_BAD_ENUM, RED_ARG_mean);
  return 0;
}

static int check_splits(int splits) {
  const bool power = splits >= 0 && (splits & (splits - 1)) == 0;
  return power && splits <= RED_MAX_SPLITS ? 0 : refuse(CK_BAD_VALUE, RED_ARG_splits);
}

static bool can_pack(int kind, const red_sum_params& p) {
  return kind == kRows || (kind == kSegments && p.cols == 1);
}

static int check_sizes(int kind, const red_sum_params& p) {
  if (const int error = check_enums(p)) return error;
  if (const int error = check_splits(p.splits)) return error;
  const bool table = kind == kMatrices;
  const bool many = kind == kSegments || table;
  if (!table && (p.rows < 0 || p.rows > kMostRows)) return refuse(CK_BAD_SIZE, RED_ARG_rows);
  if (p.cols < 0 || p.cols > kMostCols) return refuse(CK_BAD_SIZE, RED_ARG_cols);
  if (!table && p.ld != 0 && p.ld < p.cols) return refuse(CK_BAD_STRIDE, RED_ARG_ld);
  const bool indexed = kind == kOneMatrix && p.index != nullptr;
  if (indexed && (p.table_rows < 0 || p.table_rows > kMostRows)) {
    return refuse(CK_BAD_SIZE, RED_ARG_table_rows);
  }
  if (many && (p.count < 0 || p.count > (table ? RED_MAX_MATRICES : kMostCols))) {
    return refuse(CK_BAD_SIZE, RED_ARG_count);
  }
  if (many && (p.max_rows < 0 || p.max_rows > kMostRows)) {
    return refuse(CK_BAD_SIZE, RED_ARG_max_rows);
  }
  if (!table) {
    const int64_t stored = indexed ? p.table_rows : p.rows;
    const int64_t ld = p.ld != 0 ? p.ld : p.cols;
    if (stored > 1 && ld > (int64_t{1} << 60) / stored) return refuse(CK_BAD_STRIDE, RED_ARG_ld);
    if (kind == kSegments && p.count > 0 && p.cols > (int64_t{1} << 60) / p.count) {
      return refuse(CK_BAD_SIZE, RED_ARG_count);
    }
  }
  const bool too_wide = p.path == RED_PATH_FLAT && (kind == kRows ? 1 : p.cols) > kMaxFlatColumns;
  const bool unpacked = p.path == RED_PATH_PACKED && (!can_pack(kind, p) || p.splits > 1);
  return too_wide || unpacked ? refuse(CK_UNSUPPORTED, RED_ARG_path) : 0;
}

static Extent extent_of(int kind, const red_sum_params& p) {
  switch (kind) {
    case kRows:
      return {p.rows, p.cols, 1};
    case kSegments:
    case kMatrices:
      return {p.count, p.max_rows, p.cols};
    default:
      return {1, p.rows, p.cols};
  }
}

// Items that fill the GPU without sharing one among blocks.
constexpr int64_t kManyItems = 1024;

static bool packs(int kind, const red_sum_params& p) {
  if (p.path != RED_PATH_AUTO) return p.path == RED_PATH_PACKED;
  return can_pack(kind, p) && p.splits <= 1 && extent_of(kind, p).items >= kManyItems;
}

static bool nothing_to_do(int kind, const red_sum_params& p) {
  const Extent e = extent_of(kind, p);
  return e.items == 0 || e.cols == 0;
}

static int check_pointers(int kind, const red_sum_params& p) {
  const int64_t element = element_bytes(p.dtype);
  const int64_t out_element = p.out_dtype == RED_OUT_AS_X ? element : 4;
  const bool one = kind == kOneMatrix;
  const bool table = kind == kMatrices;
  const int64_t ld = p.ld != 0 ? p.ld : p.cols;
  const int64_t stored =
      table ? 0 : span(one && p.index != nullptr ? p.table_rows : p.rows, ld, p.cols);
  const int64_t results = kind == kRows ? p.rows : kind == kSegments ? p.count * p.cols : p.cols;
  if (table) {
    if (p.matrices == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_matrices);
  } else {
    if (p.x == nullptr && stored > 0) return refuse(CK_NULL_POINTER, RED_ARG_x);
    if (p.out == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_out);
    if (!isfinite(p.alpha)) return refuse(CK_BAD_VALUE, RED_ARG_alpha);
    if (!isfinite(p.beta)) return refuse(CK_BAD_VALUE, RED_ARG_beta);
  }
  if (kind == kSegments && p.offsets == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_offsets);
  const Argument inputs[] = {
      {table ? nullptr : p.x, stored * element, element, RED_ARG_x},
      {one ? p.weights : nullptr, p.rows * 4, 4, RED_ARG_weights},
      {one ? p.mask : nullptr, p.rows, 1, RED_ARG_mask},
      {one ? p.index : nullptr, p.rows * 4, 4, RED_ARG_index},
      {kind == kSegments ? p.offsets : nullptr, (p.count + 1) * 8, 8, RED_ARG_offsets},
      {table ? p.matrices : nullptr, p.count * static_cast<int64_t>(sizeof(red_matrix)), 8,
       RED_ARG_matrices},
  };
  const Argument outputs[] = {
      {table ? nullptr : p.out, results * out_element, out_element, RED_ARG_out},
      {p.status, 4, 4, RED_ARG_status},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), kWorkspaceAlign, RED_ARG_workspace},
  };
  return check_arguments(inputs, outputs);
}

static Items items_of(int kind, const red_sum_params& p) {
  Items items{};
  items.kind = kind;
  items.status = p.status;
  items.x = p.x;
  items.out = p.out;
  if (kind == kOneMatrix) {
    items.weights = p.weights;
    items.mask = p.mask;
    items.index = p.index;
  }
  items.offsets = p.offsets;
  items.matrices = p.matrices;
  items.rows = p.rows;
  items.cols = p.cols;
  items.ld = p.ld != 0 ? p.ld : p.cols;
  items.table_rows = p.table_rows;
  items.max_rows = p.max_rows;
  items.alpha = p.alpha;
  items.beta = p.beta;
  return items;
}

template <typename T>
static bool quads(const Items& items, const Plan& plan) {
  return loads_by_group<T>(items.x, items.cols, items.ld, plan.runs);
}

static size_t workspace_of(const Extent& e, const Plan& plan) {
  return static_cast<size_t>(e.items * words_of_item(plan, e.cols)) * sizeof(uint64_t);
}

// The plan's place in the workspace, the grid, and what the device allows.
static int place(const Extent& e, int dtype, void* workspace, size_t workspace_bytes,
                 size_t accumulator, Launch* launch) {
  Plan& plan = launch->plan;
  if (plan.splits > 1) {
    if (workspace == nullptr) return refuse(CK_BAD_WORKSPACE, RED_ARG_workspace);
    if (workspace_bytes < workspace_of(e, plan)) {
      return refuse(CK_BAD_WORKSPACE, RED_ARG_workspace_bytes);
    }
  }
  plan.words = static_cast<uint64_t*>(workspace);
  plan.width = e.cols + 1;
  plan.words_of_item = words_of_item(plan, e.cols);
  const int64_t parts = static_cast<int64_t>(plan.tiles) * plan.splits + plan.readers;
  if (parts > kMostBlocks / e.items) return refuse(CK_BAD_SIZE, RED_ARG_count);
  plan.parts = static_cast<int>(parts);
  launch->blocks = parts * e.items;
  ck::Device device;
  if (const int error = ck::current_device(&device)) return error;
  launch->shared_bytes = shared_bytes_of(plan, e.cols, element_bytes(dtype), accumulator);
  launch->device = device;
  launch->pdl = device.major >= 9;
  return 0;
}

static int launch_as(int dtype, const Items& items, const Launch& launch) {
  switch (dtype) {
    case RED_F32:
      return sums_f32(items, launch);
    case RED_BF16:
      return sums_bf16(items, launch);
    default:
      return sums_f16(items, launch);
  }
}

static int sum_packed_items(const red_sum_params& p, Items items, const Extent& e, void* stream) {
  Launch launch{};
  launch.plan = pack(e.rows);
  launch.plan.mean = p.mean != 0;
  launch.plan.out_as_x = p.out_dtype == RED_OUT_AS_X;
  launch.accumulator = p.accumulator;
  launch.form = kPacked;
  launch.items = e.items;
  launch.blocks = ceil_div(e.items, launch.plan.tile);
  if (launch.blocks > kMostBlocks) return refuse(CK_BAD_SIZE, RED_ARG_rows);
  launch.shared_bytes = packed_bytes_of(launch.plan, p.accumulator == RED_SUM_F32 ? 4 : 8);
  launch.stream = stream;
  ck::Device device;
  if (const int error = ck::current_device(&device)) return error;
  launch.pdl = device.major >= 9;
  return launch_as(p.dtype, items, launch);
}

static int sum(int kind, const red_sum_params* params, void* stream) {
  if (params == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_params);
  const red_sum_params& p = *params;
  if (p.struct_size != sizeof(red_sum_params)) return refuse(CK_BAD_STRUCT, RED_ARG_struct_size);
  if (const int error = check_sizes(kind, p)) return error;
  if (nothing_to_do(kind, p)) return 0;
  if (const int error = check_pointers(kind, p)) return error;
  const Items items = items_of(kind, p);
  const Extent e = extent_of(kind, p);
  if (packs(kind, p)) return sum_packed_items(p, items, e, stream);
  Launch launch{};
  launch.plan = cut(e, p.path, p.splits == 0 && p.workspace == nullptr ? 1 : p.splits);
  launch.accumulator = p.accumulator;
  launch.stream = stream;
  const size_t accumulator = p.accumulator == RED_SUM_F32 ? 4 : 8;
  if (const int error = place(e, p.dtype, p.workspace, p.workspace_bytes, accumulator, &launch))
    return error;
  Plan& plan = launch.plan;
  plan.mean = p.mean != 0;
  plan.out_as_x = p.out_dtype == RED_OUT_AS_X;
  plan.counted = plan.mean && (items.mask != nullptr || items.index != nullptr);
  if (plan.counted && plan.splits > 1) {
    // One reader takes the counts.
    plan.parts -= plan.readers - 1;
    launch.blocks = plan.parts;
    plan.readers = 1;
    plan.columns_of_reader = static_cast<int>(e.cols);
  }
  plan.vectors = p.dtype == RED_F32    ? quads<float>(items, plan)
                 : p.dtype == RED_BF16 ? quads<ck::bf16>(items, plan)
                                       : quads<ck::f16>(items, plan);
  const bool plain = kind == kOneMatrix && plan.vectors && items.weights == nullptr &&
                     items.mask == nullptr && items.index == nullptr && p.alpha == 1.0f &&
                     p.beta == 0.0f && !plan.mean && (!plan.out_as_x || p.dtype == RED_F32) &&
                     p.accumulator == RED_SUM_F32X2;
  const int64_t reading = static_cast<int64_t>(plan.tiles) * plan.splits * plan.threads;
  launch.form = !plain                ? kAny
                : plan.tile == 0      ? kPlainFlat
                : reading <= kReading ? kPlainTile
                                      : kPlainWide;
  if (plan.tile == 0) {
    const uint32_t places = static_cast<uint32_t>(ck::kColumnLanes / kGroup * e.cols);
    plan.places_inverse = 0xffffffffu / places + 1;
  }
  return launch_as(p.dtype, items, launch);
}

static size_t sum_workspace(int kind, const red_sum_params* params) {
  if (params == nullptr || params->struct_size != sizeof(red_sum_params)) return 0;
  if (check_sizes(kind, *params) != 0 || nothing_to_do(kind, *params)) return 0;
  if (packs(kind, *params)) return 0;
  const Extent e = extent_of(kind, *params);
  return workspace_of(e, cut(e, params->path, params->splits));
}

static red_sum_params packed_f32(const float* x, float* out, int64_t rows, int64_t cols,
                                 void* workspace, size_t workspace_bytes) {
  red_sum_params p{};
  p.struct_size = sizeof(p);
  p.rows = rows;
  p.cols = cols;
  p.alpha = 1.0f;
  p.x = x;
  p.out = out;
  p.workspace = workspace;
  p.workspace_bytes = workspace_bytes;
  return p;
}

// Moments are a column of the elements; its splits hand over three words of their own.
static int check_moments(const red_moments_params& p) {
  if (p.dtype < RED_F32 || p.dtype > RED_F16) return refuse(CK_BAD_ENUM, RED_ARG_dtype);
  if (p.accumulator != RED_SUM_F32X2 && p.accumulator != RED_SUM_F64) {
    return refuse(CK_BAD_ENUM, RED_ARG_accumulator);
  }
  if (const int error = check_splits(p.splits)) return error;
  return p.rows < 0 || p.rows > kMostRows ? refuse(CK_BAD_SIZE, RED_ARG_rows) : 0;
}

static Extent moments_extent(const red_moments_params& p) { return {1, p.rows, kMomentColumns}; }

static Plan moments_plan(const red_moments_params& p, int splits) {
  return cut({1, p.rows, 1}, RED_PATH_FLAT, splits);
}

static int moments(const red_moments_params& p, void* stream) {
  if (const int error = check_moments(p)) return error;
  if (p.x == nullptr && p.rows > 0) return refuse(CK_NULL_POINTER, RED_ARG_x);
  if (p.sum_squares == nullptr && p.norm == nullptr && p.max_abs == nullptr &&
      p.non_finite == nullptr) {
    return refuse(CK_NULL_POINTER, RED_ARG_sum_squares);
  }
  const int64_t element = element_bytes(p.dtype);
  const Argument inputs[] = {{p.x, p.rows * element, element, RED_ARG_x}};
  const Argument outputs[] = {
      {p.sum_squares, 4, 4, RED_ARG_sum_squares},
      {p.norm, 4, 4, RED_ARG_norm},
      {p.max_abs, 4, 4, RED_ARG_max_abs},
      {p.non_finite, 8, 8, RED_ARG_non_finite},
      {p.workspace, static_cast<int64_t>(p.workspace_bytes), kWorkspaceAlign, RED_ARG_workspace},
  };
  if (const int error = check_arguments(inputs, outputs)) return error;
  Items items{};
  items.x = p.x;
  items.rows = p.rows;
  items.cols = 1;
  items.ld = 1;
  Launch launch{};
  launch.plan = moments_plan(p, p.splits == 0 && p.workspace == nullptr ? 1 : p.splits);
  launch.accumulator = p.accumulator;
  launch.stream = stream;
  if (const int error =
          place(moments_extent(p), p.dtype, p.workspace, p.workspace_bytes, 8, &launch)) {
    return error;
  }
  // One reader, whatever the columns.
  launch.plan.readers = launch.plan.splits > 1 ? 1 : 0;
  launch.blocks = launch.plan.splits + launch.plan.readers;
  launch.plan.vectors =
      p.dtype == RED_F32 ? quads<float>(items, launch.plan) : quads<ck::bf16>(items, launch.plan);
  const MomentsOut out{p.sum_squares, p.norm, p.max_abs, p.non_finite};
  switch (p.dtype) {
    case RED_F32:
      return moments_f32(items, out, launch);
    case RED_BF16:
      return moments_bf16(items, out, launch);
    default:
      return moments_f16(items, out, launch);
  }
}

}  // namespace reduce

extern "C" uint32_t red_abi_version(void) { return RED_ABI_VERSION; }

extern "C" const char* red_error_string(int code) {
  if (code == 0) return "reduce: success";
  switch (code) {
#define RED_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                    \
    return "reduce: " #name ": " sentence;
#define RED_SENTENCES(number, name)                                                              \
  RED_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                \
  RED_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")         \
  RED_SENTENCE(CK_BAD_VALUE, number, name, "is not finite or outside the range of the header")   \
  RED_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                      \
  RED_SENTENCE(CK_BAD_STRIDE, number, name, "is smaller than what it steps over, or too large")  \
  RED_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")             \
  RED_SENTENCE(CK_OVERLAP, number, name, "overlaps an input or another output")                  \
  RED_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here") \
  RED_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or less than *_workspace_bytes says") \
  RED_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    RED_ARGUMENTS(RED_SENTENCES)
#undef RED_SENTENCES
#undef RED_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" const char* red_device_status_string(uint32_t status) {
  switch (status >> 24) {
    case RED_DEVICE_OK:
      return "reduce: no bad device value";
    case RED_DEVICE_BAD_INDEX:
      return "reduce: index: outside of the table; the term is left out";
    case RED_DEVICE_BAD_OFFSETS:
      return "reduce: offsets: decrease, or pass rows or max_rows; the segment counts as empty";
    case RED_DEVICE_BAD_MATRIX:
      return "reduce: matrices: a size out of range or a bad pointer; the matrix is not summed";
  }
  return "reduce: unknown device status";
}

extern "C" int red_columns(const red_sum_params* params, void* stream) {
  return reduce::sum(reduce::kOneMatrix, params, stream);
}
extern "C" size_t red_columns_workspace_bytes(const red_sum_params* params) {
  return reduce::sum_workspace(reduce::kOneMatrix, params);
}

extern "C" int red_columns_grouped(const red_sum_params* params, void* stream) {
  return reduce::sum(reduce::kMatrices, params, stream);
}
extern "C" size_t red_columns_grouped_workspace_bytes(const red_sum_params* params) {
  return reduce::sum_workspace(reduce::kMatrices, params);
}

extern "C" int red_rows(const red_sum_params* params, void* stream) {
  return reduce::sum(reduce::kRows, params, stream);
}
extern "C" size_t red_rows_workspace_bytes(const red_sum_params* params) {
  return reduce::sum_workspace(reduce::kRows, params);
}

extern "C" int red_segments(const red_sum_params* params, void* stream) {
  return reduce::sum(reduce::kSegments, params, stream);
}
extern "C" size_t red_segments_workspace_bytes(const red_sum_params* params) {
  return reduce::sum_workspace(reduce::kSegments, params);
}

extern "C" int red_moments(const red_moments_params* params, void* stream) {
  if (params == nullptr) return CK_STATUS(CK_NULL_POINTER, RED_ARG_params);
  if (params->struct_size != sizeof(red_moments_params)) {
    return CK_STATUS(CK_BAD_STRUCT, RED_ARG_struct_size);
  }
  return reduce::moments(*params, stream);
}
extern "C" size_t red_moments_workspace_bytes(const red_moments_params* params) {
  if (params == nullptr || params->struct_size != sizeof(red_moments_params)) return 0;
  if (reduce::check_moments(*params) != 0) return 0;
  return reduce::workspace_of(reduce::moments_extent(*params),
                              reduce::moments_plan(*params, params->splits));
}

extern "C" int red_iqn_bias_grad_f32(const float* x, float* out, int64_t rows, int64_t cols,
                                     void* workspace, size_t workspace_bytes, void* stream) {
  const red_sum_params p = reduce::packed_f32(x, out, rows, cols, workspace, workspace_bytes);
  return reduce::sum(reduce::kOneMatrix, &p, stream);
}

extern "C" int red_kan_grad_f32(const float* x, float* out, int64_t rows, int64_t cols,
                                void* workspace, size_t workspace_bytes, void* stream) {
  const red_sum_params p = reduce::packed_f32(x, out, rows, cols, workspace, workspace_bytes);
  return reduce::sum(reduce::kOneMatrix, &p, stream);
}
