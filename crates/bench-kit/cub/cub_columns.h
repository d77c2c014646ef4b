/* cub: column sums by CUB's segmented reduce, a design that reduce's kernels replace. For the bench
 * alone: an order of its own, f32 additions, as many nodes as CUB makes.
 *
 * x [rows, cols] packed f32, out [cols] f32, device pointers; rows * cols < 2^63. 0 or a
 * cudaError_t.
 */
#ifndef CUB_COLUMNS_H_
#define CUB_COLUMNS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What CUB asks for; 0 where it fails. */
size_t cub_columns_workspace_bytes(int64_t rows, int64_t cols);

/* `workspace`: of at least that many bytes, 256-byte aligned; any contents. */
int cub_columns_f32(const float* x, float* out, int64_t rows, int64_t cols, void* workspace,
                    size_t workspace_bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUB_COLUMNS_H_ */
