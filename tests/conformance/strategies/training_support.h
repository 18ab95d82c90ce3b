#pragma once

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/places.h>

namespace nyala {

inline std::vector<float> numbers(const Tensor& x) { return ops::cast(x, DType::float32).to_vector<float>(); }

inline void expect_numbers(const Tensor& x, const std::vector<float>& expected, float tolerance = 1e-6f) {
  EXPECT_THAT(numbers(x), ::testing::Pointwise(::testing::FloatNear(tolerance), expected));
}

/// The value on every replica.
inline void expect_copies(const Variable& variable, const std::vector<float>& expected,
                          float tolerance = 1e-6f) {
  for (size_t copy = 0; copy < variable.num_copies(); ++copy)
    expect_numbers(variable.value(copy), expected, tolerance);
}

inline Variable made(const Strategy& strategy, const Tensor& value) {
  return strategy.scope([&] { return Variable(value); });
}

inline Tensor here(const Replica& replica, std::initializer_list<NestedValues> values) {
  return Tensor(values).to(replica.device);
}

/// What `make` gives in the scope of the strategy, with the names and numbers of a program that has just
/// begun.
template <class Make>
auto in_scope(const Strategy& strategy, Make&& make) {
  clear_session();
  set_random_seed(11);
  return strategy.scope(make);
}

inline Tensor three_classes(int64_t rows) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back(i % 3);
  return Tensor::from(labels);
}

inline Tensor wave(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(factor * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

inline Tensor column(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size()), 1});
}

inline std::vector<float> range(int first, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(first + i));
  return values;
}

}  // namespace nyala
