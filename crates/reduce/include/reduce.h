/* clang-format off */
/* reduce: sums over the rows of matrices, in one launch, for gradients.
 *
 *   out_j = beta * out_j + alpha * sum_r w_r * x[r, j]        red_columns, red_columns_grouped
 *   out_r = beta * out_r + alpha * sum_j x[r, j]              red_rows
 *   out_sj = beta * out_sj + alpha * sum of segment s's rows  red_segments
 *
 * x f32, bf16 or f16; out f32 or x's type. `mean` divides the sum, once, by the number of rows that
 * were kept. beta = 0 never reads out. All that follows a sum (division, alpha, beta) happens in the
 * accumulator's precision, and the result is rounded once, to out's type.
 *
 * CLASS. Every operation here but the baselines is exact: the bytes of reduce::oracle (Rust), on
 * every GPU, whatever the grid, the columns beside, strides, alignment, and batch.
 *
 * ORDER (numerics version 1; a change of it is a new major version): the tree of column sums of the
 * workspace's prelude, ck/column_sum.cuh. It is a function of the number n of terms alone (rows; for
 * red_rows the columns; for a segment its rows): chunks of 32 * K terms, K = 4 up to 4096 terms, 8
 * up to 8192, else 16; term r of a chunk belongs to lane r % 32; a lane adds its K terms in order,
 * lanes are merged 16, 8, 4, 2, 1 apart, chunks as neighbours. A term that is masked or missing
 * changes nothing. Weighted terms: the product is exact before it is added (RED_SUM_F32: one fma).
 *
 * ACCUMULATORS. RED_SUM_F32X2 (the default): two f32, about 48 bits, the range of f32; seven
 * additions an element, which a GPU with 4 bytes of memory for 7 f32 operations hides (an H200 has
 * 1 to 14). RED_SUM_F64: 53 bits, the range of f64; two FP64-rate operations an element, which is
 * free on data-centre GPUs and about 1.3 to 2 times the memory's time where FP64 runs at 1/64.
 * RED_SUM_F32: one addition an element, the error of a tree of f32 additions.
 *
 * NON-FINITE VALUES. NaN and infinities reach the result of their own column only, as f32 additions
 * take them there. What lies between cols and ld, in masked rows, or in rows that no index names is
 * never used. Sums beyond 3.4e38 on the way are infinite (RED_SUM_F64: only at the end).
 *
 * NODES AND WORKSPACE. Every call is one node. With a workspace, many blocks share a matrix; without
 * (null) each column has one block: the same bytes, slower. The *_workspace_bytes functions say how
 * much. Zero it once, when it is allocated; every call that completes leaves it as it needs it (after
 * an aborted launch zero it again). Calls that may run at the same time need workspaces of their own.
 *
 * Nothing synchronises, allocates, or touches the default stream. `stream` is a cudaStream_t.
 * Source of the accumulators: Ogita, Rump, Oishi 2005, "Accurate sum and dot product"; of the
 * splines: Cox 1972, de Boor 1972.
 */
#ifndef REDUCE_H_
#define REDUCE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RED_ABI_VERSION 1u

enum red_dtype { RED_F32 = 0, RED_BF16 = 1, RED_F16 = 2 };

/* Element type of the result. */
enum red_out { RED_OUT_F32 = 0, RED_OUT_AS_X = 1 };

enum red_accumulator { RED_SUM_F32X2 = 0, RED_SUM_F64 = 1, RED_SUM_F32 = 2 };

/* How a block finds its elements, for tests: the bytes are the same. A path that cannot run the
 * problem (RED_PATH_FLAT: more than 128 columns; RED_PATH_PACKED: not rows, nor segments of one column,
 * or several splits) is CK_UNSUPPORTED. */
enum red_path {
  RED_PATH_AUTO = 0,
  RED_PATH_FLAT = 1,    /* 32 rows at once, as one run of elements */
  RED_PATH_TILE_32 = 2, /* tiles of 32 columns */
  RED_PATH_TILE_64 = 3,
  RED_PATH_PACKED = 4   /* several rows, or segments of one column, a block */
};

