// The C interface that the parity kit drives: settings, buffers, streams, captures, launches.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "check.h"
#include "core.h"

// Made by the build from the kernel's sources: the names in CK_MUTANT(...), then a null.
extern "C" const char* const ck_sim_mutant_names[];

namespace ck_sim {

const char* report_text();
void report_clear();

namespace {

struct Node {
  Call call;
  LaunchShape shape;
  std::vector<uint8_t> arguments;
  // A memset where no kernel is named.
  void* set = nullptr;
  int value = 0;
  size_t bytes = 0;
};
struct Graph {
  std::vector<Node> nodes;
};
struct Stream {
  std::unique_ptr<Graph> capture;
  bool invalidated = false;
};

// One launch at a time, whichever thread it comes from.
std::recursive_mutex lock;
std::vector<Stream*> streams;
std::vector<Graph*> graphs;
std::string selected_mutant;

void read_environment() {
  static bool done = false;
  if (done) return;
  done = true;
  if (const char* text = getenv("CK_SIM_TRACE")) global.trace_block = atoll(text);
  global.trace_memory = getenv("CK_SIM_TRACE_MEMORY") != nullptr;
}

bool known(const Stream* stream) {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}
bool known(const Graph* graph) {
  return std::find(graphs.begin(), graphs.end(), graph) != graphs.end();
}

// What a GPU of the set description answers to a launch of this shape.
int check_shape(const LaunchShape& s) {
  if (s.grid == 0 || s.block == 0) return cudaErrorInvalidConfiguration;
  if (s.grid > 0x7fffffffu || s.block > 1024) return cudaErrorInvalidConfiguration;
  if (s.shared_bytes > static_cast<unsigned>(global.device.shared_bytes_optin)) {
    return cudaErrorInvalidValue;
  }
  if (s.cluster == 0) return cudaErrorInvalidValue;
  if (s.cluster > 1) {
    if (global.device.major < 9) return cudaErrorNotSupported;
    // Clusters of more than 8 need the non-portable attribute, which ck::launch sets, and 16 is the
    // largest there is.
    if (s.cluster > 16 || s.grid % s.cluster != 0) return cudaErrorInvalidConfiguration;
  }
  if (s.cooperative) {
    const unsigned resident =
        resident_blocks(s.block, s.shared_bytes) * static_cast<unsigned>(global.device.sm_count);
    if (s.grid > resident) return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

int execute(const Node& node) {
  if (node.call.kernel == nullptr) {
    memory_set(node.set, node.value, node.bytes);
    return cudaSuccess;
  }
  Launch launch;
  launch.call = node.call;
  launch.shape = node.shape;
  launch.arguments = node.arguments;
  return run_launch(launch);
}

// Runs a node on a stream, or records it.
int submit(Node node, void* stream_pointer, Pc pc) {
  Stream* stream = static_cast<Stream*>(stream_pointer);
  if (stream == nullptr) {
    finding("default_stream", false, {{"queued", pc}},
            "work on the default stream: the caller's stream is the last argument of every call");
    bool capturing = false;
    for (Stream* each : streams) {
      if (each->capture == nullptr) continue;
      each->invalidated = true;
      capturing = true;
    }
    if (capturing) return cudaErrorStreamCaptureImplicit;
    return execute(node);
  }
  if (!known(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) {
    stream->capture->nodes.push_back(std::move(node));
    return cudaSuccess;
  }
  return execute(node);
}

}  // namespace

DeviceInfo device_info() {
  std::lock_guard<std::recursive_mutex> held(lock);
  return global.device;
}

const char* error_string(int code) {
  switch (code) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorCooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    default:
      return "unrecognized error code";
  }
}

int launch_call(const Call& call, const LaunchShape& shape) {
  const Pc pc = CK_SIM_HERE;
  std::lock_guard<std::recursive_mutex> held(lock);
  read_environment();
  if (on_fiber()) return cudaErrorNotSupported;  // no launches from kernels
  if (const int error = check_shape(shape)) return error;
  if (call.bytes > kMaxArgumentBytes) return cudaErrorInvalidValue;
  Node node;
  node.call = call;
  node.shape = shape;
  const uint8_t* bytes = static_cast<const uint8_t*>(call.arguments);
  node.arguments.assign(bytes, bytes + call.bytes);
  node.call.arguments = nullptr;
  return submit(std::move(node), shape.stream, pc);
}

int memset_async(void* p, int value, size_t bytes, void* stream) {
  const Pc pc = CK_SIM_HERE;
  std::lock_guard<std::recursive_mutex> held(lock);
  Node node{};
  node.set = p;
  node.value = value;
  node.bytes = bytes;
  return submit(std::move(node), stream, pc);
}

}  // namespace ck_sim

using namespace ck_sim;

#define CK_SIM_EXPORT extern "C" __attribute__((visibility("default")))

CK_SIM_EXPORT void sim_set_order(int order, uint64_t seed) {
  std::lock_guard<std::recursive_mutex> held(lock);
  global.order = order >= kForward && order <= kInterleaved ? order : static_cast<int>(kForward);
  global.seed = seed;
}

CK_SIM_EXPORT int sim_set_mutant(const char* name) {
  std::lock_guard<std::recursive_mutex> held(lock);
  global.mutant = nullptr;
  if (name == nullptr) return cudaSuccess;
  for (const char* const* each = ck_sim_mutant_names; *each != nullptr; ++each) {
    if (std::strcmp(*each, name) != 0) continue;
    selected_mutant = name;
    global.mutant = selected_mutant.c_str();
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

CK_SIM_EXPORT const char* sim_mutant_name(size_t index) {
  for (const char* const* each = ck_sim_mutant_names; *each != nullptr; ++each) {
    if (index-- == 0) return *each;
  }
  return nullptr;
}

CK_SIM_EXPORT void sim_register(void* p, size_t bytes, int flags) {
  std::lock_guard<std::recursive_mutex> held(lock);
  memory_register(p, bytes, (flags & 1) != 0, (flags & 2) != 0);
}
CK_SIM_EXPORT void sim_unregister(void* p) {
  std::lock_guard<std::recursive_mutex> held(lock);
  memory_unregister(p);
}
CK_SIM_EXPORT void sim_name(void* p, const char* name) {
  std::lock_guard<std::recursive_mutex> held(lock);
  memory_name(p, name);
}

CK_SIM_EXPORT void sim_set_device(int major, int minor, int sm_count) {
  std::lock_guard<std::recursive_mutex> held(lock);
  int kilobytes = 227;
  if (major == 7) kilobytes = 64;
  if (major == 8) kilobytes = minor == 0 || minor == 7 ? 163 : 99;
  if (major == 12) kilobytes = 99;
  global.device = DeviceInfo{major, minor, std::max(1, sm_count), kilobytes * 1024};
}

CK_SIM_EXPORT int sim_checked(void) { return kChecked ? 1 : 0; }

CK_SIM_EXPORT const char* sim_report(void) {
  std::lock_guard<std::recursive_mutex> held(lock);
  return report_text();
}
CK_SIM_EXPORT void sim_reset(void) {
  std::lock_guard<std::recursive_mutex> held(lock);
  report_clear();
}

CK_SIM_EXPORT void* sim_stream_create(void) {
  std::lock_guard<std::recursive_mutex> held(lock);
  streams.push_back(new Stream());
  return streams.back();
}
CK_SIM_EXPORT void sim_stream_destroy(void* s) {
  std::lock_guard<std::recursive_mutex> held(lock);
  auto at = std::find(streams.begin(), streams.end(), static_cast<Stream*>(s));
  if (at == streams.end()) return;
  delete *at;
  streams.erase(at);
}

CK_SIM_EXPORT int sim_capture_begin(void* s) {
  std::lock_guard<std::recursive_mutex> held(lock);
  Stream* stream = static_cast<Stream*>(s);
  if (!known(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) return cudaErrorInvalidValue;
  stream->capture.reset(new Graph());
  stream->invalidated = false;
  return cudaSuccess;
}
CK_SIM_EXPORT void* sim_capture_end(void* s) {
  std::lock_guard<std::recursive_mutex> held(lock);
  Stream* stream = static_cast<Stream*>(s);
  if (!known(stream) || stream->capture == nullptr) return nullptr;
  std::unique_ptr<Graph> graph = std::move(stream->capture);
  if (stream->invalidated) return nullptr;
  graphs.push_back(graph.get());
  return graph.release();
}
CK_SIM_EXPORT size_t sim_graph_nodes(void* g) {
  std::lock_guard<std::recursive_mutex> held(lock);
  Graph* graph = static_cast<Graph*>(g);
  return known(graph) ? graph->nodes.size() : 0;
}
CK_SIM_EXPORT int sim_graph_launch(void* g, void* s) {
  std::lock_guard<std::recursive_mutex> held(lock);
  Graph* graph = static_cast<Graph*>(g);
  Stream* stream = static_cast<Stream*>(s);
  if (!known(graph) || !known(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) return cudaErrorNotSupported;
  for (const Node& node : graph->nodes) {
    if (const int error = execute(node)) return error;
  }
  return cudaSuccess;
}
CK_SIM_EXPORT void sim_graph_destroy(void* g) {
  std::lock_guard<std::recursive_mutex> held(lock);
  auto at = std::find(graphs.begin(), graphs.end(), static_cast<Graph*>(g));
  if (at == graphs.end()) return;
  delete *at;
  graphs.erase(at);
}
