/* clang-format off */
/* mlp: small two-layer networks, forward and backward, one launch each.
 *
 * A NETWORK. I inputs, H hidden, O outputs, each 1 to 512; B rows; f32; weights [in, out] row-major, packed:
 *
 *   z1 = x w1 + b1;  u = act1(z1);  z2 = u w2 + b2;  y = act2(z2) [+ x, residual, where O == I]
 *
 * and its gradients, with the hidden layer computed again:
 *
 *   dz2 = dy * act2'(z2);  du = dz2 w2^T;  dz1 = du * act1'(z1)
 *   d_w2 = u^T dz2;  d_b2 = sum dz2;  d_w1 = x^T dz1;  d_b1 = sum dz1;  dx = dz1 w1^T [+ dy]
 *
 * CURIOSITY, mlp_curiosity_step_f32. The network predicts the next state from [state; action], the action dense or
 * an index a that stands for row a of w1's action part:
 *
 *   d = act2(z2) - next_state;  reward[b] = 0.5 * sum_o d^2;  loss = mean_b reward[b];  dy = d * (1 / B)
 *
 * RISK, mlp_risk_forward_f32. y = sigmoid(relu([h; isv; error] w1 + b1) w2 + b2), its three sources read in place.
 *
 * ACTIVATIONS are the exact prelude's. relu'(z) = 0 for z <= 0; leaky_relu: slope * z and slope for z <= 0. A NaN
 * passes all of them. A gradient that meets a derivative of 0 is +0, whatever it was, infinite and NaN too.
 *
 * CLASS. Exact: the bytes of mlp::oracle (Rust), on every GPU, at every batch size, alignment, stride, path and launch
 * geometry.
 *
 * ORDER (numerics version 1; a change of it is a new major version).
 *   A dot product over K terms for N outputs (z1: K = I, N = H; z2: H, O; du: O, H; dx: H, I): K padded with zeros to a
 *   multiple of 4; C = 4 chains for N <= 64, 2 for N <= 128, else 1. Chain j is one fma chain over
 *   k = j * S .. min((j + 1) * S, K) - 1 ascending, S = 4 * ceil(K / (4 * C)); chain 0 starts from the bias, or +0;
 *   the others from +0, a chain without terms is +0. They are added (c0 + c1) + (c2 + c3), or c0 + c1.
 *   An indexed action's row of w1 is added to z1 last; K is then the state's extent alone.
 *   dy of the residual is added to dx, and x to y, last.
 *   d_w, d_b: partial sums over MLP_PARTIAL_ROWS * n rows, n = ceil(ceil(B / 16) / 128), at most 128 of them; each one
 *   chain from +0 over ascending rows (fma; for biases and indexed actions, whose other rows are left out, additions).
 *   They are added by the tree of ck/column_sum.cuh in two f32 each, rounded once. The loss: rewards likewise, divided
 *   by B before the rounding.
 *   reward: fma chains from +0 over quads of outputs, added in ascending order from +0, times 0.5. 1 / B is rounded.
 *
 * NON-FINITE VALUES travel as IEEE arithmetic has them, but for derivatives of 0.
 *
 * NODES under graph capture. Forward, risk and their group: 1. Backward, curiosity: 1, and 1 more where gradients of
 * weights or biases or the loss are asked for, where H and O are at most 128 (I too where dx is asked for) and the
 * block's shared memory holds the network (221 KiB for 128-128-64); else 1, and 2 more. mlp_*_nodes() says it for the
 * current device. B = 0 queues nothing but the sum of nothing. Nothing synchronises, allocates, or touches the default
 * stream. `stream` is a cudaStream_t.
 *
 * Source: the formulas are those of any textbook; the curiosity step is Pathak et al. 2017, arXiv:1705.05363, eq. 5.
 */
#ifndef MLP_H_
#define MLP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLP_ABI_VERSION 1u

enum mlp_activation {
  MLP_NONE = 0,
  MLP_RELU = 1,
  MLP_LEAKY_RELU = 2, /* slope1, slope2: any number */
  MLP_SILU = 3,
  MLP_GELU_ERF = 4,
  MLP_GELU_TANH = 5,
  MLP_TANH = 6,
  MLP_SIGMOID = 7
};

/* Code paths, for tests: each returns the same bytes. */
enum mlp_path {
  MLP_PATH_AUTO = 0,
  MLP_PATH_STAGED = 1, /* any size */
  MLP_PATH_FUSED = 2   /* a network in shared memory; CK_UNSUPPORTED where it does not fit */
};

