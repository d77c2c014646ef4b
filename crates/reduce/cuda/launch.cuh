// From a plan to the instance of a kernel: shared by the translation units of the element types.
#pragma once

#include <ck/host.cuh>

#include "moments.cuh"
#include "plan.cuh"
#include "sum_columns.cuh"
#include "sum_packed.cuh"

namespace reduce {

inline ck::LaunchConfig config_of(const Launch& launch) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(launch.blocks);
  config.block = launch.plan.threads;
  config.shared_bytes = launch.shared_bytes;
  config.pdl = launch.pdl;
  config.stream = launch.stream;
  if (launch.plan.tile == 0) ck::one_block_each(launch.device, &config);
  return config;
}

template <typename T>
inline int launch_packed(const Items& items, const Launch& launch) {
  const ck::LaunchConfig config = config_of(launch);
  switch (launch.accumulator) {
    case RED_SUM_F64:
      return ck::launch<sum_packed<T, double>>(config, items, launch.plan, launch.items);
    case RED_SUM_F32:
      return ck::launch<sum_packed<T, float>>(config, items, launch.plan, launch.items);
    default:
      return ck::launch<sum_packed<T, ck::F32x2>>(config, items, launch.plan, launch.items);
  }
}

template <typename T>
inline int launch_sums(const Items& items, const Launch& launch) {
  if (launch.form == kPacked) return launch_packed<T>(items, launch);
  const ck::LaunchConfig config = config_of(launch);
  switch (launch.accumulator) {
    case RED_SUM_F64:
      return ck::launch<sum_columns<T, double, kAny>>(config, items, launch.plan);
    case RED_SUM_F32:
      return ck::launch<sum_columns<T, float, kAny>>(config, items, launch.plan);
  }
  switch (launch.form) {
    case kPlainFlat:
      return ck::launch<sum_columns<T, ck::F32x2, kPlainFlat>>(config, items, launch.plan);
    case kPlainTile:
      return ck::launch<sum_columns<T, ck::F32x2, kPlainTile>>(config, items, launch.plan);
    case kPlainWide:
      return ck::launch<sum_columns<T, ck::F32x2, kPlainWide>>(config, items, launch.plan);
  }
  return ck::launch<sum_columns<T, ck::F32x2, kAny>>(config, items, launch.plan);
}

template <typename T>
inline int launch_moments(const Items& items, const MomentsOut& out, const Launch& launch) {
  const ck::LaunchConfig config = config_of(launch);
  return launch.accumulator == RED_SUM_F64
             ? ck::launch<sum_moments<T, double>>(config, items, launch.plan, out)
             : ck::launch<sum_moments<T, ck::F32x2>>(config, items, launch.plan, out);
}

}  // namespace reduce
