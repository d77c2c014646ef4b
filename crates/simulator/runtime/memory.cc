// Shared memory arenas, registered buffers, copies that land late, mbarriers.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"
#include "core.h"
#include "fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace ck_sim {

uintptr_t arenas_begin = 0;
uintptr_t arenas_end = 0;
Block* arena_blocks[kMaxArenas];

namespace {

// Dynamic shared memory begins here in an arena; a red zone lies before, between and behind.
constexpr uint32_t kFirstOffset = 1024;
constexpr uint32_t kRedZone = 64;
constexpr uint32_t kDynamicAlignment = 128;
constexpr uint32_t kStaticLimit = 48 * 1024;

uint32_t arenas_made = 0;
std::vector<uint32_t> free_arenas;

uint32_t round_up(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }

void own(Launch& launch, const Site& site, uint8_t number) {
  const size_t first = site.offset / kArenaGranule;
  const size_t count = (site.bytes + kArenaGranule - 1) / kArenaGranule;
  if (launch.owner.size() < kArenaStride / kArenaGranule) {
    launch.owner.resize(kArenaStride / kArenaGranule, 0);
  }
  std::fill_n(launch.owner.begin() + static_cast<ptrdiff_t>(first), count, number);
}

// Places one more array behind the others.
const Site& add_site(Launch& launch, const void* key, uint32_t bytes, uint32_t alignment) {
  uint32_t offset = round_up(launch.shared_end, alignment);
  // Aligned to what was asked for and no further: a wider access than that must be noticed.
  if ((offset / alignment) % 2 == 0) offset += alignment;
  launch.sites.push_back({key, offset, bytes});
  launch.shared_end = offset + bytes + kRedZone;
  own(launch, launch.sites.back(),
      static_cast<uint8_t>(std::min<size_t>(launch.sites.size(), 255)));
  return launch.sites.back();
}

void poison(Block* block, const Site& site) {
  ASAN_UNPOISON_MEMORY_REGION(block->arena + site.offset, site.bytes);
  std::memset(block->arena + site.offset, kPoison, site.bytes);
}

}  // namespace

void arenas_begin_launch(Launch& launch) {
  if (arenas_begin == 0) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
    flags |= MAP_NORESERVE;
#endif
    void* memory = mmap(nullptr, kMaxArenas * kArenaStride + kArenaStride, PROT_NONE, flags, -1, 0);
    if (memory == MAP_FAILED) {
      fprintf(stderr, "simulator: cannot reserve address space for shared memory\n");
      abort();
    }
    arenas_begin =
        (reinterpret_cast<uintptr_t>(memory) + kArenaStride - 1) / kArenaStride * kArenaStride;
    arenas_end = arenas_begin + kMaxArenas * kArenaStride;
  }
  launch.sites.clear();
  launch.owner.assign(kArenaStride / kArenaGranule, 0);
  launch.shared_end = kFirstOffset;
  launch.static_bytes = 0;
  // The first site is the dynamic memory, empty or not.
  launch.sites.push_back({nullptr, kFirstOffset + kDynamicAlignment, launch.shape.shared_bytes});
  if ((launch.sites[0].offset / kDynamicAlignment) % 2 == 0) {
    launch.sites[0].offset += kDynamicAlignment;
  }
  launch.shared_end = launch.sites[0].offset + launch.shape.shared_bytes + kRedZone;
  own(launch, launch.sites[0], 1);
}

void arena_take(Block* block) {
  uint32_t slot;
  if (!free_arenas.empty()) {
    slot = free_arenas.back();
    free_arenas.pop_back();
  } else {
    slot = arenas_made++;
    if (slot >= kMaxArenas || mprotect(reinterpret_cast<void*>(arenas_begin + slot * kArenaStride),
                                       kArenaStride, PROT_READ | PROT_WRITE) != 0) {
      fprintf(stderr, "simulator: no memory for the shared memory of %u blocks\n", slot + 1);
      abort();
    }
  }
  block->slot = slot;
  block->arena = reinterpret_cast<uint8_t*>(arenas_begin + slot * kArenaStride);
  arena_blocks[slot] = block;
  ASAN_POISON_MEMORY_REGION(block->arena, kArenaStride);
  for (const Site& site : block->launch->sites) poison(block, site);
  check_arena_begin(block);
}

