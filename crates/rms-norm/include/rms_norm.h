/* clang-format off */
/* rms_norm: root-mean-square normalisation of rows, one reduction tree for every geometry.
 *
 *   r_j   = x_j [+ residual_j]
 *   s     = sum_j r_j^2
 *   scale = rsqrt(s / n + eps)
 *   y_j   = (scale * r_j) * gamma_j [+ add_j]           RMS_GAMMA_PLAIN
 *         = (scale * r_j) * (1 + gamma_j) [+ add_j]     RMS_GAMMA_ONE_PLUS
 *         = round(scale * r_j) * gamma_j [+ add_j]      RMS_GAMMA_AFTER_CAST: rounded to x's type
 *   q_j   = saturate(round(y_j / t))                    y of type RMS_FP8_E4M3 or RMS_INT8
 *
 * CLASS. rms_norm(), rms_norm_f32(), rms_norm_backward() and rms_baseline_f32() are exact: they
 * return the bytes of rms_norm::oracle (Rust), on every GPU, for every number of rows, alignment,
 * stride, batch position and code path. rms_norm_ggml() is of class tolerance, see there.
 *
 * ORDER (numerics version 1; a change of it is a new major version). B = 1024 logical threads where
 * n >= 1024, else 256. Thread t takes the columns t, t + B, t + 2B, ... in this order into one fma
 * chain from +0. In each 32 threads an xor butterfly over 16, 8, 4, 2, 1; the B / 32 sums, +0 in
 * the absent places of 32, go through the same butterfly. s / n, + eps and rsqrt are each rounded
 * correctly, n as f32. Each product and each addition of y is rounded by itself, in f32; the result
 * is rounded to y's type once. For quantised y, y_j is the unrounded f32, the division and the
 * rounding to the nearest representable value (ties to even) are each correct, values beyond the
 * largest become it. This is the order of llama.cpp's rms_norm_f32 (ggml-cuda/norm.cu), whose
 * approximate operations rms_norm_ggml() has.
 *
 * QUANTISATION. RMS_QUANT_TENSOR: t = *tensor_scale, as it is (0, NaN or infinite: what IEEE
 * division gives). RMS_QUANT_TOKEN: t = max(m / 448, min_scale) for fp8, max(m / 127, min_scale)
 * for int8, m the largest |y_j| of the row, NaNs apart; written to token_scales. A zero row has
 * t = min_scale. NaN stays NaN (0x7f) in fp8 and becomes 0 in int8.
 *
 * VALUES. |r_j| above 1.8e19 overflows s: scale 0, so y = 0 (NaN where r_j is infinite). eps = 0 with
 * a zero row: NaN. NaN in a row: the row is NaN. Subnormals are kept.
 *
 * LAYOUT. Tensors have `samples` x `channels` x `rows` rows of `n` adjacent elements. Strides are
 * in elements, [0] between rows, [1] between channels, [2] between samples; 0 means packed. gamma
 * and add have sizes of their own, [0] columns, [1] rows, [2] channels, [3] samples: an index
 * beyond wraps around; a size of 0 means n for columns and 1 for the others. Any pointer aligned to
 * its element.
 *
 * ALIASES. y may be x, residual_out may be residual, y may be add, each with the same type and
 * strides. Every other overlap between an output and another tensor, from the first to the last
 * element that its strides reach, is refused.
 *
 * One call is one graph node; zero rows queue nothing and succeed. Nothing synchronises, allocates,
 * or touches the default stream. `stream` is a cudaStream_t. The formula: Zhang and Sennrich 2019,
 * arXiv:1910.07467.
 */
#ifndef RMS_NORM_H_
#define RMS_NORM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMS_ABI_VERSION 1u

/* Element types. Those of (x, gamma, y) that are offered; add has gamma's type, residual and
 * residual_out x's or f32:
 *   f32 f32 f32 | bf16 bf16 bf16 | bf16 f32 bf16 | bf16 f32 f32 | f16 f16 f16 | f16 f32 f16
 *   x and gamma as in bf16 bf16, bf16 f32, f16 f16, f16 f32, with y fp8 or int8 */
enum rms_dtype { RMS_F32 = 0, RMS_BF16 = 1, RMS_F16 = 2, RMS_FP8_E4M3 = 3, RMS_INT8 = 4 };

enum rms_gamma_mode { RMS_GAMMA_PLAIN = 0, RMS_GAMMA_ONE_PLUS = 1, RMS_GAMMA_AFTER_CAST = 2 };

