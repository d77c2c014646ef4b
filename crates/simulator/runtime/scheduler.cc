// Runs a launch: which thread goes next, which blocks are alive, and what to say when none can.
#include <setjmp.h>
#include <signal.h>
#if defined(__linux__)
#include <ucontext.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core.h"
#include "fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define CK_SIM_ASAN 1
#endif

namespace ck_sim {

Global global;
Thread* here = nullptr;

namespace {

// Blocks (or clusters) kept going side by side in the shuffled orders.
constexpr size_t kShuffledWindow = 4;
// Rounds over all live blocks in which nobody does anything but poll.
constexpr int kIdleRounds = 2000;

// The running kernel's arguments. In the library's own image: no freed buffer can have lain here.
alignas(64) uint8_t launch_arguments[kMaxArgumentBytes];

std::vector<Block*> free_blocks;
std::vector<Thread*> free_threads[kMaxWarps + 1];  // arrays, by warps
sigjmp_buf fault_jump;

#if defined(CK_SIM_ASAN)
const void* main_stack_bottom = nullptr;
size_t main_stack_size = 0;
void announce_switch(Thread* to, void** fake) {
  if (to != nullptr) {
    const uintptr_t low = stack_low(to->stack);
    __sanitizer_start_switch_fiber(fake, reinterpret_cast<void*>(low), stack_high(to->stack) - low);
  } else {
    __sanitizer_start_switch_fiber(fake, main_stack_bottom, main_stack_size);
  }
}
#endif

void switch_from(void** save, Thread* to) {
  global.current = to;
  here = to;
  void* load = to != nullptr ? to->stack_pointer : global.main_stack_pointer;
#if defined(CK_SIM_ASAN)
  void* fake = nullptr;
  announce_switch(to, &fake);
  ck_sim_switch(save, load);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  ck_sim_switch(save, load);
#endif
}

unsigned lowest(uint32_t bits) { return static_cast<unsigned>(__builtin_ctz(bits)); }
unsigned highest(uint32_t bits) { return 31u - static_cast<unsigned>(__builtin_clz(bits)); }
uint32_t rotate_right(uint32_t bits, unsigned by) {
  by &= 31;
  return by == 0 ? bits : (bits >> by) | (bits << (32 - by));
}
// The first set bit at or after `from`, around the end.
unsigned first_from(uint32_t bits, unsigned from) {
  return (lowest(rotate_right(bits, from)) + from) & 31;
}

// Takes the next thread of a block out of the ready ones; null where there is none.
Thread* pick(Block* block) {
  const uint32_t warps = block->ready_warps;
  if (warps == 0) return nullptr;
  unsigned warp;
  unsigned lane;
  switch (global.order) {
    case kReverse:
      warp = highest(warps);
      lane = highest(block->ready[warp]);
      break;
    case kRandom: {
      const uint64_t random = next_random();
      warp = first_from(warps, static_cast<unsigned>(random >> 32) & 31);
      lane = first_from(block->ready[warp], static_cast<unsigned>(random >> 40) & 31);
      break;
    }
    case kInterleaved:
      warp = first_from(warps, block->last_warp + 1);
      lane = first_from(block->ready[warp], block->last_lane);
      // Each time around the warps, another lane comes first.
      if (warp <= block->last_warp) block->last_lane = (block->last_lane + 1) & 31;
      block->last_warp = warp;
      break;
    default:
      warp = lowest(warps);
      lane = lowest(block->ready[warp]);
      break;
  }
  block->ready[warp] &= ~(1u << lane);
  if (block->ready[warp] == 0) block->ready_warps &= ~(1u << warp);
  return &block->thread[warp * kLanes + lane];
}

uint32_t gangs_of(const Launch& launch) { return launch.shape.grid / launch.shape.cluster; }

Thread* take_threads(unsigned warps) {
  auto& pool = free_threads[warps];
  if (!pool.empty()) {
    Thread* threads = pool.back();
    pool.pop_back();
    return threads;
  }
  return new Thread[warps * kLanes]();
}

void start_block(Gang* gang, uint32_t rank) {
  const Launch& launch = *gang->launch;
  Block* block;
  if (free_blocks.empty()) {
    block = new Block();
  } else {
    block = free_blocks.back();
    free_blocks.pop_back();
  }
  block->launch = gang->launch;
  block->gang = gang;
  block->rank = rank;
  block->index = gang->index * launch.shape.cluster + rank;
  block->threads = launch.shape.block;
  block->warps = (block->threads + kLanes - 1) / kLanes;
  block->alive = block->threads;
  block->padded = block->warps * kLanes;
  block->first_id = block->index * block->padded;
  block->spinners = 0;
  block->exited = false;
  block->ready_warps = 0;
  block->last_warp = 31;
  block->last_lane = 0;
  block->next_site = 0;
  std::memset(block->spinning, 0, sizeof(block->spinning));
  std::memset(block->gone, 0, sizeof(block->gone));
  std::memset(block->exists, 0, sizeof(block->exists));
  std::memset(block->ready, 0, sizeof(block->ready));
  std::memset(block->barrier, 0, sizeof(block->barrier));
  block->thread = take_threads(block->warps);
  arena_take(block);
  for (uint32_t i = 0; i < block->threads; ++i) {
    Thread* t = &block->thread[i];
    t->block = block;
    t->index = i;
    t->id = block->first_id + i;
    t->warp = static_cast<uint8_t>(i / kLanes);
    t->lane = static_cast<uint8_t>(i % kLanes);
    t->state = State::kReady;
    t->place = uint3{i, 0, 0};
    t->pc = 0;
    t->stack = stack_take();
    t->stack_pointer = stack_prepare(t->stack);
    t->stack_low = stack_low(t->stack);
    t->stack_bytes = static_cast<uint32_t>(stack_high(t->stack) - t->stack_low);
    t->cluster_arrived = false;
    t->dependency_waited = false;
    t->cluster_phase = 0;
    t->cluster_phases_passed = 0;
    t->polls = 0;
    t->copies.clear();
    t->copy_groups.clear();
    t->bulk_copies.clear();
    t->bulk_groups.clear();
    block->exists[t->warp] |= 1u << t->lane;
    clock_thread_begin(t);
  }
  for (unsigned w = 0; w < block->warps; ++w) {
    block->warp[w].waiting = 0;
    block->ready[w] = block->exists[w];
    block->ready_warps |= 1u << w;
  }
  clock_block_begin(block);
  gang->blocks.push_back(block);
  gang->alive += block->threads;
  gang->padded += block->padded;
}

void start_gang(Launch& launch, uint32_t index) {
  Gang* gang = new Gang();
  gang->launch = &launch;
  gang->index = index;
  gang->alive = 0;
  gang->arrived = 0;
  gang->phase = 0;
  gang->padded = 0;
  gang->first_id =
      index * launch.shape.cluster * ((launch.shape.block + kLanes - 1) / kLanes * kLanes);
  for (uint32_t rank = 0; rank < launch.shape.cluster; ++rank) start_block(gang, rank);
  global.live.push_back(gang);
  ++global.progress;
}

void free_gang(Gang* gang) {
  for (Block* block : gang->blocks) {
    for (uint32_t i = 0; i < block->threads; ++i) {
      // Stacks of threads that ended are back already.
      if (block->thread[i].state != State::kExited) stack_release(block->thread[i].stack);
    }
    forget_mbarriers(block);
    arena_release(block);
    free_threads[block->warps].push_back(block->thread);
    free_blocks.push_back(block);
  }
  delete gang;
}

bool has_ready(const Gang* gang) {
  return std::any_of(gang->blocks.begin(), gang->blocks.end(),
                     [](const Block* b) { return b->ready_warps != 0; });
}
bool has_spinner(const Gang* gang) {
  return std::any_of(gang->blocks.begin(), gang->blocks.end(),
                     [](const Block* b) { return b->spinners != 0; });
}

// The block whose turn it is, or null when every live thread waits or spins.
Block* choose_block(size_t* rotation) {
  const size_t n = global.live.size();
  if (n == 0) return nullptr;
  size_t first = 0;
  if (global.order == kRandom) {
    first = next_random() % n;
  } else if (global.order == kInterleaved) {
    first = (*rotation)++ % n;
  }
  for (size_t i = 0; i < n; ++i) {
    Gang* gang = global.live[(first + i) % n];
    const size_t blocks = gang->blocks.size();
    size_t start = 0;
    if (global.order == kRandom) start = next_random() % blocks;
    if (global.order == kInterleaved) start = *rotation % blocks;
    for (size_t k = 0; k < blocks; ++k) {
      size_t at = (start + k) % blocks;
      if (global.order == kReverse) at = blocks - 1 - k;
      if (gang->blocks[at]->ready_warps != 0) return gang->blocks[at];
    }
  }
  return nullptr;
}

void resume(Block* block) {
  Thread* t = pick(block);
  global.quantum = 0;
  if (global.order == kInterleaved) global.quantum = 24;
  if (global.order == kRandom) global.quantum = 1 + next_random() % 64;
  switch_from(&global.main_stack_pointer, t);
}

// Lets every spinning thread look again.
void repoll() {
  for (Gang* gang : global.live) {
    for (Block* block : gang->blocks) {
      if (block->spinners == 0) continue;
      for (unsigned w = 0; w < block->warps; ++w) {
        if (block->spinning[w] == 0) continue;
        wake(block, w, block->spinning[w]);
        block->spinning[w] = 0;
      }
      block->spinners = 0;
    }
  }
}

const char* state_text(State state) {
  switch (state) {
    case State::kReady:
      return "ready";
    case State::kWarp:
      return "waits in a warp-wide function";
    case State::kBarrier:
      return "waits at a block barrier";
    case State::kCluster:
      return "waits at the cluster barrier";
    case State::kMbarrier:
      return "waits at an mbarrier";
    case State::kSpin:
      return "spins";
    case State::kExited:
      return "has exited";
  }
  return "";
}

// One line for each kind of place where threads wait: the first thread there, and how many.
void report_stuck(const char* code, const char* headline, const std::vector<Gang*>& gangs) {
  struct Group {
    Thread* first;
    size_t count;
  };
  std::map<std::pair<int, Pc>, Group> groups;
  size_t exited = 0;
  for (Gang* gang : gangs) {
    for (Block* block : gang->blocks) {
      for (uint32_t i = 0; i < block->threads; ++i) {
        Thread* t = &block->thread[i];
        if (t->state == State::kExited) {
          ++exited;
          continue;
        }
        auto [at, fresh] = groups.insert({{static_cast<int>(t->state), t->pc}, {t, 0}});
        (void)fresh;
        ++at->second.count;
      }
    }
  }
  std::vector<Where> places;
  for (const auto& [key, group] : groups) {
    if (places.size() == 6) break;
    places.push_back(
        {format_text("%zu thread%s, the first is %s, which %s%s", group.count,
                     group.count == 1 ? "" : "s", thread_text(group.first).c_str(),
                     state_text(group.first->state), waiting_text(group.first).c_str()),
         group.first->pc});
  }
  finding(code, true, places, "%s; %zu of its threads have exited", headline, exited);
}

}  // namespace

unsigned resident_blocks(unsigned block, unsigned shared_bytes) {
  const unsigned shared = shared_bytes + 1024;  // what the system keeps of each block's
  const unsigned by_shared = (global.device.shared_bytes_optin + 1024) / shared;
  const unsigned by_threads = 2048 / block;
  return std::max(1u, std::min({by_shared, by_threads, 32u}));
}

namespace {

// Blocks that this device holds at a time, if one may wait for another through memory.
size_t resident_gangs(const Launch& launch) {
  const size_t blocks = static_cast<size_t>(global.device.sm_count) *
                        resident_blocks(launch.shape.block, launch.shared_end);
  return std::max<size_t>(1, blocks / launch.shape.cluster);
}

// How each fault of the processor reads in a finding.
struct FaultInfo {
  int signal;
  uintptr_t address;
  uintptr_t pc;
};
FaultInfo fault;

void on_fault(int signal, siginfo_t* info, void* context) {
  fault.signal = signal;
  fault.address = reinterpret_cast<uintptr_t>(info->si_addr);
#if defined(__x86_64__) && defined(__linux__)
  fault.pc = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__) && defined(__linux__)
  fault.pc = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  (void)context;
  fault.pc = 0;
#endif
  siglongjmp(fault_jump, 1);
}

// Turns faults of the kernel into findings, for as long as a launch runs.
class FaultGuard {
 public:
  FaultGuard() {
#if !defined(CK_SIM_ASAN)
    static char stack[64 * 1024];
    stack_t own{};
    own.ss_sp = stack;
    own.ss_size = sizeof(stack);
    sigaltstack(&own, &old_stack_);
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals; ++i) sigaction(signals_[i], &action, &old_[i]);
#endif
  }
  ~FaultGuard() {
#if !defined(CK_SIM_ASAN)
    for (size_t i = 0; i < kSignals; ++i) sigaction(signals_[i], &old_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
#endif
  }

 private:
  static constexpr size_t kSignals = 4;
  static constexpr int signals_[kSignals] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction old_[kSignals];
  stack_t old_stack_;
};

void report_fault() {
  Thread* t = global.current;
  // This runs on the main stack, and the thread will not go on.
  global.current = nullptr;
  if (t != nullptr && stack_is_guard(fault.address)) {
    finding("stack_overflow", true, {{thread_text(t) + " stands", fault.pc}},
            "a thread needs more than its %zu bytes of stack (CK_SIM_STACK sets it)",
            static_cast<size_t>(t->stack_bytes));
    return;
  }
  const char* what = fault.signal == SIGFPE   ? "an integer division by zero"
                     : fault.signal == SIGILL ? "an illegal instruction"
                                              : "an access to memory that is not there";
  finding("fault", true, {{t != nullptr ? thread_text(t) : "the host", fault.pc}},
          "%s, at address %s", what, describe_address(fault.address).c_str());
}

// Threads that may be alive at once in a launch that gives no promise: enough for every kernel that
// hands values on, few enough to be quick. A cooperative launch has all of its own.
constexpr size_t kMostWaiting = 96 * 1024;

void loop(Launch& launch) {
  const uint32_t total = gangs_of(launch);
  const size_t resident = resident_gangs(launch);
  uint32_t started = 0;
  size_t rotation = 0;
  int idle = 0;
  uint64_t progress = 0;
  const auto index_of = [&](uint32_t n) { return global.order == kReverse ? total - 1 - n : n; };
  // Random order starts the blocks in an order of its own too: a step coprime to their number.
  uint64_t step = 1;
  uint64_t first = 0;
  if (global.order == kRandom && total > 1) {
    step = 1 + next_random() % (total - 1);
    const auto common = [](uint64_t a, uint64_t b) {
      while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
      }
      return a;
    };
    while (common(step, total) != 1) ++step;
    first = next_random() % total;
  }
  const auto start_next = [&] {
    const uint32_t index = global.order == kRandom
                               ? static_cast<uint32_t>((first + started * step) % total)
                               : index_of(started);
    ++started;
    start_gang(launch, index);
  };
  const size_t window = shuffled() ? kShuffledWindow : 1;
  while (!global.failed) {
    while (started < total && global.live.size() < std::min(window, resident)) start_next();
    if (Block* block = choose_block(&rotation)) {
      Gang* gang = block->gang;
      resume(block);
      if (gang->alive == 0 && !global.failed) {
        global.live.erase(std::find(global.live.begin(), global.live.end(), gang));
        free_gang(gang);
      }
      continue;
    }
    if (global.live.empty()) {
      if (started == total) return;
      continue;
    }
    // Nobody is ready. A cluster in which nobody spins cannot be helped by any other.
    for (Gang* gang : global.live) {
      if (!has_spinner(gang) && !has_ready(gang)) {
        report_stuck("deadlock", "no thread of the block (or cluster) can go on", {gang});
        return;
      }
    }
    if (progress != global.progress) {
      progress = global.progress;
      idle = 0;
      repoll();
    } else if (started < total && global.live.size() < resident &&
               (launch.shape.cooperative || stacks_free() > kMaxStacks - kMostWaiting)) {
      start_next();
    } else if (++idle > kIdleRounds) {
      report_stuck("livelock",
                   started < total
                       ? "every block that fits the device spins, waiting for one that does not"
                       : "every block spins, and none changes memory",
                   global.live);
      return;
    } else {
      repoll();
    }
  }
}

}  // namespace

