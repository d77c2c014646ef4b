// The kernels of floors.h. Each is the simplest that reaches the ceiling it measures: 16-byte
// accesses, four in flight a thread, threads in a grid-stride loop. What dependent launch may
// overlap with the kernel before is the launch alone: nothing touches memory before the wait.
#include <ck/cluster.cuh>
#include <ck/host.cuh>
#include <ck/memory.cuh>
#include <ck/pipeline.cuh>

#include "floors.h"

namespace floors {

constexpr int kMaxThreads = 1024;
constexpr int kInFlight = 4;
constexpr size_t kVector = sizeof(uint4);

CK_DEVICE size_t first() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
CK_DEVICE size_t stride() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

CK_DEVICE uint32_t fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

CK_KERNEL(kMaxThreads) read_kernel(const uint4* region, size_t count, uint32_t* sink) {
  ck::dependency_wait();
  const size_t step = stride();
  uint32_t sum = 0;
  size_t i = first();
  for (; i + (kInFlight - 1) * step < count; i += kInFlight * step) {
    uint4 values[kInFlight];
    CK_UNROLL
    for (int j = 0; j < kInFlight; ++j) values[j] = ck::load_nc(region + i + j * step);
    CK_UNROLL
    for (int j = 0; j < kInFlight; ++j) sum ^= fold(values[j]);
  }
  for (; i < count; i += step) sum ^= fold(ck::load_nc(region + i));
  // Almost never true, and the compiler cannot know: the loads must happen.
  if (sum == 0x9e3779b9u) *sink = sum;
}

CK_KERNEL(kMaxThreads) write_kernel(uint4* region, size_t count) {
  ck::dependency_wait();
  const uint32_t seed = static_cast<uint32_t>(first()) * 0x9e3779b9u + 1;
  for (size_t i = first(); i < count; i += stride()) {
    const uint32_t x = seed ^ static_cast<uint32_t>(i);
    region[i] = make_uint4(x, x * 3, x * 5, x * 7);
  }
}

CK_KERNEL(kMaxThreads) update_kernel(uint4* region, size_t count, uint32_t mask) {
  ck::dependency_wait();
  const size_t step = stride();
  const auto updated = [mask](uint4 v) {
    return make_uint4(v.x ^ mask, v.y ^ mask, v.z ^ mask, v.w ^ mask);
  };
  size_t i = first();
  for (; i + (kInFlight - 1) * step < count; i += kInFlight * step) {
    uint4 values[kInFlight];
    CK_UNROLL
    for (int j = 0; j < kInFlight; ++j) values[j] = region[i + j * step];
    CK_UNROLL
    for (int j = 0; j < kInFlight; ++j) region[i + j * step] = updated(values[j]);
  }
  for (; i < count; i += step) region[i] = updated(region[i]);
}

CK_KERNEL(kMaxThreads) empty_kernel() { ck::dependency_wait(); }

CK_KERNEL(32) load_store_kernel(const uint32_t* from, uint32_t* to) { *to = *from + 1; }

CK_KERNEL(kMaxThreads) cluster_kernel(int barriers) {
  for (int i = 0; i < barriers; ++i) ck::cluster_sync();
}

CK_KERNEL(kMaxThreads) fma_kernel(float* sink, int rounds) {
  // Eight chains hide the latency of a multiply-add; each round gives every chain two.
  float chains[8];
  CK_UNROLL
  for (int j = 0; j < 8; ++j) chains[j] = static_cast<float>(threadIdx.x + j);
  const float factor = 0.75f + 1e-6f * threadIdx.x;
  CK_NO_UNROLL
  for (int i = 0; i < rounds; ++i) {
    CK_UNROLL
    for (int j = 0; j < 8; ++j) {
      chains[j] = __fmaf_rn(chains[j], factor, 1.0f);
      chains[j] = __fmaf_rn(chains[j], factor, 0.5f);
    }
  }
  float sum = 0;
  CK_UNROLL
  for (int j = 0; j < 8; ++j) sum += chains[j];
  if (sum == -1.0f) *sink = sum;  // never: all terms are positive
}

static ck::LaunchConfig shape(int blocks, int threads, int pdl, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = static_cast<unsigned>(threads);
  config.pdl = pdl != 0;
  config.stream = stream;
  return config;
}

}  // namespace floors

extern "C" {

uint32_t floors_abi_version(void) { return FLOORS_ABI_VERSION; }

int floors_read(void* region, uint64_t bytes, void* sink, int blocks, int threads, int pdl,
                void* stream) {
  return ck::launch<floors::read_kernel>(floors::shape(blocks, threads, pdl, stream),
                                         static_cast<const uint4*>(region), bytes / floors::kVector,
                                         static_cast<uint32_t*>(sink));
}

int floors_write(void* region, uint64_t bytes, void*, int blocks, int threads, int pdl,
                 void* stream) {
  return ck::launch<floors::write_kernel>(floors::shape(blocks, threads, pdl, stream),
                                          static_cast<uint4*>(region), bytes / floors::kVector);
}

int floors_update(void* region, uint64_t bytes, void*, int blocks, int threads, int pdl,
                  void* stream) {
  return ck::launch<floors::update_kernel>(floors::shape(blocks, threads, pdl, stream),
                                           static_cast<uint4*>(region), bytes / floors::kVector,
                                           0x5a5a5a5au);
}

int floors_empty(int blocks, int threads, int pdl, void* stream) {
  return ck::launch<floors::empty_kernel>(floors::shape(blocks, threads, pdl, stream));
}

int floors_load_store(void* from, void* to, void* stream) {
  return ck::launch<floors::load_store_kernel>(floors::shape(1, 1, 0, stream),
                                               static_cast<const uint32_t*>(from),
                                               static_cast<uint32_t*>(to));
}

int floors_cluster(int size, int barriers, void* stream) {
  ck::LaunchConfig config = floors::shape(size, floors::kMaxThreads, 0, stream);
  config.cluster = static_cast<unsigned>(size);
  return ck::launch<floors::cluster_kernel>(config, barriers);
}

int floors_fma(void* sink, int blocks, int rounds, void* stream) {
  return ck::launch<floors::fma_kernel>(floors::shape(blocks, floors::kMaxThreads, 0, stream),
                                        static_cast<float*>(sink), rounds);
}
}
