// The checked build: happens-before clocks, and the shadow of shared and global memory.
//
// Two accesses of different threads to a byte race if one of them writes, not both are atomic, and
// neither happened before the other. What orders them, and nothing else does:
//   program order; __syncwarp among its lanes (shuffles and votes order nothing); __syncthreads and
//   named barriers; cluster_arrive (release) with cluster_wait; store_release with a load_acquire
//   that reads it; a fence, then an atomic write, which an atomic read finds, then a fence there;
//   mbarrier arrivals and completed bulk copies with a wait; one launch after another.
// That one block happens to run after another orders nothing: blocks of a grid are concurrent.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "check.h"
#include "fiber.h"

namespace ck_sim {

// What is known of four bytes of memory. `stamp` says of which launch (or of which block's life):
// another one means nothing is known.
struct Cell {
  uint32_t stamp;
  uint32_t write_id;  // thread; or the number of a Split
  uint32_t write_epoch;
  uint32_t write_pc;
  uint32_t use_id;  // the last read or atomic use, by thread; or the number of a UserSet
  uint32_t use_epoch;
  uint32_t use_pc;
  uint8_t initialised;  // a bit a byte; in global memory, whether that differs from the region's
  uint8_t write_mask;
  uint8_t use_mask;
  uint8_t flags;
};
static_assert(sizeof(Cell) == 32, "eight bytes of shadow for each of memory");

namespace {

// `Cell::flags`: two bits for the kind of the one user, then how the fields are to be read.
constexpr uint8_t kKindBits = 3;
constexpr uint8_t kManyUsers = 4;
constexpr uint8_t kSplit = 8;
constexpr uint8_t kUpdates = 16;  // among the many users are atomic writes

// Uses that a cell remembers beside its last plain write. Of a read-modify-write only the write
// counts: it conflicts with all that its read does.
enum Kind : uint8_t { kPlainRead = 0, kAtomicRead = 1, kAtomicWrite = 2 };
bool conflict(Kind a, Kind b) {
  return (a == kPlainRead && b == kAtomicWrite) || (a == kAtomicWrite && b == kPlainRead);
}
// Whether a later `b` of the same thread, or of one that has seen `a`, speaks for `a` too: whatever
// conflicts with `a` conflicts with `b`.
bool stands_for(Kind b, Kind a) { return a == b || a == kAtomicRead; }
const char* past(Kind kind) { return kind == kAtomicWrite ? "updated" : "read"; }

constexpr size_t kCellBytes = 4;
// Users kept of one cell, by warps. More of them would only make a race likelier to be found.
constexpr size_t kMaxUsers = 64;

struct User {
  uint32_t warp;  // of the launch
  uint32_t lanes;
  uint32_t epoch;  // the latest of these lanes
  uint32_t pc;
  Kind kind;
};
using UserSet = std::vector<User>;
// A cell a byte, where threads use parts of four bytes.
using Split = std::array<Cell, 4>;

// Shadow of one arena slot or of all registered buffers.
struct Shadow {
  Cell* cells = nullptr;  // of an arena
  uint32_t stamp = 0;
  std::vector<UserSet> sets;
  size_t sets_used = 0;
  std::vector<Split> splits;
  size_t splits_used = 0;

  void begin(uint32_t new_stamp) {
    stamp = new_stamp;
    sets_used = 0;
    splits_used = 0;
  }
  uint32_t new_set() {
    if (sets_used == sets.size()) sets.emplace_back();
    sets[sets_used].clear();
    return static_cast<uint32_t>(sets_used++);
  }
  uint32_t new_split() {
    if (splits_used == splits.size()) splits.emplace_back();
    return static_cast<uint32_t>(splits_used++);
  }
};

Shadow global_shadow;
Shadow arena_shadow[kMaxArenas];
uint32_t next_stamp = 0;
uint32_t padded = 32;  // thread ids a block, in this launch

struct Published {
  Ref<View> device;
  Ref<View> block;
  uint32_t block_index = ~0u;
};
std::unordered_map<uintptr_t, Published> published;

uint32_t short_pc(Pc pc) { return static_cast<uint32_t>(pc - own_image().begin); }
Pc long_pc(uint32_t pc) { return own_image().begin + pc; }

Cell* map_cells(size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "simulator: no address space for the shadow of %zu bytes\n", bytes / 8);
    abort();
  }
  return static_cast<Cell*>(memory);
}

// -------------------------------------------------------------------------------------- views

enum Level : uint64_t { kThreadLevel = 0, kWarpLevel = 1, kBlockLevel = 2 };
uint64_t key_of(Level level, uint32_t number) { return (level << 32) | number; }

uint32_t find_epoch(const View& view, uint64_t key) {
  auto at = std::lower_bound(view.entries.begin(), view.entries.end(), key,
                             [](const View::Entry& e, uint64_t k) { return e.key < k; });
  return at != view.entries.end() && at->key == key ? at->epoch : 0;
}