void arena_release(Block* block) {
  arena_blocks[block->slot] = nullptr;
  free_arenas.push_back(block->slot);
}

void arena_poison_after_exit(Block* block) {
  if (block->gang->blocks.size() == 1) return;
  // Peers of the cluster that still read find this instead of what was there.
  for (const Site& site : block->launch->sites) {
    std::memset(block->arena + site.offset, kPoison, site.bytes);
  }
}

Block* arena_owner(uintptr_t address) {
  if (address < arenas_begin || address >= arenas_end) return nullptr;
  return arena_blocks[(address - arenas_begin) / kArenaStride];
}
Block* arena_block(const void* p) { return arena_owner(reinterpret_cast<uintptr_t>(p)); }

void* shared_array_bytes(const void* key, size_t bytes, size_t alignment) {
  Thread* t = global.current;
  if (t == nullptr) {
    fprintf(stderr, "simulator: a shared array declared outside of a kernel\n");
    abort();
  }
  Launch& launch = *t->block->launch;
  for (const Site& site : launch.sites) {
    if (site.site == key) return t->block->arena + site.offset;
  }
  launch.static_bytes = round_up(launch.static_bytes, static_cast<uint32_t>(alignment)) +
                        static_cast<uint32_t>(bytes);
  const Pc pc = CK_SIM_HERE;
  if (launch.static_bytes > kStaticLimit) {
    finding("shared_too_large", true, {{thread_text(t) + " declares", pc}},
            "%u bytes of static shared memory: a kernel may have 49152", launch.static_bytes);
  }
  if (launch.static_bytes + launch.shape.shared_bytes >
      static_cast<uint32_t>(global.device.shared_bytes_optin)) {
    finding("shared_too_large", true, {{thread_text(t) + " declares", pc}},
            "%u static and %u dynamic bytes of shared memory: the device has %d a block",
            launch.static_bytes, launch.shape.shared_bytes, global.device.shared_bytes_optin);
  }
  const Site site =
      add_site(launch, key, static_cast<uint32_t>(bytes), static_cast<uint32_t>(alignment));
  // All blocks that live already get the array too: a peer of the cluster may reach for it first.
  for (Gang* gang : global.live) {
    for (Block* block : gang->blocks) poison(block, site);
  }
  return t->block->arena + site.offset;
}

void* dynamic_shared_bytes() {
  Thread* t = global.current;
  if (t == nullptr) {
    fprintf(stderr, "simulator: dynamic shared memory used outside of a kernel\n");
    abort();
  }
  return t->block->arena + t->block->launch->sites[0].offset;
}

// ------------------------------------------------------------------------- registered buffers

namespace {

std::vector<Region*> regions;  // by address
uint32_t regions_made = 0;
Region* recent = nullptr;

std::vector<Region*>::iterator first_after(uintptr_t address) {
  return std::upper_bound(regions.begin(), regions.end(), address,
                          [](uintptr_t a, const Region* r) { return a < r->begin; });
}

void drop(std::vector<Region*>::iterator at) {
  check_region_end(*at);
  recent = nullptr;
  delete *at;
  regions.erase(at);
}

}  // namespace

Region* find_region(uintptr_t address) {
  if (recent != nullptr && address >= recent->begin && address < recent->end) return recent;
  auto at = first_after(address);
  if (at == regions.begin()) return nullptr;
  Region* region = *(at - 1);
  if (address >= region->end) return nullptr;
  recent = region;
  return region;
}

// The buffer that ends or begins nearest to a wild address.
static Region* nearest_region(uintptr_t address) {
  Region* best = nullptr;
  uintptr_t distance = 4096;
  for (Region* region : regions) {
    const uintptr_t away =
        address < region->begin ? region->begin - address : address - region->end;
    if (address >= region->end || address < region->begin) {
      if (away < distance) {
        distance = away;
        best = region;
      }
    }
  }
  return best;
}

