#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// Tensors by name, in the order in which they were given.
class NamedInputs {
 public:
  NamedInputs() = default;
  NamedInputs(std::initializer_list<std::pair<std::string, Tensor>> values) : values_(values) {}
  explicit NamedInputs(std::vector<std::pair<std::string, Tensor>> values) : values_(std::move(values)) {}

  /// Throws NotFoundError with the nearest name.
  const Tensor& operator[](const std::string& name) const;
  const std::vector<std::pair<std::string, Tensor>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, Tensor>> values_;
};

/// Computes one result from a slice of every input; several rows, or one value per row.
using ParallelFunction = std::function<Tensor(const NamedInputs& inputs)>;

/// Cuts every input along axis 0 into `n` slices, calls `fn` with them on `n` devices at the same time, and
/// joins what it returns along axis 0, on the device of the first input. Devices are the first accelerators,
/// or, where there are none, logical CPU devices. Layers and models that `fn` calls are shared: under a
/// GradientTape of the calling thread their gradients are summed over the slices, and the numbers are those
/// of n = 1. They have to be built before, since the calls run at the same time; tensors that the tape tracks
/// have to come in as inputs.
///
///     Tensor loss = make_parallel(model, 2, {{"x", x}, {"y", y}});
///
/// Throws InvalidArgumentError for n < 1 or no inputs, DeviceNotFoundError where there are fewer than n
/// devices, and the first error of `fn` with the device in its text.
Tensor make_parallel(const ParallelFunction& fn, int n, const NamedInputs& inputs);

}  // namespace nyala
