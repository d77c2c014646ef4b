// CUDA C++ as plain C++ for the simulator: kernel sources include this in place of cuda_runtime.h.
//
// Only what the workspace's kernels may use is here. A name that is missing is a compile error,
// never a silent stand-in.
#pragma once

#include <ck_sim/launch.h>
#include <ck_sim/memory.h>
#include <ck_sim/numeric.h>
#include <ck_sim/threads.h>
#include <ck_sim/types.h>
