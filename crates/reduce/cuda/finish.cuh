// From a sum to the result.
#pragma once

#include "problem.cuh"

namespace reduce {

// What follows a sum, once a column.
template <typename T, typename A>
CK_DEVICE void finish(const Plan& plan, const Matrix<T>& m, int64_t col, A sum, int64_t kept) {
  if (plan.mean) sum = kept > 0 ? ck::divided(sum, kept) : A{};
  sum = ck::scaled(sum, m.alpha);
  if (plan.out_as_x) {
    T* const out = static_cast<T*>(m.out) + col;
    if (m.beta != 0.0f) ck::add_product(sum, m.beta, ck::to_f32(*out));
    *out = ck::rounded<T>(sum);
  } else {
    float* const out = static_cast<float*>(m.out) + col;
    if (m.beta != 0.0f) ck::add_product(sum, m.beta, *out);
    *out = ck::rounded<float>(sum);
  }
}

}  // namespace reduce
