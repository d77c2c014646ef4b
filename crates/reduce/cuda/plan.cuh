// How a problem is cut and launched: chosen on the host from its sizes alone.
#pragma once

#include <ck/host.cuh>

#include "moments.cuh"
#include "problem.cuh"
#include "sum_packed.cuh"

namespace reduce {

struct Launch {
  Plan plan;
  int accumulator;
  int64_t items;
  int64_t blocks;
  unsigned shared_bytes;
  int form;  // Form
  bool pdl;
  ck::Device device;
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

// Threads that read at once, at most: 256 a multiprocessor of the largest GPUs. On an H200 that is
// 8 MiB under way; more than about 12 and reading slows down by a fifth (8192x12288: 92 us, then
// 114).
constexpr int64_t kReading = 256 * 132;
// Blocks of a flat matrix: one a multiprocessor, two where a block has little to do at once or much
// to do in all.
constexpr int64_t kFlatBlocks = 128;
constexpr int64_t kLongFlat = 32 * kFlatBlocks;  // chunks
constexpr int64_t kFlatBlocksOfMany = 32 * 132;
constexpr int64_t kWide = 4096;
// Accumulators of staged chunks: 24 KiB.
constexpr int64_t kStagedSums = 3072;

// Columns of a tile; 0: flat. Wide tiles read long runs of a row, narrow ones make enough blocks,
// and fill the multiprocessors evenly where there is one for each column tile.
inline int tile_for(const Extent& e, int path) {
  switch (path) {
    case RED_PATH_FLAT:
      return 0;
    case RED_PATH_TILE_32:
      return 32;
    case RED_PATH_TILE_64:
      return 64;
  }
  if (e.cols < 32 || (e.cols <= kMaxFlatColumns && e.cols % kGroup != 0)) return 0;
  if (e.cols >= kWide) return 32;
  return e.cols > 32 && most_chunks(e.rows) * ceil_div(e.cols, 64) * e.items >= 384 ? 64 : 32;
}

// Blocks that share a column: as many as help.
inline int64_t splits_for(const Extent& e, int tile, int64_t tiles, int64_t chunks) {
  const bool flat = tile == 0;
  const bool two = !flat || e.cols == 1 || chunks >= kLongFlat;
  const int64_t most = two ? RED_MAX_SPLITS : kFlatBlocks;
  const int64_t threads = flat ? 1 : kSlots * tile / kGroup;
  const int64_t reading = flat ? kFlatBlocksOfMany : kReading;
  int64_t splits = 1;
  while (splits < most && splits < chunks && 2 * splits * tiles * e.items * threads <= reading) {
    splits *= 2;
  }
  return splits;
}

// As many as leave no reader a second pass, which would be a second trip to L2.
inline int readers_for(const Plan& plan, int64_t cols) {
  return static_cast<int>(ceil_div(cols * (plan.splits / run_of(plan.splits)), plan.threads));
}

// A plan but for its words and what the results need. `splits`: 0 as many as help; 1 where there is
// no workspace.
inline Plan cut(const Extent& e, int path, int splits) {
  Plan plan{};
  plan.tile = tile_for(e, path);
  plan.runs = plan.tile == 0;
  plan.tiles = plan.tile == 0 ? 1 : static_cast<int>(ceil_div(e.cols, plan.tile));
  const int64_t chunks = most_chunks(e.rows);
  const int64_t split = splits != 0 ? splits : splits_for(e, plan.tile, plan.tiles, chunks);
  const int64_t share = power_of_two_from(ceil_div(chunks > 0 ? chunks : 1, split));
  // Splits that would be empty for every item are left out.
  plan.splits = static_cast<int>(splits != 0 ? split : power_of_two_from(ceil_div(chunks, share)));
  if (plan.splits == 0) plan.splits = 1;
  int64_t staged = plan.tile == 0 ? kMaxStaged : 1;
  if (staged > share) staged = share;
  const int cols = plan.tile == 0 ? static_cast<int>(e.cols) : plan.tile;
  while (staged > 1 &&
         staged * stage_of(plan.tile, static_cast<int>(staged), cols).chunk > kStagedSums) {
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
  if (plan.splits > 1) plan.readers = readers_for(plan, e.cols);
  if (plan.splits > 1) plan.columns_of_reader = static_cast<int>(ceil_div(e.cols, plan.readers));
  return plan;
}

// Several items a block: 32 chunks of them in shared memory at once. `tile` is items.
constexpr int kPackedChunks = 32;
inline Plan pack(int64_t rows) {
  Plan plan{};
  const int64_t chunks = power_of_two_from(most_chunks(rows));
  plan.staged = static_cast<int>(chunks < kMaxStaged ? chunks : kMaxStaged);
  plan.tile = kPackedChunks / plan.staged;
  plan.rounds = static_cast<int>(chunks / plan.staged);
  while (1 << plan.share_log2 < plan.staged * plan.rounds) ++plan.share_log2;
  plan.stack = 1;
  while (1 << (plan.stack - 1) < plan.rounds) ++plan.stack;
  plan.splits = 1;
  plan.tiles = 1;
  plan.parts = 1;
  plan.threads = kPackedThreads;
  plan.runs = true;
  return plan;
}
inline unsigned packed_bytes_of(const Plan& plan, size_t accumulator) {
  const int64_t sums =
      static_cast<int64_t>(plan.staged) * packed_stage(plan.staged, plan.tile).chunk +
      static_cast<int64_t>(plan.stack) * plan.tile;
  return static_cast<unsigned>(sums * accumulator);
}

inline unsigned shared_bytes_of(const Plan& plan, int64_t cols, size_t element,
                                size_t accumulator) {
  const int width = plan.tile == 0 ? static_cast<int>(cols) : plan.tile;
  const int64_t sums =
      static_cast<int64_t>(plan.staged) * stage_of(plan.tile, plan.staged, width).chunk +
      static_cast<int64_t>(plan.stack) * width;
  const size_t ring = kTogether * kRingGroups * kGroup * element * plan.threads;
  return static_cast<unsigned>(ring + sums * accumulator);
}

// With room for the count of kept rows, whether or not one is asked for.
inline int64_t words_of_item(const Plan& plan, int64_t cols) {
  return plan.splits > 1 ? (cols + 1) * plan.splits * 2 : 0;
}

}  // namespace reduce