bool phase_has(const Phase& phase, uint32_t id, uint32_t epoch) {
  const uint32_t at = id - phase.first;
  return at < phase.epochs.size() && epoch <= phase.epochs[at];
}

bool view_has(const View& view, uint32_t id, uint32_t epoch) {
  if (epoch <= find_epoch(view, key_of(kThreadLevel, id))) return true;
  if (epoch <= find_epoch(view, key_of(kWarpLevel, id / kLanes))) return true;
  if (epoch <= find_epoch(view, key_of(kBlockLevel, id / padded))) return true;
  for (const Ref<Phase>& phase : view.phases) {
    if (phase_has(*phase.get(), id, epoch)) return true;
  }
  return false;
}

void add_phase(View& view, const Ref<Phase>& phase) {
  if (!phase) return;
  for (Ref<Phase>& each : view.phases) {
    if (each == phase) return;
    if (each->first == phase->first) {
      // Of one cluster the later barrier covers the earlier.
      if (phase->number > each->number) each = phase;
      return;
    }
  }
  view.phases.push_back(phase);
}

bool by_key(const View::Entry& a, const View::Entry& b) { return a.key < b.key; }

// Sorts entries that were appended, and keeps the latest epoch of each key.
void normalise(View& view) {
  auto& entries = view.entries;
  std::sort(entries.begin(), entries.end(), [](const View::Entry& a, const View::Entry& b) {
    return a.key != b.key ? a.key < b.key : a.epoch > b.epoch;
  });
  entries.erase(
      std::unique(entries.begin(), entries.end(),
                  [](const View::Entry& a, const View::Entry& b) { return a.key == b.key; }),
      entries.end());
}

bool covers(const View& a, const View& b) {
  if (a.entries.size() < b.entries.size() || a.phases.size() < b.phases.size()) return false;
  for (const View::Entry& entry : b.entries) {
    if (find_epoch(a, entry.key) < entry.epoch) return false;
  }
  for (const Ref<Phase>& phase : b.phases) {
    const bool found = std::any_of(a.phases.begin(), a.phases.end(), [&](const Ref<Phase>& p) {
      return p->first == phase->first && p->number >= phase->number;
    });
    if (!found) return false;
  }
  return true;
}

Ref<View> join(const Ref<View>& a, const Ref<View>& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (covers(*a.get(), *b.get())) return a;
  if (covers(*b.get(), *a.get())) return b;
  Ref<View> result(new View());
  View& view = *result.get();
  view.entries.reserve(a->entries.size() + b->entries.size());
  std::merge(a->entries.begin(), a->entries.end(), b->entries.begin(), b->entries.end(),
             std::back_inserter(view.entries), by_key);
  normalise(view);
  view.phases = a->phases;
  for (const Ref<Phase>& phase : b->phases) add_phase(view, phase);
  return result;
}

// All that a thread has seen, its own past included.
Ref<View> view_of(const Thread* t) {
  const Clock& c = t->clock;
  Ref<View> result(new View());
  View& view = *result.get();
  if (c.others) {
    view.entries = c.others->entries;
    view.phases = c.others->phases;
  }
  add_phase(view, c.cluster);
  if (c.lanes) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t epoch = c.lanes->epoch[lane];
      if (epoch != 0) {
        view.entries.push_back({key_of(kThreadLevel, t->id - t->lane + lane), epoch});
      }
    }
  }
  view.entries.push_back({key_of(kThreadLevel, t->id), c.epoch});
  if (c.warp_seen != 0) view.entries.push_back({key_of(kWarpLevel, t->id / kLanes), c.warp_seen});
  if (c.block_seen != 0) {
    view.entries.push_back({key_of(kBlockLevel, t->block->index), c.block_seen});
  }
  normalise(view);
  return result;
}

bool seen(const Thread* t, uint32_t id, uint32_t epoch) {
  if (id == t->id) return true;
  const Clock& c = t->clock;
  if (id - t->block->first_id < padded) {
    if (epoch <= c.block_seen) return true;
    if (id / kLanes == t->id / kLanes) {
      if (epoch <= c.warp_seen) return true;
      if (c.lanes && epoch <= c.lanes->epoch[id % kLanes]) return true;
    }
  }
  if (c.cluster && phase_has(*c.cluster.get(), id, epoch)) return true;
  return c.others && view_has(*c.others.get(), id, epoch);
}

const Ref<Phase>& later(const Ref<Phase>& a, const Ref<Phase>& b) {
  if (!a) return b;
  if (!b) return a;
  return b->number > a->number ? b : a;
}

}  // namespace

// -------------------------------------------------------------------------------------- clocks

void clock_launch_begin(Launch& launch) {
  padded = (launch.shape.block + kLanes - 1) / kLanes * kLanes;
  global_shadow.begin(++next_stamp);
  published.clear();
}

void clock_launch_end() { published.clear(); }

