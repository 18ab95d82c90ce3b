#include <nyala/datasets/base/element.h>

#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/base/listed_shapes.h>

namespace nyala {

using namespace nyala::detail;

int64_t detail::num_rows(const Element& batch, std::string_view where) {
  int64_t count = -1;
  for_each_tensor(batch, [&](const Tensor& tensor) {
    if (!tensor.defined() || tensor.is_abstract())
      throw InvalidArgumentError(std::string(where) + ": expected tensors with values, received one without");
    if (tensor.rank() == 0)
      throw ShapeError(std::string(where) + ": expected tensors with rows (axis 0), received a scalar");
    const int64_t rows = tensor.shape().front();
    if (count >= 0 && rows != count)
      throw ShapeError(std::string(where) + ": expected the same number of rows (axis 0) in every tensor, " +
                       "received " + listed_shapes(batch));
    count = rows;
  });
  if (count < 0)
    throw InvalidArgumentError(std::string(where) + ": expected at least one tensor, received none");
  return count;
}

Element detail::rows_of(const Element& batch, int64_t first, int64_t count) {
  Element out = batch;
  for_each_tensor(out, [&](Tensor& tensor) { tensor = tensor.rows(first, count); });
  return out;
}

}  // namespace nyala
