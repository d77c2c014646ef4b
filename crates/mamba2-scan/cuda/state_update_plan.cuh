// How a decode step is launched: chosen on the host from its sizes and addresses alone.
#pragma once

#include <ck/host.cuh>

#include "state_update.cuh"

namespace mamba2_scan {

struct UpdatePlan {
  unsigned grid;
  int lanes;  // of a row in the vector kernel; 0: element by element
  bool io_is_bf16;
  bool pdl;
};

// By the state's type, each in a translation unit of its own.
int launch_update_f32(const Update& update, const UpdatePlan& plan, void* stream);
int launch_update_bf16(const Update& update, const UpdatePlan& plan, void* stream);
int launch_update_f16(const Update& update, const UpdatePlan& plan, void* stream);

}  // namespace mamba2_scan