static std::string region_name(const Region* region) {
  if (!region->name.empty()) return "buffer " + region->name;
  return format_text("buffer #%u (of %zu bytes)", region->number,
                     static_cast<size_t>(region->end - region->begin));
}

std::string describe_address(uintptr_t address) {
  if (Block* block = arena_owner(address)) {
    const Launch& launch = *block->launch;
    const uint32_t offset =
        static_cast<uint32_t>(address - reinterpret_cast<uintptr_t>(block->arena));
    const Site* near = nullptr;
    for (const Site& site : launch.sites) {
      if (offset >= site.offset && offset < site.offset + site.bytes) near = &site;
    }
    const bool inside = near != nullptr;
    if (!inside) {
      int64_t best = INT64_MAX;
      for (const Site& site : launch.sites) {
        const int64_t away =
            offset < site.offset ? site.offset - offset : offset - (site.offset + site.bytes);
        if (site.bytes != 0 && away < best) {
          best = away;
          near = &site;
        }
      }
    }
    if (near == nullptr) return format_text("shared memory of block %u", block->index);
    const std::string array =
        near == &launch.sites[0]
            ? format_text("the %u bytes of dynamic shared memory", near->bytes)
            : format_text("shared array #%d (of %u bytes)",
                          static_cast<int>(near - launch.sites.data()), near->bytes);
    return format_text("byte %lld of %s of block %u",
                       static_cast<long long>(offset) - static_cast<long long>(near->offset),
                       array.c_str(), block->index);
  }
  if (const Region* region = find_region(address)) {
    return format_text("byte %zu of %s", static_cast<size_t>(address - region->begin),
                       region_name(region).c_str());
  }
  if (stack_contains(address)) return format_text("0x%zx, local memory of a thread", address);
  if (const Region* region = nearest_region(address)) {
    return format_text("byte %lld of %s", static_cast<long long>(address - region->begin),
                       region_name(region).c_str());
  }
  return format_text("0x%zx, in no registered buffer", address);
}

void memory_register(void* p, size_t bytes, bool initialised, bool writable) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p);
  if (p == nullptr || bytes == 0) return;
  // A new buffer replaces whatever it overlaps: its memory was freed and handed out again.
  auto at = first_after(begin);
  if (at != regions.begin() && (*(at - 1))->end > begin) --at;
  std::string name;
  while (at != regions.end() && (*at)->begin < begin + bytes) {
    if ((*at)->begin == begin) name = (*at)->name;
    drop(at);
    at = first_after(begin);
  }
  Region* region = new Region();
  region->begin = begin;
  region->end = begin + bytes;
  region->writable = writable;
  region->number = ++regions_made;
  region->name = name;
  region->initialised = initialised;
  check_region_begin(region);
  regions.insert(first_after(begin), region);
  recent = nullptr;
}

void memory_unregister(void* p) {
  if (p == nullptr) {
    while (!regions.empty()) drop(regions.end() - 1);
    return;
  }
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p);
  auto at = first_after(begin);
  if (at != regions.begin() && (*(at - 1))->begin == begin) drop(at - 1);
}

void memory_name(void* p, const char* name) {
  Region* region = find_region(reinterpret_cast<uintptr_t>(p));
  if (region != nullptr && region->begin == reinterpret_cast<uintptr_t>(p)) {
    region->name = name != nullptr ? name : "";
  }
}

void memory_set(void* p, int value, size_t bytes) {
  std::memset(p, value, bytes);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p);
  if (Region* region = find_region(begin)) {
    check_region_written(region, begin - region->begin,
                         std::min<size_t>(bytes, region->end - begin));
  }
}

// --------------------------------------------------------------------------------- accesses

void note_access(const void* p, size_t bytes, Access access) {
  if (on_fiber()) note_access_at(p, bytes, access, CK_SIM_HERE);
}

