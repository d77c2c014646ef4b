// Launches as loops, streams that only know whether they capture, graphs that are lists of calls.
#pragma once

#include <ck/platform.cuh>
#include <functional>
#include <vector>

#define HOST_EXPORT extern "C" __attribute__((visibility("default")))

namespace host {

using Graph = std::vector<std::function<void()>>;

struct Stream {
  Graph* capturing = nullptr;
};

}  // namespace host

namespace ck {

struct LaunchConfig {
  unsigned grid = 0;
  unsigned block = 0;
  void* stream = nullptr;
};

// Arguments are copied when the call is made, as a CUDA launch copies them.
template <auto kKernel, typename... Arguments>
int launch(const LaunchConfig& config, Arguments... arguments) {
  auto run = [=] {
    for (unsigned b = 0; b < config.grid; ++b) {
      for (unsigned t = 0; t < config.block; ++t) {
        blockIdx.x = b;
        threadIdx.x = t;
        kKernel(arguments...);
      }
    }
  };
  auto* stream = static_cast<host::Stream*>(config.stream);
  if (stream != nullptr && stream->capturing != nullptr) {
    stream->capturing->push_back(run);
  } else {
    run();
  }
  return 0;
}

}  // namespace ck

HOST_EXPORT void sim_set_order(int, uint64_t) {}
HOST_EXPORT int sim_set_mutant(const char* name) { return name == nullptr ? 0 : 1; }
HOST_EXPORT void sim_register(void*, size_t, int) {}
HOST_EXPORT void sim_unregister(void*) {}
HOST_EXPORT void sim_set_device(int, int, int) {}
HOST_EXPORT const char* sim_report(void) { return nullptr; }
HOST_EXPORT void sim_reset(void) {}
HOST_EXPORT void* sim_stream_create(void) { return new host::Stream; }
HOST_EXPORT void sim_stream_destroy(void* stream) { delete static_cast<host::Stream*>(stream); }

HOST_EXPORT int sim_capture_begin(void* stream) {
  auto* s = static_cast<host::Stream*>(stream);
  if (s->capturing != nullptr) return 1;
  s->capturing = new host::Graph;
  return 0;
}

HOST_EXPORT void* sim_capture_end(void* stream) {
  auto* s = static_cast<host::Stream*>(stream);
  host::Graph* graph = s->capturing;
  s->capturing = nullptr;
  return graph;
}

HOST_EXPORT size_t sim_graph_nodes(void* graph) { return static_cast<host::Graph*>(graph)->size(); }

HOST_EXPORT int sim_graph_launch(void* graph, void*) {
  for (const auto& call : *static_cast<host::Graph*>(graph)) call();
  return 0;
}

HOST_EXPORT void sim_graph_destroy(void* graph) { delete static_cast<host::Graph*>(graph); }
