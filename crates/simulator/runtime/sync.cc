// Where threads meet: warp-wide functions, block barriers, cluster barriers, mbarriers.
#include <algorithm>
#include <cstring>

#include "core.h"

namespace ck_sim {

namespace {

const char* warp_name(Warp kind) {
  switch (kind) {
    case Warp::kSync:
      return "__syncwarp";
    case Warp::kShuffleIndex:
      return "__shfl_sync";
    case Warp::kShuffleUp:
      return "__shfl_up_sync";
    case Warp::kShuffleDown:
      return "__shfl_down_sync";
    case Warp::kShuffleXor:
      return "__shfl_xor_sync";
    case Warp::kBallot:
      return "__ballot_sync";
    case Warp::kAny:
      return "__any_sync";
    case Warp::kAll:
      return "__all_sync";
    case Warp::kReduceAdd:
      return "__reduce_add_sync";
    case Warp::kReduceMinSigned:
    case Warp::kReduceMinUnsigned:
      return "__reduce_min_sync";
    case Warp::kReduceMaxSigned:
    case Warp::kReduceMaxUnsigned:
      return "__reduce_max_sync";
    case Warp::kReduceAnd:
      return "__reduce_and_sync";
    case Warp::kReduceOr:
      return "__reduce_or_sync";
    case Warp::kReduceXor:
      return "__reduce_xor_sync";
    case Warp::kMatchAny:
      return "__match_any_sync";
    case Warp::kMatchAll:
      return "__match_all_sync";
  }
  return "a warp-wide function";
}

unsigned first_lane(uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }

Thread* current_or_fault(const char* what) {
  if (!on_fiber()) {
    fprintf(stderr, "simulator: %s called outside of a kernel\n", what);
    abort();
  }
  return global.current;
}

// The lane that a shuffle reads, and the own one where the source lies beyond the segment.
unsigned source_lane(const WarpCall& call, unsigned lane) {
  const unsigned width = call.width;
  const unsigned segment = lane & ~(width - 1);
  switch (call.kind) {
    case Warp::kShuffleIndex:
      return segment | (call.argument & (width - 1));
    case Warp::kShuffleUp: {
      const unsigned at = lane - segment;
      return call.argument > at ? lane : lane - call.argument;
    }
    case Warp::kShuffleDown: {
      const unsigned at = lane - segment;
      return call.argument >= width - at ? lane : lane + call.argument;
    }
    default: {
      const unsigned source = lane ^ call.argument;
      // Later segments are out of reach, as on the GPU; earlier ones are not.
      return source >= segment + width ? lane : source;
    }
  }
}

void shuffle(Block* block, unsigned warp, uint32_t mask) {
  WarpState& state = block->warp[warp];
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    WarpCall& call = state.call[lane];
    const unsigned source = source_lane(call, lane);
    if (source >= kLanes || (mask >> source & 1u) == 0) {
      const Thread* t = &block->thread[warp * kLanes + lane];
      finding("shuffle_source", false, {{thread_text(t) + " shuffles", t->pc}},
              "%s reads lane %u, which is not in the mask 0x%08x: the value is undefined",
              warp_name(call.kind), source, mask);
      call.result = ~0ull;
      continue;
    }
    call.result = state.call[source].value;
  }
}

void combine(WarpState& state, uint32_t mask) {
  const Warp kind = state.call[first_lane(mask)].kind;
  uint32_t result = static_cast<uint32_t>(state.call[first_lane(mask)].value);
  const uint32_t rest = mask & (mask - 1);
  if (kind == Warp::kBallot || kind == Warp::kAny || kind == Warp::kAll) {
    uint32_t ballot = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      if (state.call[lane].value != 0) ballot |= 1u << lane;
    }
    result = kind == Warp::kBallot ? ballot : kind == Warp::kAny ? ballot != 0 : ballot == mask;
  } else {
    for (uint32_t left = rest; left != 0; left &= left - 1) {
      const uint32_t value = static_cast<uint32_t>(state.call[first_lane(left)].value);
      const auto as_signed = [](uint32_t x) { return static_cast<int32_t>(x); };
      switch (kind) {
        case Warp::kReduceAdd:
          result += value;
          break;
        case Warp::kReduceMinSigned:
          result = as_signed(value) < as_signed(result) ? value : result;
          break;
        case Warp::kReduceMaxSigned:
          result = as_signed(value) > as_signed(result) ? value : result;
          break;
        case Warp::kReduceMinUnsigned:
          result = std::min(result, value);
          break;
        case Warp::kReduceMaxUnsigned:
          result = std::max(result, value);
          break;
        case Warp::kReduceAnd:
          result &= value;
          break;
        case Warp::kReduceOr:
          result |= value;
          break;
        default:
          result ^= value;
          break;
      }
    }
  }
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    state.call[first_lane(left)].result = result;
  }
}

