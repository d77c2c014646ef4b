// Launches of every shape, and the numeric functions for the tests to call from the host.
#include <ck/host.cuh>
#include <ck/types.cuh>

namespace sim_kernels {

CK_KERNEL(1024) count(unsigned* total) { atomicAdd(total, 1u); }

CK_KERNEL(1024) add_one(const float* x, float* out, float by) {
  out[threadIdx.x] = __fadd_rn(x[threadIdx.x], by);
}

}  // namespace sim_kernels

extern "C" int simk_count(unsigned* total, unsigned grid, unsigned block, unsigned shared,
                          unsigned cluster, void* stream) {
  ck::LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.shared_bytes = shared;
  config.cluster = cluster;
  config.stream = stream;
  return ck::launch<sim_kernels::count>(config, total);
}

extern "C" int simk_add(const float* x, float* out, float by, void* stream) {
  ck::LaunchConfig config;
  config.grid = 1;
  config.block = 32;
  config.stream = stream;
  return ck::launch<sim_kernels::add_one>(config, x, out, by);
}

extern "C" int simk_memset(float* out, void* stream) {
  return cudaMemsetAsync(out, 0, 32 * sizeof(float), stream);
}

extern "C" const char* simk_error_string(int code) { return ck::cuda_error_string(code); }

extern "C" int simk_device(int* major, int* minor, int* sms, int* shared) {
  ck::Device device;
  const int code = ck::current_device(&device);
  *major = device.major;
  *minor = device.minor;
  *sms = device.sm_count;
  *shared = device.shared_bytes_optin;
  return code;
}

extern "C" float simk_frsqrt(float x) { return __frsqrt_rn(x); }
extern "C" uint16_t simk_f16(float x) { return ck_sim::f32_to_f16(x); }
extern "C" float simk_from_f16(uint16_t x) { return ck_sim::f16_to_f32(x); }
extern "C" uint16_t simk_bf16(float x) { return ck_sim::f32_to_bf16(x); }
extern "C" float simk_fmin(float a, float b) { return fminf(a, b); }
extern "C" float simk_fmax(float a, float b) { return fmaxf(a, b); }
extern "C" float simk_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
extern "C" int simk_to_int(float x) { return __float2int_rn(x); }
extern "C" unsigned simk_to_uint(float x) { return __float2uint_rz(x); }
extern "C" long long simk_to_ll(float x) { return __float2ll_rd(x); }
extern "C" unsigned simk_byte_perm(unsigned a, unsigned b, unsigned s) {
  return __byte_perm(a, b, s);
}
extern "C" unsigned simk_funnel(unsigned a, unsigned b, unsigned s) {
  return __funnelshift_l(a, b, s);
}
extern "C" unsigned simk_brev(unsigned a) { return __brev(a); }

// 0 add, 1 multiply, 2 divide, 3 root, 4 fma; rounded down, up, to zero.
extern "C" float simk_directed(int operation, int mode, float a, float b, float c) {
  switch (10 * operation + mode) {
    case 0:
      return __fadd_rd(a, b);
    case 1:
      return __fadd_ru(a, b);
    case 2:
      return __fadd_rz(a, b);
    case 10:
      return __fmul_rd(a, b);
    case 11:
      return __fmul_ru(a, b);
    case 12:
      return __fmul_rz(a, b);
    case 20:
      return __fdiv_rd(a, b);
    case 21:
      return __fdiv_ru(a, b);
    case 22:
      return __fdiv_rz(a, b);
    case 30:
      return __fsqrt_rd(a);
    case 31:
      return __fsqrt_ru(a);
    case 32:
      return __fsqrt_rz(a);
    case 40:
      return __fmaf_rd(a, b, c);
    case 41:
      return __fmaf_ru(a, b, c);
    default:
      return __fmaf_rz(a, b, c);
  }
}
