// Kernels that go wrong on request: each must end the launch with a finding, not the process.
#include <ck/host.cuh>
#include <ck/memory.cuh>

namespace sim_kernels {

static int deep(int n, volatile int* sink) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(n);
  *sink = n;
  return n == 0 ? 0 : deep(n - 1, sink) + frame[0];
}

CK_KERNEL(1024) fault(int kind, int* memory, unsigned* flags) {
  CK_SHARED(int, small, 4);
  const int t = static_cast<int>(threadIdx.x);
  switch (kind) {
    case 1:  // an address that is nowhere
      *reinterpret_cast<int*>(uintptr_t{0x10000}) = t;
      break;
    case 2: {  // more stack than there is
      volatile int sink = 0;
      memory[0] = deep(1 << 20, &sink);
      break;
    }
    case 3:
      __trap();
      break;
    case 4:
      assert(t < 3);
      break;
    case 5:  // waits for what never comes, and forgot spin_hint()
      while (ck::load_relaxed(flags) == 0) {
      }
      break;
    case 6:  // a lock that is never released
      while (atomicCAS(flags + 1, 1u, 1u) == 1u) {
      }
      break;
    case 7:  // between two arrays
      small[4 + t] = t;
      break;
    case 8:
      memory[0] = memory[1] / (t - t);
      break;
    case 9: {  // one warp waits for two
      if (t < 32) ck_sim::barrier_sync(2, 64);
      break;
    }
    case 10:
      *static_cast<volatile int*>(nullptr) = t;
      break;
    case 11: {
      unsigned by = static_cast<unsigned>(memory[0]);
      memory[1] = static_cast<int>(1u << by);
      break;
    }
    default:
      break;
  }
}

}  // namespace sim_kernels

extern "C" int simk_fault(int kind, int* memory, unsigned* flags, int threads, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = static_cast<unsigned>(threads);
  config.stream = stream;
  return ck::launch<sim_kernels::fault>(config, kind, memory, flags);
}
