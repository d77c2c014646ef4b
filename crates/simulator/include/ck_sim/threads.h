// Thread indices, barriers, warp-wide functions, clusters.
#pragma once

#include <ck_sim/types.h>

#include <cstring>
#include <type_traits>

namespace ck_sim {

// A thread's place never changes while its kernel runs, so the compiler may keep the answers.
__attribute__((const)) uint3 thread_index();
__attribute__((const)) uint3 block_index();
__attribute__((const)) dim3 block_dimensions();
__attribute__((const)) dim3 grid_dimensions();

// What the lanes of a warp do together. All lanes of a mask must ask for the same thing.
enum class Warp : uint8_t {
  kSync,
  kShuffleIndex,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kAny,
  kAll,
  kReduceAdd,
  kReduceMinSigned,
  kReduceMaxSigned,
  kReduceMinUnsigned,
  kReduceMaxUnsigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kMatchAny,
  kMatchAll,
};
uint64_t warp_collective(Warp kind, unsigned mask, uint64_t value, unsigned argument,
                         unsigned width, unsigned bytes);
unsigned active_mask();

enum class Vote : uint8_t { kNone, kCount, kAnd, kOr };
// `line` keeps the compiler from merging the barriers of two branches into one.
int block_barrier(Vote vote, int predicate, int line);
void named_barrier_sync(unsigned id, unsigned threads);
void named_barrier_arrive(unsigned id, unsigned threads);

unsigned cluster_rank();
unsigned cluster_size();
void cluster_arrive();
void cluster_arrive_relaxed();
void cluster_wait();
void* cluster_map_address(const void* local, unsigned rank);

CK_SIM_INLINE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
template <typename T>
CK_SIM_INLINE T* cluster_map(T* local, unsigned rank) {
  return static_cast<T*>(cluster_map_address(local, rank));
}
CK_SIM_INLINE void barrier_sync(unsigned id, unsigned threads) { named_barrier_sync(id, threads); }
CK_SIM_INLINE void barrier_arrive(unsigned id, unsigned threads) {
  named_barrier_arrive(id, threads);
}

// Lets other threads and blocks run: the body of a loop that waits for memory to change.
void spin_hint();

[[noreturn]] void trap();
[[noreturn]] void assertion_failed(const char* text);

template <typename T>
CK_SIM_INLINE uint64_t to_lane_bits(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
CK_SIM_INLINE T from_lane_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T>
CK_SIM_INLINE T shuffle(Warp kind, unsigned mask, T value, unsigned argument, int width) {
  return from_lane_bits<T>(
      warp_collective(kind, mask, to_lane_bits(value), argument, width, sizeof(T)));
}

}  // namespace ck_sim

#define threadIdx (::ck_sim::thread_index())
#define blockIdx (::ck_sim::block_index())
#define blockDim (::ck_sim::block_dimensions())
#define gridDim (::ck_sim::grid_dimensions())
constexpr int warpSize = 32;

CK_SIM_INLINE void __syncthreads(int line = __builtin_LINE()) {
  ck_sim::block_barrier(ck_sim::Vote::kNone, 0, line);
}
CK_SIM_INLINE int __syncthreads_count(int p, int line = __builtin_LINE()) {
  return ck_sim::block_barrier(ck_sim::Vote::kCount, p, line);
}
CK_SIM_INLINE int __syncthreads_and(int p, int line = __builtin_LINE()) {
  return ck_sim::block_barrier(ck_sim::Vote::kAnd, p, line);
}
CK_SIM_INLINE int __syncthreads_or(int p, int line = __builtin_LINE()) {
  return ck_sim::block_barrier(ck_sim::Vote::kOr, p, line);
}

CK_SIM_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
  ck_sim::warp_collective(ck_sim::Warp::kSync, mask, 0, 0, 32, 4);
}
template <typename T>
CK_SIM_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return ck_sim::shuffle(ck_sim::Warp::kShuffleIndex, mask, value, lane, width);
}
template <typename T>
CK_SIM_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return ck_sim::shuffle(ck_sim::Warp::kShuffleUp, mask, value, delta, width);
}
template <typename T>
CK_SIM_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return ck_sim::shuffle(ck_sim::Warp::kShuffleDown, mask, value, delta, width);
}
template <typename T>
CK_SIM_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return ck_sim::shuffle(ck_sim::Warp::kShuffleXor, mask, value, lane_mask, width);
}
CK_SIM_INLINE unsigned __ballot_sync(unsigned mask, int p) {
  return ck_sim::warp_collective(ck_sim::Warp::kBallot, mask, p != 0, 0, 32, 4);
}
CK_SIM_INLINE int __any_sync(unsigned mask, int p) {
  return ck_sim::warp_collective(ck_sim::Warp::kAny, mask, p != 0, 0, 32, 4);
}
CK_SIM_INLINE int __all_sync(unsigned mask, int p) {
  return ck_sim::warp_collective(ck_sim::Warp::kAll, mask, p != 0, 0, 32, 4);
}
CK_SIM_INLINE unsigned __activemask() { return ck_sim::active_mask(); }

#define CK_SIM_REDUCE(name, type, kind)                                                        \
  CK_SIM_INLINE type name(unsigned mask, type value) {                                         \
    return static_cast<type>(ck_sim::warp_collective(ck_sim::Warp::kind, mask,                 \
                                                     static_cast<uint32_t>(value), 0, 32, 4)); \
  }
CK_SIM_REDUCE(__reduce_add_sync, unsigned, kReduceAdd)
CK_SIM_REDUCE(__reduce_add_sync, int, kReduceAdd)
CK_SIM_REDUCE(__reduce_min_sync, unsigned, kReduceMinUnsigned)
CK_SIM_REDUCE(__reduce_min_sync, int, kReduceMinSigned)
CK_SIM_REDUCE(__reduce_max_sync, unsigned, kReduceMaxUnsigned)
CK_SIM_REDUCE(__reduce_max_sync, int, kReduceMaxSigned)
CK_SIM_REDUCE(__reduce_and_sync, unsigned, kReduceAnd)
CK_SIM_REDUCE(__reduce_or_sync, unsigned, kReduceOr)
CK_SIM_REDUCE(__reduce_xor_sync, unsigned, kReduceXor)
#undef CK_SIM_REDUCE

template <typename T>
CK_SIM_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  return ck_sim::warp_collective(ck_sim::Warp::kMatchAny, mask, ck_sim::to_lane_bits(value), 0, 32,
                                 sizeof(T));
}
template <typename T>
CK_SIM_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all_equal) {
  const unsigned lanes = ck_sim::warp_collective(ck_sim::Warp::kMatchAll, mask,
                                                 ck_sim::to_lane_bits(value), 0, 32, sizeof(T));
  *all_equal = lanes != 0;
  return lanes;
}

CK_SIM_INLINE void __nanosleep(unsigned) { ck_sim::spin_hint(); }
CK_SIM_INLINE void __trap() { ck_sim::trap(); }
#undef assert
#define assert(condition) ((condition) ? (void)0 : ::ck_sim::assertion_failed(#condition))
