/* clang-format off */
/* gdn-scan: the Gated DeltaNet recurrence, one token or many in one launch.
 *
 * For value head h with key head kh, and token t, on a state S of K rows (keys) and V columns (values), in f32:
 *
 *   decay     S'  = alpha_t * S
 *   retrieve  p_c = sum_r S'[r,c] * k_r              r ascending, one accumulator from +0
 *   delta     d_c = beta_t * (v_c - p_c)
 *   write     S'' = S' + k_r * d_c
 *   read      o_c = (sum_r S''[r,c] * q_r) * scale   r ascending, one accumulator from +0
 *
 * CLASS. gdn_scan_step_f32, gdn_step and gdn_scan are exact: they return the bytes of gdn_scan::oracle (Rust), on every
 * GPU, at every batch size, alignment, stride, batch position and path. gdn_step_fast is of class tolerance.
 *
 * ORDER (numerics version 1; a change of it is a new major version). Every multiplication and addition above is rounded by
 * itself, in f32; there is no fma. alpha = decay value: as given; exp(g); or exp(-(exp(A_log) * softplus(a + dt_bias))).
 * beta: as given; sigmoid(b); 2 * sigmoid(b). exp, softplus and sigmoid are those of the shared prelude. Norm: a serial sum of
 * rounded squares from +0, x *= 1 / (sqrt(sum) + eps) or x *= rsqrt(sum + eps), each operation rounded. With decay per key
 * (KDA) alpha is alpha_r, r the row. A 16-bit state is rounded to its type after every token; that token's o reads the
 * unrounded S''. So T tokens in one call give the bytes of T calls, and of any split of T.
 *
 * NODES. One a call. No workspace. Nothing synchronises, allocates, or touches the default stream. `stream` is a
 * cudaStream_t.
 *
 * o of f16 that overflows is an infinity; f32 and bf16 have the range. alpha that underflows to 0 is legal.
 *
 * A chunked prefill on tensor cores (gdn_prefill_fast) will take this params struct.
 * References: Yang et al. 2024, "Gated Delta Networks", arXiv:2412.06464; Kimi Linear, arXiv:2510.26692 (decay per key); the
 * order is that of gated_delta_net_scan.cu in the public repository jamesburton/dotLLM. */
#ifndef GDN_SCAN_H_
#define GDN_SCAN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GDN_ABI_VERSION 1u

enum gdn_dtype { GDN_F32 = 0, GDN_BF16 = 1, GDN_F16 = 2 };

/* A head's state: GDN_KV [K, V], the values contiguous; GDN_VK [V, K], the keys contiguous. */
enum gdn_layout { GDN_KV = 0, GDN_VK = 1 };

/* The key head of value head h: GDN_GROUPED h / (HV / H), GDN_TILED h % H. */
enum gdn_head_map { GDN_GROUPED = 0, GDN_TILED = 1 };

/* What g holds. GDN_DECAY_GATE: the raw a, in dtype; the others f32. */
enum gdn_decay_form { GDN_DECAY_LINEAR = 0, GDN_DECAY_LOG = 1, GDN_DECAY_GATE = 2 };

/* What beta holds. GDN_BETA_GIVEN f32; the others the raw b, in dtype. */
enum gdn_beta_form { GDN_BETA_GIVEN = 0, GDN_BETA_SIGMOID = 1, GDN_BETA_TWICE_SIGMOID = 2 };

/* What is done to q and k of each head first. */
enum gdn_norm { GDN_NORM_NONE = 0, GDN_NORM_EPS_OUTSIDE = 1 /* 1 / (sqrt(sum) + eps) */, GDN_NORM_EPS_INSIDE = 2 /* 1 / sqrt(sum + eps) */ };

/* Code paths, for tests: every path returns the same bytes. A path that cannot take the sizes or the device is CK_UNSUPPORTED;
 * where only the alignment of the states is short of it, the general path runs. */
enum gdn_path {
  GDN_PATH_AUTO = 0,
  GDN_PATH_GENERAL = 1,  /* a warp for 32 columns; takes everything */
  GDN_PATH_SEGMENTS = 2, /* columns cut into row segments that hand their sums on; K x V of 128x128 or 96x192, GDN_KV */
  GDN_PATH_STREAMED = 3  /* one token, a block for a head, its state by bulk copies; compute capability 9.0, GDN_KV */
};