void wake(Block* block, unsigned warp, uint32_t lanes) {
  block->ready[warp] |= lanes;
  block->ready_warps |= 1u << warp;
}

void suspend(State state, Pc pc) {
  Thread* t = global.current;
  t->state = state;
  t->pc = pc;
  Thread* next = nullptr;
  if (!shuffled() || --global.quantum != 0) next = pick(t->block);
  if (next != t) switch_from(&t->stack_pointer, next);
  t->state = State::kReady;
}

void maybe_yield(Pc pc) {
  if (!shuffled()) return;
  Thread* t = global.current;
  wake(t);
  suspend(State::kReady, pc);
}

void spin(Pc pc) {
  Thread* t = global.current;
  t->polls = 0;
  if (tracing()) trace(pc, "spins");
  t->block->spinning[t->warp] |= 1u << t->lane;
  ++t->block->spinners;
  suspend(State::kSpin, pc);
}

void spin_hint() {
  if (on_fiber()) spin(CK_SIM_HERE);
}

void note_change(bool changed) {
  if (!on_fiber()) return;
  if (changed) {
    ++global.progress;
    global.current->polls = 0;
  } else if (++global.current->polls > kPollsBeforeSpin) {
    spin(CK_SIM_HERE);
  }
}

void abandon_launch() {
  global.failed = true;
  static void* nowhere;
  if (on_fiber()) switch_from(&nowhere, nullptr);
  abort();  // only fibers abandon a launch
}

