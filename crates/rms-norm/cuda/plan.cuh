// How a problem is launched: chosen on the host from its sizes, its types and the device alone.
#pragma once

#include <ck/host.cuh>

#include "problem.cuh"

namespace rms {

// norm_warp: adjacent columns of a lane, columns of a warp, threads of a block.
constexpr int kWarpGroup = 4;
constexpr int kWarpSpan = kWarpGroup * ck::kWarp;
constexpr int kWarpThreads = 256;

struct Plan {
  rms_plan choice;
  int held;         // instances differ by the groups of a row that a thread keeps
  int log_cluster;  // RMS_PATH_CLUSTER_*
  bool wide;        // n >= kWideColumns
  bool pdl;
};

// By x's type, each in a translation unit of its own.
int launch_f32(const Problem& problem, const Plan& plan, void* stream);
int launch_bf16(const Problem& problem, const Plan& plan, void* stream);
int launch_f16(const Problem& problem, const Plan& plan, void* stream);

}  // namespace rms
