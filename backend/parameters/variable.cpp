#include <nyala/backend/parameters/variable.h>

#include <nyala/backend/core/error.h>

namespace nyala {

void Variable::assign(const Tensor& value) const {
  if (value.shape() != shape() || value.dtype() != dtype())
    throw ShapeError("variable '" + path() + "': expected a value of shape " + shape().to_string() +
                     " and dtype " + std::string(name_of(dtype())) + ", received " +
                     value.shape().to_string() + " of " + std::string(name_of(value.dtype())));
  const Tensor* previous = nullptr;
  for (const Tensor& copy : node_->copies) {
    if (!previous || previous->raw() != copy.raw()) copy.copy_from(value);
    previous = &copy;
  }
}

}  // namespace nyala
