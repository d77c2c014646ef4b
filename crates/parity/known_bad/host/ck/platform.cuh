// Stand-in for the device prelude, for the parity kit's own tests: enough of CUDA's spelling to
// run kernels without shared memory as two loops, and the exports through which the kit drives a
// simulated library. crates/simulator is the real one; this needs a C++ compiler and nothing else.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CK_SIM 1
#define CK_DEVICE static inline
#define CK_KERNEL(threads) static void

struct Index {
  unsigned x;
};
static thread_local Index blockIdx, threadIdx;