/* What the status word may say of the first bad device value: cause << 24 | min(item, 2^24 - 1). */
enum red_device_status {
  RED_DEVICE_OK = 0,
  RED_DEVICE_BAD_INDEX = 1,   /* outside of the table: that term is left out. Item: its place */
  RED_DEVICE_BAD_OFFSETS = 2, /* decrease, are negative, pass rows or max_rows: that segment is empty */
  RED_DEVICE_BAD_MATRIX = 3   /* a size out of range, a null or misaligned pointer: not written */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define RED_ARGUMENTS(X)                                                                        \
  X(1, params) X(2, struct_size) X(3, dtype) X(4, out_dtype) X(5, accumulator) X(6, path)       \
  X(7, splits) X(8, mean) X(9, rows) X(10, cols) X(11, ld) X(12, table_rows) X(13, count)       \
  X(14, max_rows) X(15, alpha) X(16, beta) X(17, x) X(18, weights) X(19, mask) X(20, index)     \
  X(21, offsets) X(22, matrices) X(23, out) X(24, status) X(25, workspace)                      \
  X(26, workspace_bytes) X(27, sum_squares) X(28, norm) X(29, max_abs) X(30, non_finite)        \
  X(31, dy) X(32, knots) X(33, intervals) X(34, inputs) X(35, outputs)

enum red_argument {
#define RED_ARGUMENT_ENUMERATOR(number, name) RED_ARG_##name = number,
  RED_ARGUMENTS(RED_ARGUMENT_ENUMERATOR)
#undef RED_ARGUMENT_ENUMERATOR
};

#define RED_MAX_MATRICES 65535 /* of red_columns_grouped */
#define RED_MAX_SPLITS 256
/* Largest extents: rows, table_rows < 2^38; cols, count < 2^31; rows * ld < 2^60. */

/* One matrix of red_columns_grouped, in device memory. Offsets are in bytes behind the params' x and
 * out, which may be null: then they are the addresses themselves. */
typedef struct red_matrix {
  int64_t x_offset;   /* [rows, cols] */
  int64_t out_offset; /* [cols]; overlaps no x and no other out */
  int64_t rows;  /* 0 .. max_rows */
  int64_t cols;  /* 0 .. cols of the params */
  int64_t ld;    /* 0 = cols */
  float alpha;
  float beta;
} red_matrix;

/* The arguments of the four sums; each entry names the fields that it reads. All pointers but
 * `params` itself are device pointers, aligned to their element. `out` may overlap no input. */
typedef struct red_sum_params {
  uint32_t struct_size; /* sizeof(red_sum_params) */
  int32_t dtype;        /* red_dtype, of x */
  int32_t out_dtype;    /* red_out */
  int32_t accumulator;  /* red_accumulator */
  int32_t path;         /* red_path; 0 outside tests */
  int32_t splits;       /* blocks that share a column: 1, 2, 4 .. 256; 0 outside tests */
  int32_t mean;         /* 0 or 1 */
  int32_t reserved;     /* 0 */
  int64_t rows;         /* of x; with an index, entries of the index */
  int64_t cols;         /* of x; grouped: the most columns of a matrix */
  int64_t ld;           /* elements between rows of x, >= cols; 0 = cols */
  int64_t table_rows;   /* with an index: rows of x */
  int64_t count;        /* segments, or matrices */
  int64_t max_rows;     /* the most rows of a segment, or of a matrix */
  float alpha;          /* finite */
  float beta;           /* finite; 0: out is not read */
  const void* x;
  const float* weights;   /* [rows]: factor of each term */
  const uint8_t* mask;    /* [rows]: nonzero keeps the term */
  const int32_t* index;   /* [rows]: term r is row index[r] of x */
  const int64_t* offsets; /* [count + 1]: segment s is rows offsets[s] .. offsets[s + 1] of x */
  const red_matrix* matrices; /* [count] */
  void* out;
  uint32_t* status;       /* [1] or null: set where it is 0; see red_device_status */
  void* workspace;        /* 16-byte aligned, or null */
  size_t workspace_bytes;
} red_sum_params;

uint32_t red_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* red_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* red_error_string(int code);

/* A sentence for a value of the status word. Static storage, never null. */
const char* red_device_status_string(uint32_t status);

/* x [rows, cols] to out [cols]. Reads every field but count, max_rows, offsets, matrices. rows = 0
 * still writes; cols = 0 queues nothing. mean divides by the terms that mask and index keep (none: the
 * sum is 0). */
int red_columns(const red_sum_params* params, void* stream);
size_t red_columns_workspace_bytes(const red_sum_params* params);

/* count matrices at once, described in device memory: each result has the bytes of its own call of
 * red_columns. Reads dtype to mean, cols, count, max_rows, x, matrices, out, status and the workspace.
 * Matrices are not known to the host: that outputs overlap nothing is the caller's word. */
int red_columns_grouped(const red_sum_params* params, void* stream);
size_t red_columns_grouped_workspace_bytes(const red_sum_params* params);

/* x [rows, cols] to out [rows]: sums over the last dimension. Reads dtype to mean, rows, cols, ld,
 * alpha, beta, x, out and the workspace. */
int red_rows(const red_sum_params* params, void* stream);
size_t red_rows_workspace_bytes(const red_sum_params* params);

/* x [rows, cols] to out [count, cols], packed: sums over runs of rows. An empty segment sums to 0.
 * Reads dtype to mean, rows, cols, ld, count, max_rows, alpha, beta, x, offsets, out, status and the
 * workspace. Where a segment lies changes nothing. */
int red_segments(const red_sum_params* params, void* stream);
size_t red_segments_workspace_bytes(const red_sum_params* params);

/* What gradient clipping asks of `rows` packed elements; each output on request, at least one.
 * The sum of squares is a column sum of exact squares; norm its root, rounded once more. A NaN makes
 * both NaN. max_abs is the largest |x| that is not NaN (0 of none), non_finite the number of NaNs and
 * infinities. */
typedef struct red_moments_params {
  uint32_t struct_size; /* sizeof(red_moments_params) */
  int32_t dtype;
  int32_t accumulator;  /* RED_SUM_F32X2: squares beyond 3.4e38 are infinite; or RED_SUM_F64 */
  int32_t splits;       /* 0 outside tests */
  int64_t rows;
  const void* x;
  float* sum_squares;
  float* norm;
  float* max_abs;
  int64_t* non_finite;
  void* workspace;      /* 16-byte aligned, or null */
  size_t workspace_bytes;
} red_moments_params;

int red_moments(const red_moments_params* params, void* stream);
size_t red_moments_workspace_bytes(const red_moments_params* params);

/* The gradient of a Kolmogorov-Arnold layer's cubic spline coefficients, without per-sample
 * gradients:
 *
 *   dc[i, g, o] = sum_b B_g(x[b, i]) * dy[b, o]
 *
 * x [rows, inputs], dy [rows, outputs], knots [intervals + 7] ascending, shared by all inputs,
 * dc = out [inputs, intervals + 3, outputs], all packed f32. B_g is the cubic B-spline over knots g .. g + 4,
 * by the recursion of Cox and de Boor, for d = 1, 2, 3 and each g:
 *   B_g = (x - t_g) / (t_g+d - t_g) * B_g + (t_g+d+1 - x) / (t_g+d+1 - t_g+1) * B_g+1
 * each operation rounded once, a quotient by 0 counting as 0. Intervals are half open, but the
 * last knot belongs to the last interval that is not empty. An x outside of all (or NaN) contributes
 * nothing, nor does a B_g that is 0, whatever dy holds. Sums as red_columns with weights, F32X2. */
int red_kan_spline_grad_f32(const float* x, const float* dy, const float* knots, float* out,
                            int64_t rows, int64_t inputs, int64_t outputs, int64_t intervals,
                            void* workspace, size_t workspace_bytes, void* stream);
size_t red_kan_spline_grad_workspace_bytes(int64_t rows, int64_t inputs, int64_t outputs,
                                           int64_t intervals);

/* The bias gradient of an implicit quantile network: x [rows, cols] packed, rows = batch * quantiles,
 * to out [cols]. red_columns with alpha 1. */
int red_iqn_bias_grad_f32(const float* x, float* out, int64_t rows, int64_t cols, void* workspace,
                          size_t workspace_bytes, void* stream);

/* Per-sample gradients of a Kolmogorov-Arnold layer, x [rows, cols] packed, to out [cols]. The same. */
int red_kan_grad_f32(const float* x, float* out, int64_t rows, int64_t cols, void* workspace,
                     size_t workspace_bytes, void* stream);

/* BASELINES, for the bench alone: the designs that red_columns replaces. f32, packed. */

/* One thread a column, one f32 accumulator. */
int red_baseline_thread_per_column(const float* x, float* out, int64_t rows, int64_t cols,
                                   void* stream);

/* A block for each column and 256 rows, then a block a column over their sums: 2 nodes; workspace of
 * cols * ceil(rows / 256) floats, no zeroing. */
int red_baseline_block_per_column(const float* x, float* out, int64_t rows, int64_t cols,
                                  void* workspace, size_t workspace_bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* REDUCE_H_ */