void clock_thread_begin(Thread* t) {
  Clock& c = t->clock;
  c.epoch = 1;
  c.warp_seen = 0;
  c.block_seen = 0;
  c.proxy_epoch = 0;
  c.lanes.reset();
  c.cluster.reset();
  c.others.reset();
  c.fence_device.reset();
  c.fence_block.reset();
  c.pending_device.reset();
  c.pending_block.reset();
  c.proxy.reset();
}

void clock_block_begin(Block* block) { block->clock.remote.clear(); }

void clock_block_exit(Block* block) {
  for (const RemoteAccess& access : block->clock.remote) {
    bool ordered = false;
    for (uint32_t i = 0; i < block->threads && !ordered; ++i) {
      ordered = seen(&block->thread[i], access.thread, access.epoch);
    }
    if (ordered) continue;
    finding("cluster_exit", false,
            {{thread_text(access.thread) + " uses its shared memory", access.pc}},
            "block %u exits while a block of its cluster may still use its shared memory: nothing "
            "orders the use before the exit",
            block->index);
  }
}

void clock_warp_sync(Block* block, unsigned warp, uint32_t mask) {
  Thread* const lanes = &block->thread[warp * kLanes];
  uint32_t latest = 0;
  uint32_t block_seen = 0;
  uint32_t warp_seen = 0;
  Ref<View> others;
  Ref<Phase> cluster;
  bool any_lanes = false;
  bool first = true;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const Clock& c = lanes[__builtin_ctz(left)].clock;
    latest = std::max(latest, c.epoch);
    block_seen = std::max(block_seen, c.block_seen);
    warp_seen = std::max(warp_seen, c.warp_seen);
    if (first) {
      others = c.others;
      cluster = c.cluster;
    } else {
      if (!(others == c.others)) others = join(others, c.others);
      if (!(cluster == c.cluster)) cluster = later(cluster, c.cluster);
    }
    any_lanes = any_lanes || c.lanes;
    first = false;
  }
  const bool whole = mask == block->exists[warp];
  Ref<Lanes> met;
  if (!whole) {
    met = Ref<Lanes>(new Lanes());
    std::memset(met->epoch, 0, sizeof(met->epoch));
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
      const Clock& c = lanes[lane].clock;
      if (c.lanes) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          met->epoch[l] = std::max(met->epoch[l], c.lanes->epoch[l]);
        }
      }
      met->epoch[lane] = latest;
    }
  }
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    Clock& c = lanes[__builtin_ctz(left)].clock;
    c.epoch = latest + 1;
    c.block_seen = block_seen;
    c.warp_seen = whole ? latest : warp_seen;
    if (!(c.others == others)) c.others = others;
    if (!(c.cluster == cluster)) c.cluster = cluster;
    if (any_lanes || met) c.lanes = met;
  }
}

void clock_barrier(Block* block, const uint32_t* participants, bool everyone) {
  uint32_t latest = 0;
  uint32_t block_seen = 0;
  Ref<View> others;
  Ref<Phase> cluster;
  bool first = true;
  bool dependency = false;
  const auto each = [&](auto f) {
    for (unsigned w = 0; w < block->warps; ++w) {
      for (uint32_t left = participants[w]; left != 0; left &= left - 1) {
        f(block->thread[w * kLanes + static_cast<unsigned>(__builtin_ctz(left))]);
      }
    }
  };
  each([&](Thread& t) {
    const Clock& c = t.clock;
    latest = std::max(latest, c.epoch);
    block_seen = std::max(block_seen, c.block_seen);
    if (first) {
      others = c.others;
      cluster = c.cluster;
    } else {
      if (!(others == c.others)) others = join(others, c.others);
      if (!(cluster == c.cluster)) cluster = later(cluster, c.cluster);
    }
    dependency = dependency || t.dependency_waited;
    first = false;
  });
  bool complete = everyone;
  for (unsigned w = 0; w < block->warps; ++w)
    complete = complete && participants[w] == block->exists[w];
  if (!complete) {
    // Some of the block: what they have seen of warps and lanes joins what they have seen of
    // others.
    Ref<View> met(new View());
    for (unsigned w = 0; w < block->warps; ++w) {
      const uint32_t warp_id = block->first_id / kLanes + w;
      uint32_t warp_seen = 0;
      for (uint32_t left = participants[w]; left != 0; left &= left - 1) {
        const unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
        const Clock& c = block->thread[w * kLanes + lane].clock;
        warp_seen = std::max(warp_seen, c.warp_seen);
        if (participants[w] == block->exists[w]) continue;
        met->entries.push_back({key_of(kThreadLevel, warp_id * kLanes + lane), latest});
        for (uint32_t l = 0; c.lanes && l < kLanes; ++l) {
          if (c.lanes->epoch[l] == 0) continue;
          met->entries.push_back({key_of(kThreadLevel, warp_id * kLanes + l), c.lanes->epoch[l]});
        }
      }
      if (participants[w] == 0) continue;
      if (participants[w] == block->exists[w]) warp_seen = latest;
      if (warp_seen != 0) met->entries.push_back({key_of(kWarpLevel, warp_id), warp_seen});
    }
    normalise(*met.get());
    others = join(others, met);
  }
  each([&](Thread& t) {
    Clock& c = t.clock;
    c.epoch = latest + 1;
    c.block_seen = complete ? latest : block_seen;
    if (complete) {
      c.warp_seen = latest;
      if (c.lanes) c.lanes.reset();
    }
    if (!(c.others == others)) c.others = others;
    if (!(c.cluster == cluster)) c.cluster = cluster;
    t.dependency_waited = dependency;
  });
}

