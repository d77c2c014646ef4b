// Blocks that wait for each other: value and flag travel in one 64-bit word, round the ring of
// blocks, and each adds to it.
#include <ck/host.cuh>
#include <ck/memory.cuh>

namespace sim_kernels {

CK_KERNEL(32) exchange_ring(uint64_t* mailbox, float* plain, float* out) {
  const unsigned lane = threadIdx.x;
  const unsigned from = (blockIdx.x + gridDim.x - 1) % gridDim.x;
  float value = static_cast<float>(lane);
  if (blockIdx.x != 0) {
    uint64_t word;
    do {
      ck::spin_hint();
      word = ck::load_relaxed(mailbox + from * 32 + lane);
    } while ((word >> 32) != 1);
    value = CK_MUTANT(exchange_value_apart) ? plain[from * 32 + lane]
                                            : __uint_as_float(static_cast<uint32_t>(word));
  }
  value = __fadd_rn(value, 1.0f);
  if (CK_MUTANT(exchange_value_apart)) plain[blockIdx.x * 32 + lane] = value;
  if (!(CK_MUTANT(exchange_never_sent) && blockIdx.x == 2)) {
    ck::store_relaxed(mailbox + blockIdx.x * 32 + lane,
                      (uint64_t{1} << 32) | __float_as_uint(value));
  }
  out[blockIdx.x * 32 + lane] = value;
}

// The same with a flag that releases and a plain value.
CK_KERNEL(32) exchange_release(uint32_t* flags, float* values, float* out) {
  const unsigned lane = threadIdx.x;
  if (blockIdx.x == 0) {
    values[lane] = static_cast<float>(lane);
    __syncwarp();
    if (lane == 0) {
      if (CK_MUTANT(exchange_relaxed_flag)) {
        ck::store_relaxed(flags, 1u);
      } else {
        ck::store_release(flags, 1u);
      }
    }
    return;
  }
  if (lane == 0) {
    while (ck::load_acquire(flags) == 0) ck::spin_hint();
  }
  if (!CK_MUTANT(exchange_no_syncwarp)) __syncwarp();
  out[blockIdx.x * 32 + lane] = ck::load_cg(values + lane);
}

}  // namespace sim_kernels

extern "C" int simk_exchange(uint64_t* mailbox, float* plain, float* out, int blocks,
                             void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = 32;
  config.stream = stream;
  return ck::launch<sim_kernels::exchange_ring>(config, mailbox, plain, out);
}

extern "C" int simk_exchange_release(uint32_t* flags, float* values, float* out, int blocks,
                                     void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = 32;
  config.stream = stream;
  return ck::launch<sim_kernels::exchange_release>(config, flags, values, out);
}
