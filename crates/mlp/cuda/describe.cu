// What the library says of itself: version, and its status codes in words.
#include <ck/host.cuh>

#include "mlp.h"

extern "C" uint32_t mlp_abi_version(void) { return MLP_ABI_VERSION; }

extern "C" const char* mlp_error_string(int code) {
  if (code == 0) return "mlp: success";
  switch (code) {
#define MLP_SENTENCE(kind, number, name, sentence) \
  case CK_STATUS(kind, number):                    \
    return "mlp: " #name ": " sentence;
#define MLP_SENTENCES(number, name)                                                              \
  MLP_SENTENCE(CK_NULL_POINTER, number, name, "must not be null")                                \
  MLP_SENTENCE(CK_BAD_SIZE, number, name, "is outside the sizes that the header allows")         \
  MLP_SENTENCE(CK_BAD_VALUE, number, name, "is not a number or outside the range of the header") \
  MLP_SENTENCE(CK_BAD_ENUM, number, name, "is no enumerator of the header")                      \
  MLP_SENTENCE(CK_BAD_STRIDE, number, name, "is smaller than what it steps over, or too large")  \
  MLP_SENTENCE(CK_BAD_STRUCT, number, name, "is not a size that this library knows")             \
  MLP_SENTENCE(CK_OVERLAP, number, name, "overlaps an input or another output")                  \
  MLP_SENTENCE(CK_UNSUPPORTED, number, name, "cannot be combined with the other arguments here") \
  MLP_SENTENCE(CK_BAD_WORKSPACE, number, name, "is missing or less than the workspace's size")   \
  MLP_SENTENCE(CK_MISALIGNED, number, name, "is not aligned to its element")
    MLP_ARGUMENTS(MLP_SENTENCES)
#undef MLP_SENTENCES
#undef MLP_SENTENCE
  }
  return ck::cuda_error_string(code);
}

extern "C" const char* mlp_device_status_string(uint32_t status) {
  switch (status >> 24) {
    case MLP_DEVICE_OK:
      return "mlp: no bad device value";
    case MLP_DEVICE_BAD_ACTION:
      return "mlp: action_index: no action; the row had none, and none was given its gradient";
  }
  return "mlp: unknown device status";
}
