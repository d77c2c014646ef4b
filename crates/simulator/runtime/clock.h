// Who has seen what: the happens-before clocks of the checked build, and nothing in the plain one.
//
// Every thread counts epochs, and an access is known by its thread and epoch. What a thread has
// seen of others is kept by the levels of the hierarchy, because most threads meet at barriers:
// after a block barrier, "all of my block up to epoch e" is one number.
#pragma once

#include <ck_sim/memory.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace ck_sim {

struct Thread;
struct Block;
struct Gang;
struct Launch;

#if defined(CK_SIM_CHECKED)

// A counted pointer. One thread of the operating system runs a launch: no atomics.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { take(); }
  Ref(const Ref& other) : object_(other.object_) { take(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }
  void reset() {
    if (object_ != nullptr && --object_->references == 0) delete object_;
    object_ = nullptr;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  void take() {
    if (object_ != nullptr) ++object_->references;
  }
  T* object_ = nullptr;
};

// The epoch up to which every thread of a cluster was seen, at one of its barriers.
struct Phase {
  uint32_t references = 0;
  uint32_t number = 0;
  uint32_t first = 0;  // thread
  std::vector<uint32_t> epochs;
};

// Epochs seen of single threads, whole warps and whole blocks, sorted. Never changed once shared.
struct View {
  struct Entry {
    uint64_t key;  // level and number
    uint32_t epoch;
  };
  uint32_t references = 0;
  std::vector<Entry> entries;
  std::vector<Ref<Phase>> phases;
};

// The epochs seen of each lane of a warp, where only some lanes have met.
struct Lanes {
  uint32_t references = 0;
  uint32_t epoch[32];
};

struct Clock {
  uint32_t epoch;
  uint32_t warp_seen;    // all lanes of the own warp, up to and including this epoch
  uint32_t block_seen;   // all threads of the own block
  uint32_t proxy_epoch;  // of the last proxy fence
  Ref<Lanes> lanes;
  Ref<Phase> cluster;  // the last cluster barrier waited for
  Ref<View> others;    // everything else
  // What was seen at the last fence of either scope: an atomic write after it publishes that.
  Ref<View> fence_device;
  Ref<View> fence_block;
  // What relaxed atomic reads have found published: a fence makes it seen.
  Ref<View> pending_device;
  Ref<View> pending_block;
  Ref<View> proxy;  // seen at the last proxy fence
};

// Accesses of other blocks of the cluster to this block's shared memory: the last of each thread.
struct RemoteAccess {
  uint32_t thread;
  uint32_t epoch;
  uintptr_t pc;
};
struct BlockClock {
  std::vector<RemoteAccess> remote;
};
struct GangClock {
  Ref<Phase> arriving;
  Ref<Phase> complete;
  Ref<View> arriving_view;
  Ref<View> complete_view;
};
struct SyncClock {
  Ref<View> view;
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

#endif

}  // namespace ck_sim