/* With a residual, r is x + residual in f32 (one rounding), and residual_out is r in its type.
 * RMS_RESIDUAL_ROUNDED: r itself is rounded to that type before it is squared and normalised. */
enum rms_residual_mode { RMS_RESIDUAL_UNROUNDED = 0, RMS_RESIDUAL_ROUNDED = 1 };

enum rms_quantisation { RMS_QUANT_NONE = 0, RMS_QUANT_TENSOR = 1, RMS_QUANT_TOKEN = 2 };

/* Code paths, for tests: every path returns the same bytes. CK_UNSUPPORTED where a path cannot run
 * the problem: clusters below compute capability 9.0, for n below 1024 and for RMS_QUANT_TOKEN. */
enum rms_path {
  RMS_PATH_AUTO = 0,
  RMS_PATH_WARP = 1,      /* a warp a row */
  RMS_PATH_CLUSTER_2 = 2, /* a cluster of blocks a row */
  RMS_PATH_CLUSTER_4 = 4,
  RMS_PATH_CLUSTER_8 = 8,
  RMS_PATH_CLUSTER_16 = 16,
  RMS_PATH_BLOCK = 32     /* a block a row */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define RMS_ARGUMENTS(X)                                                                       \
  X(1, params) X(2, struct_size) X(3, x_dtype) X(4, gamma_dtype) X(5, y_dtype)                \
  X(6, residual_dtype) X(7, gamma_mode) X(8, residual_mode) X(9, quantisation) X(10, path)    \
  X(11, eps) X(12, min_scale) X(13, n) X(14, rows) X(15, channels) X(16, samples)             \
  X(17, gamma_sizes) X(18, add_sizes) X(19, x_strides) X(20, residual_strides)                \
  X(21, gamma_strides) X(22, add_strides) X(23, y_strides) X(24, residual_out_strides)        \
  X(25, x) X(26, residual) X(27, gamma) X(28, add) X(29, tensor_scale) X(30, y)               \
  X(31, residual_out) X(32, token_scales) X(33, rstd) X(34, sums) X(35, dy) X(36, dx)         \
  X(37, dgamma) X(38, dy_strides) X(39, dx_strides) X(40, workspace) X(41, workspace_bytes)

enum rms_argument {
#define RMS_ARGUMENT_ENUMERATOR(number, name) RMS_ARG_##name = number,
  RMS_ARGUMENTS(RMS_ARGUMENT_ENUMERATOR)
#undef RMS_ARGUMENT_ENUMERATOR
};

/* Limits: n and samples * channels * rows below 2^31 - 1024; the product of both is not limited. */

/* All pointers but `params` itself are device pointers. */
typedef struct rms_norm_params {
  uint32_t struct_size;    /* sizeof(rms_norm_params) */
  int32_t x_dtype;         /* rms_dtype */
  int32_t gamma_dtype;     /* of gamma and add */
  int32_t y_dtype;
  int32_t residual_dtype;  /* of residual and residual_out: x's or RMS_F32 */
  int32_t gamma_mode;      /* rms_gamma_mode */
  int32_t residual_mode;   /* rms_residual_mode */
  int32_t quantisation;    /* rms_quantisation; not NONE exactly where y is fp8 or int8 */
  int32_t path;            /* rms_path; 0 outside tests */
  float eps;               /* >= 0, finite; inside the root */
  float min_scale;         /* RMS_QUANT_TOKEN: > 0, finite */
  float reserved;          /* 0 */
  int64_t n;               /* columns, >= 1 */
  int64_t rows;            /* >= 0 */
  int64_t channels;        /* 0 means 1 */
  int64_t samples;         /* 0 means 1 */
  int64_t gamma_sizes[4];
  int64_t add_sizes[4];
  int64_t x_strides[3];
  int64_t residual_strides[3];
  int64_t gamma_strides[3];
  int64_t add_strides[3];
  int64_t y_strides[3];
  int64_t residual_out_strides[3];
  const void* x;
  const void* residual;      /* null: none */
  const void* gamma;         /* null: no weight */
  const void* add;           /* null: none */
  const float* tensor_scale; /* [1], RMS_QUANT_TENSOR */
  void* y;
  void* residual_out;        /* null: not written */
  float* token_scales;       /* [samples, channels, rows], RMS_QUANT_TOKEN */
  float* rstd;               /* [samples, channels, rows]: scale; null: not written */
} rms_norm_params;

uint32_t rms_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* rms_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* rms_error_string(int code);

/* The general entry. */
int rms_norm(const rms_norm_params* params, void* stream);

/* f32 rows [rows, n], x_stride and y_stride elements apart (0: n), gamma [n] or null. The bytes of
 * rms_norm(). */
int rms_norm_f32(const float* x, const float* gamma, float* y, int64_t rows, int64_t n,
                 int64_t x_stride, int64_t y_stride, float eps, void* stream);

/* How rms_norm() would run `params` on a device of this compute capability (10 * major + minor) and
 * number of multiprocessors. Returns what rms_norm() would say of the arguments; reads pointers'
 * values, not what they point to. For tests and for the curious. */
enum rms_plan_kind {
  RMS_PLAN_PLAIN = 0,    /* weighted rows of one type without options */
  RMS_PLAN_RESIDUAL = 1, /* the same with a residual of that type */
  RMS_PLAN_OPTIONS = 2   /* everything else */
};
typedef struct rms_plan {
  int32_t path;     /* rms_path, never RMS_PATH_AUTO */
  int32_t kind;     /* rms_plan_kind */
  int32_t vector;   /* adjacent elements that are loaded at once */
  int32_t threads;  /* of a block */
  int64_t blocks;
} rms_plan;
int rms_norm_plan(const rms_norm_params* params, int32_t capability, int32_t multiprocessors,
                  rms_plan* plan);

/* The kernel of llama.cpp as it is built with -use_fast_math, class TOLERANCE: f32, subnormals
 * count as zero, scale = rsqrt.approx(fma(s, rcp.approx(n), eps)), y = fma(scale * x, gamma, add).
 * Reads of params: eps, n, rows, channels, samples, x, gamma, add, y with their sizes and strides,
 * and rstd, which gets scale. `sums` [samples, channels, rows], or null, gets s. Everything else
 * must be 0. s, and y given scale, are exact; y is meant to be what that kernel writes on the same GPU. */
int rms_norm_ggml(const rms_norm_params* params, float* sums, void* stream);

/* BACKWARD of y = (scale * x) * gamma, or of * (1 + gamma):
 *
 *   h_j      = dy_j * weight_j                            weight gamma_j, 1 + gamma_j, or 1
 *   c        = sum_j h_j x_j                              in the order of s, fma chains of h_j and x_j
 *   k        = ((c / n) * scale) * scale
 *   dx_j     = scale * fma(-k, x_j, h_j)
 *   dgamma_j = sum_i dy_ij * (scale_i * x_ij)             over the rows: ck/column_sum.cuh's tree with
 *                                                         two-float accumulators and exact products
 *
 * each rounded as written, results to their type once. x, dy and dx have one type, dgamma gamma's.
 * dx may be dy or x (same stride). dx or dgamma may be null, not both. Graph nodes: one for dx (and
 * for the scales, where rstd is null), two more for dgamma. */
typedef struct rms_norm_backward_params {
  uint32_t struct_size; /* sizeof(rms_norm_backward_params) */
  int32_t x_dtype;      /* RMS_F32, RMS_BF16, RMS_F16 */
  int32_t gamma_dtype;  /* of gamma and dgamma: x's or RMS_F32 */
  int32_t gamma_mode;   /* RMS_GAMMA_PLAIN or RMS_GAMMA_ONE_PLUS */
  float eps;            /* >= 0, finite */
  float reserved;       /* 0 */
  int64_t n;            /* columns, >= 1 */
  int64_t rows;         /* >= 0; without rows dgamma becomes 0 (1 node) */
  int64_t x_stride;     /* elements between rows; 0 means n */
  int64_t dy_stride;
  int64_t dx_stride;
  const void* x;        /* [rows, n] */
  const void* gamma;    /* [n]; null: no weight */
  const void* dy;       /* [rows, n] */
  const float* rstd;    /* [rows]: scales of the forward call; null: computed again */
  void* dx;             /* [rows, n] */
  void* dgamma;         /* [n] */
  void* workspace;      /* 16-byte aligned, not zeroed; needed for dgamma */
  size_t workspace_bytes;
} rms_norm_backward_params;

/* Bytes of workspace that rms_norm_backward() needs for these params; 0 where it refuses them. */
size_t rms_norm_backward_workspace_bytes(const rms_norm_backward_params* params);

int rms_norm_backward(const rms_norm_backward_params* params, void* stream);

/* BASELINE, for tests and the bench: the design that rms_norm() replaces, one block of 1024 (or 256)
 * threads a row, scalar loads, x read twice. Packed f32 rows; exact. */
int rms_baseline_f32(const float* x, const float* gamma, float* y, int64_t rows, int64_t n,
                     float eps, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* RMS_NORM_H_ */
