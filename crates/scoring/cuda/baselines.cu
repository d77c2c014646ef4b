// C ABI of the baselines.
#include <ck/host.cuh>

#include "baselines.cuh"
#include "scoring.h"

namespace scoring {

static int check_baseline(const void* queries, const void* candidates, const void* probabilities,
                          int questions, int max_k, int dim, float scale, float temperature) {
  if (queries == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_queries);
  if (candidates == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_candidates);
  if (probabilities == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_probabilities);
  if (questions < 1) return CK_STATUS(CK_BAD_SIZE, CS_ARG_questions);
  if (max_k < 1 || max_k > kBaselineMaxK) return CK_STATUS(CK_BAD_SIZE, CS_ARG_max_k);
  if (dim < 1) return CK_STATUS(CK_BAD_SIZE, CS_ARG_dim);
  if (!(scale > 0.0f)) return CK_STATUS(CK_BAD_VALUE, CS_ARG_scale);
  if (!(temperature > 0.0f)) return CK_STATUS(CK_BAD_VALUE, CS_ARG_temperature);
  return 0;
}

static unsigned blocks_of_rows(int64_t rows) {
  constexpr int kRowsOfBlock = 256 / ck::kWarp;
  return static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock);
}

}  // namespace scoring

extern "C" int cs_baseline_one_block(const float* queries, const float* candidates,
                                     float* probabilities, int questions, int max_k, int dim,
                                     float scale, float temperature, int normalize, int threads,
                                     void* stream) {
  const int error = scoring::check_baseline(queries, candidates, probabilities, questions, max_k,
                                            dim, scale, temperature);
  if (error != 0) return error;
  if (threads != 256 && threads != 1024) return CK_STATUS(CK_BAD_VALUE, CS_ARG_threads);
  ck::LaunchConfig config;
  config.grid = questions;
  config.block = threads;
  config.stream = stream;
  return ck::launch<scoring::baseline_one_block>(config, queries, candidates, probabilities, max_k,
                                                 dim, scale, temperature, normalize);
}

extern "C" int cs_baseline_unfused(const float* queries, const float* candidates,
                                   float* probabilities, int questions, int max_k, int dim,
                                   float scale, float temperature, int normalize, void* workspace,
                                   size_t workspace_bytes, void* stream) {
  int error = scoring::check_baseline(queries, candidates, probabilities, questions, max_k, dim,
                                      scale, temperature);
  if (error != 0) return error;
  if (workspace == nullptr) return CK_STATUS(CK_NULL_POINTER, CS_ARG_workspace);
  const int64_t rows = static_cast<int64_t>(questions) * max_k;
  if (workspace_bytes < sizeof(float) * (questions + 2 * rows)) {
    return CK_STATUS(CK_BAD_WORKSPACE, CS_ARG_workspace_bytes);
  }
  float* const norms = static_cast<float*>(workspace);
  float* const logits = norms + questions + rows;
  ck::LaunchConfig config;
  config.block = 256;
  config.stream = stream;
  if (normalize) {
    config.grid = scoring::blocks_of_rows(questions + rows);
    error = ck::launch<scoring::baseline_norms>(config, queries, candidates, norms, questions,
                                                max_k, dim);
    if (error != 0) return error;
  }
  config.grid = scoring::blocks_of_rows(rows);
  error =
      ck::launch<scoring::baseline_logits>(config, queries, candidates, normalize ? norms : nullptr,
                                           logits, questions, max_k, dim, scale, temperature);
  if (error != 0) return error;
  config.grid = questions;
  config.block = ck::kWarp;
  return ck::launch<scoring::baseline_softmax>(config, logits, probabilities, max_k);
}
