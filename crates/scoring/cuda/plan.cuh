// How a problem is launched: chosen on the host from its sizes and the device alone.
#pragma once

#include <ck/host.cuh>

#include "problem.cuh"
#include "score_sweep.cuh"
#include "score_tiles.cuh"

namespace scoring {

// One launch of row-scoring blocks.
struct Plan {
  int path;     // cs_path, never CS_PATH_AUTO
  int cluster;  // blocks a cluster
  int threads;
  int writers;  // CS_PATH_SPREAD: blocks of a question that score
  int slots;    // streamed, of CS_PATH_SPREAD and CS_PATH_SWEEP: slots of a warp
  bool pdl;
  bool cosine;
  bool streamed;  // rows go through shared memory
  int access;     // Access
  TileStore store;
  SweepStore* sweep;
  ck::Device device;
};

inline int log2_of(int power_of_two) {
  int log = 0;
  while (1 << log < power_of_two) ++log;
  return log;
}

// By element type, each in a translation unit of its own.
int launch_f32(const Problem& problem, const Plan& plan, void* stream);
int launch_bf16(const Problem& problem, const Plan& plan, void* stream);
int launch_f16(const Problem& problem, const Plan& plan, void* stream);

}  // namespace scoring