void note_access_at(const void* p, size_t bytes, Access access, Pc pc) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (__builtin_expect(address % bytes != 0, 0)) {
    finding("misaligned", true, {{thread_text(global.current) + " accesses", pc}},
            "an access of %zu bytes at %s: the address must be a multiple of %zu (it is %zu beyond "
            "one)",
            bytes, describe_address(address).c_str(), bytes, static_cast<size_t>(address % bytes));
  }
  if (access >= Access::kAtomicRead) {
    Thread* t = global.current;
    maybe_yield(pc);
    if (access == Access::kAtomicRead || access == Access::kAcquireRead) {
      // A loop that waits without spin_hint() must not keep the processor.
      if (++t->polls > kPollsBeforeSpin) spin(pc);
    }
  }
  if (__builtin_expect(global.trace_memory, 0) && tracing()) {
    trace(pc, "%s %zu bytes at %s",
          access == Access::kWrite || access == Access::kAtomicWrite ||
                  access == Access::kReleaseWrite
              ? "writes"
          : access == Access::kAtomicUpdate ? "updates"
                                            : "reads",
          bytes, describe_address(address).c_str());
  }
  check_access(address, bytes, access, pc);
}

void fence(Fence scope) {
  if (!on_fiber()) return;
  clock_fence(global.current, scope);
  maybe_yield(CK_SIM_HERE);
}

void dependency_wait() {
  if (on_fiber()) global.current->dependency_waited = true;
}

// ------------------------------------------------------------------- asynchronous copies

namespace {

// `own` where the thread that started the copy is the one that waits: then the write happens now.
// A bulk copy writes on behalf of whoever completes its mbarrier.
void land(const PendingCopy& copy, bool own) {
  std::memcpy(copy.to, copy.from, copy.source_bytes);
  std::memset(static_cast<uint8_t*>(copy.to) + copy.source_bytes, 0,
              copy.bytes - copy.source_bytes);
  check_copy_land(reinterpret_cast<uintptr_t>(copy.to), copy.bytes, own, copy.pc);
}

void check_copy(Thread* t, const PendingCopy& copy, uint32_t alignment, const char* what) {
  const uintptr_t to = reinterpret_cast<uintptr_t>(copy.to);
  const uintptr_t from = reinterpret_cast<uintptr_t>(copy.from);
  if (to % alignment != 0 || from % alignment != 0) {
    finding("misaligned", true, {{thread_text(t) + " copies", copy.pc}},
            "%s from %s to %s: both must be multiples of %u", what, describe_address(from).c_str(),
            describe_address(to).c_str(), alignment);
  }
}

void land_groups(std::vector<PendingCopy>& copies, std::vector<uint32_t>& groups,
                 unsigned pending) {
  size_t done = 0;
  while (groups.size() > pending) {
    for (uint32_t i = 0; i < groups.front(); ++i) land(copies[done + i], true);
    done += groups.front();
    groups.erase(groups.begin());
  }
  copies.erase(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(done));
}

void commit(const std::vector<PendingCopy>& copies, std::vector<uint32_t>& groups) {
  size_t before = 0;
  for (uint32_t group : groups) before += group;
  groups.push_back(static_cast<uint32_t>(copies.size() - before));
}

}  // namespace

void copy_async(void* shared, const void* from, unsigned bytes, unsigned source_bytes) {
  const Pc pc = CK_SIM_HERE;
  Thread* t = global.current;
  const PendingCopy copy{shared, from, bytes, std::min(bytes, source_bytes), pc};
  check_copy(t, copy, bytes, "cp.async");
  if (arena_block(shared) != t->block) {
    finding("copy_destination", true, {{thread_text(t) + " copies", pc}},
            "cp.async to %s, which is not this block's shared memory",
            describe_address(reinterpret_cast<uintptr_t>(shared)).c_str());
  }
  check_copy_begin(reinterpret_cast<uintptr_t>(shared), bytes, reinterpret_cast<uintptr_t>(from),
                   copy.source_bytes, pc);
  std::memset(shared, kPoison, bytes);
  t->copies.push_back(copy);
}

void copy_async_commit() {
  Thread* t = global.current;
  commit(t->copies, t->copy_groups);
}

void copy_async_wait_pending(unsigned pending) {
  Thread* t = global.current;
  land_groups(t->copies, t->copy_groups, pending);
}

