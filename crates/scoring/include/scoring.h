/* clang-format off */
/* scoring: a query and its candidates to a probability distribution, in one launch.
 *
 * For question i with query q (D elements) and candidates c_k (K_i rows of D elements):
 *
 *   value_k = q.c_k                                             CS_DOT
 *           = (q.c_k / max(|q|, eps)) / max(|c_k|, eps)         CS_COSINE; a zero vector has value 0
 *   logit_k = (value_k * scale) / temperature [+ bias_k]        each operation rounded once
 *   p       = softmax of the logits of the unmasked candidates
 *
 * Inputs f32, bf16 or f16 (queries and candidates alike); accumulation and all results f32.
 *
 * CLASS. Every operation here is exact: it returns the bytes of scoring::oracle (Rust), on every
 * GPU, at every batch size, alignment, stride and launch geometry.
 *
 * ORDER (numerics version 1; a change of it is a new major version).
 *   Sums over D: in segments of 512 elements. Element e belongs to lane (e / 4) % 32 and to
 *   accumulator e % 4 of that lane; in a segment each accumulator is one fma chain from +0 in
 *   ascending e, and a lane's value is (a0 + a1) + (a2 + a3). A lane adds its segments in ascending
 *   order, from +0; lanes are added by an xor butterfly 16, 8, 4, 2, 1.
 *   Sums of squares outside [2^-100, inf) are redone on x * 2^-e, e the exponent of max |x|, and so
 *   is the dot product of such a row; eps floors the true norm.
 *   Softmax: candidates in tiles of 256. In a tile, lane l takes candidates l, l+32, .. l+224; m =
 *   the maximum; s = the sum of exp(logit - m), a chain in each lane, then the butterfly. Over the
 *   tiles, M = the largest m, S = the sum of s * exp(m - M): lane l takes tiles l, l+32, .. in an
 *   fma chain from +0, then the butterfly. p = exp(logit - M) / S; log p = (logit - M) - log(S);
 *   lse = M + log(S). Expected index: tile sums of k * exp(logit - m) (fma chains, butterfly),
 *   merged like S, divided by S. exp and log are those of the shared prelude.
 *
 * NON-FINITE VALUES. A masked candidate counts as logit -inf, whatever its elements hold: NaN in it
 * leaks nowhere. A NaN logit or a logit of +inf among the unmasked makes every result of its
 * question NaN (argmax and top indices -1); the logits output keeps the logits as computed. No
 * unmasked candidate, K_i = 0, or only logits of -inf: p 0, log p and lse -inf, argmax -1,
 * expected index 0.
 *
 * NODES under graph capture, and workspace:
 *   K <= 4096                1 node; workspace optional (it lets few questions use the whole GPU)
 *   K <= 65536 and Q = 1     1 node; workspace required. The launch is cooperative.
 *   more                     2 nodes; workspace required
 * cs_score_workspace_bytes() says how much. Zero it once, when it is allocated; every call leaves
 * it as it needs it. Calls that may run at the same time need workspaces of their own.
 *
 * Nothing synchronises, allocates, or touches the default stream. `stream` is a cudaStream_t.
 * The reference for the readouts: the candidate scorers of the public repository
 * ThinkFlowLab/system1-omni; the softmax merge: Milakov and Gimelshein 2018, arXiv:1805.02867.
 */
#ifndef SCORING_H_
#define SCORING_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CS_ABI_VERSION 1u

/* Element type of queries and candidates. */
enum cs_dtype { CS_F32 = 0, CS_BF16 = 1, CS_F16 = 2 };

enum cs_similarity { CS_DOT = 0, CS_COSINE = 1 };

/* Where question i finds candidate k.
 * CS_DENSE    row k of block i of candidates [Q, K, D]; K = max_k for every question
 * CS_RAGGED   row offsets[i] + k of candidates [sum_k, D]; K_i = offsets[i+1] - offsets[i]
 * CS_SHARED   row k of candidates [K, D], the same for every question
 * CS_INDEXED  row indices[position] of candidates [table_rows, D]; positions dense [Q, K], or
 *             offsets[i] + k where offsets are given */
enum cs_layout { CS_DENSE = 0, CS_RAGGED = 1, CS_SHARED = 2, CS_INDEXED = 3 };

