// Libraries that are wrong, each in one way that a harness could miss. The parity kit must fail
// every one of them, and pass `kb_good`.
//
// Every entry computes y[i] = 2 * x[i] for i < n and promises one graph node. The same source is
// compiled for the GPU, for the simulator, and (by the kit's own tests) against the small host
// stand-in in host/.
#include <ck/status.h>

#include <ck/host.cuh>
#include <ck/platform.cuh>

#define KB_EXPORT extern "C" __attribute__((visibility("default")))

namespace known_bad {

constexpr unsigned kBlock = 128;
constexpr int kX = 1;
constexpr long long kRemembered = 4096;

// Memory that survives calls, as a kernel that cheats would keep it.
#if defined(__CUDACC__)
__device__ float remembered[kRemembered];
#else
static float remembered[kRemembered];
#endif

CK_DEVICE long long index() { return static_cast<long long>(blockIdx.x) * kBlock + threadIdx.x; }

CK_KERNEL(kBlock) twice(const float* x, float* y, long long begin, long long end) {
  const long long i = begin + index();
  if (i < end) y[i] = 2.0f * x[i];
}

// The last call's results, and the present ones kept for the next call.
CK_KERNEL(kBlock) stale(const float* x, float* y, long long n) {
  const long long i = index();
  if (i >= n || i >= kRemembered) return;
  y[i] = remembered[i];
  remembered[i] = 2.0f * x[i];
}

CK_KERNEL(kBlock) mutates_input(float* x, float* y, long long n) {
  const long long i = index();
  if (i >= n) return;
  y[i] = 2.0f * x[i];
  x[i] = y[i];
}

// Writes one element beyond the end.
CK_KERNEL(kBlock) past_end(const float* x, float* y, long long n) {
  const long long i = index();
  if (i < n) y[i] = 2.0f * x[i];
  if (i == n) y[i] = 0.0f;
}

// Writes one element before the beginning.
CK_KERNEL(kBlock) before_begin(const float* x, float* y, long long n) {
  const long long i = index();
  if (i < n) y[i] = 2.0f * x[i];
  if (i == 0) y[-1] = 0.0f;
}

// Leaves the last element to whatever was there.
CK_KERNEL(kBlock) short_tail(const float* x, float* y, long long n) {
  const long long i = index();
  if (i + 1 < n) y[i] = 2.0f * x[i];
}

// Reads its own output before it writes it, in a way that a NaN there would not show: as fmaxf,
// a comparison with NaN is false and the new value wins.
CK_KERNEL(kBlock) reads_output(const float* x, float* y, long long n) {
  const long long i = index();
  if (i >= n) return;
  const float value = 2.0f * x[i];
  y[i] = y[i] > value ? y[i] : value;
}

// Takes both pointers for aligned to four elements.
CK_KERNEL(kBlock) assumes_alignment(const float* x, float* y, long long n) {
  const long long i = index();
  const uintptr_t mask = ~static_cast<uintptr_t>(15);
  const float* from = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(x) & mask);
  float* to = reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(y) & mask);
  if (i < n) to[i] = 2.0f * from[i];
}

static unsigned blocks(long long n) { return static_cast<unsigned>((n + kBlock) / kBlock); }

static ck::LaunchConfig config(long long n, void* stream) {
  ck::LaunchConfig config;
  config.grid = blocks(n);
  config.block = kBlock;
  config.stream = stream;
  return config;
}

}  // namespace known_bad

using known_bad::config;

KB_EXPORT unsigned kb_abi_version(void) { return 1; }

KB_EXPORT const char* kb_error_string(int code) {
  if (code == 0) return "success";
  if (code == CK_STATUS(CK_NULL_POINTER, known_bad::kX)) return "known_bad: x: must not be null";
  return code > 0 && code < 1000 ? "a CUDA error" : "an unknown code";
}

#if !defined(__CUDACC__)
// nvcc builds get theirs from build-support.
KB_EXPORT const char* kb_build_info(void) { return "{\"name\":\"known_bad\"}"; }
#endif

// The control: nothing is wrong with it.
KB_EXPORT int kb_good(const float* x, float* y, long long n, void* stream) {
  if (x == nullptr) return CK_STATUS(CK_NULL_POINTER, known_bad::kX);
  return ck::launch<known_bad::twice>(config(n, stream), x, y, 0ll, n);
}

KB_EXPORT int kb_noop(const float*, float*, long long, void*) { return 0; }

KB_EXPORT int kb_stale(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::stale>(config(n, stream), x, y, n);
}

KB_EXPORT int kb_default_stream(const float* x, float* y, long long n, void*) {
  return ck::launch<known_bad::twice>(config(n, nullptr), x, y, 0ll, n);
}

KB_EXPORT int kb_mutates_input(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::mutates_input>(config(n, stream), const_cast<float*>(x), y, n);
}

KB_EXPORT int kb_past_end(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::past_end>(config(n, stream), x, y, n);
}

KB_EXPORT int kb_before_begin(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::before_begin>(config(n, stream), x, y, n);
}

KB_EXPORT int kb_short_tail(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::short_tail>(config(n, stream), x, y, n);
}

KB_EXPORT int kb_reads_output(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::reads_output>(config(n, stream), x, y, n);
}

KB_EXPORT int kb_assumes_alignment(const float* x, float* y, long long n, void* stream) {
  return ck::launch<known_bad::assumes_alignment>(config(n, stream), x, y, n);
}

// Two kernels where the header promises one node.
KB_EXPORT int kb_two_nodes(const float* x, float* y, long long n, void* stream) {
  const int error = ck::launch<known_bad::twice>(config(n, stream), x, y, 0ll, n / 2);
  if (error != 0) return error;
  return ck::launch<known_bad::twice>(config(n, stream), x, y, n / 2, n);
}

// Remembers that it has served these pointers, and takes the results for still there.
KB_EXPORT int kb_once_per_pointer(const float* x, float* y, long long n, void* stream) {
  static const float* served = nullptr;
  if (served == x) return 0;
  served = x;
  return ck::launch<known_bad::twice>(config(n, stream), x, y, 0ll, n);
}

// Launches with more threads than a block can have, and calls that a success.
KB_EXPORT int kb_swallows_errors(const float* x, float* y, long long n, void* stream) {
  (void)ck::launch<known_bad::twice>(config(n, stream), x, y, 0ll, n);
  return 0;
}

// Refuses with the right code after it has queued its work.
KB_EXPORT int kb_refuses_late(const float* x, float* y, long long n, void* stream) {
  if (x != nullptr) return kb_good(x, y, n, stream);
  const int error = ck::launch<known_bad::twice>(config(n, stream), (const float*)y, y, 0ll, n);
  return error != 0 ? error : CK_STATUS(CK_NULL_POINTER, known_bad::kX);
}

// Refuses with another code than the header says.
KB_EXPORT int kb_wrong_code(const float* x, float* y, long long n, void* stream) {
  if (x != nullptr) return kb_good(x, y, n, stream);
  return CK_STATUS(CK_BAD_SIZE, known_bad::kX);
}
