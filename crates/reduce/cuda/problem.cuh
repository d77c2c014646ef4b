// What a launch works on: one matrix, many, segments of one, or its rows; and how it is cut.
#pragma once

#include <ck/column_sum.cuh>
#include <ck/memory.cuh>

#include "reduce.h"

namespace reduce {

enum Kind { kOneMatrix = 0, kMatrices = 1, kSegments = 2, kRows = 3 };

// The call's arguments, defaults filled in.
struct Items {
  int kind;
  uint32_t* status;
  const void* x;
  void* out;
  const float* weights;
  const uint8_t* mask;
  const int32_t* index;
  const int64_t* offsets;
  const red_matrix* matrices;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  int64_t table_rows;
  int64_t max_rows;  // of an item
  float alpha;
  float beta;
};

// How items are cut into blocks. Nothing here changes a result.
//
// A block sums `staged * rounds` neighbouring chunks of a tile of columns: both are powers of two,
// so that it owns a whole subtree. Blocks of an item: tiles * splits that sum, then `readers` that
// merge the splits' sums, if there is more than one. Blocks are dispatched in index order and a
// reader waits for lower ones alone, so it never keeps one from running.
struct Plan {
  int tile;        // columns of a tile, a multiple of 4; 0: flat, all columns in one
  int staged;      // chunks in shared memory at once: 1, 2, 4, 8
  int rounds;      // times that many chunks
  int share_log2;  // of staged * rounds
  int splits;      // blocks that share a column: a power of two, up to RED_MAX_SPLITS
  int tiles;
  int readers;
  int columns_of_reader;
  int threads;
  int parts;                // blocks of an item
  int stack;                // accumulators a column that merge rounds
  uint32_t places_inverse;  // kPlainFlat: 2^32 / places of a chunk, rounded up
  bool runs;     // groups of four elements run on from term to term: flat and packed layouts
  bool vectors;  // one matrix: elements may be loaded by four
  bool mean;
  bool out_as_x;
  bool counted;   // kept rows must be counted: mean with a mask or an index
  int64_t width;  // columns in the workspace
  int64_t words_of_item;
  uint64_t* words;
};

constexpr int kMaxThreads = 384;
constexpr int kSlots = 16;  // threads of a tile that share four columns
constexpr int kGroup = 4;   // elements of a load, columns of a thread
constexpr int kMaxFlatColumns = 128;
constexpr int kMaxStaged = 8;

// Powers of two are divided by with shifts: a division of 64 bits takes as long as a trip to L2.
CK_DEVICE int log2_of(int power) { return 31 - __clz(power); }

// What a kernel may take for granted.
enum Form {
  kAny = 0,
  // One matrix whose elements are loaded by four, and nothing else but it: alpha 1, beta 0, f32
  // out, no mean. In one layout.
  kPlainFlat = 1,
  kPlainTile = 2,
  kPlainWide = 3,  // less under way at once
  // Several items a block.
  kPacked = 4
};

// One item, opened.
template <typename T>
struct Matrix {
  const T* x;
  void* out;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  float alpha;
  float beta;
  bool vectors;
};

CK_DEVICE void report(uint32_t* status, uint32_t cause, int64_t item) {
  if (status == nullptr) return;
  const int64_t most = (1 << 24) - 1;
  atomicCAS(status, 0u, cause << 24 | static_cast<uint32_t>(item < most ? item : most));
}

// Whether groups of four elements can be loaded at once: groups then start at multiples of their
// size, in flat order as one run of elements, in tiles within each row.
template <typename T>
CK_HOST_DEVICE bool loads_by_group(const void* x, int64_t cols, int64_t ld, bool flat) {
  return reinterpret_cast<uintptr_t>(x) % (kGroup * sizeof(T)) == 0 &&
         (flat ? ld == cols : ld % kGroup == 0);
}

// False: the item is not summed and nothing of it is written. `speaks`: this thread may set the
// status word.
template <typename T, int kForm>
CK_DEVICE bool open_item(const Items& items, const Plan& plan, int64_t item, bool speaks,
                         Matrix<T>& m) {
  m = {static_cast<const T*>(items.x),
       items.out,
       items.rows,
       items.cols,
       items.ld,
       items.alpha,
       items.beta,
       plan.vectors};
  if (kForm != kAny || items.kind == kOneMatrix) return true;
  const int64_t out_bytes = plan.out_as_x ? sizeof(T) : sizeof(float);
  if (items.kind == kRows) {
    m.x += item * items.ld;
    m.out = static_cast<char*>(items.out) + item * out_bytes;
    m.rows = items.cols;
    m.cols = 1;
    m.ld = 1;
  } else if (items.kind == kSegments) {
    int64_t begin = items.offsets[item];
    int64_t end = items.offsets[item + 1];
    if (begin < 0 || end < begin || end > items.rows || end - begin > items.max_rows) {
      if (speaks) report(items.status, RED_DEVICE_BAD_OFFSETS, item);
      begin = end = 0;
    }
    m.x += begin * items.ld;
    m.out = static_cast<char*>(items.out) + item * items.cols * out_bytes;
    m.rows = end - begin;
  } else {
    const red_matrix given = items.matrices[item];
    const uintptr_t x = reinterpret_cast<uintptr_t>(items.x) + given.x_offset;
    const uintptr_t out = reinterpret_cast<uintptr_t>(items.out) + given.out_offset;
    m.x = reinterpret_cast<const T*>(x);
    m.out = reinterpret_cast<void*>(out);
    m.rows = given.rows;
    m.cols = given.cols;
    m.ld = given.ld != 0 ? given.ld : given.cols;
    m.alpha = given.alpha;
    m.beta = given.beta;
    const bool sized = given.rows >= 0 && given.rows <= items.max_rows && given.cols >= 0 &&
                       given.cols <= items.cols && m.ld >= given.cols &&
                       (given.rows <= 1 || m.ld <= (int64_t{1} << 60) / given.rows);
    const bool empty = given.rows == 0 || given.cols == 0;
    const bool pointed = (x != 0 || empty) && x % sizeof(T) == 0 && (out != 0 || given.cols == 0) &&
                         out % out_bytes == 0;
    if (!sized || !pointed) {
      if (speaks) report(items.status, RED_DEVICE_BAD_MATRIX, item);
      return false;
    }
  }
  m.vectors = loads_by_group<T>(m.x, m.cols, m.ld, plan.runs);
  return true;
}

}  // namespace reduce
