#pragma once

#include <initializer_list>
#include <vector>

#include <nyala/backend/core/shape.h>

namespace nyala {

/// A number or a list of such, as C++ writes it: `{{1, 2}, {3, 4}}`. What Tensor's constructor takes.
class NestedValues {
 public:
  NestedValues(double value) : value_(value) {}
  NestedValues(std::initializer_list<NestedValues> list) : is_list_(true), list_(list) {}

  /// The sizes of a list, and its numbers in row-major order appended to `values`. Throws ShapeError where
  /// lists of one level differ in length or depth.
  static Shape flatten(std::initializer_list<NestedValues> list, std::vector<float>& values);

 private:
  Shape flatten_into(std::vector<float>& values) const;

  double value_ = 0.0;
  bool is_list_ = false;
  std::vector<NestedValues> list_;
};

}  // namespace nyala