/* What the status word may say of the first bad device value: cause << 24 | min(row, 2^24-1). */
enum mlp_device_status {
  MLP_DEVICE_OK = 0,
  MLP_DEVICE_BAD_ACTION = 1 /* an index that is no action: the row had no action, and gave none a gradient */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define MLP_ARGUMENTS(X)                                                                         \
  X(1, params) X(2, struct_size) X(3, activation1) X(4, activation2) X(5, path) X(6, slope1)    \
  X(7, slope2) X(8, batch) X(9, inputs) X(10, hidden) X(11, outputs) X(12, residual)            \
  X(13, x_stride) X(14, y_stride) X(15, dy_stride) X(16, dx_stride) X(17, x) X(18, w1)          \
  X(19, b1) X(20, w2) X(21, b2) X(22, y) X(23, dy) X(24, d_w1) X(25, d_b1) X(26, d_w2)          \
  X(27, d_b2) X(28, dx) X(29, beta) X(30, workspace) X(31, workspace_bytes) X(32, count)        \
  X(33, state_dim) X(34, action_dim) X(35, state_stride) X(36, action_stride)                   \
  X(37, next_stride) X(38, state) X(39, action) X(40, action_index) X(41, next_state)           \
  X(42, reward) X(43, loss) X(44, status) X(45, h_dim) X(46, isv_dim) X(47, h_stride)           \
  X(48, isv_stride) X(49, error_stride) X(50, h) X(51, isv) X(52, error)

enum mlp_argument {
#define MLP_ARGUMENT_ENUMERATOR(number, name) MLP_ARG_##name = number,
  MLP_ARGUMENTS(MLP_ARGUMENT_ENUMERATOR)
#undef MLP_ARGUMENT_ENUMERATOR
};

#define MLP_MAX_DIM 512      /* of inputs (all sources together), hidden, outputs; beyond: CK_UNSUPPORTED */
#define MLP_PARTIAL_ROWS 16
#define MLP_MAX_PARTIALS 128
#define MLP_MAX_GROUP 8      /* networks of a group */

/* All pointers but `params` itself are device pointers to f32, aligned to it; those marked so may be null. Strides are
 * in elements, between rows; 0 means packed. Outputs overlap neither inputs nor each other. batch: 0 to 2^31 - 1. */
typedef struct mlp_forward_params {
  uint32_t struct_size; /* sizeof(mlp_forward_params) */
  int32_t activation1;  /* mlp_activation */
  int32_t activation2;
  int32_t residual;     /* nonzero: x is added to y; outputs == inputs */
  int32_t path;         /* mlp_path; 0 outside tests */
  float slope1;         /* finite; of a leaky relu */
  float slope2;
  int64_t batch;
  int64_t inputs;
  int64_t hidden;
  int64_t outputs;
  int64_t x_stride;     /* 0 = inputs */
  int64_t y_stride;     /* 0 = outputs */
  const float* x;       /* [B, I] */
  const float* w1;      /* [I, H] */
  const float* b1;      /* [H], or null */
  const float* w2;      /* [H, O] */
  const float* b2;      /* [O], or null */
  float* y;             /* [B, O] */
} mlp_forward_params;

/* Gradients that are null are not computed; at least one is asked for. Those of weights and biases become
 * beta * what was there + the sum, one fma; with beta 0 what was there is not read. dx is overwritten. */
typedef struct mlp_backward_params {
  uint32_t struct_size; /* sizeof(mlp_backward_params) */
  int32_t activation1;
  int32_t activation2;
  int32_t residual;
  int32_t path;
  float slope1;
  float slope2;
  float beta;           /* finite */
  int64_t batch;
  int64_t inputs;
  int64_t hidden;
  int64_t outputs;
  int64_t x_stride;
  int64_t dy_stride;    /* 0 = outputs */
  int64_t dx_stride;    /* 0 = inputs */
  const float* x;
  const float* w1;
  const float* b1;      /* or null */
  const float* w2;
  const float* b2;      /* or null */
  const float* dy;      /* [B, O] */
  float* d_w1;          /* [I, H], or null; so all below */
  float* d_b1;          /* [H] */
  float* d_w2;          /* [H, O] */
  float* d_b2;          /* [O] */
  float* dx;            /* [B, I] */
  void* workspace;      /* aligned to 16 bytes; needs no zeroing; one for each call under way */
  size_t workspace_bytes; /* at least mlp_backward_workspace_bytes() */
} mlp_backward_params;

/* w1 has state_dim + action_dim rows. Exactly one of action and action_index is given. */
typedef struct mlp_curiosity_params {
  uint32_t struct_size; /* sizeof(mlp_curiosity_params) */
  int32_t activation1;
  int32_t activation2;
  int32_t path;
  float slope1;
  float slope2;
  float beta;           /* finite; of d_w1 .. d_b2 */
  int64_t batch;
  int64_t state_dim;    /* >= 1 */
  int64_t action_dim;   /* >= 1 */
  int64_t hidden;
  int64_t outputs;
  int64_t state_stride;  /* 0 = state_dim */
  int64_t action_stride; /* 0 = action_dim; of the dense action */
  int64_t next_stride;   /* 0 = outputs */
  const float* state;    /* [B, state_dim] */
  const float* action;   /* [B, action_dim], or null */
  const int32_t* action_index; /* [B], or null; outside 0 .. action_dim - 1: see mlp_device_status */
  const float* next_state;     /* [B, outputs] */
  const float* w1;       /* [state_dim + action_dim, H] */
  const float* b1;       /* or null */
  const float* w2;       /* [H, outputs] */
  const float* b2;       /* or null */
  float* reward;         /* [B], or null; so all below; at least one but the status is asked for */
  float* loss;           /* [1]; 0 for B = 0; never accumulated */
  float* d_w1;
  float* d_b1;
  float* d_w2;
  float* d_b2;
  uint32_t* status;      /* [1]: set where it is 0; see mlp_device_status */
  void* workspace;       /* as mlp_backward_params has it */
  size_t workspace_bytes; /* at least mlp_curiosity_workspace_bytes() */
} mlp_curiosity_params;

/* w1 has h_dim + isv_dim + 1 rows, in this order. */
typedef struct mlp_risk_params {
  uint32_t struct_size; /* sizeof(mlp_risk_params) */
  int32_t path;
  int64_t batch;
  int64_t h_dim;        /* >= 1 */
  int64_t isv_dim;      /* >= 0 */
  int64_t hidden;
  int64_t outputs;
  int64_t h_stride;     /* 0 = h_dim */
  int64_t isv_stride;   /* 0 = isv_dim */
  int64_t error_stride; /* 0 = 1 */
  int64_t y_stride;     /* 0 = outputs */
  const float* h;       /* [B, h_dim] */
  const float* isv;     /* [B, isv_dim]; may be null where that is 0 */
  const float* error;   /* [B] */
  const float* w1;
  const float* b1;      /* or null */
  const float* w2;
  const float* b2;      /* or null */
  float* y;             /* [B, outputs] */
} mlp_risk_params;

uint32_t mlp_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* mlp_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* mlp_error_string(int code);

/* A sentence for a value of the status word. Static storage, never null. */
const char* mlp_device_status_string(uint32_t status);

int mlp_forward_f32(const mlp_forward_params* params, void* stream);

/* From sizes, path, what is asked for and the current device; 0 for params that the entry refuses for these. */
size_t mlp_backward_workspace_bytes(const mlp_backward_params* params);
int mlp_backward_nodes(const mlp_backward_params* params);

int mlp_backward_f32(const mlp_backward_params* params, void* stream);

size_t mlp_curiosity_workspace_bytes(const mlp_curiosity_params* params);
int mlp_curiosity_nodes(const mlp_curiosity_params* params);

int mlp_curiosity_step_f32(const mlp_curiosity_params* params, void* stream);

int mlp_risk_forward_f32(const mlp_risk_params* params, void* stream);

/* Groups: 1 to MLP_MAX_GROUP networks of any sizes in the nodes of one call, each with the bytes of its own call.
 * Each must fit shared memory (CK_UNSUPPORTED, count, where one does not); a refusal is that of the first network that
 * has one. No buffer that one network writes overlaps any of another: not checked. Backward: a workspace each. */
int mlp_forward_group_f32(const mlp_forward_params* params, int32_t count, void* stream);
int mlp_backward_group_f32(const mlp_backward_params* params, int32_t count, void* stream);

/* BASELINES, for the bench alone: the designs that these replace; within a tolerance, not exact. */

/* One thread an output, which computes all hidden units for it. 1 node. */
int mlp_baseline_risk_forward(const mlp_risk_params* params, void* stream);

/* The rows' gradients by the staged path, then one thread a weight, which walks the batch. All four gradients, beta 0,
 * B >= 1; the workspace of MLP_PATH_STAGED. 2 nodes. */
int mlp_baseline_backward(const mlp_backward_params* params, void* stream);
int mlp_baseline_curiosity_step(const mlp_curiosity_params* params, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* MLP_H_ */
