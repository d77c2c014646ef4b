// Stacks and the switch between them.
#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#if defined(__APPLE__)
#define CK_SIM_SYMBOL(name) "_" name
#define CK_SIM_LOCAL(name) ".private_extern _" name "\n"
#define CK_SIM_TYPE(name)
#else
#define CK_SIM_SYMBOL(name) name
#define CK_SIM_LOCAL(name) ".hidden " name "\n"
#define CK_SIM_TYPE(name) ".type " name ", %function\n"
#endif

#if defined(__x86_64__)

asm(".text\n.p2align 4\n.globl " CK_SIM_SYMBOL("ck_sim_switch") "\n"
    CK_SIM_LOCAL("ck_sim_switch") CK_SIM_TYPE("ck_sim_switch")
    CK_SIM_SYMBOL("ck_sim_switch") ":\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    // The first frame of a fiber: an unknown caller ends a debugger's backtrace here.
    ".p2align 4\n" CK_SIM_LOCAL("ck_sim_fiber_start")
    CK_SIM_SYMBOL("ck_sim_fiber_start") ":\n"
    "  .cfi_startproc\n  .cfi_undefined rip\n"
    "  xorl %ebp, %ebp\n"
    "  call " CK_SIM_SYMBOL("ck_sim_fiber_main") "\n"
    "  ud2\n"
    "  .cfi_endproc\n");
extern "C" void ck_sim_fiber_start();
namespace {
constexpr size_t kReturnWord = 6;  // above six saved registers
constexpr size_t kFrameWords = 7;
}  // namespace

#elif defined(__aarch64__)

asm(".text\n.p2align 4\n.globl " CK_SIM_SYMBOL("ck_sim_switch") "\n"
    CK_SIM_LOCAL("ck_sim_switch") CK_SIM_TYPE("ck_sim_switch")
    CK_SIM_SYMBOL("ck_sim_switch") ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n"
    ".p2align 4\n" CK_SIM_LOCAL("ck_sim_fiber_start")
    CK_SIM_SYMBOL("ck_sim_fiber_start") ":\n"
    "  .cfi_startproc\n  .cfi_undefined x30\n"
    "  mov x29, xzr\n"
    "  bl " CK_SIM_SYMBOL("ck_sim_fiber_main") "\n"
    "  brk #1\n"
    "  .cfi_endproc\n");
extern "C" void ck_sim_fiber_start();
namespace {
constexpr size_t kReturnWord = 11;  // x30
constexpr size_t kFrameWords = 20;
}  // namespace

#else
#error "the simulator's fibers are written for x86-64 and aarch64"
#endif

namespace ck_sim {

uintptr_t stacks_begin = 0;
uintptr_t stacks_end = 0;

namespace {

// Each guarded stack is two mappings, and Linux allows a process 65530: beyond this many, stacks
// lie side by side.
constexpr uint32_t kGuardedStacks = 8 * 1024;

size_t usable = 0;
size_t guard = 0;
size_t stride = 0;
uint32_t made = 0;
std::vector<uint32_t> free_stacks;

void reserve() {
  guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#if defined(__SANITIZE_ADDRESS__)
  usable = 256 * 1024;  // its frames are larger
#else
  usable = 64 * 1024;
#endif
  if (const char* text = getenv("CK_SIM_STACK")) {
    const unsigned long long asked = strtoull(text, nullptr, 0);
    if (asked >= 16 * 1024) usable = asked;
  }
  usable = (usable + guard - 1) / guard * guard;
  stride = usable + guard;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
  void* memory = mmap(nullptr, stride * kMaxStacks, PROT_NONE, flags, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "simulator: cannot reserve %zu bytes for thread stacks\n", stride * kMaxStacks);
    abort();
  }
  stacks_begin = reinterpret_cast<uintptr_t>(memory);
  stacks_end = stacks_begin + stride * kMaxStacks;
}

}  // namespace

uint32_t stack_take() {
  if (!free_stacks.empty()) {
    const uint32_t stack = free_stacks.back();
    free_stacks.pop_back();
    return stack;
  }
  if (stacks_begin == 0) reserve();
  const uint32_t stack = made++;
  const bool guarded = stack < kGuardedStacks;
  void* begin = reinterpret_cast<void*>(stack_low(stack) - (guarded ? 0 : guard));
  if (stack >= kMaxStacks ||
      mprotect(begin, usable + (guarded ? 0 : guard), PROT_READ | PROT_WRITE) != 0) {
    fprintf(stderr, "simulator: no memory for the stack of thread %u\n", stack);
    abort();
  }
  return stack;
}

void stack_release(uint32_t stack) { free_stacks.push_back(stack); }

size_t stacks_free() { return kMaxStacks - made + free_stacks.size(); }

uintptr_t stack_low(uint32_t stack) { return stacks_begin + stack * stride + guard; }
uintptr_t stack_high(uint32_t stack) { return stacks_begin + (stack + 1) * stride; }
bool stack_contains(uintptr_t address) { return address >= stacks_begin && address < stacks_end; }
bool stack_is_guard(uintptr_t address) {
  return stack_contains(address) && (address - stacks_begin) % stride < guard;
}

void* stack_prepare(uint32_t stack) {
  // Stacks begin at different cache lines of their pages: else a thousand of them share one set.
  const uintptr_t colour = (stack % 32) * 128;
  void** top = reinterpret_cast<void**>(stack_high(stack) - colour - 64);
  // After the frame is popped the stack is 16-byte aligned, as before any call.
  void** frame = top - kFrameWords;
  for (size_t i = 0; i < kFrameWords; ++i) frame[i] = nullptr;
  frame[kReturnWord] = reinterpret_cast<void*>(&ck_sim_fiber_start);
  return frame;
}

}  // namespace ck_sim