void match(WarpState& state, uint32_t mask) {
  bool all = true;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    uint32_t equal = 0;
    for (uint32_t other = mask; other != 0; other &= other - 1) {
      if (state.call[first_lane(other)].value == state.call[lane].value) {
        equal |= 1u << first_lane(other);
      }
    }
    state.call[lane].result = equal;
    all = all && equal == mask;
  }
  if (state.call[first_lane(mask)].kind != Warp::kMatchAll) return;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    state.call[first_lane(left)].result = all ? mask : 0;
  }
}

// All lanes of `mask` are there.
void complete_warp(Block* block, unsigned warp, uint32_t mask) {
  WarpState& state = block->warp[warp];
  const unsigned first = first_lane(mask);
  const WarpCall& leader = state.call[first];
  for (uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
    const WarpCall& call = state.call[first_lane(left)];
    if (call.kind == leader.kind && call.bytes == leader.bytes) continue;
    const Thread* a = &block->thread[warp * kLanes + first];
    const Thread* b = &block->thread[warp * kLanes + first_lane(left)];
    finding("warp_mismatch", true,
            {{thread_text(a) + " calls " + warp_name(leader.kind), a->pc},
             {thread_text(b) + " calls " + warp_name(call.kind), b->pc}},
            "lanes of one mask (0x%08x) meet in different functions or with different types", mask);
  }
  switch (leader.kind) {
    case Warp::kSync:
      break;
    case Warp::kShuffleIndex:
    case Warp::kShuffleUp:
    case Warp::kShuffleDown:
    case Warp::kShuffleXor:
      shuffle(block, warp, mask);
      break;
    case Warp::kMatchAny:
    case Warp::kMatchAll:
      match(state, mask);
      break;
    default:
      combine(state, mask);
      break;
  }
  // Of the warp-wide functions only __syncwarp orders memory.
  if (leader.kind == Warp::kSync) clock_warp_sync(block, warp, mask);
  state.waiting &= ~mask;
  ++global.progress;
}

void report_absent(Thread* t, const WarpCall& call, uint32_t absent, const char* why) {
  finding("mask_names_absent_lane", false, {{thread_text(t) + " is one caller", t->pc}},
          "%s with mask 0x%08x names lanes 0x%08x, which %s", warp_name(call.kind), call.mask,
          absent, why);
}

}  // namespace

uint64_t warp_collective(Warp kind, unsigned mask, uint64_t value, unsigned argument,
                         unsigned width, unsigned bytes) {
  const Pc pc = CK_SIM_HERE;
  Thread* t = current_or_fault("a warp-wide function");
  Block* block = t->block;
  const unsigned warp = t->warp;
  WarpState& state = block->warp[warp];
  const uint32_t bit = 1u << t->lane;
  t->pc = pc;
  t->polls = 0;
  WarpCall& call = state.call[t->lane];
  call = WarpCall{
      value, 0, mask, argument, kind, static_cast<uint8_t>(width), static_cast<uint8_t>(bytes)};
  if (__builtin_expect((mask & bit) == 0, 0)) {
    finding("mask_without_caller", true, {{thread_text(t) + " calls", pc}},
            "%s with mask 0x%08x, in which the calling lane is missing", warp_name(kind), mask);
  }
  if (__builtin_expect(width == 0 || width > kLanes || (width & (width - 1)) != 0, 0)) {
    finding("shuffle_width", true, {{thread_text(t) + " calls", pc}},
            "%s with width %u: it must be 1, 2, 4, 8, 16 or 32", warp_name(kind), width);
  }
  uint32_t wanted = mask;
  if (__builtin_expect((mask & ~block->exists[warp]) != 0, 0)) {
    report_absent(t, call, mask & ~block->exists[warp], "the block does not have");
    wanted &= block->exists[warp];
  }
  if (__builtin_expect((wanted & block->gone[warp]) != 0, 0)) {
    report_absent(t, call, wanted & block->gone[warp], "have exited");
    wanted &= ~block->gone[warp];
  }
  state.waiting |= bit;
  if ((state.waiting & wanted) == wanted) {
    bool agreed = true;
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
      const WarpCall& other = state.call[first_lane(left)];
      if (other.mask == mask) continue;
      agreed = false;
      if ((other.mask & bit) != 0) {
        // Each waits for the other with a mask of its own.
        const Thread* u = &block->thread[warp * kLanes + first_lane(left)];
        finding("warp_masks_differ", true,
                {{thread_text(t) + format_text(" calls %s with mask 0x%08x", warp_name(kind), mask),
                  pc},
                 {thread_text(u) +
                      format_text(" calls %s with mask 0x%08x", warp_name(other.kind), other.mask),
                  u->pc}},
                "two lanes of a warp wait for each other with different masks");
      }
    }
    if (agreed) {
      complete_warp(block, warp, wanted);
      const uint32_t others = wanted & ~bit;
      if (others != 0) wake(block, warp, others);
      if (tracing()) {
        trace(pc, "%s(0x%08x, 0x%llx, %u) -> 0x%llx", warp_name(kind), mask,
              static_cast<unsigned long long>(value), argument,
              static_cast<unsigned long long>(call.result));
      }
      maybe_yield(pc);
      return call.result;
    }
  }
  suspend(State::kWarp, pc);
  if (tracing()) {
    trace(pc, "%s(0x%08x, 0x%llx, %u) -> 0x%llx", warp_name(kind), mask,
          static_cast<unsigned long long>(value), argument,
          static_cast<unsigned long long>(call.result));
  }
  return call.result;
}

