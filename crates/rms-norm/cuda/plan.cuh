// How a problem is launched: chosen on the host from its sizes, its types and the device alone.
#pragma once

#include <ck/host.cuh>

#include "problem.cuh"

namespace rms {

// Adjacent columns of a thread: as many as a vector of 16 bytes has, or 4 where less is faster.
template <typename T>
constexpr int kFullGroup = 16 / sizeof(T);
constexpr int kGroup = 4;

// Rows of less than kWideColumns by warps: threads of a block, lanes of a row of up to
// kShortColumns.
constexpr int kWarpThreads = 256;
constexpr int kShortColumns = 128;

// Groups that a thread of norm_block and norm_residual holds: these or those.
constexpr int kFewHeld = 4;
constexpr int kManyHeld = 8;

// norm_options: groups of a tile.
constexpr int kOptionsHeld = 4;

// norm_cluster: adjacent columns of a thread, groups that it holds, threads of a block.
constexpr int kClusterGroup = 4;
constexpr int kClusterHeld = 2;
constexpr int kClusterThreads = 256;

struct Plan {
  rms_plan choice;
  int held;         // norm_block, norm_residual: kFewHeld or kManyHeld
  int group;        // adjacent columns of a thread: kFullGroup, kGroup, or 1
  int log_cluster;  // RMS_PATH_CLUSTER_*
  bool wide;        // n >= kWideColumns
  bool pdl;
};

// By x's type, each in a translation unit of its own.
int launch_f32(const Problem& problem, const Plan& plan, void* stream);
int launch_bf16(const Problem& problem, const Plan& plan, void* stream);
int launch_f16(const Problem& problem, const Plan& plan, void* stream);

}  // namespace rms
