// What the compiler's instrumentation calls.
#include "check.h"
#include "core.h"

#include <cstdint>

namespace ck_sim {
namespace {

// -fsanitize=alignment: its records say where in the source an access is, and of which type.
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

const char* const kChecks[] = {"a load of",        "a store to",     "a reference to",
                               "a member of",      "a member call on", "a constructor call on",
                               "a downcast to",    "a downcast to",  "an upcast of",
                               "a cast of",        "a null check of", "a dynamic use of"};

}  // namespace
}  // namespace ck_sim

using namespace ck_sim;

extern "C" void __ubsan_handle_type_mismatch_v1(TypeMismatch* data, uintptr_t address) {
  const Pc pc = CK_SIM_HERE;
  const size_t alignment = size_t{1} << data->log_alignment;
  const char* what = data->check_kind < sizeof(kChecks) / sizeof(kChecks[0])
                         ? kChecks[data->check_kind]
                         : "an access to";
  const bool null = address == 0;
  const std::string who = on_fiber() ? thread_text(global.current) : std::string("the host");
  if (!null && address % alignment == 0) return;
  finding(null ? "null_pointer" : "misaligned", on_fiber(), {{who + " accesses", pc}},
          "%s %s at %s: %s", what, data->type->name, describe_address(address).c_str(),
          null ? "a null pointer"
               : format_text("the address must be a multiple of %zu (it is %zu beyond one)",
                             alignment, static_cast<size_t>(address % alignment))
                     .c_str());
}