namespace {

Mbarrier* find_mbarrier(uint64_t* address) {
  Block* block = arena_block(address);
  if (block == nullptr) return nullptr;
  for (Mbarrier* barrier : block->mbarriers) {
    if (barrier->address == address) return barrier;
  }
  return nullptr;
}

Mbarrier* need_mbarrier(uint64_t* address, const char* what, Pc pc) {
  Mbarrier* barrier = find_mbarrier(address);
  if (barrier == nullptr) {
    finding("mbarrier_not_initialised", true, {{thread_text(global.current) + " calls", pc}},
            "%s of %s, which is no initialised mbarrier", what,
            describe_address(reinterpret_cast<uintptr_t>(address)).c_str());
  }
  // Other threads must have seen the initialisation, which was a plain write.
  check_access(reinterpret_cast<uintptr_t>(address), 8, Access::kAtomicUpdate, pc);
  return barrier;
}

void try_complete(Mbarrier* barrier) {
  if (barrier->pending != 0 || barrier->bytes != 0) return;
  ++barrier->phase;
  barrier->pending = barrier->count;
  ++global.progress;
  for (Thread* t : barrier->waiters) wake(t);
  barrier->waiters.clear();
}

void deliver(Mbarrier* barrier) {
  for (const PendingCopy& copy : barrier->copies) {
    land(copy, false);
    barrier->bytes -= copy.bytes;
  }
  barrier->copies.clear();
  try_complete(barrier);
}

void mbarrier_arrive_at(uint64_t* address, unsigned arrivals, unsigned bytes, Pc pc) {
  Mbarrier* barrier = need_mbarrier(address, "mbarrier arrive", pc);
  Thread* t = global.current;
  if (arrivals > barrier->pending) {
    finding("mbarrier_overflow", true, {{thread_text(t) + " arrives", pc}},
            "more arrivals than the mbarrier's count of %u in one phase", barrier->count);
  }
  barrier->bytes += bytes;
  barrier->pending -= arrivals;
  clock_release(t, barrier->clock);
  // Copies that nobody waits for stay under way: the phase ends when a waiter asks.
  if (barrier->copies.empty()) {
    try_complete(barrier);
  } else if (!barrier->waiters.empty() && barrier->pending == 0) {
    deliver(barrier);
  }
  maybe_yield(pc);
}

}  // namespace

void forget_mbarriers(Block* block) {
  for (Mbarrier* barrier : block->mbarriers) delete barrier;
  block->mbarriers.clear();
}

void mbarrier_init(uint64_t* address, unsigned count) {
  const Pc pc = CK_SIM_HERE;
  Thread* t = global.current;
  if (arena_block(address) != t->block || reinterpret_cast<uintptr_t>(address) % 8 != 0 ||
      count == 0 || count >= 1u << 20) {
    finding(
        "mbarrier_init", true, {{thread_text(t) + " calls", pc}},
        "mbarrier_init of %s with count %u: it must be 8-byte aligned in the block's own shared "
        "memory, the count 1 to 2^20 - 1",
        describe_address(reinterpret_cast<uintptr_t>(address)).c_str(), count);
  }
  check_access(reinterpret_cast<uintptr_t>(address), 8, Access::kWrite, pc);
  Mbarrier* barrier = find_mbarrier(address);
  if (barrier == nullptr) {
    barrier = new Mbarrier();
    t->block->mbarriers.push_back(barrier);
  }
  barrier->clock = SyncClock();
  barrier->address = address;
  barrier->count = count;
  barrier->pending = count;
  barrier->bytes = 0;
  barrier->phase = 0;
  barrier->copies.clear();
}

void mbarrier_inval(uint64_t* address) {
  Mbarrier* barrier = need_mbarrier(address, "mbarrier_inval", CK_SIM_HERE);
  auto& all = arena_block(address)->mbarriers;
  all.erase(std::find(all.begin(), all.end(), barrier));
  delete barrier;
}

