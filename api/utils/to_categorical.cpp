#include <nyala/api/utils/to_categorical.h>

#include <algorithm>
#include <cmath>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Larger class numbers are taken for a mistake where they would say how many classes there are.
constexpr double kMostClasses = 2147483647.0;

std::string label_text(const std::vector<double>& labels, size_t i) {
  return "label " + number_text(labels[i]) + " at position " + std::to_string(i);
}

/// The largest label plus one.
int64_t classes_of(const std::vector<double>& labels) {
  const auto largest = std::max_element(labels.begin(), labels.end());
  if (largest == labels.end()) return 0;
  if (*largest >= kMostClasses)
    throw NumericError(
        "to_categorical: " + label_text(labels, static_cast<size_t>(largest - labels.begin())) +
        " would make as many classes; expected labels below " + number_text(kMostClasses) +
        ", or num_classes");
  return static_cast<int64_t>(*largest) + 1;
}

}  // namespace

Tensor to_categorical(const Tensor& labels, int64_t num_classes) {
  const std::vector<double> values = ops::cast(labels, DType::float64).to_vector<double>();
  if (num_classes < 0)
    throw InvalidArgumentError("to_categorical: expected num_classes >= 1, or 0 for the largest label plus " +
                               std::string("one, received ") + std::to_string(num_classes));
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= 0) || values[i] != std::floor(values[i]))
      throw NumericError("to_categorical: expected class numbers, whole and not below 0, received " +
                         label_text(values, i));
  if (num_classes == 0) num_classes = classes_of(values);
  Shape shape = labels.shape();
  if (shape.rank() > 1 && shape.back() == 1) shape = shape.slice(0, shape.rank() - 1);
  shape.append(num_classes);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] >= static_cast<double>(num_classes))
      throw NumericError("to_categorical: " + label_text(values, i) + " is outside [0, " +
                         std::to_string(num_classes) + "), the given num_classes");
  const Tensor out = Tensor::zeros(shape, DType::float32, Device{});
  for (size_t i = 0; i < values.size(); ++i)
    out.raw_as<float>()[i * static_cast<size_t>(num_classes) + static_cast<size_t>(values[i])] = 1.0f;
  return out.to(current_device());
}

}  // namespace nyala
