/* Status codes that every library of this workspace shares. Plain C, no CUDA headers.
 *
 * An operation returns an int:
 *      0            success
 *      1 ..  999    a cudaError_t, passed through
 *   1000 ..         the library refused a host argument, before anything was queued or written:
 *                   code = 1000 * kind + argument, where `kind` is one of the values below and
 *                   `argument` is the argument's number in the library's own header.
 * `<prefix>_error_string(code)` names both, e.g. "scoring: candidates: must not be null".
 */
#ifndef CK_STATUS_H_
#define CK_STATUS_H_

enum ck_status_kind {
  CK_NULL_POINTER = 1,  /* a required pointer is null */
  CK_BAD_SIZE = 2,      /* an extent is zero, negative, or beyond its stated limit */
  CK_BAD_VALUE = 3,     /* a scalar is NaN, infinite, or outside its stated range */
  CK_BAD_ENUM = 4,      /* an enumerator that this library does not know */
  CK_BAD_STRIDE = 5,    /* a stride smaller than the row it steps over, or negative */
  CK_BAD_STRUCT = 6,    /* struct_size is not one that this library knows */
  CK_OVERLAP = 7,       /* an output overlaps an input, or another output */
  CK_UNSUPPORTED = 8,   /* a legal value in a combination that this library does not offer */
  CK_BAD_WORKSPACE = 9, /* the workspace is missing or smaller than asked for */
  CK_MISALIGNED = 10    /* a pointer is not aligned to its element type */
};

#define CK_STATUS(kind, argument) (1000 * (kind) + (argument))

#endif /* CK_STATUS_H_ */
