/* Libraries that are wrong on purpose; see known_bad.cu. Every operation promises y = 2 x and one
 * graph node. */
#ifndef KNOWN_BAD_H_
#define KNOWN_BAD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KB_ABI_VERSION 1u

uint32_t kb_abi_version(void);
const char* kb_error_string(int code);
const char* kb_build_info(void);

int kb_good(const float* x, float* y, long long n, void* stream);
int kb_noop(const float* x, float* y, long long n, void* stream);
int kb_stale(const float* x, float* y, long long n, void* stream);
int kb_default_stream(const float* x, float* y, long long n, void* stream);
int kb_mutates_input(const float* x, float* y, long long n, void* stream);
int kb_past_end(const float* x, float* y, long long n, void* stream);
int kb_before_begin(const float* x, float* y, long long n, void* stream);
int kb_short_tail(const float* x, float* y, long long n, void* stream);
int kb_reads_output(const float* x, float* y, long long n, void* stream);
int kb_assumes_alignment(const float* x, float* y, long long n, void* stream);
int kb_two_nodes(const float* x, float* y, long long n, void* stream);
int kb_once_per_pointer(const float* x, float* y, long long n, void* stream);
int kb_swallows_errors(const float* x, float* y, long long n, void* stream);
int kb_refuses_late(const float* x, float* y, long long n, void* stream);
int kb_wrong_code(const float* x, float* y, long long n, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* KNOWN_BAD_H_ */
