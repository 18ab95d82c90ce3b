#pragma once

namespace nyala {

/// A layer of several tensors that a graph gives the masks of all of them, as Keras gives a model's call;
/// those of other layers of several tensors travel with the tensors alone.
struct TakesAllMasks {
  virtual ~TakesAllMasks() = default;
};

}  // namespace nyala
