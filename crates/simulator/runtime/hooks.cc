// What the compiler's instrumentation of kernel sources calls: every load and store in the checked
// build, and misaligned or null accesses in all of them. No sanitizer's runtime is linked.
#include <cstdint>
#include <cstring>

#include "check.h"

using namespace ck_sim;

#if !defined(__SANITIZE_ADDRESS__)

namespace {

// The records that -fsanitize=alignment, bounds, shift and integer-divide-by-zero pass.
struct SourceLocation {
  const char* file;
  uint32_t line;
  uint32_t column;
};
struct TypeDescriptor {
  uint16_t kind;
  uint16_t info;
  char name[1];
};
struct TypeMismatch {
  SourceLocation location;
  const TypeDescriptor* type;
  unsigned char log_alignment;
  unsigned char check_kind;
};
struct OutOfBounds {
  SourceLocation location;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};
struct ShiftOutOfBounds {
  SourceLocation location;
  const TypeDescriptor* left;
  const TypeDescriptor* right;
};

const char* const kChecks[] = {"a load of",   "a store to",       "a reference to",
                               "a member of", "a member call on", "a constructor call on"};

std::string who() { return on_fiber() ? thread_text(global.current) : std::string("the host"); }

// A value of up to 64 bits, as these records pass it: signed where the type says so.
long long value_of(const TypeDescriptor* type, uintptr_t value) {
  const unsigned bits = 1u << (type->info >> 1);
  if ((type->info & 1u) == 0 || bits >= 64) return static_cast<long long>(value);
  return static_cast<long long>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

extern "C" void __ubsan_handle_type_mismatch_v1(TypeMismatch* data, uintptr_t address) {
  const size_t alignment = size_t{1} << data->log_alignment;
  const char* what = data->check_kind < sizeof(kChecks) / sizeof(kChecks[0])
                         ? kChecks[data->check_kind]
                         : "a use of";
  if (address == 0) {
    finding("null_pointer", on_fiber(), {{who() + " accesses", CK_SIM_HERE}},
            "%s %s through a null pointer", what, data->type->name);
  } else if (address % alignment != 0) {
    finding("misaligned", on_fiber(), {{who() + " accesses", CK_SIM_HERE}},
            "%s %s at %s: the address must be a multiple of %zu (it is %zu beyond one)", what,
            data->type->name, describe_address(address).c_str(), alignment,
            static_cast<size_t>(address % alignment));
  }
}

extern "C" void __ubsan_handle_out_of_bounds(OutOfBounds* data, uintptr_t index) {
  finding("out_of_bounds", on_fiber(), {{who() + " indexes", CK_SIM_HERE}},
          "index %lld of an array of type %s", value_of(data->index, index), data->array->name);
}

extern "C" void __ubsan_handle_shift_out_of_bounds(ShiftOutOfBounds* data, uintptr_t left,
                                                   uintptr_t right) {
  finding("shift", false, {{who() + " shifts", CK_SIM_HERE}},
          "%lld of type %s shifted by %lld: C++ leaves the result open", value_of(data->left, left),
          data->left->name, value_of(data->right, right));
}

extern "C" void __ubsan_handle_divrem_overflow(void*, uintptr_t, uintptr_t) {
  finding("division_by_zero", on_fiber(), {{who() + " divides", CK_SIM_HERE}},
          "an integer division by zero");
}

#endif

#if defined(CK_SIM_CHECKED)

namespace {

inline void hook(void* p, size_t bytes, Access access, Pc pc) {
  Thread* t = global.current;
  if (t == nullptr) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (address - t->stack_low < t->stack_bytes) return;
  // The kernel's arguments and constants are no news.
  if (__builtin_expect(global.trace_memory, 0) && tracing() && !in_own_image(address)) {
    trace(pc, "%s %zu bytes at %s", access == Access::kWrite ? "writes" : "reads", bytes,
          describe_address(address).c_str());
  }
  check_access(address, bytes, access, pc);
}

}  // namespace

#define CK_SIM_HOOKS(size)                                                                    \
  extern "C" void __tsan_read##size(void* p) { hook(p, size, Access::kRead, CK_SIM_HERE); }   \
  extern "C" void __tsan_write##size(void* p) { hook(p, size, Access::kWrite, CK_SIM_HERE); } \
  extern "C" void __tsan_unaligned_read##size(void* p) {                                      \
    hook(p, size, Access::kRead, CK_SIM_HERE);                                                \
  }                                                                                           \
  extern "C" void __tsan_unaligned_write##size(void* p) {                                     \
    hook(p, size, Access::kWrite, CK_SIM_HERE);                                               \
  }                                                                                           \
  /* CUDA's volatile accesses are relaxed ones. */                                            \
  extern "C" void __tsan_volatile_read##size(void* p) {                                       \
    if (on_fiber()) note_access_at(p, size, Access::kAtomicRead, CK_SIM_HERE);                \
  }                                                                                           \
  extern "C" void __tsan_volatile_write##size(void* p) {                                      \
    if (on_fiber()) note_access_at(p, size, Access::kAtomicWrite, CK_SIM_HERE);               \
  }                                                                                           \
  extern "C" void __tsan_unaligned_volatile_read##size(void* p) {                             \
    if (on_fiber()) note_access_at(p, size, Access::kAtomicRead, CK_SIM_HERE);                \
  }                                                                                           \
  extern "C" void __tsan_unaligned_volatile_write##size(void* p) {                            \
    if (on_fiber()) note_access_at(p, size, Access::kAtomicWrite, CK_SIM_HERE);               \
  }
