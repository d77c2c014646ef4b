// Each block of a cluster reads what every other one has put into its shared memory.
#include <ck/cluster.cuh>
#include <ck/host.cuh>

namespace sim_kernels {

CK_KERNEL(64) cluster_exchange(const float* x, float* out) {
  CK_SHARED(float, mine, 64);
  mine[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  if (CK_MUTANT(cluster_relaxed)) {
    ck::cluster_arrive_relaxed();
    ck::cluster_wait();
  } else if (CK_MUTANT(cluster_no_first_barrier)) {
    __syncthreads();
  } else {
    ck::cluster_sync();
  }
  if (CK_MUTANT(cluster_arrives_twice)) ck::cluster_arrive();
  float sum = 0.0f;
  for (unsigned rank = 0; rank < ck::cluster_size(); ++rank) {
    const unsigned from = CK_MUTANT(cluster_own_rank) ? ck::cluster_rank() : rank;
    sum = __fadd_rn(sum, ck::cluster_map(mine, from)[63 - threadIdx.x]);
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
  // Nobody leaves while another reads its memory.
  if (!CK_MUTANT(cluster_no_last_barrier)) {
    ck::cluster_arrive();
    if (!CK_MUTANT(cluster_no_last_wait)) ck::cluster_wait();
  }
}

}  // namespace sim_kernels

extern "C" int simk_cluster(const float* x, float* out, int blocks, int cluster, void* stream) {
  ck::LaunchConfig config;
  config.grid = static_cast<unsigned>(blocks);
  config.block = 64;
  config.cluster = static_cast<unsigned>(cluster);
  config.stream = stream;
  return ck::launch<sim_kernels::cluster_exchange>(config, x, out);
}