void clock_cluster_arrive(Thread* t, bool release) {
  if (!release) return;
  Gang* gang = t->block->gang;
  Clock& c = t->clock;
  if (!gang->clock.arriving) {
    gang->clock.arriving = Ref<Phase>(new Phase());
    gang->clock.arriving->number = gang->phase + 1;
    gang->clock.arriving->first = gang->first_id;
    gang->clock.arriving->epochs.assign(gang->padded, 0);
    gang->clock.arriving_view.reset();
  }
  Phase& phase = *gang->clock.arriving.get();
  const auto raise = [&](uint32_t id, uint32_t epoch) {
    uint32_t& known = phase.epochs[id - phase.first];
    known = std::max(known, epoch);
  };
  raise(t->id, c.epoch);
  // What it has seen of its block it passes on, whether or not those threads release themselves.
  // The first thread that knows a barrier speaks for all that know the same.
  if (c.block_seen != 0 &&
      phase.epochs[t->block->first_id - phase.first + padded - 1] < c.block_seen) {
    for (uint32_t i = 0; i < padded; ++i) raise(t->block->first_id + i, c.block_seen);
  }
  if (c.warp_seen > c.block_seen) {
    for (uint32_t i = 0; i < kLanes; ++i) raise(t->id - t->lane + i, c.warp_seen);
  }
  if (c.lanes) {
    for (uint32_t i = 0; i < kLanes; ++i) raise(t->id - t->lane + i, c.lanes->epoch[i]);
  }
  if (c.cluster && !gang->clock.arriving_view) {
    for (size_t i = 0; i < phase.epochs.size(); ++i) {
      phase.epochs[i] = std::max(phase.epochs[i], c.cluster->epochs[i]);
    }
  }
  Ref<View> passed = c.others;
  gang->clock.arriving_view = join(gang->clock.arriving_view, passed);
  ++c.epoch;
}

void clock_cluster_complete(Gang* gang) {
  gang->clock.complete = std::move(gang->clock.arriving);
  gang->clock.complete_view = std::move(gang->clock.arriving_view);
  gang->clock.arriving.reset();
  gang->clock.arriving_view.reset();
}

void clock_cluster_wait(Thread* t) {
  const GangClock& from = t->block->gang->clock;
  if (from.complete) t->clock.cluster = from.complete;
  t->clock.others = join(t->clock.others, from.complete_view);
}

void clock_fence(Thread* t, Fence scope) {
  Clock& c = t->clock;
  c.others = join(c.others, c.pending_block);
  c.pending_block.reset();
  if (scope != Fence::kBlock) {
    c.others = join(c.others, c.pending_device);
    c.pending_device.reset();
  }
  c.fence_block = view_of(t);
  if (scope != Fence::kBlock) c.fence_device = c.fence_block;
  ++c.epoch;
}

void clock_proxy_fence(Thread* t) {
  t->clock.proxy = view_of(t);
  t->clock.proxy_epoch = t->clock.epoch;
  ++t->clock.epoch;
}

void clock_release(Thread* t, SyncClock& to) {
  to.view = join(to.view, view_of(t));
  ++t->clock.epoch;
}

void clock_acquire(Thread* t, const SyncClock& from) {
  t->clock.others = join(t->clock.others, from.view);
}

// ------------------------------------------------------------------------------------- access