/* What the status word may say of the first bad device value: cause << 24 | min(sequence, 2^24-1). */
enum gdn_device_status {
  GDN_DEVICE_OK = 0,
  GDN_DEVICE_BAD_OFFSETS = 1, /* cu_seqlens decrease, are negative, or pass total_t or max_t: T_i = 0 */
  GDN_DEVICE_BAD_SLOT = 2     /* a slot beyond the pool: the sequence counts as a pad */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define GDN_ARGUMENTS(X)                                                                                 \
  X(1, params) X(2, struct_size) X(3, dtype) X(4, state_dtype) X(5, layout) X(6, head_map)               \
  X(7, decay_form) X(8, beta_form) X(9, norm) X(10, key_decay) X(11, path) X(12, has_scale)              \
  X(13, scale) X(14, norm_eps) X(15, sequences) X(16, key_heads) X(17, value_heads) X(18, key_dim)       \
  X(19, value_dim) X(20, total_t) X(21, max_t) X(22, slots) X(23, slot_stride) X(24, q_stride)           \
  X(25, k_stride) X(26, v_stride) X(27, out_stride) X(28, g_stride) X(29, beta_stride)                   \
  X(30, snapshot_count) X(31, snapshot_rows) X(32, state) X(33, state_source) X(34, slots_in)            \
  X(35, slots_out) X(36, cu_seqlens) X(37, q) X(38, k) X(39, v) X(40, g) X(41, beta) X(42, a_log)        \
  X(43, dt_bias) X(44, out) X(45, snapshots) X(46, status) X(47, n_v) X(48, n_k) X(49, d)

enum gdn_argument {
#define GDN_ARGUMENT_ENUMERATOR(number, name) GDN_ARG_##name = number,
  GDN_ARGUMENTS(GDN_ARGUMENT_ENUMERATOR)
#undef GDN_ARGUMENT_ENUMERATOR
};

#define GDN_MAX_DIM 256 /* of K and of V */

/* All pointers but `params` itself are device pointers, aligned to their element. Strides are in elements; 0 means packed.
 * q, k, v, g, beta and out have a row for each token, `*_stride` apart, so that they may be slices of one packed buffer.
 * Tokens: sequence i has those of rows cu_seqlens[i] .. cu_seqlens[i+1], or without cu_seqlens the max_t rows from i * max_t.
 * Rows of no sequence are left alone. Outputs may not overlap inputs or each other.
 *
 * State pool: slot s of a pool begins at s * slot_stride elements; in it [HV, K, V] or [HV, V, K], packed. Sequence i starts
 * from slot slots_in[i] and leaves its last state in slots_out[i]; without slots_in from slot i, without slots_out where it
 * started. in < 0: it starts from zeros. out < 0: its state is not stored. Both < 0: a pad, whose rows of out are zero and of
 * which nothing is read and no snapshot written. Slot 0 is a slot like any other. T_i = 0: the state goes from in to out as it
 * is. A slot that is one sequence's out and also another's in or out is the caller's error: some sequence's value is there. */
typedef struct gdn_scan_params {
  uint32_t struct_size; /* sizeof(gdn_scan_params) */
  int32_t dtype;        /* gdn_dtype of q, k, v, out, and of raw a and b */
  int32_t state_dtype;  /* gdn_dtype of state, state_source, snapshots */
  int32_t layout;       /* gdn_layout */
  int32_t head_map;     /* gdn_head_map */
  int32_t decay_form;   /* gdn_decay_form */
  int32_t beta_form;    /* gdn_beta_form */
  int32_t norm;         /* gdn_norm */
  int32_t key_decay;    /* 0: one decay a head; 1: one for each key (KDA) */
  int32_t path;         /* gdn_path; 0 outside tests */
  int32_t has_scale;    /* 0: scale is 1.0f / sqrtf(K); 1: the field below */
  float scale;          /* finite */
  float norm_eps;       /* with a norm: finite, >= 0; 1e-6 is usual */
  int32_t reserved;     /* 0 */
  int64_t sequences;    /* B >= 0; zero queues nothing and succeeds */
  int64_t key_heads;    /* H >= 1 */
  int64_t value_heads;  /* HV, a multiple of H */
  int64_t key_dim;      /* K, 1..256 */
  int64_t value_dim;    /* V, 1..256 */
  int64_t total_t;      /* with cu_seqlens: rows of q, k, v, g, beta and out; else ignored */
  int64_t max_t;        /* gdn_scan: T, or with cu_seqlens an upper bound of every T_i; gdn_step: ignored */
  int64_t slots;        /* slots of the pool; without slots_in at least B */
  int64_t slot_stride;  /* 0 = HV * K * V */
  int64_t q_stride;     /* 0 = H * K */
  int64_t k_stride;     /* 0 = H * K */
  int64_t v_stride;     /* 0 = HV * V */
  int64_t out_stride;   /* 0 = HV * V */
  int64_t g_stride;     /* 0 = HV, or HV * K with key_decay */
  int64_t beta_stride;  /* 0 = HV */
  int64_t snapshot_count; /* 0: every token; n > 0: the last n of each sequence */
  int64_t snapshot_rows;  /* rows of snapshots: at least all token rows, or B * n */
  void* state;                /* [slots], see above */
  const void* state_source;   /* a second pool of the same shape: states are read there and `state` is only written */
  const int32_t* slots_in;    /* [B] */
  const int32_t* slots_out;   /* [B] */
  const int32_t* cu_seqlens;  /* [B + 1], ascending from >= 0 to total_t; gdn_step: null */
  const void* q;              /* [rows, H, K] */
  const void* k;              /* [rows, H, K] */
  const void* v;              /* [rows, HV, V] */
  const void* g;              /* [rows, HV] or, with key_decay, [rows, HV, K] */
  const void* beta;           /* [rows, HV] */
  const float* a_log;         /* GDN_DECAY_GATE: [HV] */
  const float* dt_bias;       /* GDN_DECAY_GATE: [HV] or, with key_decay, [HV, K] */
  void* out;                  /* [rows, HV, V] */
  void* snapshots; /* [snapshot_rows, HV, K, V] or [.., V, K]: the state after each token. A token's row is its own row, or with
                      snapshot_count n: i * n + j for the j-th of the last n tokens of sequence i; rows past T_i stay as they are */
  uint32_t* status; /* [1]: set where it is 0; see gdn_device_status */
} gdn_scan_params;

uint32_t gdn_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* gdn_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* gdn_error_string(int code);

/* A sentence for a value of the status word. Static storage, never null. */
const char* gdn_device_status_string(uint32_t status);

/* The gdn_path that gdn_scan (one_token 0) or gdn_step (one_token 1) takes on a device of this compute capability (90 for
 * 9.0): a function of the params alone, which reads no pointer's target and needs no device. Or the code of the refusal. */
int gdn_path_for(const gdn_scan_params* params, int one_token, int capability);

/* One token of each sequence: T = 1, row i for sequence i. cu_seqlens must be null, max_t is ignored. */
int gdn_step(const gdn_scan_params* params, void* stream);

/* The same within a tolerance: both sums are taken in one sweep, o = (S'q + (k.q) d) * scale, with fma and in a tree. Takes
 * what GDN_PATH_SEGMENTS of gdn_step takes, and is gdn_step for the rest and for batches that memory bounds. */
int gdn_step_fast(const gdn_scan_params* params, void* stream);

/* max_t tokens of each sequence, or those that cu_seqlens say. */
int gdn_scan(const gdn_scan_params* params, void* stream);

/* One token of one sequence, all f32: state [n_v, d, d] (row = key) updated in place, q and k [n_k, d] already normalised,
 * v [n_v, d], linear decay g and beta [n_v], out [n_v, d]. Tiled heads; scale 1.0f / sqrtf(d). n_v = 0 queues nothing. */
int gdn_scan_step_f32(float* state, const float* q, const float* k, const float* v, const float* g, const float* beta,
                      float* out, int n_v, int n_k, int d, void* stream);

/* BASELINES, for the bench alone: the designs that gdn_scan_step_f32 replaces, of the same arguments and bytes. A block a head,
 * a thread a column, the state in global memory. 1 node. */

/* Decay, retrieve, write and read as four passes, two barriers. */
int gdn_baseline_four_pass(float* state, const float* q, const float* k, const float* v, const float* g, const float* beta,
                           float* out, int n_v, int n_k, int d, void* stream);

/* Decay with retrieve, write with read: two passes, one barrier. */
int gdn_baseline_two_pass(float* state, const float* q, const float* k, const float* v, const float* g, const float* beta,
                          float* out, int n_v, int n_k, int d, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* GDN_SCAN_H_ */
