// Host side of every launch: the current device, and one way to put a kernel on a stream.
//
// Nothing here synchronises, allocates, or touches the default stream. A pending error from
// elsewhere is neither reported as ours nor cleared: only return codes of our own calls count.
#pragma once

#include <ck/status.h>

#include <ck/platform.cuh>

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
  // All blocks are resident at once, or the launch fails: blocks may wait for each other.
  bool cooperative = false;
  void* stream = nullptr;
};

// Where there are no more blocks than multiprocessors, asks for so much shared memory that none
// gets two: as the launch before ends, some would get two of the next kernel's blocks and others
// none. Only for kernels that use much shared memory anyway, for the multiprocessors change its
// share of the cache with such a launch.
inline void one_block_each(const Device& device, LaunchConfig* config) {
  const unsigned over_half = static_cast<unsigned>(device.shared_bytes_optin) / 2 + 1024;
  const bool few = config->grid <= static_cast<unsigned>(device.sm_count);
  if (few && config->shared_bytes < over_half) config->shared_bytes = over_half;
}

#if defined(CK_SIM)

inline const char* cuda_error_string(int code) { return ck_sim::error_string(code); }

inline int current_device(Device* out) {
  ck_sim::DeviceInfo info = ck_sim::device_info();
  *out = Device{0, info.major, info.minor, info.sm_count, info.shared_bytes_optin};
  return 0;
}

template <typename... Parameters, typename... Arguments>
int launch_as(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments... arguments) {
  ck_sim::LaunchShape shape{config.grid, config.block,       config.shared_bytes, config.cluster,
                            config.pdl,  config.cooperative, config.stream};
  return ck_sim::launch<Parameters...>(kernel, shape, static_cast<Parameters>(arguments)...);
}

template <auto kKernel, typename... Arguments>
int launch(const LaunchConfig& config, Arguments... arguments) {
  return launch_as(kKernel, config, arguments...);
}

template <auto kKernel>
int resident_blocks(const LaunchConfig& config, int* blocks) {
  *blocks = static_cast<int>(ck_sim::resident_blocks(config.block, config.shared_bytes));
  return 0;
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

// The runtime's sentence for a cudaError_t; never null.
static inline const char* cuda_error_string(int code) {
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

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

namespace detail {

// Function attributes that kernels were given, per device: set before the first launch that needs
// them, then remembered. Two threads that race set equal values.
template <auto kKernel>
struct Attributes {
  static inline int shared_bytes[kMaxDevices] = {};
  static inline int non_portable[kMaxDevices] = {};
};

static inline int set_attribute(const void* kernel, cudaFuncAttribute attribute, int value,
                                int* remembered) {
  if (remembered != nullptr && __atomic_load_n(remembered, __ATOMIC_ACQUIRE) >= value) return 0;
  const cudaError_t error = cudaFuncSetAttribute(kernel, attribute, value);
  if (error == cudaSuccess && remembered != nullptr) {
    __atomic_store_n(remembered, value, __ATOMIC_RELEASE);
  }
  return error;
}

template <typename... Parameters, typename... Arguments>
static int launch_as(void (*kernel)(Parameters...), const LaunchConfig& config,
                     Arguments... arguments) {
  cudaLaunchAttribute attributes[3];
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
  if (config.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count].val.cooperative = 1;
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

}  // namespace detail

namespace detail {

// Gives the kernel the attributes that the launch needs.
template <auto kKernel>
static int prepare(const LaunchConfig& config) {
  constexpr unsigned kDefaultShared = 48 * 1024;
  constexpr unsigned kPortableCluster = 8;
  if (config.shared_bytes > kDefaultShared || config.cluster > kPortableCluster) {
    int ordinal = -1;
    if (const cudaError_t error = cudaGetDevice(&ordinal)) return error;
    const bool cached = ordinal >= 0 && ordinal < detail::kMaxDevices;
    const void* const kernel = reinterpret_cast<const void*>(kKernel);
    using Given = detail::Attributes<kKernel>;
    if (config.shared_bytes > kDefaultShared) {
      const int error = detail::set_attribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(config.shared_bytes),
                                              cached ? &Given::shared_bytes[ordinal] : nullptr);
      if (error != 0) return error;
    }
    if (config.cluster > kPortableCluster) {
      const int error =
          detail::set_attribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1,
                                cached ? &Given::non_portable[ordinal] : nullptr);
      if (error != 0) return error;
    }
  }
  return 0;
}

}  // namespace detail

// How many blocks of such a launch a multiprocessor holds at once.
template <auto kKernel>
static int resident_blocks(const LaunchConfig& config, int* blocks) {
  if (const int error = detail::prepare<kKernel>(config)) return error;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, kKernel, static_cast<int>(config.block), config.shared_bytes);
}

// Queues the kernel as one node.
template <auto kKernel, typename... Arguments>
static int launch(const LaunchConfig& config, Arguments... arguments) {
  if (const int error = detail::prepare<kKernel>(config)) return error;
  return detail::launch_as(kKernel, config, arguments...);
}

#endif

}  // namespace ck
