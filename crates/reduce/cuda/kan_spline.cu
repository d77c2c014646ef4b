// C ABI of the spline gradient.
#include "checks.cuh"
#include "kan_spline.cuh"
#include "plan.cuh"

namespace reduce {

constexpr int kSplineTile = 128;
constexpr int64_t kMostIntervals = 1 << 20;
constexpr int64_t kMostSplineBlocks = INT32_MAX;

static int check_spline(int64_t rows, int64_t inputs, int64_t outputs, int64_t intervals) {
  if (rows < 0 || rows > kMostRows) return refuse(CK_BAD_SIZE, RED_ARG_rows);
  if (inputs < 0 || inputs > kMostCols) return refuse(CK_BAD_SIZE, RED_ARG_inputs);
  if (outputs < 0 || outputs > kMostCols) return refuse(CK_BAD_SIZE, RED_ARG_outputs);
  if (intervals < 1 || intervals > kMostIntervals) return refuse(CK_BAD_SIZE, RED_ARG_intervals);
  // The results are a column each, and there are as many of these as of other columns.
  if (inputs > 0 && outputs > kMostCols / (intervals + kDegree) / inputs) {
    return refuse(CK_BAD_SIZE, RED_ARG_outputs);
  }
  return 0;
}

static Plan spline_plan(int64_t rows, int64_t inputs, int64_t outputs, int64_t intervals,
                        bool shared) {
  Plan plan{};
  const int64_t of_input = (intervals + kDegree) * outputs;
  const int64_t chunks = ck::column_chunks(rows);
  plan.tile = kSplineTile;
  plan.tiles = static_cast<int>(ceil_div(of_input, kSplineTile));
  plan.splits = 1;
  while (shared && plan.splits < RED_MAX_SPLITS && plan.splits < chunks &&
         2 * plan.splits * plan.tiles * inputs * kSplineThreads <= kSplineReading) {
    plan.splits *= 2;
  }
  plan.staged = 1;
  plan.rounds = static_cast<int>(power_of_two_from(ceil_div(chunks > 0 ? chunks : 1, plan.splits)));
  plan.stack = 1;
  while (1 << (plan.stack - 1) < plan.rounds) ++plan.stack;
  plan.threads = kSplineThreads;
  plan.readers = plan.splits > 1 ? readers_for(plan, inputs * of_input) : 0;
  return plan;
}

static size_t spline_words(const Plan& plan, int64_t columns) {
  return plan.splits > 1 ? static_cast<size_t>(columns) * plan.splits * 2 : 0;
}

}  // namespace reduce

extern "C" int red_kan_spline_grad_f32(const float* x, const float* dy, const float* knots,
                                       float* out, int64_t rows, int64_t inputs, int64_t outputs,
                                       int64_t intervals, void* workspace, size_t workspace_bytes,
                                       void* stream) {
  using namespace reduce;
  if (const int error = check_spline(rows, inputs, outputs, intervals)) return error;
  const int64_t columns = inputs * (intervals + kDegree) * outputs;
  if (columns == 0) return 0;
  if (x == nullptr && rows > 0) return refuse(CK_NULL_POINTER, RED_ARG_x);
  if (dy == nullptr && rows > 0) return refuse(CK_NULL_POINTER, RED_ARG_dy);
  if (knots == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_knots);
  if (out == nullptr) return refuse(CK_NULL_POINTER, RED_ARG_out);
  const Argument inputs_of[] = {
      {x, rows * inputs * 4, 4, RED_ARG_x},
      {dy, rows * outputs * 4, 4, RED_ARG_dy},
      {knots, (intervals + 2 * kDegree + 1) * 4, 4, RED_ARG_knots},
  };
  const Argument outputs_of[] = {
      {out, columns * 4, 4, RED_ARG_out},
      {workspace, static_cast<int64_t>(workspace_bytes), kWorkspaceAlign, RED_ARG_workspace},
  };
  if (const int error = check_arguments(inputs_of, outputs_of)) return error;
  Plan plan = spline_plan(rows, inputs, outputs, intervals, workspace != nullptr);
  if (workspace_bytes < spline_words(plan, columns) * sizeof(uint64_t)) {
    return refuse(CK_BAD_WORKSPACE, RED_ARG_workspace_bytes);
  }
  plan.words = static_cast<uint64_t*>(workspace);
  plan.width = columns;
  ck::Device device;
  if (const int error = ck::current_device(&device)) return error;
  const int64_t blocks = inputs * plan.tiles * plan.splits + plan.readers;
  if (blocks > kMostSplineBlocks) return refuse(CK_BAD_SIZE, RED_ARG_inputs);
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = plan.threads;
  config.shared_bytes = static_cast<unsigned>(plan.stack * plan.tile * sizeof(ck::F32x2));
  config.pdl = device.major >= 9;
  config.stream = stream;
  const Spline spline{x, dy, knots, out, rows, inputs, outputs, static_cast<int>(intervals)};
  return ck::launch<sum_splines>(config, spline, plan);
}

extern "C" size_t red_kan_spline_grad_workspace_bytes(int64_t rows, int64_t inputs, int64_t outputs,
                                                      int64_t intervals) {
  using namespace reduce;
  if (check_spline(rows, inputs, outputs, intervals) != 0) return 0;
  const Plan plan = spline_plan(rows, inputs, outputs, intervals, true);
  return spline_words(plan, inputs * (intervals + kDegree) * outputs) * sizeof(uint64_t);
}
