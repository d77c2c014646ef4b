// How a problem is cut and launched: chosen on the host from its sizes alone.
#pragma once

#include "moments.cuh"
#include "problem.cuh"

namespace reduce {

struct Launch {
  Plan plan;
  int accumulator;
  int64_t blocks;
  unsigned shared_bytes;
  int form;  // Form
  bool pdl;
  void* stream;
};

// By element type, each in a translation unit of its own.
int sums_f32(const Items& items, const Launch& launch);
int sums_bf16(const Items& items, const Launch& launch);
int sums_f16(const Items& items, const Launch& launch);
int moments_f32(const Items& items, const MomentsOut& out, const Launch& launch);
int moments_bf16(const Items& items, const MomentsOut& out, const Launch& launch);
int moments_f16(const Items& items, const MomentsOut& out, const Launch& launch);

// What a plan is made from.
struct Extent {
  int64_t items;
  int64_t rows;  // the most of an item
  int64_t cols;  // the most of an item
};

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t power_of_two_from(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

// The most chunks of an item of up to `rows` rows: a step of the chain makes fewer of more.
inline int64_t most_chunks(int64_t rows) {
  const int64_t chunks = ck::column_chunks(rows);
  return rows > 4096 && chunks < 32 ? 32 : chunks;
}

// Threads that read at once: 512 a multiprocessor of the largest GPUs, so that no block waits for
// another to end; for the flat layout, whose blocks load everything at the start, a block each.
constexpr int64_t kTileReading = 512 * 132;
constexpr int64_t kFlatBlocks = 128;
// Accumulators of staged chunks: 24 KiB.
constexpr int64_t kStagedSums = 3072;

// Columns of a tile; 0: flat. Wide tiles read long runs of a row, narrow ones make enough blocks.
inline int tile_for(const Extent& e, int path) {
  switch (path) {
    case RED_PATH_FLAT:
      return 0;
    case RED_PATH_TILE_32:
      return 32;
    case RED_PATH_TILE_64:
      return 64;
    case RED_PATH_TILE_128:
      return 128;
  }
  if (e.cols < 32 || (e.cols <= kMaxFlatColumns && e.cols % kGroup != 0)) return 0;
  const int64_t chunks = most_chunks(e.rows) * e.items;
  if (e.cols > 64 && chunks * ceil_div(e.cols, 128) >= 480) return 128;
  if (e.cols > 32 && chunks * ceil_div(e.cols, 64) >= 384) return 64;
  return 32;
}

// A plan but for its words and what the results need. `splits`: 0 as many as help; 1 where there is no
// workspace.
inline Plan cut(const Extent& e, int path, int splits) {
  Plan plan{};
  plan.tile = tile_for(e, path);
  plan.tiles = plan.tile == 0 ? 1 : static_cast<int>(ceil_div(e.cols, plan.tile));
  const int64_t chunks = most_chunks(e.rows);
  int64_t split = splits;
  if (split == 0) {
    const int64_t most = plan.tile == 0 ? kFlatBlocks : RED_MAX_SPLITS;
    const int64_t threads = plan.tile == 0 ? kMaxThreads / 2 : kSlots * plan.tile / kGroup;
    split = 1;
    while (split < most && split < chunks &&
           2 * split * plan.tiles * e.items * threads <= kTileReading) {
      split *= 2;
    }
  }
  const int64_t share = power_of_two_from(ceil_div(chunks > 0 ? chunks : 1, split));
  // Splits that would be empty for every item are left out.
  plan.splits = static_cast<int>(splits != 0 ? split : power_of_two_from(ceil_div(chunks, share)));
  if (plan.splits == 0) plan.splits = 1;
  int64_t staged = plan.tile == 0 ? kMaxStaged : 1;
  if (staged > share) staged = share;
  const int cols = plan.tile == 0 ? static_cast<int>(e.cols) : plan.tile;
  while (staged > 1 && staged * stage_of(plan.tile, static_cast<int>(staged), cols).chunk > kStagedSums) {
    staged /= 2;
  }
  plan.staged = static_cast<int>(staged);
  plan.rounds = static_cast<int>(share / staged);
  while (1 << plan.share_log2 < plan.staged * plan.rounds) ++plan.share_log2;
  plan.stack = 1;
  while (1 << (plan.stack - 1) < plan.rounds) ++plan.stack;
  plan.threads = kSlots * plan.tile / kGroup;
  if (plan.tile == 0) {
    const int64_t places = staged * (ck::kColumnLanes / kGroup) * e.cols;
    const int64_t passes = places > kMaxThreads ? ceil_div(places, kMaxThreads) : 1;
    plan.threads = static_cast<int>(ceil_div(ceil_div(places, passes), ck::kWarp)) * ck::kWarp;
  }
  plan.readers = 0;
  if (plan.splits > 1) {
    // A thread merges eight sums at once, and a reader has no second pass.
    plan.readers = static_cast<int>(ceil_div(e.cols * plan.splits, plan.threads * 8));
    plan.columns_of_reader = static_cast<int>(ceil_div(e.cols, plan.readers));
  }
  return plan;
}

inline unsigned shared_bytes_of(const Plan& plan, int64_t cols, size_t element,
                                size_t accumulator) {
  const int width = plan.tile == 0 ? static_cast<int>(cols) : plan.tile;
  const int64_t sums = static_cast<int64_t>(plan.staged) * stage_of(plan.tile, plan.staged, width).chunk +
                       static_cast<int64_t>(plan.stack) * width;
  const size_t ring = kRingSlots * kGroup * element * plan.threads;
  return static_cast<unsigned>(ring + sums * accumulator);
}

// With room for the count of kept rows, whether or not one is asked for.
inline int64_t words_of_item(const Plan& plan, int64_t cols) {
  return plan.splits > 1 ? (cols + 1) * plan.splits * 2 : 0;
}

}  // namespace reduce
