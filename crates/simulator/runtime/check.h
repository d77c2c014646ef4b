// The checked build's view of one access: bounds, initialisation, races (race.cc).
#pragma once

#include "core.h"

namespace ck_sim {

#if defined(CK_SIM_CHECKED)
void check_access(uintptr_t address, size_t bytes, Access access, Pc pc);
// A copy that was started: reads its source, and nobody may use its destination before it lands.
void check_copy_begin(uintptr_t to, size_t to_bytes, uintptr_t from, size_t from_bytes, Pc pc);
// `write_now`: the running thread is the one that started the copy, and writes only now.
void check_copy_land(uintptr_t to, size_t bytes, bool write_now, Pc pc);
// Whether a bulk copy may read what was written there: needs a proxy fence.
void check_proxy_read(uintptr_t from, size_t bytes, Pc pc);
void check_region_begin(Region* region);
void check_region_end(Region* region);
void check_region_written(Region* region, size_t offset, size_t bytes);
void check_arena_begin(Block* block);
#else
inline void check_access(uintptr_t, size_t, Access, Pc) {}
inline void check_copy_begin(uintptr_t, size_t, uintptr_t, size_t, Pc) {}
inline void check_copy_land(uintptr_t, size_t, bool, Pc) {}
inline void check_proxy_read(uintptr_t, size_t, Pc) {}
inline void check_region_begin(Region*) {}
inline void check_region_end(Region*) {}
inline void check_region_written(Region*, size_t, size_t) {}
inline void check_arena_begin(Block*) {}
#endif

// The arenas of shared memory: slots of equal size, one block each.
constexpr size_t kMaxArenas = 4096;
constexpr size_t kArenaStride = 512 * 1024;
constexpr size_t kArenaGranule = 16;
extern uintptr_t arenas_begin;
extern uintptr_t arenas_end;
extern Block* arena_blocks[kMaxArenas];
Block* arena_owner(uintptr_t address);

// Where this library lies in memory: its constants are everybody's to read.
struct OwnImage {
  uintptr_t begin;
  uintptr_t end;  // 0 where the system does not say
};
const OwnImage& own_image();
bool in_own_image(uintptr_t address);

}  // namespace ck_sim