namespace {

void race(const Thread* t, const char* now, Pc pc, uint32_t other, const char* then,
          uint32_t other_pc, uintptr_t address) {
  finding("race", false,
          {{thread_text(t) + " " + now, pc}, {thread_text(other) + " " + then, long_pc(other_pc)}},
          "%s is used by two threads with nothing to order them",
          describe_address(address).c_str());
}

bool user_seen(const Thread* t, const User& user, uint32_t* unseen) {
  const uint32_t first = user.warp * kLanes;
  if (first - t->block->first_id < padded && user.epoch <= t->clock.block_seen) return true;
  for (uint32_t left = user.lanes; left != 0; left &= left - 1) {
    const uint32_t id = first + static_cast<uint32_t>(__builtin_ctz(left));
    if (seen(t, id, user.epoch)) continue;
    *unseen = id;
    return false;
  }
  return true;
}

void add_user(UserSet& set, const Thread* t, Kind kind, uint32_t pc) {
  const uint32_t warp = t->id / kLanes;
  const uint32_t epoch = t->clock.epoch;
  uint32_t unseen;
  const auto again = [&](User& user) {
    if (user.warp != warp || user.kind != kind) return false;
    if (user.epoch < epoch) {
      // Lanes whose last use is older are ordered with the new epoch or race themselves.
      if (user_seen(t, user, &unseen)) user.lanes = 0;
      user.epoch = epoch;
      user.pc = pc;
    }
    user.lanes |= 1u << t->lane;
    return true;
  };
  // Warps mostly come in their order.
  const uint32_t likely = warp - set.front().warp;
  if (likely < set.size() && again(set[likely])) return;
  for (User& user : set) {
    if (again(user)) return;
  }
  const User fresh{warp, 1u << t->lane, epoch, pc, kind};
  if (set.size() < kMaxUsers) {
    set.push_back(fresh);
    return;
  }
  for (User& user : set) {
    if (!stands_for(kind, user.kind) || !user_seen(t, user, &unseen)) continue;
    user = fresh;
    return;
  }
}

const char* present(Kind kind) { return kind == kAtomicWrite ? "updates" : "reads"; }

// A read, or an atomic use.
void use_cell(Shadow& shadow, Cell* cell, uint8_t mask, const Thread* t, Kind kind, Pc pc,
              uintptr_t address) {
  if (cell->write_epoch != 0 && cell->write_id != t->id &&
      !seen(t, cell->write_id, cell->write_epoch)) {
    race(t, present(kind), pc, cell->write_id, "wrote", cell->write_pc, address);
  }
  const uint32_t at = short_pc(pc);
  if (cell->flags & kManyUsers) {
    UserSet& set = shadow.sets[cell->use_id];
    uint32_t unseen;
    if (kind == kAtomicWrite || (kind == kPlainRead && (cell->flags & kUpdates))) {
      for (const User& user : set) {
        if (!conflict(kind, user.kind) || user_seen(t, user, &unseen)) continue;
        race(t, present(kind), pc, unseen, past(user.kind), user.pc, address);
        break;
      }
    }
    add_user(set, t, kind, at);
    if (kind == kAtomicWrite) cell->flags |= kUpdates;
    return;
  }
  if (cell->use_epoch != 0) {
    const Kind before = static_cast<Kind>(cell->flags & kKindBits);
    const bool ordered = cell->use_id == t->id || seen(t, cell->use_id, cell->use_epoch);
    if (!ordered && conflict(kind, before)) {
      race(t, present(kind), pc, cell->use_id, past(before), cell->use_pc, address);
    }
    if (!ordered || !stands_for(kind, before)) {
      const uint32_t number = shadow.new_set();
      UserSet& set = shadow.sets[number];
      set.push_back({cell->use_id / kLanes, 1u << (cell->use_id % kLanes), cell->use_epoch,
                     cell->use_pc, before});
      add_user(set, t, kind, at);
      cell->flags |= kManyUsers;
      if (kind == kAtomicWrite || before == kAtomicWrite) cell->flags |= kUpdates;
      cell->use_id = number;
      return;
    }
  }
  cell->use_id = t->id;
  cell->use_epoch = t->clock.epoch;
  cell->use_pc = at;
  cell->use_mask = mask;
  cell->flags = static_cast<uint8_t>((cell->flags & ~kKindBits) | kind);
}

// A plain write: whatever went before is ordered before it, or a race that has been told.
void write_cell(Shadow& shadow, Cell* cell, uint8_t mask, const Thread* t, Pc pc,
                uintptr_t address) {
  if (cell->write_epoch != 0 && cell->write_id != t->id &&
      !seen(t, cell->write_id, cell->write_epoch)) {
    race(t, "writes", pc, cell->write_id, "wrote", cell->write_pc, address);
  }
  if (cell->flags & kManyUsers) {
    for (const User& user : shadow.sets[cell->use_id]) {
      uint32_t unseen;
      if (user_seen(t, user, &unseen)) continue;
      race(t, "writes", pc, unseen, past(user.kind), user.pc, address);
      break;
    }
  } else if (cell->use_epoch != 0 && cell->use_id != t->id &&
             !seen(t, cell->use_id, cell->use_epoch)) {
    race(t, "writes", pc, cell->use_id, past(static_cast<Kind>(cell->flags & kKindBits)),
         cell->use_pc, address);
  }
  cell->write_id = t->id;
  cell->write_epoch = t->clock.epoch;
  cell->write_pc = short_pc(pc);
  cell->write_mask = mask;
  cell->use_epoch = 0;
  cell->use_mask = 0;
  cell->flags = 0;
}

// From here on the cell is one for each of its bytes.
Split& split_cell(Shadow& shadow, Cell* cell) {
  const uint32_t number = shadow.new_split();
  Split& split = shadow.splits[number];
  for (unsigned byte = 0; byte < 4; ++byte) {
    Cell& part = split[byte];
    part = *cell;
    const uint8_t bit = static_cast<uint8_t>(1u << byte);
    if (!(cell->write_mask & bit)) part.write_epoch = 0;
    if (!(cell->use_mask & bit) && !(cell->flags & kManyUsers)) part.use_epoch = 0;
    if (cell->flags & kManyUsers) {
      if (cell->use_mask & bit) {
        const uint32_t set = shadow.new_set();
        shadow.sets[set] = shadow.sets[cell->use_id];
        part.use_id = set;
      } else {
        part.use_epoch = 0;
        part.flags &= static_cast<uint8_t>(~(kManyUsers | kUpdates));
      }
    }
  }
  cell->flags = kSplit;
  cell->write_id = number;
  cell->write_epoch = 0;
  cell->use_epoch = 0;
  return split;
}

struct Place {
  Shadow* shadow;
  Cell* cells;  // of the first byte's granule
  bool shared;
  uint8_t initialised;  // what `Cell::initialised` is relative to
};

// The bytes [address, address + bytes) have been found to be inside of something.
void check_cells(const Place& place, uintptr_t address, size_t bytes, Access access, Pc pc) {
  Thread* t = global.current;
  Shadow& shadow = *place.shadow;
  const bool reads = access == Access::kRead || access == Access::kReadConstant ||
                     access == Access::kAtomicRead || access == Access::kAcquireRead ||
                     access == Access::kAtomicUpdate;
  const bool writes = access == Access::kWrite || access == Access::kAtomicWrite ||
                      access == Access::kReleaseWrite || access == Access::kAtomicUpdate;
  const bool plain_write = access == Access::kWrite;
  const Kind kind = access < Access::kAtomicRead ? kPlainRead : writes ? kAtomicWrite : kAtomicRead;
  uintptr_t at = address & ~static_cast<uintptr_t>(kCellBytes - 1);
  const uintptr_t end = address + bytes;
  for (Cell* cell = place.cells; at < end; ++cell, at += kCellBytes) {
    uint8_t mask = 0xf;
    if (__builtin_expect(at < address, 0))
      mask = static_cast<uint8_t>(mask << (address - at)) & 0xf;
    if (__builtin_expect(end - at < kCellBytes, 0))
      mask &= static_cast<uint8_t>(0xf >> (kCellBytes - (end - at)));
    if (cell->stamp != shadow.stamp) {
      const uint8_t keep = place.shared ? 0 : cell->initialised;
      *cell = Cell{};
      cell->stamp = shadow.stamp;
      cell->initialised = keep;
    }
    const uintptr_t first = std::max(at, address);
    if (reads && ((cell->initialised ^ place.initialised) & mask) != mask) {
      finding("uninitialised_read", false, {{thread_text(t) + " reads", pc}},
              "%s was not written before", describe_address(first).c_str());
      // Once is enough.
      cell->initialised =
          static_cast<uint8_t>((cell->initialised & ~mask) | (~place.initialised & mask));
    }
    if (access == Access::kReadConstant && cell->write_epoch != 0 && (cell->write_mask & mask) &&
        !(cell->flags & kSplit)) {
      finding("constant_read_of_written", false,
              {{thread_text(t) + " reads as constant", pc},
               {thread_text(cell->write_id) + " wrote", long_pc(cell->write_pc)}},
              "%s was written in this launch: the non-coherent path may still hold the old value",
              describe_address(first).c_str());
    }
    // Threads that use other bytes of these four must not be taken for users of the same.
    const bool partly = (cell->flags & kSplit) ||
                        (cell->write_epoch != 0 && cell->write_mask != mask) ||
                        (cell->use_epoch != 0 && cell->use_mask != mask);
    if (__builtin_expect(!partly, 1)) {
      if (plain_write) {
        write_cell(shadow, cell, mask, t, pc, first);
      } else {
        use_cell(shadow, cell, mask, t, kind, pc, first);
      }
    } else {
      Split& split =
          (cell->flags & kSplit) ? shadow.splits[cell->write_id] : split_cell(shadow, cell);
      for (unsigned byte = 0; byte < kCellBytes; ++byte) {
        const uint8_t bit = static_cast<uint8_t>(1u << byte);
        if (!(mask & bit)) continue;
        if (plain_write) {
          write_cell(shadow, &split[byte], bit, t, pc, at + byte);
        } else {
          use_cell(shadow, &split[byte], bit, t, kind, pc, at + byte);
        }
      }
    }
    if (writes) {
      cell->initialised =
          static_cast<uint8_t>((cell->initialised & ~mask) | (~place.initialised & mask));
    }
  }
}

void out_of_bounds(const Thread* t, uintptr_t address, size_t bytes, Pc pc, const char* what) {
  if (address < 4096) {
    finding("null_pointer", true, {{thread_text(t) + " accesses", pc}},
            "an access of %zu bytes %zu bytes behind a null pointer", bytes,
            static_cast<size_t>(address));
  }
  finding("out_of_bounds", true, {{thread_text(t) + " accesses", pc}}, "%s of %zu bytes at %s",
          what, bytes, describe_address(address).c_str());
}

bool is_write(Access access) {
  return access == Access::kWrite || access == Access::kAtomicWrite ||
         access == Access::kReleaseWrite || access == Access::kAtomicUpdate;
}

// Finds what an address belongs to. False: there is nothing more to check.
inline bool locate(Thread* t, uintptr_t address, size_t bytes, Access access, Pc pc, Place* place) {
  if (address - arenas_begin < arenas_end - arenas_begin) {
    const size_t slot = (address - arenas_begin) / kArenaStride;
    Block* block = arena_blocks[slot];
    const size_t offset = (address - arenas_begin) % kArenaStride;
    if (__builtin_expect(block != t->block, 0)) {
      if (block == nullptr || block->gang != t->block->gang) {
        finding("foreign_shared_memory", true, {{thread_text(t) + " accesses", pc}},
                "an access to shared memory of a block outside of the cluster");
      }
      if (block->exited) {
        finding("cluster_exit", false, {{thread_text(t) + " accesses", pc}}, "%s, which has exited",
                describe_address(address).c_str());
      } else if (t->cluster_phases_passed == 0) {
        finding("cluster_not_started", false, {{thread_text(t) + " accesses", pc}},
                "%s, which may not have started: no cluster barrier has been passed",
                describe_address(address).c_str());
      }
      auto& remote = block->clock.remote;
      auto at = std::lower_bound(remote.begin(), remote.end(), t->id,
                                 [](const RemoteAccess& a, uint32_t id) { return a.thread < id; });
      if (at == remote.end() || at->thread != t->id) at = remote.insert(at, {t->id, 0, 0});
      at->epoch = t->clock.epoch;
      at->pc = pc;
    }
    const Launch& launch = *t->block->launch;
    const uint8_t owner = launch.owner[offset / kArenaGranule];
    const Site* site = owner != 0 ? &launch.sites[owner - 1u] : nullptr;
    if (__builtin_expect(
            site == nullptr || offset < site->offset || offset + bytes > site->offset + site->bytes,
            0)) {
      out_of_bounds(t, address, bytes, pc, "an access");
    }
    *place = {&arena_shadow[slot], arena_shadow[slot].cells + offset / kCellBytes, true, 0};
    return true;
  }
  if (Region* region = find_region(address)) {
    if (__builtin_expect(address + bytes > region->end, 0)) {
      out_of_bounds(t, address, bytes, pc, "an access that leaves the buffer,");
    }
    if (__builtin_expect(t->block->launch->shape.pdl && !t->dependency_waited, 0)) {
      finding(
          "before_dependency_wait", false, {{thread_text(t) + " accesses", pc}},
          "%s is used before dependency_wait() in a kernel launched to overlap the one before it",
          describe_address(address).c_str());
    }
    if (__builtin_expect(!region->writable && is_write(access), 0)) {
      finding("write_to_input", false, {{thread_text(t) + " writes", pc}}, "%s, which is read-only",
              describe_address(address).c_str());
      return false;
    }
    if (region->cells == nullptr) return false;
    *place = {&global_shadow,
              region->cells + (address - (region->begin & ~uintptr_t{3})) / kCellBytes, false,
              static_cast<uint8_t>(region->initialised ? 0xf : 0)};
    return true;
  }
  if (stack_contains(address)) {
    finding("foreign_local_memory", true, {{thread_text(t) + " accesses", pc}},
            "an access to a local variable of another thread");
  }
  if (in_own_image(address)) {
    if (is_write(access)) {
      finding("write_to_static", false, {{thread_text(t) + " writes", pc}},
              "a static variable of the library: kernels keep no state there");
    }
    return false;
  }
  out_of_bounds(t, address, bytes, pc, "an access");
  return false;
}

void atomic_effects(Thread* t, uintptr_t address, Access access) {
  Clock& c = t->clock;
  auto at = published.find(address);
  const bool reads = access != Access::kAtomicWrite && access != Access::kReleaseWrite;
  if (reads && at != published.end()) {
    if (access == Access::kAcquireRead) {
      c.others = join(c.others, at->second.device);
    } else {
      c.pending_device = join(c.pending_device, at->second.device);
    }
    if (at->second.block_index == t->block->index) {
      c.pending_block = join(c.pending_block, at->second.block);
    }
  }
  if (access == Access::kAtomicRead || access == Access::kAcquireRead) return;
  Ref<View> device = c.fence_device;
  Ref<View> block = c.fence_block;
  if (access == Access::kReleaseWrite) {
    device = view_of(t);
    block = device;
    ++c.epoch;
  }
  if (at == published.end()) {
    if (!device && !block) return;
    at = published.emplace(address, Published()).first;
  }
  Published& to = at->second;
  if (access == Access::kAtomicUpdate) {
    // A read-modify-write carries on what it read.
    to.device = join(to.device, device);
    to.block = to.block_index == t->block->index ? join(to.block, block) : block;
  } else {
    to.device = device;
    to.block = block;
  }
  to.block_index = t->block->index;
}

}  // namespace

