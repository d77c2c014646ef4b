// The kernel of llama.cpp (ggml-cuda/norm.cu, rms_norm_f32) as -use_fast_math makes it: subnormals
// count as zero, the reciprocal of n and the root are the special-function unit's, the mean and eps
// are one fma, and so are the last product and the addition. Written with explicit operations, so
// that neither flags nor the compiler decide.
#pragma once

#include <ck/pipeline.cuh>
#include <ck/platform.cuh>

#include "problem.cuh"

namespace rms {
namespace ftz {

#if defined(CK_SIM)

// Subnormal operands and results count as zeros of their sign. The two approximations are stood in
// for by correctly rounded values: what follows them is exact given theirs.
CK_DEVICE float flush(float x) {
  return fabsf(x) < 1.17549435e-38f ? __uint_as_float(__float_as_uint(x) & 0x80000000u) : x;
}
CK_DEVICE float add(float a, float b) { return flush(__fadd_rn(flush(a), flush(b))); }
CK_DEVICE float multiply(float a, float b) { return flush(__fmul_rn(flush(a), flush(b))); }
CK_DEVICE float fma(float a, float b, float c) {
  return flush(__fmaf_rn(flush(a), flush(b), flush(c)));
}
CK_DEVICE float reciprocal(float x) { return flush(__frcp_rn(flush(x))); }
CK_DEVICE float reciprocal_root(float x) { return __frsqrt_rn(flush(x)); }

#else

CK_DEVICE float add(float a, float b) {
  float d;
  asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
CK_DEVICE float multiply(float a, float b) {
  float d;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
CK_DEVICE float fma(float a, float b, float c) {
  float d;
  asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
CK_DEVICE float reciprocal(float x) {
  float d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x));
  return d;
}
CK_DEVICE float reciprocal_root(float x) {
  float d;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x));
  return d;
}

#endif

CK_DEVICE float warp_sum(float x) {
  CK_UNROLL
  for (int step = ck::kWarp / 2; step > 0; step /= 2) {
    x = add(x, __shfl_xor_sync(ck::kFullMask, x, step));
  }
  return x;
}

}  // namespace ftz

// One block a row, a thread for each logical thread.
CK_KERNEL(kWideColumns) ggml_norm(const Problem p, float* sums_out) {
  CK_SHARED(float, sums, kMaxSums);
  const int lane = threadIdx.x % ck::kWarp;
  ck::dependency_wait();
  const Row row = row_at(p, blockIdx.x);
  const Place place = place_of<kOptions>(p, row);
  const float* const x = static_cast<const float*>(p.x) + place.x;
  const float* const gamma = static_cast<const float*>(p.gamma) + place.gamma;
  const float* const add = static_cast<const float*>(p.add) + place.add;
  float* const y = static_cast<float*>(p.y) + place.y;
  float sum = 0.0f;
  for (int64_t at = threadIdx.x; at < p.n; at += blockDim.x) sum = ftz::fma(x[at], x[at], sum);
  sum = ftz::warp_sum(sum);
  if (lane == 0) sums[threadIdx.x / ck::kWarp] = sum;
  if (!CK_MUTANT(rms_ggml_skips_sums_barrier)) __syncthreads();
  const int warps = blockDim.x / ck::kWarp;
  sum = ftz::warp_sum(lane < warps ? sums[lane] : 0.0f);
  const float scale = ftz::reciprocal_root(ftz::fma(sum, ftz::reciprocal(p.columns), p.eps));
  if (threadIdx.x == 0) {
    if (sums_out != nullptr) sums_out[row.index] = sum;
    if (p.rstd != nullptr) p.rstd[row.index] = scale;
  }
  for (int64_t at = threadIdx.x; at < p.n; at += blockDim.x) {
    float v = ftz::multiply(scale, x[at]);
    if (p.gamma != nullptr) {
      const float g = gamma[at % p.gamma_sizes[0]];
      v = p.add != nullptr ? ftz::fma(v, g, add[at % p.add_sizes[0]]) : ftz::multiply(v, g);
    }
    y[at] = v;
  }
}

}  // namespace rms
