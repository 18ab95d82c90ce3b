#include <nyala/backend/core/nested_values.h>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// `inner` with one axis more in front.
Shape stacked(int64_t count, const Shape& inner) {
  Shape out{count};
  for (const int64_t size : inner) out.append(size);
  return out;
}

void check_regular(const Shape& expected, const Shape& received) {
  if (expected != received)
    throw ShapeError("a tensor from nested lists: expected every entry of a list to have shape " +
                     expected.to_string() + ", received " + received.to_string());
}

}  // namespace

Shape NestedValues::flatten_into(std::vector<float>& values) const {
  if (!is_list_) {
    values.push_back(static_cast<float>(value_));
    return {};
  }
  Shape inner;
  for (size_t i = 0; i < list_.size(); ++i) {
    const Shape shape = list_[i].flatten_into(values);
    if (i > 0) check_regular(inner, shape);
    inner = shape;
  }
  return stacked(static_cast<int64_t>(list_.size()), inner);
}

Shape NestedValues::flatten(std::initializer_list<NestedValues> list, std::vector<float>& values) {
  return NestedValues(list).flatten_into(values);
}

}  // namespace nyala