void check_access(uintptr_t address, size_t bytes, Access access, Pc pc) {
  Thread* t = global.current;
  if (address - t->stack_low < t->stack_bytes) return;
  Place place;
  if (locate(t, address, bytes, access, pc, &place)) check_cells(place, address, bytes, access, pc);
  if (access >= Access::kAtomicRead) atomic_effects(t, address, access);
}

void check_copy_begin(uintptr_t to, size_t to_bytes, uintptr_t from, size_t from_bytes, Pc pc) {
  Thread* t = global.current;
  if (from_bytes != 0) check_access(from, from_bytes, Access::kRead, pc);
  check_access(to, to_bytes, Access::kWrite, pc);
  Place place;
  if (!locate(t, to, to_bytes, Access::kWrite, pc, &place)) return;
  for (size_t i = 0; i < to_bytes / kCellBytes; ++i) place.cells[i].initialised = place.initialised;
}

void check_copy_land(uintptr_t to, size_t bytes, bool write_now, Pc pc) {
  if (write_now) {
    check_access(to, bytes, Access::kWrite, pc);
    return;
  }
  Place place;
  if (!locate(global.current, to, bytes, Access::kWrite, pc, &place)) return;
  for (size_t i = 0; i < bytes / kCellBytes; ++i) {
    place.cells[i].initialised = static_cast<uint8_t>(~place.initialised & 0xf);
  }
}

