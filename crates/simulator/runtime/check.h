// The checked build's view of one access: bounds, initialisation, races (race.cc).
#pragma once

#include "core.h"

namespace ck_sim {

#if defined(CK_SIM_CHECKED)
void check_access(uintptr_t address, size_t bytes, Access access, Pc pc);
// Reads that a pending copy makes, and its destination, which nobody may use before it lands.
void check_copy_begin(uintptr_t to, size_t to_bytes, uintptr_t from, size_t from_bytes, Pc pc);
void check_copy_land(uintptr_t to, size_t bytes, bool write_now, Pc pc);
// Whether bulk copies may read what other threads wrote there.
void check_proxy_read(uintptr_t from, size_t bytes, Pc pc);
void check_region_begin(Region* region, bool initialised);
void check_region_end(Region* region);
void check_region_written(Region* region, size_t offset, size_t bytes);
void check_forget();
#else
inline void check_access(uintptr_t, size_t, Access, Pc) {}
inline void check_copy_begin(uintptr_t, size_t, uintptr_t, size_t, Pc) {}
inline void check_copy_land(uintptr_t, size_t, bool, Pc) {}
inline void check_proxy_read(uintptr_t, size_t, Pc) {}
inline void check_region_begin(Region*, bool) {}
inline void check_region_end(Region*) {}
inline void check_region_written(Region*, size_t, size_t) {}
inline void check_forget() {}
#endif

// The arenas of shared memory: slots of equal size, one block each.
constexpr size_t kArenaStride = 512 * 1024;
constexpr size_t kArenaGranule = 16;
extern uintptr_t arenas_begin;
extern uintptr_t arenas_end;
Block* arena_owner(uintptr_t address);

}  // namespace ck_sim
