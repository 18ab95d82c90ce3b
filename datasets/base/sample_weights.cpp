#include <nyala/datasets/base/sample_weights.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

SampleWeights::operator Tensor() const {
  if (per_output_.size() > 1)
    throw StateError("sample_weight: expected one tensor for all outputs, received one for each of " +
                     std::to_string(per_output_.size()) + "; sample_weight[i] are those of output i");
  return (*this)[0];
}

bool SampleWeights::is_like(const SampleWeights& other) const {
  return for_all_.defined() == other.for_all_.defined() &&
         std::equal(per_output_.begin(), per_output_.end(), other.per_output_.begin(),
                    other.per_output_.end(),
                    [](const Tensor& a, const Tensor& b) { return a.defined() == b.defined(); });
}

}  // namespace nyala