void check_proxy_read(uintptr_t from, size_t bytes, Pc pc) {
  Thread* t = global.current;
  Place place;
  if (!locate(t, from, bytes, Access::kRead, pc, &place)) return;
  const auto fenced = [&](const Cell& cell) {
    if (cell.write_epoch == 0) return true;
    const Gang* gang = t->block->gang;
    const uint32_t block = cell.write_id / padded - gang->blocks[0]->index;
    if (block < gang->blocks.size()) {
      const Thread& writer = gang->blocks[block]->thread[cell.write_id % padded];
      if (writer.clock.proxy_epoch >= cell.write_epoch) return true;
    }
    return t->clock.proxy && view_has(*t->clock.proxy.get(), cell.write_id, cell.write_epoch);
  };
  for (size_t i = 0; i < bytes / kCellBytes; ++i) {
    const Cell& cell = place.cells[i];
    if (cell.stamp != place.shadow->stamp) continue;
    const Cell* unfenced = nullptr;
    if (cell.flags & kSplit) {
      for (const Cell& part : place.shadow->splits[cell.write_id]) {
        if (!fenced(part)) unfenced = &part;
      }
    } else if (!fenced(cell)) {
      unfenced = &cell;
    }
    if (unfenced == nullptr) continue;
    finding("proxy_fence", false,
            {{thread_text(t) + " copies", pc},
             {thread_text(unfenced->write_id) + " wrote", long_pc(unfenced->write_pc)}},
            "a bulk copy reads %s, and no fence_async_shared() lies between",
            describe_address(from + i * kCellBytes).c_str());
    return;
  }
}

