#include <nyala/api/saving/weights/weights_from_file.h>

#include <set>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

bool is_random(const InitializerNode& node) {
  static const std::set<std::string>& names = *new std::set<std::string>{
      "GlorotNormal", "GlorotUniform", "HeNormal",      "HeUniform",       "LecunNormal",    "LecunUniform",
      "Orthogonal",   "RandomNormal",  "RandomUniform", "TruncatedNormal", "VarianceScaling"};
  return names.contains(node.class_name());
}

}  // namespace

void WeightsFromFile::allow(const std::string& name, const Shape& shape, DType dtype) {
  uint64_t bytes = size_of(dtype);
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) bytes = UINT64_MAX;
  budget_.spend(bytes, "weight " + in_quotes(name) + " of shape " + shape.to_string());
}

void WeightsFromFile::fill(const Initializer& initializer, const Tensor& weight) {
  if (!is_random(initializer.node())) return initializer(weight);
  if (initializer.node().seed() < 0) next_unseeded_key();
}

}  // namespace nyala