void mbarrier_arrive(uint64_t* address) { mbarrier_arrive_at(address, 1, 0, CK_SIM_HERE); }
void mbarrier_arrive_expect_tx(uint64_t* address, unsigned bytes) {
  mbarrier_arrive_at(address, 1, bytes, CK_SIM_HERE);
}
void mbarrier_expect_tx(uint64_t* address, unsigned bytes) {
  mbarrier_arrive_at(address, 0, bytes, CK_SIM_HERE);
}

bool mbarrier_test_wait(uint64_t* address, unsigned parity) {
  const Pc pc = CK_SIM_HERE;
  Mbarrier* barrier = need_mbarrier(address, "mbarrier wait", pc);
  Thread* t = global.current;
  if (barrier->pending == 0) deliver(barrier);
  if ((barrier->phase & 1u) == (parity & 1u)) {
    if (++t->polls > kPollsBeforeSpin) spin(pc);
    return false;
  }
  clock_acquire(t, barrier->clock);
  t->polls = 0;
  return true;
}

void mbarrier_wait(uint64_t* address, unsigned parity) {
  const Pc pc = CK_SIM_HERE;
  Mbarrier* barrier = need_mbarrier(address, "mbarrier wait", pc);
  Thread* t = global.current;
  if (barrier->pending == 0) deliver(barrier);
  while ((barrier->phase & 1u) == (parity & 1u)) {
    barrier->waiters.push_back(t);
    suspend(State::kMbarrier, pc);
  }
  clock_acquire(t, barrier->clock);
}

void fence_async_shared() {
  if (on_fiber()) clock_proxy_fence(global.current);
}
void fence_mbarrier_init() {}

namespace {

PendingCopy bulk_copy(void* to, const void* from, unsigned bytes, Pc pc) {
  Thread* t = global.current;
  const PendingCopy copy{to, from, bytes, bytes, pc};
  check_copy(t, copy, 16, "a bulk copy");
  if (bytes == 0 || bytes % 16 != 0) {
    finding("bulk_size", true, {{thread_text(t) + " copies", pc}},
            "a bulk copy of %u bytes: it must be a positive multiple of 16", bytes);
  }
  check_copy_begin(reinterpret_cast<uintptr_t>(to), bytes, reinterpret_cast<uintptr_t>(from), bytes,
                   pc);
  return copy;
}

}  // namespace

void bulk_load(void* shared, const void* from, unsigned bytes, uint64_t* address) {
  const Pc pc = CK_SIM_HERE;
  Mbarrier* barrier = need_mbarrier(address, "a bulk copy on an mbarrier", pc);
  const PendingCopy copy = bulk_copy(shared, from, bytes, pc);
  if (arena_block(shared) == nullptr) {
    finding("copy_destination", true, {{thread_text(global.current) + " copies", pc}},
            "a bulk copy to %s, which is not shared memory",
            describe_address(reinterpret_cast<uintptr_t>(shared)).c_str());
  }
  std::memset(shared, kPoison, bytes);
  barrier->copies.push_back(copy);
  clock_release(global.current, barrier->clock);
  if (!barrier->waiters.empty() && barrier->pending == 0) deliver(barrier);
}

void bulk_store(void* to, const void* shared, unsigned bytes) {
  const Pc pc = CK_SIM_HERE;
  const PendingCopy copy = bulk_copy(to, shared, bytes, pc);
  check_proxy_read(reinterpret_cast<uintptr_t>(shared), bytes, pc);
  global.current->bulk_copies.push_back(copy);
}

void bulk_commit() {
  Thread* t = global.current;
  commit(t->bulk_copies, t->bulk_groups);
}

void bulk_wait_pending(unsigned pending, bool) {
  Thread* t = global.current;
  land_groups(t->bulk_copies, t->bulk_groups, pending);
}

void bulk_finish(Thread* t) {
  if (t->bulk_copies.empty()) return;
  finding(
      "bulk_store_not_waited", false, {{thread_text(t) + " copies", t->bulk_copies.front().pc}},
      "a thread exits without bulk_wait or bulk_wait_read: the shared memory that its bulk copy "
      "reads may be gone");
  for (const PendingCopy& copy : t->bulk_copies) land(copy, true);
  t->bulk_copies.clear();
  t->bulk_groups.clear();
}

}  // namespace ck_sim
