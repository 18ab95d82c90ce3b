#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// The arrays of a whole data set: `x` and `y` with one row per example.
struct Arrays {
  Tensor x = {};
  Tensor y = {};
};

/// What a loader returns: auto [train, test] = datasets::fashion_mnist();
struct TrainTest {
  Arrays train = {};
  Arrays test = {};
};

}  // namespace nyala