unsigned active_mask() {
  Thread* t = current_or_fault("__activemask");
  return t->block->exists[t->warp] & ~t->block->gone[t->warp];
}

void warp_after_exit(Thread* t) {
  WarpState& state = t->block->warp[t->warp];
  const uint32_t bit = 1u << t->lane;
  for (uint32_t left = state.waiting; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const WarpCall& call = state.call[lane];
    if ((call.mask & bit) == 0) continue;
    Thread* waiter = &t->block->thread[t->warp * kLanes + lane];
    report_absent(waiter, call, bit, "exited while others waited for them");
    // The GPU lets the rest go on.
    const uint32_t wanted = call.mask & t->block->exists[t->warp] & ~t->block->gone[t->warp];
    bool all = (state.waiting & wanted) == wanted;
    for (uint32_t each = wanted; all && each != 0; each &= each - 1) {
      all = state.call[first_lane(each)].mask == call.mask;
    }
    if (!all) continue;
    complete_warp(t->block, t->warp, wanted);
    wake(t->block, t->warp, wanted);
    left &= ~wanted;
    if (left == 0) break;
  }
}

// ------------------------------------------------------------------------------ block barriers

namespace {

void release_barrier(Block* block, Barrier& barrier, bool everyone) {
  clock_barrier(block, barrier.participants, everyone);
  for (unsigned w = 0; w < block->warps; ++w) {
    if (barrier.waiting[w] != 0) wake(block, w, barrier.waiting[w]);
  }
  std::memset(barrier.waiting, 0, sizeof(barrier.waiting));
  std::memset(barrier.participants, 0, sizeof(barrier.participants));
  barrier.arrived = 0;
  barrier.expected = 0;
  ++global.progress;
}

void report_missing(Block* block, const Barrier& barrier, const Thread* absent) {
  const Thread* waiter = nullptr;
  for (unsigned w = 0; w < block->warps && waiter == nullptr; ++w) {
    if (barrier.waiting[w] != 0) {
      waiter = &block->thread[w * kLanes + first_lane(barrier.waiting[w])];
    }
  }
  if (waiter == nullptr) waiter = global.current;
  finding("barrier_not_reached_by_all", false,
          {{thread_text(waiter) + " waits at the barrier", waiter->pc}},
          "__syncthreads() reached by %u of %u threads: %s has exited", barrier.arrived,
          block->threads, thread_text(absent).c_str());
}

const Thread* some_exited(const Block* block) {
  for (unsigned w = 0; w < block->warps; ++w) {
    if (block->gone[w] != 0) return &block->thread[w * kLanes + first_lane(block->gone[w])];
  }
  return nullptr;
}

void enter_barrier(Thread* t, Barrier& barrier) {
  barrier.waiting[t->warp] |= 1u << t->lane;
  barrier.participants[t->warp] |= 1u << t->lane;
  ++barrier.arrived;
}

}  // namespace

