// From a plan to the instance of a kernel: shared by the translation units of the element types.
#pragma once

#include "plan.cuh"
#include "score_question.cuh"
#include "score_spread.cuh"
#include "score_sweep.cuh"
#include "score_tiles.cuh"

namespace scoring {

template <typename T, bool kCosine, int kAccess, bool kStreamed>
static int launch_instance(const Problem& problem, const Plan& plan, void* stream) {
  ck::LaunchConfig config;
  config.block = plan.threads;
  config.cluster = plan.cluster;
  config.pdl = plan.pdl;
  config.stream = stream;
  const unsigned questions = problem.questions;
  const unsigned slots = kStreamed ? stream_bytes<T>(problem.dim, kStreamSlots) : 0;
  const unsigned finish = finish_bytes(problem.max_k, ranks_kept(problem));
  if (plan.path == CS_PATH_TWO_NODES) {
    config.grid = questions * plan.store.tiles * plan.cluster;
    config.shared_bytes = slots;
    return ck::launch<score_tiles<T, kCosine, kAccess, kStreamed>>(config, problem, plan.store,
                                                                   log2_of(plan.cluster));
  }
  config.grid = questions * plan.cluster;
  config.shared_bytes = stream_offset(finish) + slots;
  if (kStreamed) ck::one_block_each(plan.device, &config);
  return ck::launch<score_question<T, kCosine, kAccess, kStreamed>>(config, problem,
                                                                    log2_of(plan.cluster));
}

template <typename T, bool kCosine, int kAccess, bool kStreamed>
static int launch_spread(const Problem& problem, const Plan& plan, void* stream) {
  const unsigned finish = finish_bytes(problem.max_k, ranks_kept(problem));
  const unsigned scoring = kStreamed ? stream_bytes<T>(problem.dim, plan.slots)
                                     : static_cast<unsigned>(sizeof(SplitScratch));
  ck::LaunchConfig config;
  config.grid = problem.questions * (plan.writers + 1);
  config.block = plan.threads;
  config.shared_bytes = finish > scoring ? finish : scoring;
  if (kStreamed) ck::one_block_each(plan.device, &config);
  config.pdl = plan.pdl;
  config.stream = stream;
  return ck::launch<score_spread<T, kCosine, kAccess, kStreamed>>(config, problem, plan.writers,
                                                                  plan.slots);
}

// As many blocks as are resident at once, and no more than have a candidate for every warp.
template <typename T, bool kCosine, int kAccess, bool kStreamed>
static int launch_sweep(const Problem& problem, const Plan& plan, void* stream) {
  constexpr auto kKernel = score_sweep<T, kCosine, kAccess, kStreamed>;
  ck::LaunchConfig config;
  config.block = kSweepThreads;
  config.pdl = plan.pdl;
  config.cooperative = true;
  config.stream = stream;
  constexpr int kStep = sweep_step<kStreamed>();
  const int by_work = (problem.max_k + kStep - 1) / kStep;
  for (int resident = kSweepResident; resident > 0; --resident) {
    const int by_machine = resident * plan.device.sm_count;
    config.grid = by_work < by_machine ? by_work : by_machine;
    const int rows = sweep_rows<kStreamed>(problem.max_k, static_cast<int>(config.grid));
    config.shared_bytes =
        sweep_offset<T, kStreamed>(problem.dim) + rows * static_cast<int>(sizeof(float));
    int possible = 0;
    const int error = ck::resident_blocks<kKernel>(config, &possible);
    if (error != 0) return error;
    if (possible >= resident) break;
  }
  return ck::launch<kKernel>(config, problem, plan.sweep);
}

// Streamed or not makes the same bytes; instances exist where each can pay.
template <typename T, bool kCosine>
static int launch_similarity(const Problem& problem, const Plan& plan, void* stream) {
  if (plan.path == CS_PATH_SPREAD) {
    if (plan.streamed) {
      return plan.access == kPlain
                 ? launch_spread<T, kCosine, kPlain, true>(problem, plan, stream)
                 : launch_spread<T, kCosine, kVector, true>(problem, plan, stream);
    }
    return plan.access == kPlain ? launch_spread<T, kCosine, kPlain, false>(problem, plan, stream)
                                 : launch_spread<T, kCosine, kScalar, false>(problem, plan, stream);
  }
  if (plan.path == CS_PATH_SWEEP) {
    if (plan.streamed) {
      return plan.access == kPlain ? launch_sweep<T, kCosine, kPlain, true>(problem, plan, stream)
                                   : launch_sweep<T, kCosine, kVector, true>(problem, plan, stream);
    }
    return plan.access == kPlain ? launch_sweep<T, kCosine, kPlain, false>(problem, plan, stream)
           : plan.access == kVector
               ? launch_sweep<T, kCosine, kVector, false>(problem, plan, stream)
               : launch_sweep<T, kCosine, kScalar, false>(problem, plan, stream);
  }
  if (plan.streamed) {
    return plan.access == kPlain
               ? launch_instance<T, kCosine, kPlain, true>(problem, plan, stream)
               : launch_instance<T, kCosine, kVector, true>(problem, plan, stream);
  }
  return plan.access == kPlain ? launch_instance<T, kCosine, kPlain, false>(problem, plan, stream)
                               : launch_instance<T, kCosine, kScalar, false>(problem, plan, stream);
}

template <typename T>
static int launch_type(const Problem& problem, const Plan& plan, void* stream) {
  return plan.cosine ? launch_similarity<T, true>(problem, plan, stream)
                     : launch_similarity<T, false>(problem, plan, stream);
}

}  // namespace scoring
