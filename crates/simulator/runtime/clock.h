// Who has seen what: the happens-before clocks of the checked build, and nothing in the plain one.
//
// Every thread counts epochs. What it has seen of others is kept by the levels of the hierarchy,
// because most threads meet at barriers: after a block barrier "all of my block up to epoch e" is
// one number. race.cc has the rules.
#pragma once

#include <ck_sim/memory.h>

#include <cstdint>

namespace ck_sim {

struct Thread;
struct Block;
struct Gang;
struct Launch;
struct Barrier;

#if defined(CK_SIM_CHECKED)

struct View;   // epochs seen, of threads, warps, blocks and clusters; shared and counted
struct Phase;  // the epoch of every thread of a cluster when it arrived

struct Clock {
  uint32_t epoch = 1;
  uint32_t warp_seen = 0;    // all lanes of the own warp, up to and including this epoch
  uint32_t block_seen = 0;   // all threads of the own block
  uint32_t* lanes = nullptr; // 32 epochs of the own warp's lanes, once a partial mask has met
  Phase* cluster = nullptr;  // the last cluster barrier waited for
  View* others = nullptr;    // everything else
  View* fence_device = nullptr;  // all that was seen at the last fence
  View* fence_block = nullptr;
  View* pending_device = nullptr;  // read by relaxed atomics; a fence makes it seen
  View* pending_block = nullptr;
  View* proxy = nullptr;  // seen at the last proxy fence
  uint32_t proxy_epoch = 0;
};
struct BlockClock {
  uint32_t dummy = 0;
};
struct GangClock {
  Phase* arriving = nullptr;
  Phase* complete = nullptr;
};
struct SyncClock {
  View* view = nullptr;
};

void clock_launch_begin(Launch& launch);
void clock_launch_end();
void clock_thread_begin(Thread* t);
void clock_block_begin(Block* block);
void clock_block_exit(Block* block);
void clock_warp_sync(Block* block, unsigned warp, uint32_t mask);
void clock_barrier(Block* block, const uint32_t* participants, bool everyone);
void clock_cluster_arrive(Thread* t, bool release);
void clock_cluster_complete(Gang* gang);
void clock_cluster_wait(Thread* t);
void clock_fence(Thread* t, Fence scope);
void clock_proxy_fence(Thread* t);
void clock_release(Thread* t, SyncClock& to);
void clock_acquire(Thread* t, const SyncClock& from);
void clock_forget(SyncClock& clock);

#else

struct Clock {};
struct BlockClock {};
struct GangClock {};
struct SyncClock {};

inline void clock_launch_begin(Launch&) {}
inline void clock_launch_end() {}
inline void clock_thread_begin(Thread*) {}
inline void clock_block_begin(Block*) {}
inline void clock_block_exit(Block*) {}
inline void clock_warp_sync(Block*, unsigned, uint32_t) {}
inline void clock_barrier(Block*, const uint32_t*, bool) {}
inline void clock_cluster_arrive(Thread*, bool) {}
inline void clock_cluster_complete(Gang*) {}
inline void clock_cluster_wait(Thread*) {}
inline void clock_fence(Thread*, Fence) {}
inline void clock_proxy_fence(Thread*) {}
inline void clock_release(Thread*, SyncClock&) {}
inline void clock_acquire(Thread*, const SyncClock&) {}
inline void clock_forget(SyncClock&) {}

#endif

}  // namespace ck_sim
