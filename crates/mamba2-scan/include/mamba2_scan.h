/* clang-format off */
/* mamba2-scan: selective state-space scans, each in one launch.
 *
 * THE DECODE STEP, m2_state_update. Per sequence b, head h with group g = h / (H / G), row p of P, element n of N:
 *
 *   d      = dt[b, h] + dt_bias[h];  softplus(d);  clamp(d, dt_min, dt_max)    each optional, so ordered
 *   e      = exp(A[h] * d)                                     A as given, or -exp(a[h])
 *   S[p,n] = S[p,n] * e + (d * x[p]) * B[g,n]                  each operation rounded once, no fma
 *   y[p]   = sum_n S[p,n] * C[g,n]   [+ D * x[p]]              S here before it is rounded to the state's type
 *   y[p]   = y[p] * silu(z[p])                                 where z is given
 *
 * State f32, bf16 or f16; x, B, C, z, y all f32 or all bf16; dt f32 or bf16; A, dt_bias, D f32.
 *
 * THE GATED SCAN, m2_temporal_scan_f32. B samples, K steps, H features, S states, f32:
 *
 *   A[b,t,s] = bias_a[s] + sum_k history[b,t,k] * w_a[k,s]        V and C[b,s] alike, C from current[b,k]
 *   a = sigmoid(A);  x_t = fma(a_t, x_{t-1}, V_t), x_0 given or 0;  ctx[b,s] = C * x_K
 *   out = ctx [B,S] | sum_s ctx [B] | current[b,j] + ctx[b, j mod S] [B,H]
 *
 * and its gradients, m2_scan_backward_f32. With g = dL/dctx from d_out (given | the same for every s |
 * the sum of d_out[b,j] over j = s mod S) and d_final = dL/dx_K:
 *
 *   dC = g * x_K;  lam = fma(g, C, d_final)
 *   t = K..1:  dV_t = lam;  dA_t = (lam * x_{t-1}) * (a_t * (1 - a_t));  lam = a_t * lam      d_x0 = lam
 *   d_w_a = sum_bt history^T dA;  d_w_b = sum_bt history^T dV;  d_w_c = sum_b current^T dC;  biases: sums
 *   d_history[b,t,:] = w_a dA + w_b dV;  d_current = w_c dC [+ d_out, where out adds current]
 *
 * dA is the gradient of the gate BEFORE its sigmoid. 1 - a comes from exp(-|A|), never by subtraction, and
 * x_{t-1} is kept, never recovered by a division: saturated gates have gradients.
 *
 * CLASS. Exact: the bytes of mamba2_scan::oracle (Rust), on every GPU, at every batch size,
 * alignment, stride, slot and launch geometry. But for the two _fast entries and the baselines.
 *
 * FAST: m2_temporal_scan_fast_f32 and m2_scan_backward_fast_f32 take the same params, and their products from
 * tensor cores. Equal bits in every run and for a sample at every place of a batch, not on every GPU.
 *   M2_PRECISION_3XTF32: x = big + small, each TF32, |x - big - small| <= 2^-23 |x|, and a b is big big + big small +
 *     small big, which leaves out at most 2^-21 |a b|. As accurate as f32.
 *   M2_PRECISION_TF32: a b is big big, within (2^-10 + 2^-22) |a b|.
 * Bound: |error| of a sum <= (e + (20 m + 32) 2^-24) sum |terms|, e the precision's part above, m the instructions
 * that go into one sum: one for eight products, in gradients in 3XTF32 three. An instruction adds eight products to
 * what was there; addends are aligned to the largest and cut off below 2^-23 of it, nine of them and once the sum:
 * 10 * 2^-23. 32 stands for bias, parts and partial sums. Where the unit takes subnormals for zero, 2^-125 (|a| + |b| +
 * 1) a product more. What is computed from these sums - gates, states, gradients - is f32 arithmetic on values so far
 * off: mamba2_scan::oracle::reference carries the bounds through in f64.
 * Where K <= 8, S <= 16, H <= 256, the device has compute capability 8.0 and a block may have the shared memory (at H
 * = 256: 113 KiB forward, of TF32 64; 225 KiB backward); else the exact entry's kernels and results. Infinities, and
 * numbers above 3.4e38, may become NaN; NaN stays NaN.
 *
 * ORDER (numerics version 1; a change of it is a new major version).
 *   The sum over N: L = the least power of two with 4 L >= N, at most 32. Element n belongs to lane
 *   (n / 4) % L and to accumulator n % 4 of that lane; an accumulator is one fma chain from +0 in
 *   ascending n; a lane's value is (a0 + a1) + (a2 + a3); lanes are added by an xor butterfly L/2, .. 1.
 *   D * x is rounded, then added. exp, softplus and silu are those of the shared prelude: silu(z) is
 *   z * sigmoid(z) rounded into the subnormals once, and -0 for -inf.
 *
 *   A, V, C of the scan: one fma chain over k from the bias or +0, H padded with zeros to a multiple of 4.
 *   Where gradients are computed: such a chain for each span of 32 features, those after the first from +0,
 *   added in ascending order.
 *   sum_s ctx: S padded with +0 to a multiple of 16; quads (c0 + c1) + (c2 + c3); lane j of 4 adds quads
 *   j, j + 4, ..; lanes (0 + 2) + (1 + 3).
 *   d_w, d_bias: partial sums, each one chain (fma, for a bias addition) from +0 over M2_TILE * n samples,
 *   n = ceil(ceil(B / 8) / 128): tiles of 8 samples in order, in a tile by step, then by sample. At most 128
 *   partial sums, added by the tree of ck/column_sum.cuh in two f32 each, rounded once.
 *   d_history, d_current: one fma chain from +0; groups of 16 states, S padded with zeros; in a group those
 *   of A, then those of V. d_out[b,k] is added last. g of a tile-add: one chain over j from +0.
 *
 * NON-FINITE VALUES travel as IEEE arithmetic has them. A zero start is S = +0 in the formula above, so
 * that an infinite e gives NaN there too. A NaN passes the clamp.
 *
 * NODES under graph capture: m2_state_update and m2_temporal_scan_f32 one; m2_scan_backward_f32 as many as
 * m2_scan_backward_nodes() says; their fast twins one, and as many as m2_scan_backward_fast_nodes() says. Where K <= 8, S <= 16, H <= 256 and a block may have the shared memory
 * (209 KiB at H = 256): one, and one for the sum where weights or biases are asked for. Else one, two for
 * weights or biases, one for d_history or d_current. Nothing synchronises, allocates, or touches the
 * default stream. `stream` is a cudaStream_t. The step: Dao and Gu 2024, arXiv:2405.21060; its public reference:
 * selective_state_update of github.com/state-spaces/mamba. Chunked prefill has no entry yet.
 */
