#include <nyala/api/model/config/data_argument.h>

#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/base/listed_shapes.h>

namespace nyala {

using namespace nyala::detail;

DataArgument::DataArgument(Tensor x, Tensor y, Tensor sample_weight) {
  arrays_.emplace();
  arrays_->x = {std::move(x)};
  if (y.defined()) arrays_->y = {std::move(y)};
  arrays_->sample_weight = std::move(sample_weight);
}

int64_t DataArgument::rows() const {
  int64_t rows = -1;
  bool same = true;
  for_each_tensor(*arrays_, [&](const Tensor& tensor) {
    if (!tensor.defined()) throw InvalidArgumentError("the data holds an empty tensor, which was never made");
    if (tensor.rank() == 0)
      throw ShapeError("the data holds a scalar; every array needs a first axis of examples");
    if (tensor.is_abstract())
      throw InvalidArgumentError("expected tensors with values, received a symbolic one of shape " +
                                 tensor.shape().to_string());
    const int64_t own = tensor.shape()[0];
    if (rows < 0) rows = own;
    same = same && own == rows;
  });
  if (!same)
    throw InvalidArgumentError("the numbers of examples differ: " + listed_shapes(*arrays_) +
                               "; all arrays must have as many rows (axis 0)");
  return rows;
}

}  // namespace nyala
