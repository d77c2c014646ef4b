/* floors: what a GPU can do at best, for the bench alone. Every function queues one kernel on
 * `stream` (a cudaStream_t) and returns its launch's status. Regions are multiples of 16 bytes,
 * 16-byte aligned; sinks hold a word. `pdl` asks for programmatic dependent launch. */
#ifndef FLOORS_H_
#define FLOORS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOORS_ABI_VERSION 1u

uint32_t floors_abi_version(void);
const char* floors_build_info(void);

/* Reads, writes, or updates in place every byte of a region. */
int floors_read(void* region, uint64_t bytes, void* sink, int blocks, int threads, int pdl,
                void* stream);
int floors_write(void* region, uint64_t bytes, void* sink, int blocks, int threads, int pdl,
                 void* stream);
int floors_update(void* region, uint64_t bytes, void* sink, int blocks, int threads, int pdl,
                  void* stream);

/* Does nothing. */
int floors_empty(int blocks, int threads, int pdl, void* stream);

/* One thread copies one word. */
int floors_load_store(void* from, void* to, void* stream);

/* One cluster of `size` blocks of 1024 passes `barriers` cluster barriers. */
int floors_cluster(int size, int barriers, void* stream);

/* Every thread of `blocks` blocks of 1024 does 16 multiply-adds a round. */
int floors_fma(void* sink, int blocks, int rounds, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* FLOORS_H_ */