void check_region_begin(Region* region) {
  region->cells = nullptr;
  region->cells_bytes = 0;
  // Of what is only read, and is all there, nothing can be wrong but the address.
  if (!region->writable && region->initialised) return;
  const size_t granules =
      (region->end - (region->begin & ~uintptr_t{3}) + kCellBytes - 1) / kCellBytes;
  region->cells_bytes = granules * sizeof(Cell);
  region->cells = map_cells(region->cells_bytes);
}

void check_region_end(Region* region) {
  if (region->cells != nullptr) munmap(region->cells, region->cells_bytes);
}

void check_region_written(Region* region, size_t offset, size_t bytes) {
  if (region->cells == nullptr) return;
  const uintptr_t origin = region->begin & ~uintptr_t{3};
  for (uintptr_t at = region->begin + offset; at < region->begin + offset + bytes; ++at) {
    Cell& cell = region->cells[(at - origin) / kCellBytes];
    const uint8_t bit = static_cast<uint8_t>(1u << (at % kCellBytes));
    cell.initialised = static_cast<uint8_t>(region->initialised ? cell.initialised & ~bit
                                                                : cell.initialised | bit);
  }
}

void check_arena_begin(Block* block) {
  Shadow& shadow = arena_shadow[block->slot];
  if (shadow.cells == nullptr) shadow.cells = map_cells(kArenaStride / kCellBytes * sizeof(Cell));
  shadow.begin(++next_stamp);
}

}  // namespace ck_sim
