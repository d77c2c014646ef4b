/* What every simulator library exports beside its backend's own C ABI. Plain C.
 *
 * A library simulates one device and runs one launch at a time, on the caller's thread and to its
 * end: nothing is left to wait for. Settings, buffers and findings belong to the library.
 */
#ifndef CK_SIM_SIM_H_
#define CK_SIM_SIM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of threads in later launches: 0 forward, 1 reverse, 2 random with this seed,
 * 3 interleaved by warps. The same order and seed give the same run. */
void sim_set_order(int order, uint64_t seed);

/* Switches a deliberate fault of the sources on, or all off (null). Not 0: no source has it. */
int sim_set_mutant(const char* name_or_null);
/* The name of each mutant in turn, null behind the last. */
const char* sim_mutant_name(size_t index);

/* Makes a buffer known to the checked build, which ends a launch that touches any other memory.
 * flags: 1 = its contents are there, 2 = kernels may write it. Registering an address again, or
 * memory that overlaps an older buffer, replaces what was known. Null unregisters every buffer. */
void sim_register(void* p, size_t bytes, int flags);
void sim_unregister(void* p);
/* What reports call a registered buffer. */
void sim_name(void* p, const char* name);

/* The device that launches are checked against; 9.0 with 132 multiprocessors at first. */
void sim_set_device(int major, int minor, int sm_count);

/* 1 where the library is of the checked flavor. */
int sim_checked(void);

/* Everything found since the last reset, or null. Each finding is a line `code: kernel name: what`,
 * followed by an indented line for each thread involved, with its source line. The text lives until
 * the next call of either function. */
const char* sim_report(void);
void sim_reset(void);

/* Streams and graphs. A launch copies its arguments by value; a capture records it without running
 * it. sim_capture_end answers null where nothing was captured, or a launch on the default stream
 * spoilt it. Codes are cudaError_t. */
void* sim_stream_create(void);
void sim_stream_destroy(void* stream);
int sim_capture_begin(void* stream);
void* sim_capture_end(void* stream);
size_t sim_graph_nodes(void* graph);
int sim_graph_launch(void* graph, void* stream);
void sim_graph_destroy(void* graph);

#ifdef __cplusplus
}
#endif

#endif /* CK_SIM_SIM_H_ */
