/* clang-format off */
/* mamba2-scan: the decode step of a selective state-space model, in one launch.
 *
 * m2_state_update. Per sequence b, head h with group g = h / (H / G), row p of P, element n of N:
 *
 *   d      = dt[b, h] + dt_bias[h];  softplus(d);  clamp(d, dt_min, dt_max)    each optional, so ordered
 *   e      = exp(A[h] * d)                                     A as given, or -exp(a[h])
 *   S[p,n] = S[p,n] * e + (d * x[p]) * B[g,n]                  each operation rounded once, no fma
 *   y[p]   = sum_n S[p,n] * C[g,n]   [+ D * x[p]]              S here before it is rounded to the state's type
 *   y[p]   = y[p] * silu(z[p])                                 where z is given
 *
 * State f32, bf16 or f16; x, B, C, z, y all f32 or all bf16; dt f32 or bf16; A, dt_bias, D f32.
 *
 * CLASS. Exact: the bytes of mamba2_scan::oracle (Rust), on every GPU, at every batch size,
 * alignment, stride, slot and launch geometry.
 *
 * ORDER (numerics version 1; a change of it is a new major version).
 *   The sum over N: L = the least power of two with 4 L >= N, at most 32. Element n belongs to lane
 *   (n / 4) % L and to accumulator n % 4 of that lane; an accumulator is one fma chain from +0 in
 *   ascending n; a lane's value is (a0 + a1) + (a2 + a3); lanes are added by an xor butterfly L/2, .. 1.
 *   D * x is rounded, then added. exp, softplus and silu are those of the shared prelude: silu(z) is
 *   z * sigmoid(z) rounded into the subnormals once, and -0 for -inf.
 *
 * NON-FINITE VALUES travel as IEEE arithmetic has them. A zero start is S = +0 in the formula above, so
 * that an infinite e gives NaN there too. A NaN passes the clamp.
 *
 * One node under graph capture. Nothing synchronises, allocates, or touches the default stream.
 * `stream` is a cudaStream_t. The step: Dao and Gu 2024, arXiv:2405.21060; its public reference:
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
  M2_UPDATE_SINGLE = 1, /* element by element */
  M2_UPDATE_SMALL = 2,  /* small blocks: few sequences */
  M2_UPDATE_LARGE = 3,  /* large blocks: many */
  M2_UPDATE_STREAM = 4  /* through shared memory: many, from compute capability 9.0; else large */
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
  X(31, c) X(32, d) X(33, z) X(34, y) X(35, status)

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

#ifdef __cplusplus
}
#endif

#endif /* MAMBA2_SCAN_H_ */
