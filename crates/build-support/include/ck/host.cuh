// Host side of every launch: the current device, and one way to put a kernel on a stream.
//
// Nothing here synchronises, allocates, or touches the default stream. A pending error from
// elsewhere is neither reported as ours nor cleared: only return codes of our own calls count.
#pragma once

#include <ck/platform.cuh>
#include <ck/status.h>

namespace ck {

struct Device {
  int ordinal;
  int major;
  int minor;
  int sm_count;
  int shared_bytes_optin;  // most shared memory that a block may ask for
};

struct LaunchConfig {
  unsigned grid = 0;  // blocks; grids are flat on x
  unsigned block = 0;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;  // blocks a cluster; above 8 is asked for as non-portable
  bool pdl = false;      // programmatic dependent launch: the kernel calls dependency_wait()
  void* stream = nullptr;
};

#if defined(CK_SIM)

inline int current_device(Device* out) {
  ck_sim::DeviceInfo info = ck_sim::device_info();
  *out = Device{0, info.major, info.minor, info.sm_count, info.shared_bytes_optin};
  return 0;
}

template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments... arguments) {
  ck_sim::LaunchShape shape{config.grid,    config.block, config.shared_bytes,
                            config.cluster, config.pdl,   config.stream};
  return ck_sim::launch<Parameters...>(kernel, shape, static_cast<Parameters>(arguments)...);
}

#else

namespace detail {

constexpr int kMaxDevices = 64;

// Written once a device, by whichever thread comes first; `ready` publishes the rest. Attributes
// of a device never change, so two threads that race write equal values.
struct DeviceSlot {
  Device device;
  int ready;
};
static DeviceSlot device_slots[kMaxDevices];

}  // namespace detail

static inline int current_device(Device* out) {
  int ordinal = -1;
  cudaError_t error = cudaGetDevice(&ordinal);
  if (error != cudaSuccess) return error;
  const bool cached = ordinal >= 0 && ordinal < detail::kMaxDevices;
  if (cached && __atomic_load_n(&detail::device_slots[ordinal].ready, __ATOMIC_ACQUIRE)) {
    *out = detail::device_slots[ordinal].device;
    return 0;
  }
  Device device{};
  device.ordinal = ordinal;
  const struct {
    cudaDeviceAttr attribute;
    int* value;
  } wanted[] = {{cudaDevAttrComputeCapabilityMajor, &device.major},
                {cudaDevAttrComputeCapabilityMinor, &device.minor},
                {cudaDevAttrMultiProcessorCount, &device.sm_count},
                {cudaDevAttrMaxSharedMemoryPerBlockOptin, &device.shared_bytes_optin}};
  for (const auto& want : wanted) {
    error = cudaDeviceGetAttribute(want.value, want.attribute, ordinal);
    if (error != cudaSuccess) return error;
  }
  if (cached) {
    detail::device_slots[ordinal].device = device;
    __atomic_store_n(&detail::device_slots[ordinal].ready, 1, __ATOMIC_RELEASE);
  }
  *out = device;
  return 0;
}

// Queues `kernel` as one node. Function attributes (shared memory beyond 48 KB, clusters beyond
// 8) are set once per kernel and device.
template <typename... Parameters, typename... Arguments>
static int launch(void (*kernel)(Parameters...), const LaunchConfig& config,
                  Arguments... arguments) {
  constexpr unsigned kDefaultShared = 48 * 1024;
  constexpr unsigned kPortableCluster = 8;
  if (config.shared_bytes > kDefaultShared) {
    cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(config.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  if (config.cluster > kPortableCluster) {
    cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                             cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if (config.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = config.cluster;
    attributes[count].val.clusterDim.y = 1;
    attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  if (config.pdl) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count].val.programmaticStreamSerializationAllowed = 1;
    ++count;
  }
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(config.grid);
  launch.blockDim = dim3(config.block);
  launch.dynamicSmemBytes = config.shared_bytes;
  launch.stream = static_cast<cudaStream_t>(config.stream);
  launch.attrs = attributes;
  launch.numAttrs = count;
  return cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...);
}

#endif

}  // namespace ck
