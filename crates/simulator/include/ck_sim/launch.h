// Host side: the device that the simulator pretends to be, and kernel launches.
#pragma once

#include <ck_sim/types.h>

#include <tuple>
#include <type_traits>

namespace ck_sim {

struct DeviceInfo {
  int major;
  int minor;
  int sm_count;
  int shared_bytes_optin;
};
DeviceInfo device_info();

// What CUDA calls the errors that launches here return.
const char* error_string(int code);

struct LaunchShape {
  unsigned grid;
  unsigned block;
  unsigned shared_bytes;
  unsigned cluster;
  bool pdl;
  bool cooperative;
  void* stream;
};

// Blocks of this shape that a multiprocessor of the set description holds at once.
unsigned resident_blocks(unsigned block, unsigned shared_bytes);

// A kernel with its arguments, copied by value as a CUDA launch copies them.
struct Call {
  void (*invoke)(const void* kernel, const void* arguments);
  const void* kernel;
  const void* arguments;
  size_t bytes;
};

// Checks the shape as a GPU of the set description would, then runs the kernel, or records it where
// the stream is being captured. Returns a cudaError_t.
int launch_call(const Call& call, const LaunchShape& shape);

// Sets memory as cudaMemsetAsync does: one node of a captured graph.
int memset_async(void* p, int value, size_t bytes, void* stream);

template <typename... Parameters>
struct Packed {
  static void invoke(const void* kernel, const void* arguments) {
    auto function = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel));
    std::apply(function, *static_cast<const std::tuple<Parameters...>*>(arguments));
  }
};

template <typename... Parameters>
int launch(void (*kernel)(Parameters...), const LaunchShape& shape, Parameters... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "kernel arguments are copied byte by byte");
  const std::tuple<Parameters...> packed(arguments...);
  return launch_call({&Packed<Parameters...>::invoke, reinterpret_cast<const void*>(kernel),
                      &packed, sizeof(packed)},
                     shape);
}

}  // namespace ck_sim

static inline int cudaMemsetAsync(void* p, int value, size_t bytes, void* stream) {
  return ck_sim::memset_async(p, value, bytes, stream);
}
