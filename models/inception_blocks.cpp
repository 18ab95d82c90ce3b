#include <nyala/models/inception_blocks.h>

#include <nyala/api/layers/all.h>

namespace nyala::applications::detail {

Tensor unit(const Tensor& x, const Unit& u, bool valid) {
  Tensor y = Conv2D(
      u.filters, u.kernel,
      {.strides = u.reduces ? 2 : 1, .padding = u.reduces || valid ? "valid" : "same", .use_bias = false})(x);
  y = BatchNormalization({.axis = 3, .scale = false})(y);
  return Activation("relu")(y);
}

Tensor branch(Tensor x, const std::vector<Unit>& units) {
  for (const Unit& u : units) x = unit(x, u);
  return x;
}

Tensor joined(const Tensors& branches, const std::string& name) {
  return Concatenate(3, {.name = name})(branches);
}

}  // namespace nyala::applications::detail
