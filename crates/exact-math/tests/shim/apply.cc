// apply INPUTS OUTPUTS NAME...: reads bit patterns (uint32) from a file and writes, for each named
// function of <ck/math.cuh>, the patterns of its results.
#include <stdio.h>

#include <ck/math.cuh>
#include <vector>

namespace {

struct Function {
  const char* name;
  float (*apply)(float);
};

float complement(float x) { return ck::sigmoid_and_complement(x).complement; }

const Function kFunctions[] = {
    {"exp", ck::exp},
    {"exp_nonpositive", ck::exp_nonpositive},
    {"log", ck::log},
    {"log1p", ck::log1p},
    {"sigmoid", ck::sigmoid},
    {"complement", complement},
    {"softplus", ck::softplus},
    {"tanh", ck::tanh},
    {"tanh_slope", ck::tanh_slope},
    {"erf", ck::erf},
    {"silu", ck::silu},
    {"silu_slope", ck::silu_slope},
    {"gelu_erf", ck::gelu_erf},
    {"gelu_erf_slope", ck::gelu_erf_slope},
    {"gelu_tanh", ck::gelu_tanh},
    {"gelu_tanh_slope", ck::gelu_tanh_slope},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (in == nullptr || out == nullptr) return 2;
  std::vector<uint32_t> inputs;
  uint32_t bits;
  while (fread(&bits, sizeof bits, 1, in) == 1) inputs.push_back(bits);
  for (int i = 3; i < argc; ++i) {
    const Function* found = nullptr;
    for (const Function& function : kFunctions) {
      if (strcmp(function.name, argv[i]) == 0) found = &function;
    }
    if (found == nullptr) {
      fprintf(stderr, "no function named %s\n", argv[i]);
      return 2;
    }
    for (uint32_t pattern : inputs) {
      const uint32_t result = __float_as_uint(found->apply(__uint_as_float(pattern)));
      if (fwrite(&result, sizeof result, 1, out) != 1) return 2;
    }
  }
  fclose(in);
  return fclose(out) == 0 ? 0 : 2;
}