void thread_exit() {
  Thread* t = global.current;
  Block* block = t->block;
  if (tracing()) trace(0, "exits");
  bulk_finish(t);
  t->state = State::kExited;
  ++global.progress;
  block->gone[t->warp] |= 1u << t->lane;
  --block->alive;
  --block->gang->alive;
  warp_after_exit(t);
  barrier_after_exit(t);
  cluster_after_exit(t);
  if (block->alive == 0) {
    block->exited = true;
    clock_block_exit(block);
    arena_poison_after_exit(block);
  }
  stack_release(t->stack);
  // The stack is only reused once another thread starts, which this fiber does not live to see.
  Thread* next = nullptr;
  if (!shuffled() || --global.quantum != 0) next = pick(block);
  static void* nowhere;
#if defined(CK_SIM_ASAN)
  global.current = next;
  here = next;
  announce_switch(next, nullptr);
  ck_sim_switch(&nowhere, next != nullptr ? next->stack_pointer : global.main_stack_pointer);
#else
  switch_from(&nowhere, next);
#endif
  abort();
}

extern "C" void ck_sim_fiber_main() {
#if defined(CK_SIM_ASAN)
  const void* from = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &from, &size);
  if (main_stack_bottom == nullptr) {
    main_stack_bottom = from;
    main_stack_size = size;
  }