/* Code paths, for tests: every path returns the same bytes. A path that cannot run the problem
 * (cluster below compute capability 9.0, no workspace, K too large) is CK_UNSUPPORTED. */
enum cs_path {
  CS_PATH_AUTO = 0,
  CS_PATH_BLOCK = 1,      /* one block a question */
  CS_PATH_CLUSTER_2 = 2,  /* a cluster of blocks a question */
  CS_PATH_CLUSTER_4 = 4,
  CS_PATH_CLUSTER_8 = 8,
  CS_PATH_CLUSTER_16 = 16,
  CS_PATH_SPREAD = 32,    /* independent blocks that hand their logits over through workspace */
  CS_PATH_TWO_NODES = 33, /* tiles, then a merging node */
  CS_PATH_SWEEP = 34      /* one question by blocks that wait for each other (workspace) */
};

/* What the status word may say of the first bad device value: cause << 24 | min(question, 2^24-1). */
enum cs_device_status {
  CS_DEVICE_OK = 0,
  CS_DEVICE_BAD_OFFSETS = 1,     /* decreases, is negative, or passes sum_k or max_k: K_i = 0 */
  CS_DEVICE_BAD_INDEX = 2,       /* outside the table: that candidate counts as masked */
  CS_DEVICE_BAD_TEMPERATURE = 3, /* temperature or scale of a question not finite or <= 0: NaN row */
};

/* Arguments, by the numbers that status codes carry (see ck/status.h). */
#define CS_ARGUMENTS(X)                                                                      \
  X(1, params) X(2, struct_size) X(3, dtype) X(4, similarity) X(5, layout) X(6, path)       \
  X(7, top_k) X(8, questions) X(9, max_k) X(10, sum_k) X(11, table_rows) X(12, dim)         \
  X(13, query_stride) X(14, candidate_stride) X(15, question_stride) X(16, scale)           \
  X(17, temperature) X(18, eps) X(19, queries) X(20, candidates) X(21, offsets)             \
  X(22, indices) X(23, mask) X(24, bias) X(25, scales) X(26, temperatures)                  \
  X(27, query_inverse_norms) X(28, candidate_inverse_norms) X(29, probabilities)            \
  X(30, logits) X(31, log_probabilities) X(32, log_sum_exp) X(33, argmax) X(34, top_values) \
  X(35, top_indices) X(36, expected_index) X(37, status) X(38, workspace)                   \
  X(39, workspace_bytes) X(40, threads) X(41, normalize)

enum cs_argument {
#define CS_ARGUMENT_ENUMERATOR(number, name) CS_ARG_##name = number,
  CS_ARGUMENTS(CS_ARGUMENT_ENUMERATOR)
#undef CS_ARGUMENT_ENUMERATOR
};

#define CS_MAX_TOP_K 32
#define CS_MAX_ONE_NODE_K 4096
#define CS_MAX_SPREAD_CANDIDATES 8192 /* questions * max_k of CS_PATH_SPREAD */
#define CS_MAX_SWEEP_K 65536          /* max_k of CS_PATH_SWEEP, which takes one question */
/* Largest extents: questions, max_k, sum_k, table_rows, dim < 2^31; top_k <= 32. */

/* All pointers but `params` itself are device pointers, aligned to their element. Strides are in
 * elements; 0 means packed. Every output is optional, but at least one must be asked for; outputs
 * may not overlap inputs or each other. Per-candidate arrays (mask, bias, probabilities, logits,
 * log_probabilities) are [Q, K], or [sum_k] with offsets. */
