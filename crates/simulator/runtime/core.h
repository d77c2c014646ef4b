// What the parts of the simulator's runtime share.
//
// One operating-system thread runs a launch from beginning to end (host.cc holds a lock), so that
// nothing below is atomic. A CUDA thread is a fiber; a block is a set of fibers with one shared
// memory arena; a gang is the blocks of a cluster, which live and die together.
#pragma once

#include <ck_sim/launch.h>
#include <ck_sim/memory.h>
#include <ck_sim/threads.h>

#include <cstdarg>
#include <string>
#include <vector>

#include "clock.h"

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

// The address that the kernel will return to from the entry point of the runtime that names it.
#define CK_SIM_HERE (reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

namespace ck_sim {

#if defined(CK_SIM_CHECKED)
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

using Pc = uintptr_t;

constexpr unsigned kLanes = 32;
constexpr unsigned kMaxWarps = 32;
constexpr unsigned kNamedBarriers = 16;
// CUDA's limit for the arguments of a kernel.
constexpr size_t kMaxArgumentBytes = 32764;
constexpr uint8_t kPoison = 0xff;
// Atomic reads in a row that change nothing, after which a thread is taken to be spinning.
constexpr uint32_t kPollsBeforeSpin = 64;

enum class State : uint8_t {
  kReady,
  kWarp,      // in a warp-wide function
  kBarrier,   // __syncthreads or a named barrier
  kCluster,   // cluster_wait
  kMbarrier,  // mbarrier_wait
  kSpin,      // spin_hint
  kExited,
};

struct Block;
struct Gang;
struct Launch;

// A copy that a thread started and has not waited for.
struct PendingCopy {
  void* to;
  const void* from;
  uint32_t bytes;
  uint32_t source_bytes;
  Pc pc;
};

struct Thread {
  // The first cache lines are what a switch and an access touch.
  void* stack_pointer;
  Block* block;
  uintptr_t stack_low;
  uint32_t stack_bytes;
  uint32_t index;  // in the block
  uint32_t id;     // in the launch, blocks padded to whole warps
  uint8_t warp;
  uint8_t lane;
  State state;
  uint8_t barrier;  // which named barrier, while waiting at one
  uint32_t polls;   // consecutive atomic reads: a loop that forgot spin_hint()
  bool dependency_waited;
  // Cluster barrier: whether it has arrived and not yet waited, and in which phase.
  bool cluster_arrived;
  uint32_t cluster_phase;
  uint32_t cluster_phases_passed;
  Pc pc;  // where it waits
  Clock clock;
  uint3 place;
  uint32_t stack;
  // Asynchronous copies that were started, and how many of them each committed group has, oldest
  // first.
  std::vector<PendingCopy> copies;
  std::vector<uint32_t> copy_groups;
  std::vector<PendingCopy> bulk_copies;
  std::vector<uint32_t> bulk_groups;
};

// What each lane brought to the warp-wide function that it waits in.
struct WarpCall {
  uint64_t value;
  uint64_t result;
  uint32_t mask;
  uint32_t argument;
  Warp kind;
  uint8_t width;
  uint8_t bytes;
};

struct WarpState {
  uint32_t waiting;  // lanes in a warp-wide function
  WarpCall call[kLanes];
};

struct Barrier {
  uint32_t expected;  // threads, for a named one
  uint32_t arrived;
  uint32_t waiting[kMaxWarps];
  uint32_t participants[kMaxWarps];  // waiting ones and bar.arrive ones
  Vote vote;
  int count;
  Pc first_pc;
};

// An mbarrier object; its state lives here and not in the shared memory that names it.
struct Mbarrier {
  uint64_t* address;
  uint32_t count;    // arrivals a phase
  uint32_t pending;  // arrivals still missing in this phase
  int64_t bytes;     // bytes still to land in this phase
  uint32_t phase;
  std::vector<PendingCopy> copies;
  std::vector<Thread*> waiters;
  SyncClock clock;
};

struct Block {
  Launch* launch;
  Gang* gang;
  uint32_t index;     // in the grid
  uint32_t rank;      // in the cluster
  uint32_t slot;      // of the shared memory arenas
  uint32_t first_id;  // of its threads; the ids of a block are padded to whole warps
  uint32_t padded;
  uint32_t threads;
  uint32_t warps;
  uint32_t alive;
  uint32_t spinners;
  uint8_t* arena;
  bool exited;
  // A bit a lane, and a bit a warp that has such lanes.
  uint32_t ready_warps;
  uint32_t ready[kMaxWarps];
  uint32_t spinning[kMaxWarps];
  uint32_t exists[kMaxWarps];
  uint32_t gone[kMaxWarps];
  uint32_t last_warp;
  uint32_t last_lane;
  uint32_t next_site;
  Thread* thread;  // `threads` of them
  WarpState warp[kMaxWarps];
  Barrier barrier[kNamedBarriers];
  std::vector<Mbarrier*> mbarriers;
  BlockClock clock;
};

struct Gang {
  Launch* launch;
  uint32_t index;
  uint32_t alive;  // threads of all its blocks
  uint32_t first_id;
  uint32_t padded;  // ids of all its blocks
  uint32_t arrived;
  uint32_t phase;
  std::vector<Block*> blocks;
  GangClock clock;
};

// One shared array of the kernel: the same place in every block's arena.
struct Site {
  const void* site;
  uint32_t offset;
  uint32_t bytes;
};

struct Launch {
  Call call;
  LaunchShape shape;
  std::vector<uint8_t> arguments;
  std::vector<Site> sites;
  uint32_t shared_end = 0;     // of the arena's used part
  uint32_t static_bytes = 0;   // as a GPU counts them
  std::vector<uint8_t> owner;  // site number + 1 for each 16 bytes of an arena; 0 is a red zone
};

enum Order { kForward = 0, kReverse = 1, kRandom = 2, kInterleaved = 3 };

struct Global {
  Thread* current = nullptr;
  Launch* launch = nullptr;
  void* main_stack_pointer = nullptr;
  // Settings.
  int order = kForward;
  uint64_t seed = 0;
  const char* mutant = nullptr;
  DeviceInfo device{9, 0, 132, 227 * 1024};
  // The running launch.
  uint32_t launch_number = 0;
  uint64_t random = 1;
  uint32_t quantum = 0;
  bool failed = false;
  uint64_t progress = 0;
  std::vector<Gang*> live;
  // Trace of one block.
  int64_t trace_block = -1;
  bool trace_memory = false;
};
extern Global global;

// The thread that runs, for debuggers: `print ck_sim::here->index`, `->block->index`, `->place`.
extern Thread* here;

inline bool on_fiber() { return global.current != nullptr; }
// Orders that change threads at every opportunity, and keep several blocks going.
inline bool shuffled() { return global.order >= kRandom; }
inline uint64_t next_random() {
  // xorshift64*: enough to shuffle with.
  uint64_t x = global.random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  global.random = x;
  return x * 0x2545f4914f6cdd1dull;
}

// scheduler.cc
int run_launch(Launch& launch);
void wake(Block* block, unsigned warp, uint32_t lanes);
inline void wake(Thread* t) { wake(t->block, t->warp, 1u << t->lane); }
// Gives up the processor; the caller has said what wakes it.
void suspend(State state, Pc pc);
// Waits for memory to change: every thread that is not spinning goes first.
void spin(Pc pc);
// Gives other threads a turn where the order asks for it.
void maybe_yield(Pc pc);
// Leaves the launch for good, from a fiber.
[[noreturn]] void abandon_launch();
[[noreturn]] void thread_exit();

// sync.cc
void barrier_after_exit(Thread* t);
void warp_after_exit(Thread* t);
void cluster_after_exit(Thread* t);
std::string waiting_text(const Thread* t);

// memory.cc
void arenas_begin_launch(Launch& launch);
void arena_take(Block* block);
void arena_release(Block* block);
void arena_poison_after_exit(Block* block);
// The live block whose arena holds `p`, or null.
Block* arena_block(const void* p);
void forget_mbarriers(Block* block);
void note_access_at(const void* p, size_t bytes, Access access, Pc pc);
void bulk_finish(Thread* t);
void memory_register(void* p, size_t bytes, bool initialised, bool writable);
void memory_unregister(void* p);
void memory_name(void* p, const char* name);
void memory_set(void* p, int value, size_t bytes);

struct Region {
  uintptr_t begin;
  uintptr_t end;
  bool writable;
  uint32_t number;
  std::string name;
  bool initialised;    // when it was registered
  struct Cell* cells;  // checked build; null where every access is a read of what is there
  size_t cells_bytes;
};
Region* find_region(uintptr_t address);
std::string describe_address(uintptr_t address);

// report.cc
struct Where {
  std::string text;
  Pc pc;
};
// Records a finding unless one of the same code and places is there. `fatal` ones end the launch:
// from a fiber, the call does not return.
void finding(const char* code, bool fatal, const std::vector<Where>& places, const char* format,
             ...) __attribute__((format(printf, 4, 5)));
// As above for two places that are a fault only if they are different source lines.
void finding_if_lines_differ(const char* code, const std::vector<Where>& places, const char* format,
                             ...) __attribute__((format(printf, 3, 4)));
std::string thread_text(const Thread* t);
std::string thread_text(uint32_t id);
std::string format_text(const char* format, ...) __attribute__((format(printf, 1, 2)));
void trace(Pc pc, const char* format, ...) __attribute__((format(printf, 2, 3)));
inline bool tracing() {
  return __builtin_expect(global.trace_block >= 0, 0) && on_fiber() &&
         static_cast<int64_t>(global.current->block->index) == global.trace_block;
}

}  // namespace ck_sim
