#pragma once

#include <string>
#include <vector>

#include <nyala/api/layers/base/size.h>
#include <nyala/backend/core/tensor.h>

/// What the Inception networks are built of. Layers have automatic names: the order in which they are made is
/// that of Keras.
namespace nyala::applications {

namespace detail {

/// A convolution without bias, BatchNormalization without scale and relu.
struct Unit {
  int64_t filters;
  Size2D kernel = 1;
  bool reduces = false;  // strides 2, valid
};

Tensor unit(const Tensor& x, const Unit& u, bool valid = false);

/// Units one behind the other.
Tensor branch(Tensor x, const std::vector<Unit>& units);
/// The channels of all branches.
Tensor joined(const Tensors& branches, const std::string& name);

}  // namespace detail

}  // namespace nyala::applications