#ifndef MAMBA2_SCAN_H_
#define MAMBA2_SCAN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define M2_ABI_VERSION 1u

/* Element types. */
enum m2_dtype { M2_F32 = 0, M2_BF16 = 1, M2_F16 = 2 };

/* What `a` holds. */
enum m2_decay {
  M2_DECAY_A = 0,    /* A itself */
  M2_DECAY_A_LOG = 1 /* its logarithm: A = -exp(a), computed in each call */
};

/* Code paths of m2_state_update, for tests: each returns the same bytes, and each takes any problem
 * (rows that cannot be read in groups of four elements are read singly whatever is asked for). */
enum m2_update_path {
  M2_UPDATE_AUTO = 0,
  M2_UPDATE_SINGLE = 1 /* element by element */
};

/* What the status word may say of the first bad device value: cause << 24 | min(sequence, 2^24-1). */
enum m2_device_status {
  M2_DEVICE_OK = 0,
  M2_DEVICE_BAD_SLOT_IN = 1, /* beyond the pool: zero start */
  M2_DEVICE_BAD_SLOT_OUT = 2 /* beyond the pool: the state is not stored */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define M2_ARGUMENTS(X)                                                                       \
  X(1, params) X(2, struct_size) X(3, state_dtype) X(4, io_dtype) X(5, dt_dtype) X(6, path)  \
  X(7, decay) X(8, batch) X(9, heads) X(10, groups) X(11, head_dim) X(12, state_dim)         \
  X(13, slots) X(14, slot_stride) X(15, x_stride) X(16, dt_stride) X(17, b_stride)           \
  X(18, c_stride) X(19, z_stride) X(20, y_stride) X(21, dt_min) X(22, dt_max) X(23, state)   \
  X(24, slots_in) X(25, slots_out) X(26, x) X(27, dt) X(28, a) X(29, dt_bias) X(30, b)       \
  X(31, c) X(32, d) X(33, z) X(34, y) X(35, status)                                          \
  X(36, readout) X(37, steps) X(38, features) X(39, states) X(40, history_stride)            \
  X(41, step_stride) X(42, current_stride) X(43, history) X(44, current) X(45, w_a)          \
  X(46, w_b) X(47, w_c) X(48, bias_a) X(49, bias_b) X(50, bias_c) X(51, x0) X(52, out)       \
  X(53, final_state) X(54, beta) X(55, d_out) X(56, d_final) X(57, d_w_a) X(58, d_w_b)       \
  X(59, d_w_c) X(60, d_bias_a) X(61, d_bias_b) X(62, d_bias_c) X(63, d_history)              \
  X(64, d_current) X(65, d_x0) X(66, workspace) X(67, workspace_bytes)          \
  X(68, precision) X(69, projections) X(70, readouts)

enum m2_argument {
#define M2_ARGUMENT_ENUMERATOR(number, name) M2_ARG_##name = number,
  M2_ARGUMENTS(M2_ARGUMENT_ENUMERATOR)
#undef M2_ARGUMENT_ENUMERATOR
};

/* Largest extents: batch, slots < 2^31; heads, head_dim <= 65536; blocks of four rows, batch * heads *
 * ceil(head_dim / 4), < 2^31. */
#define M2_MAX_STATE_DIM 1024
#define M2_MAX_HEADS 65536
#define M2_MAX_HEAD_DIM 65536

/* All pointers but `params` itself are device pointers, aligned to their element. Strides are in
 * elements, between sequences (or slots); 0 means packed; what lies inside is packed. y overlaps no
 * input, nor the state. */
typedef struct m2_state_update_params {
  uint32_t struct_size;   /* sizeof(m2_state_update_params) */
  int32_t state_dtype;    /* m2_dtype */
  int32_t io_dtype;       /* M2_F32 or M2_BF16: x, b, c, z, y */
  int32_t dt_dtype;       /* M2_F32 or M2_BF16 */
  int32_t path;           /* m2_update_path; 0 outside tests */
  int32_t decay;          /* m2_decay */
  int32_t dt_softplus;    /* nonzero: softplus, x itself above 20 */
  int32_t dt_clamp;       /* nonzero: clamp to dt_min .. dt_max */
  int32_t dt_per_channel; /* nonzero: dt is [B, H, P], else [B, H] */
  int32_t d_per_channel;  /* nonzero: d is [H, P], else [H] */
  int64_t batch;          /* B >= 0; zero queues nothing and succeeds */
  int64_t heads;          /* H >= 1 */
  int64_t groups;         /* G >= 1, H % G == 0 */
  int64_t head_dim;       /* P >= 1 */
  int64_t state_dim;      /* N, 1 .. M2_MAX_STATE_DIM */
  int64_t slots;          /* states of the pool; without slots_in at least B */
  int64_t slot_stride;    /* 0 = H * P * N */
  int64_t x_stride;       /* 0 = H * P */
  int64_t dt_stride;      /* 0 = H, or H * P */
  int64_t b_stride;       /* 0 = G * N */
  int64_t c_stride;       /* 0 = G * N */
  int64_t z_stride;       /* 0 = H * P */
  int64_t y_stride;       /* 0 = H * P */
  float dt_min;           /* dt_clamp: not NaN, at most dt_max; else ignored */
  float dt_max;           /* dt_clamp: not NaN; may be infinite */
  void* state;            /* [slots, H, P, N], updated in place */
  const int32_t* slots_in;  /* [B]: where sequence b starts; negative: a zero state. Null: slot b */
  const int32_t* slots_out; /* [B]: where its state goes; negative: nowhere. Null: where it started.
                               Both negative: a pad: y is zero, and nothing of the sequence is read.
                               A slot that is one sequence's out and another's in or out is the
                               caller's error: it gets some sequence's values */
  const void* x;            /* [B, H, P] */
  const void* dt;           /* [B, H] or [B, H, P] */
  const float* a;           /* [H], see m2_decay */
  const float* dt_bias;     /* [H], or null */
  const void* b;            /* [B, G, N] */
  const void* c;            /* [B, G, N] */
  const float* d;           /* [H] or [H, P], or null */
  const void* z;            /* [B, H, P], or null */
  void* y;                  /* [B, H, P] */
  uint32_t* status;         /* [1], or null: set where it is 0; see m2_device_status */
} m2_state_update_params;

uint32_t m2_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* m2_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* m2_error_string(int code);

/* A sentence for a value of the status word. Static storage, never null. */
const char* m2_device_status_string(uint32_t status);

int m2_state_update(const m2_state_update_params* params, void* stream);

/* What comes out of the contexts. */
enum m2_readout { M2_READOUT_CONTEXT = 0, M2_READOUT_SUM = 1, M2_READOUT_TILE_ADD = 2 };

/* Code paths of m2_scan_backward_f32, for tests: each returns the same bytes. */
enum m2_backward_path {
  M2_BACKWARD_AUTO = 0,
  M2_BACKWARD_STAGED = 1, /* a node for each stage, any size */
  M2_BACKWARD_FUSED = 2   /* one node and the sum; CK_UNSUPPORTED where it does not fit */
};

#define M2_TILE 8
#define M2_MAX_STEPS 64
#define M2_MAX_STATES 64
#define M2_MAX_FEATURES 1024
#define M2_MAX_ROWS 1073741824 /* batch * steps */
/* B = 0 succeeds: the forward scan queues nothing, gradients are sums of nothing. */

/* All pointers are device pointers to f32, aligned to it. Strides are in elements; 0 means packed. */
typedef struct m2_temporal_scan_params {
  uint32_t struct_size;   /* sizeof(m2_temporal_scan_params) */
  int32_t readout;        /* m2_readout */
  int64_t batch;          /* B >= 0 */
  int64_t steps;          /* K, 1 .. M2_MAX_STEPS */
  int64_t features;       /* H, 1 .. M2_MAX_FEATURES */
  int64_t states;         /* S, 1 .. M2_MAX_STATES */
  int64_t history_stride; /* between samples; 0 = K * step_stride */
  int64_t step_stride;    /* between steps; 0 = H */
  int64_t current_stride; /* between samples; 0 = H */
  const float* history;   /* [B, K, H] */
  const float* current;   /* [B, H] */
  const float* w_a;       /* [H, S]: the gate's weights */
  const float* w_b;       /* [H, S]: the input's */
  const float* w_c;       /* [H, S]: the readout's */
  const float* bias_a;    /* [S], or null */
  const float* bias_b;    /* [S], or null */
  const float* bias_c;    /* [S], or null */
  const float* x0;        /* [B, S], or null */
  float* out;             /* see m2_readout; null where only the final state is wanted */
  float* final_state;     /* [B, S], or null */
} m2_temporal_scan_params;

/* Gradients that are null are not computed; at least one is asked for. Those of weights and biases become
 * beta * what was there + the sum, one fma; with beta 0 what was there is not read. The others are
 * overwritten. Outputs overlap neither inputs nor each other. */
typedef struct m2_scan_backward_params {
  uint32_t struct_size; /* sizeof(m2_scan_backward_params) */
  int32_t readout;      /* m2_readout: what d_out is the gradient of */
  int32_t path;         /* m2_backward_path; 0 outside tests */
  float beta;           /* finite */
  int64_t batch;
  int64_t steps;
  int64_t features;
  int64_t states;
  int64_t history_stride;
  int64_t step_stride;
  int64_t current_stride;
  const float* history;
  const float* current;
  const float* w_a;
  const float* w_b;
  const float* w_c;
  const float* bias_a;
  const float* bias_b;
  const float* bias_c;
  const float* x0;
  const float* d_out;   /* [B, S] | [B] | [B, H] */
  const float* d_final; /* [B, S], or null */
  float* d_w_a;         /* [H, S], or null; so all below */
  float* d_w_b;
  float* d_w_c;
  float* d_bias_a;      /* [S] */
  float* d_bias_b;
  float* d_bias_c;
  float* d_history;     /* [B, K, H], packed */
  float* d_current;     /* [B, H], packed */
  float* d_x0;          /* [B, S] */
  void* workspace;      /* aligned to 16 bytes; needs no zeroing */
  size_t workspace_bytes; /* at least m2_scan_backward_workspace_bytes() */
} m2_scan_backward_params;

int m2_temporal_scan_f32(const m2_temporal_scan_params* params, void* stream);

/* From sizes, readout, path and which gradients are asked for; 0 for params that the entry refuses for
 * these, and for B = 0. Workspace for the current device. */
size_t m2_scan_backward_workspace_bytes(const m2_scan_backward_params* params);
int m2_scan_backward_nodes(const m2_scan_backward_params* params);

int m2_scan_backward_f32(const m2_scan_backward_params* params, void* stream);

/* How the _fast entries multiply. */
enum m2_precision {
  M2_PRECISION_3XTF32 = 0, /* three TF32 products: as accurate as f32 */
  M2_PRECISION_TF32 = 1    /* one: about three decimal digits */
};

/* The same on tensor cores; see FAST above. `precision` is an m2_precision. Workspace as
 * m2_scan_backward_workspace_bytes() says. Of m2_backward_path, STAGED is the exact entry's. */
int m2_temporal_scan_fast_f32(const m2_temporal_scan_params* params, int32_t precision, void* stream);
int m2_scan_backward_fast_nodes(const m2_scan_backward_params* params);
int m2_scan_backward_fast_f32(const m2_scan_backward_params* params, int32_t precision, void* stream);

/* THE SCANS OF THE COMPOSED PATH, whose projections and sums are matrix products of whoever calls: cuBLAS's in
 * mamba2_scan::gpu::composed (Rust). A thread a sample and state; class exact: the bytes of
 * mamba2_scan::oracle::composed, which has the formulas above with
 *   A = projections[b,t,s] + bias_a[s], V = projections[b,t,S+s] + bias_b[s], C = readouts[b,s] + bias_c[s],
 * each one rounded addition, or none without the bias. 1 node. Any size: every extent and
 * B * K * 2 S, B * S and B * H at most M2_MAX_COMPOSED, else CK_BAD_SIZE. */
#define M2_MAX_COMPOSED 549755813888 /* 2^39 elements */

/* Arrays but `current` are packed. All pointers are device pointers to f32, aligned to it. */
typedef struct m2_composed_scan_params {
  uint32_t struct_size; /* sizeof(m2_composed_scan_params) */
  int32_t readout;      /* m2_readout; CK_UNSUPPORTED: SUM, which is a product of the contexts with ones */
  int64_t batch;        /* B >= 0; zero queues nothing and succeeds */
  int64_t steps;        /* K >= 1 */
  int64_t features;     /* H >= 1 */
  int64_t states;       /* S >= 1 */
  int64_t current_stride;   /* between samples; 0 = H */
  const float* projections; /* [B, K, 2 S]: history w_a, history w_b */
  const float* readouts;    /* [B, S]: current w_c; with `out` alone */
  const float* current;     /* [B, H]; TILE_ADD with `out` alone */
  const float* bias_a;      /* [S], or null */
  const float* bias_b;      /* [S], or null */
  const float* bias_c;      /* [S], or null */
  const float* x0;          /* [B, S], or null */
  float* out;               /* see m2_readout; null where only the final state is wanted */
  float* final_state;       /* [B, S], or null */
} m2_composed_scan_params;

/* Arrays are packed. Outputs overlap neither inputs nor each other. */
typedef struct m2_composed_scan_backward_params {
  uint32_t struct_size; /* sizeof(m2_composed_scan_backward_params) */
  int32_t readout;      /* m2_readout: what d_out is the gradient of */
  int64_t batch;
  int64_t steps;
  int64_t features;
  int64_t states;
  const float* bias_a;
  const float* bias_b;
  const float* bias_c;
  const float* x0;
  const float* d_out;   /* [B, S] | [B] | [B, H] */
  const float* d_final; /* [B, S], or null */
  float* projections;   /* [B, K, 2 S]: as above; becomes dA, dV */
  float* readouts;      /* [B, S]: as above; becomes dC */
  float* d_x0;          /* [B, S], or null */
} m2_composed_scan_backward_params;

int m2_composed_scan_f32(const m2_composed_scan_params* params, void* stream);
int m2_composed_scan_backward_f32(const m2_composed_scan_backward_params* params, void* stream);

/* BASELINES, for the bench alone: the designs that the scan replaces; within a tolerance, not exact. */

/* One thread a sample and state, which walks steps and features; the contexts, or the final state. 1 node. */
int m2_baseline_temporal_scan(const m2_temporal_scan_params* params, void* stream);

/* Gradients of the three weights alone, beta 0: the projections' gradients in a workspace, as
 * m2_scan_backward_f32 has it, then one thread a weight, which walks the batch. 2 nodes. */
int m2_baseline_scan_backward(const m2_scan_backward_params* params, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* MAMBA2_SCAN_H_ */
