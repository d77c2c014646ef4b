// What the library says of itself: version, and its status codes in words.
#include <ck/host.cuh>

#include "mamba2_scan.h"

extern "C" uint32_t m2_abi_version(void) { return M2_ABI_VERSION; }

extern "C" const char* m2_error_string(int code) {
  if (code == 0) return "mamba2_scan: success";
  switch (code) {
#define M2_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                   \
    return "mamba2_scan: " #name ": " sentence;
#define M2_SENTENCES(number, name)                                                              \
  M2_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                \
  M2_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")         \
  M2_SENTENCE(CK_BAD_VALUE, number, name, "is not a number or outside the range of the header") \
  M2_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                      \
  M2_SENTENCE(CK_BAD_STRIDE, number, name, "is smaller than what it steps over, or too large")  \
  M2_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")             \
  M2_SENTENCE(CK_OVERLAP, number, name, "overlaps an input or another output")                  \
  M2_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here") \
  M2_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or less than the workspace's size")   \
  M2_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    M2_ARGUMENTS(M2_SENTENCES)
#undef M2_SENTENCES
#undef M2_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" const char* m2_device_status_string(uint32_t status) {
  switch (status >> 24) {
    case M2_DEVICE_OK:
      return "mamba2_scan: no bad device value";
    case M2_DEVICE_BAD_SLOT_IN:
      return "mamba2_scan: slots_in: beyond the pool; the sequence started at zero";
    case M2_DEVICE_BAD_SLOT_OUT:
      return "mamba2_scan: slots_out: beyond the pool; the state was not stored";
  }
  return "mamba2_scan: unknown device status";
}