#endif
  const Launch& launch = *global.launch;
  launch.call.invoke(launch.call.kernel, launch_arguments);
  thread_exit();
}

int run_launch(Launch& launch) {
  global.launch = &launch;
  std::copy(launch.arguments.begin(), launch.arguments.end(), launch_arguments);
  ++global.launch_number;
  global.failed = false;
  global.random = global.seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
  if (global.random == 0) global.random = 1;
#if defined(CK_SIM_ASAN)
  main_stack_bottom = nullptr;
#endif
  arenas_begin_launch(launch);
  clock_launch_begin(launch);
  {
    FaultGuard guard;
    if (sigsetjmp(fault_jump, 1) == 0) {
      loop(launch);
    } else {
      report_fault();
    }
  }
  global.current = nullptr;
  here = nullptr;
  for (Gang* gang : global.live) free_gang(gang);
  global.live.clear();
  clock_launch_end();
  global.launch = nullptr;
  return global.failed ? cudaErrorLaunchFailure : cudaSuccess;
}

uint3 thread_index() { return on_fiber() ? global.current->place : uint3{0, 0, 0}; }
uint3 block_index() { return uint3{on_fiber() ? global.current->block->index : 0, 0, 0}; }
dim3 block_dimensions() { return dim3(on_fiber() ? global.launch->shape.block : 1); }
dim3 grid_dimensions() { return dim3(on_fiber() ? global.launch->shape.grid : 1); }

bool mutant_active(const char* name) {
  return global.mutant != nullptr && std::strcmp(global.mutant, name) == 0;
}

}  // namespace ck_sim
