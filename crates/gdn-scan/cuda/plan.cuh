// How a problem is launched: chosen on the host from its params and the compute capability alone.
#pragma once

#include <ck/host.cuh>

#include "problem.cuh"

namespace gdn {

struct Plan {
  int path;  // gdn_path, never GDN_PATH_AUTO
  bool one_token;
  bool fast;
  bool pdl;
};

// By the state's type, each in a translation unit of its own.
int launch_f32(const Problem& problem, const Plan& plan, void* stream);
int launch_bf16(const Problem& problem, const Plan& plan, void* stream);
int launch_f16(const Problem& problem, const Plan& plan, void* stream);

}  // namespace gdn
