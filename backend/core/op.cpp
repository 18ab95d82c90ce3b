#include <nyala/backend/core/op.h>

#include <nyala/backend/core/error.h>

namespace nyala {

void InferContext::output(size_t i, const Shape& shape, DType dtype) {
  outputs_[i] = Tensor::abstract(shape, dtype, inputs_.empty() ? Device{} : inputs_[0]->device());
}

void InferContext::fail(const std::string& message) const {
  throw ShapeError(std::string(op_.name) + ": " + message);
}

std::string_view InferContext::name() const { return op_.name; }

}  // namespace nyala
