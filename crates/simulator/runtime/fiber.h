// Stacks and the switch between them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ck_sim {

// Saves the callee's registers on this stack, its pointer in *save, and goes on where `load` left
// off. No system call: a signal mask or a floating point mode is not part of a CUDA thread.
extern "C" void ck_sim_switch(void** save, void* load);

// Takes a stack from the pool; what runs on it first is ck_sim_fiber_main().
uint32_t stack_take();
void stack_release(uint32_t stack);
void* stack_prepare(uint32_t stack);
// [low, high) of a stack, and whether an address is in any stack or in a guard page.
uintptr_t stack_low(uint32_t stack);
uintptr_t stack_high(uint32_t stack);
bool stack_contains(uintptr_t address);
bool stack_is_guard(uintptr_t address);
extern uintptr_t stacks_begin;
extern uintptr_t stacks_end;
// Of these, stacks_free() are not in use.
constexpr uint32_t kMaxStacks = 192 * 1024;
size_t stacks_free();

extern "C" [[noreturn]] void ck_sim_fiber_main();

}  // namespace ck_sim
