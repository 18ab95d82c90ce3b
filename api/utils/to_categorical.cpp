#include <nyala/api/utils/to_categorical.h>

#include <algorithm>
#include <cmath>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

Tensor to_categorical(const Tensor& labels, int64_t num_classes) {
  const std::vector<double> values = ops::cast(labels, DType::float64).to_vector<double>();
  if (num_classes < 0)
    throw InvalidArgumentError("to_categorical: expected num_classes >= 0, received " +
                               std::to_string(num_classes));
  if (num_classes == 0)
    num_classes =
        values.empty() ? 0 : static_cast<int64_t>(*std::max_element(values.begin(), values.end())) + 1;
  Shape shape = labels.shape();
  if (shape.rank() > 1 && shape.back() == 1) shape = shape.slice(0, shape.rank() - 1);
  shape.append(num_classes);
  const Tensor out = Tensor::zeros(shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != std::floor(values[i]) || values[i] < 0 || values[i] >= static_cast<double>(num_classes))
      throw NumericError("to_categorical: label " + number_text(values[i]) + " at position " +
                         std::to_string(i) + " is not a whole number in [0, " + std::to_string(num_classes) +
                         ")");
    out.raw_as<float>()[i * static_cast<size_t>(num_classes) + static_cast<size_t>(values[i])] = 1.0f;
  }
  return out;
}

}  // namespace nyala