int block_barrier(Vote vote, int predicate, int) {
  const Pc pc = CK_SIM_HERE;
  Thread* t = current_or_fault("__syncthreads");
  Block* block = t->block;
  Barrier& barrier = block->barrier[0];
  t->pc = pc;
  t->polls = 0;
  t->barrier = 0;
  if (barrier.arrived == 0) {
    barrier.first_pc = pc;
    barrier.vote = vote;
    barrier.count = vote == Vote::kAnd ? 1 : 0;
  } else if (__builtin_expect(barrier.first_pc != pc, 0)) {
    const Thread* other = t;
    for (unsigned w = 0; w < block->warps && other == t; ++w) {
      for (uint32_t left = barrier.waiting[w]; left != 0; left &= left - 1) {
        const Thread* u = &block->thread[w * kLanes + first_lane(left)];
        if (u->pc == barrier.first_pc) {
          other = u;
          break;
        }
      }
    }
    finding_if_lines_differ(
        "barrier_divergent",
        {{thread_text(other) + " waits", barrier.first_pc}, {thread_text(t) + " waits", pc}},
        "threads of a block meet at different __syncthreads()");
  }
  switch (vote) {
    case Vote::kCount:
      barrier.count += predicate != 0;
      break;
    case Vote::kAnd:
      barrier.count &= predicate != 0;
      break;
    case Vote::kOr:
      barrier.count |= predicate != 0;
      break;
    default:
      break;
  }
  enter_barrier(t, barrier);
  if (tracing()) trace(pc, "arrives at __syncthreads");
  // The vote is read by every thread after the release, and the next use of the barrier begins by
  // resetting it: a thread can only be there once all have read this one's result.
  static_assert(sizeof(barrier.count) == sizeof(int), "the result");
  if (barrier.arrived == block->alive) {
    if (__builtin_expect(block->alive != block->threads, 0)) {
      report_missing(block, barrier, some_exited(block));
    }
    barrier.waiting[t->warp] &= ~(1u << t->lane);
    t->block->thread[t->index].state = State::kReady;
    const int result = barrier.count;
    // Each waiter's result, before the barrier is used again.
    for (unsigned w = 0; w < block->warps; ++w) {
      for (uint32_t left = vote == Vote::kNone ? 0 : barrier.waiting[w]; left != 0;
           left &= left - 1) {
        block->warp[w].call[first_lane(left)].result = static_cast<uint64_t>(result);
      }
    }
    release_barrier(block, barrier, true);
    maybe_yield(pc);
    return result;
  }
  suspend(State::kBarrier, pc);
  return static_cast<int>(block->warp[t->warp].call[t->lane].result);
}

namespace {

void named_barrier(unsigned id, unsigned threads, bool wait, Pc pc) {
  Thread* t = current_or_fault("a named barrier");
  Block* block = t->block;
  t->pc = pc;
  t->polls = 0;
  if (id >= kNamedBarriers || threads == 0 || threads % kLanes != 0 || threads > block->threads) {
    finding("named_barrier", true, {{thread_text(t) + " calls", pc}},
            "named barrier %u for %u threads: the number must be below 16, and the threads a "
            "multiple of 32 no greater than the block's %u",
            id, threads, block->threads);
  }
  Barrier& barrier = block->barrier[id];
  if (barrier.arrived != 0 && barrier.expected != threads) {
    finding("named_barrier", true, {{thread_text(t) + " calls", pc}},
            "named barrier %u is waited for by %u threads, and here by %u", id, barrier.expected,
            threads);
  }
  barrier.expected = threads;
  t->barrier = static_cast<uint8_t>(id);
  if (tracing()) trace(pc, "%s at named barrier %u", wait ? "waits" : "arrives", id);
  barrier.participants[t->warp] |= 1u << t->lane;
  ++barrier.arrived;
  if (barrier.arrived == barrier.expected) {
    release_barrier(block, barrier, false);
    maybe_yield(pc);
    return;
  }
  if (!wait) return;
  barrier.waiting[t->warp] |= 1u << t->lane;
  suspend(State::kBarrier, pc);
}

}  // namespace

void named_barrier_sync(unsigned id, unsigned threads) {
  named_barrier(id, threads, true, CK_SIM_HERE);
}
void named_barrier_arrive(unsigned id, unsigned threads) {
  named_barrier(id, threads, false, CK_SIM_HERE);
}

void barrier_after_exit(Thread* t) {
  Block* block = t->block;
  Barrier& barrier = block->barrier[0];
  if (barrier.arrived == 0 || barrier.arrived != block->alive || barrier.expected != 0) return;
  report_missing(block, barrier, t);
  for (unsigned w = 0; w < block->warps; ++w) {
    for (uint32_t left = barrier.waiting[w]; left != 0; left &= left - 1) {
      block->warp[w].call[first_lane(left)].result = static_cast<uint64_t>(barrier.count);
    }
  }
  release_barrier(block, barrier, true);
}

// ---------------------------------------------------------------------------- cluster barriers

