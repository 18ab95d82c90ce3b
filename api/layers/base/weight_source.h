#pragma once

#include <string>

#include <nyala/api/initializers/initializer.h>

namespace nyala {

/// Stands in for the initializers of layers that are built while it is the thread's
/// (ThreadContext::weight_source): a file that is being loaded is one.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Asked before a weight is made; throws if there is to be none like it.
  virtual void allow(const std::string& name, const Shape& shape, DType dtype) = 0;
  /// Gives a new weight, which is zero, its first value.
  virtual void fill(const Initializer& initializer, const Tensor& weight) = 0;
};

}  // namespace nyala