typedef struct cs_score_params {
  uint32_t struct_size; /* sizeof(cs_score_params) */
  int32_t dtype;        /* cs_dtype */
  int32_t similarity;   /* cs_similarity */
  int32_t layout;       /* cs_layout */
  int32_t path;         /* cs_path; 0 outside tests */
  int32_t top_k;        /* 0..32; width of top_values and top_indices */
  int64_t questions;    /* Q >= 0; zero queues nothing and succeeds */
  int64_t max_k;        /* K; with offsets, an upper bound of every K_i */
  int64_t sum_k;        /* with offsets: rows (or indices) in all, offsets[Q]; else 0 or ignored */
  int64_t table_rows;   /* CS_INDEXED: rows of the table; else ignored */
  int64_t dim;          /* D >= 1 */
  int64_t query_stride;     /* between queries; 0 = D */
  int64_t candidate_stride; /* between candidate rows; 0 = D */
  int64_t question_stride;  /* CS_DENSE: between blocks of candidates; 0 = K * candidate stride */
  float scale;              /* finite, > 0, with a finite inverse */
  float temperature;        /* finite, > 0, with a finite inverse */
  float eps;                /* CS_COSINE: floor of each norm, >= 0, finite; 1e-12 is usual */
  float reserved;           /* 0 */
  const void* queries;      /* [Q, D] */
  const void* candidates;   /* see cs_layout */
  const int32_t* offsets;   /* [Q + 1], ascending from >= 0 to sum_k */
  const int32_t* indices;   /* CS_INDEXED: [Q, K] or [sum_k] */
  const uint8_t* mask;      /* nonzero keeps */
  const float* bias;        /* added to the logit */
  const float* scales;       /* [Q]: in place of scale */
  const float* temperatures; /* [Q]: in place of temperature */
  const float* query_inverse_norms;     /* [Q]: multiplied as they are, no eps */
  const float* candidate_inverse_norms; /* a factor for each stored candidate row */
  float* probabilities;
  float* logits;
  float* log_probabilities;
  float* log_sum_exp;    /* [Q] */
  int32_t* argmax;       /* [Q]: index in the question of the largest logit, lowest among equals */
  float* top_values;     /* [Q, top_k]: probabilities by falling logit, equals by rising index */
  int32_t* top_indices;  /* [Q, top_k]; unused places: value 0, index -1 */
  float* expected_index; /* [Q]: sum of k * p_k */
  uint32_t* status;      /* [1]: set where it is 0; see cs_device_status */
  void* workspace;       /* 16-byte aligned, or null */
  size_t workspace_bytes;
} cs_score_params;

uint32_t cs_abi_version(void);

/* JSON: architectures, compiler, flags and digests of the sources. Static storage. */
const char* cs_build_info(void);

/* A sentence for any code that an operation of this library returns. Static storage, never null. */
const char* cs_error_string(int code);

/* A sentence for a value of the status word. Static storage, never null. */
const char* cs_device_status_string(uint32_t status);

/* Bytes of workspace with which cs_score() is fastest for these sizes and on this path: 0 where
 * none helps. Reads questions, max_k, dim, layout and path; 0 for params that cs_score refuses. */
size_t cs_score_workspace_bytes(const cs_score_params* params);

/* The general entry. */
int cs_score(const cs_score_params* params, void* stream);

/* queries [Q, D], candidates [Q, K, D], probabilities [Q, K], logits [Q, K] or null; all f32,
 * packed. K 1..255, Q >= 1. normalize: 0 dot, else cosine with eps 1e-12. One node, no workspace;
 * the bytes of cs_score(). */
int cs_score_candidates_batch(const float* queries, const float* candidates, float* probabilities,
                              float* logits, int questions, int max_k, int dim, float scale,
                              float temperature, int normalize, void* stream);

/* The same for one question. */
int cs_score_candidates(const float* query, const float* candidates, float* probabilities,
                        float* logits, int max_k, int dim, float scale, float temperature,
                        int normalize, void* stream);

/* BASELINES, for the bench alone: the designs that cs_score replaces. f32, dense, K <= 1024. */

/* One block of `threads` (256 or 1024) a question, scalar loads, softmax by one thread. 1 node. */
int cs_baseline_one_block(const float* queries, const float* candidates, float* probabilities,
                          int questions, int max_k, int dim, float scale, float temperature,
                          int normalize, int threads, void* stream);

/* A pass for the inverse norms (if normalize), one for the logits, one for the softmax: 3 nodes or 2;
 * workspace of questions * (1 + 2 * max_k) floats, no zeroing. */
int cs_baseline_unfused(const float* queries, const float* candidates, float* probabilities,
                        int questions, int max_k, int dim, float scale, float temperature,
                        int normalize, void* workspace, size_t workspace_bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* SCORING_H_ */