CK_SIM_HOOKS(1)
CK_SIM_HOOKS(2)
CK_SIM_HOOKS(4)
CK_SIM_HOOKS(8)
CK_SIM_HOOKS(16)
#undef CK_SIM_HOOKS

extern "C" void __tsan_read_range(void* p, size_t bytes) {
  if (bytes != 0) hook(p, bytes, Access::kRead, CK_SIM_HERE);
}
extern "C" void __tsan_write_range(void* p, size_t bytes) {
  if (bytes != 0) hook(p, bytes, Access::kWrite, CK_SIM_HERE);
}

// What memory.h makes of memcpy and its like in kernels.
extern "C" void* ck_sim_memcpy(void* to, const void* from, size_t bytes) {
  if (bytes != 0) {
    hook(const_cast<void*>(from), bytes, Access::kRead, CK_SIM_HERE);
    hook(to, bytes, Access::kWrite, CK_SIM_HERE);
  }
  return std::memmove(to, from, bytes);
}
extern "C" void* ck_sim_memset(void* to, int value, size_t bytes) {
  if (bytes != 0) hook(to, bytes, Access::kWrite, CK_SIM_HERE);
  return std::memset(to, value, bytes);
}
// clang's names for the same.
extern "C" void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  return ck_sim_memcpy(to, from, bytes);
}
extern "C" void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  return ck_sim_memcpy(to, from, bytes);
}
extern "C" void* __tsan_memset(void* to, int value, size_t bytes) {
  return ck_sim_memset(to, value, bytes);
}

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}

// Host code of the same files may use the compiler's atomics; kernels use CUDA's.
#define CK_SIM_ATOMIC_HOOKS(bits, type)                                                \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* p, int) {            \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
  }                                                                                    \
  extern "C" void __tsan_atomic##bits##_store(volatile type* p, type value, int) {     \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                    \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {  \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                            \
  }                                                                                    \
  extern "C" type __tsan_atomic##bits##_fetch_add(volatile type* p, type value, int) { \
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);                             \
  }
CK_SIM_ATOMIC_HOOKS(8, uint8_t)
CK_SIM_ATOMIC_HOOKS(32, uint32_t)
CK_SIM_ATOMIC_HOOKS(64, uint64_t)
#undef CK_SIM_ATOMIC_HOOKS

#endif