namespace {

void complete_cluster(Gang* gang) {
  clock_cluster_complete(gang);
  ++gang->phase;
  gang->arrived = 0;
  ++global.progress;
  for (Block* block : gang->blocks) {
    for (uint32_t i = 0; i < block->threads; ++i) {
      Thread* t = &block->thread[i];
      if (t->state == State::kCluster) wake(t);
    }
  }
}

void arrive(bool release, Pc pc) {
  Thread* t = current_or_fault("cluster_arrive");
  Gang* gang = t->block->gang;
  t->pc = pc;
  t->polls = 0;
  if (t->cluster_arrived) {
    finding("cluster_arrive_twice", true, {{thread_text(t) + " arrives", pc}},
            "cluster_arrive() again without a cluster_wait() between");
  }
  if (tracing()) trace(pc, "arrives at the cluster barrier");
  t->cluster_arrived = true;
  t->cluster_phase = gang->phase;
  clock_cluster_arrive(t, release);
  ++gang->arrived;
  if (gang->arrived == gang->alive) complete_cluster(gang);
  maybe_yield(pc);
}

}  // namespace

void cluster_arrive() { arrive(true, CK_SIM_HERE); }
void cluster_arrive_relaxed() { arrive(false, CK_SIM_HERE); }

void cluster_wait() {
  const Pc pc = CK_SIM_HERE;
  Thread* t = current_or_fault("cluster_wait");
  Gang* gang = t->block->gang;
  t->pc = pc;
  if (!t->cluster_arrived) {
    finding("cluster_wait_without_arrive", true, {{thread_text(t) + " waits", pc}},
            "cluster_wait() without a cluster_arrive() before it");
  }
  if (gang->phase == t->cluster_phase) suspend(State::kCluster, pc);
  t->cluster_arrived = false;
  ++t->cluster_phases_passed;
  clock_cluster_wait(t);
  if (tracing()) trace(pc, "passes the cluster barrier");
}

void cluster_after_exit(Thread* t) {
  Gang* gang = t->block->gang;
  // A thread that arrived and left without waiting has been counted already.
  if (t->cluster_arrived && t->cluster_phase == gang->phase) --gang->arrived;
  if (gang->arrived != 0 && gang->arrived == gang->alive) complete_cluster(gang);
}

unsigned cluster_rank() { return current_or_fault("cluster_rank")->block->rank; }
unsigned cluster_size() {
  return static_cast<unsigned>(current_or_fault("cluster_size")->block->gang->blocks.size());
}

void* cluster_map_address(const void* local, unsigned rank) {
  Thread* t = current_or_fault("cluster_map");
  Gang* gang = t->block->gang;
  const uint8_t* p = static_cast<const uint8_t*>(local);
  if (rank >= gang->blocks.size()) {
    finding("cluster_rank", true, {{thread_text(t) + " maps", CK_SIM_HERE}},
            "cluster_map to rank %u of a cluster of %zu", rank, gang->blocks.size());
  }
  if (arena_block(local) != t->block) {
    finding("cluster_map", true, {{thread_text(t) + " maps", CK_SIM_HERE}},
            "cluster_map of %s, which is not this block's shared memory",
            describe_address(reinterpret_cast<uintptr_t>(local)).c_str());
  }
  return gang->blocks[rank]->arena + (p - t->block->arena);
}

std::string waiting_text(const Thread* t) {
  switch (t->state) {
    case State::kWarp: {
      const WarpState& state = t->block->warp[t->warp];
      const WarpCall& call = state.call[t->lane];
      return format_text(" (%s, mask 0x%08x, lanes there 0x%08x)", warp_name(call.kind), call.mask,
                         state.waiting);
    }
    case State::kBarrier: {
      const Barrier& barrier = t->block->barrier[t->barrier];
      return format_text(" (barrier %u, %u of %u threads there)", t->barrier, barrier.arrived,
                         barrier.expected != 0 ? barrier.expected : t->block->threads);
    }
    case State::kCluster:
      return format_text(" (%u of %u threads have arrived)", t->block->gang->arrived,
                         t->block->gang->alive);
    default:
      return "";
  }
}

void trap() {
  Thread* t = current_or_fault("__trap");
  finding("trap", true, {{thread_text(t) + " stops", CK_SIM_HERE}}, "__trap()");
  abort();
}

void assertion_failed(const char* text) {
  const Pc pc = CK_SIM_HERE;
  if (!on_fiber()) {
    fprintf(stderr, "simulator: assertion failed on the host: %s\n", text);
    abort();
  }
  finding("assertion", true, {{thread_text(global.current) + " asserts", pc}},
          "assertion failed: %s", text);
  abort();
}

}  // namespace ck_sim
