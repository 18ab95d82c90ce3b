#pragma once

#include <functional>
#include <span>
#include <string>
#include <type_traits>

#include <nyala/backend/core/tensor.h>

namespace nyala::golden {

/// A case of tests/golden/areas/op_values_*.py: its name there and the same function of the same inputs.
struct OpCase {
  std::string name;
  std::function<Tensors(const Tensors&)> function;

  /// `of` gives a Tensor or Tensors.
  template <class Function>
  OpCase(std::string of_name, Function of)
      : name(std::move(of_name)), function([of](const Tensors& x) -> Tensors {
          if constexpr (std::is_same_v<decltype(of(x)), Tensor>)
            return {of(x)};
          else
            return of(x);
        }) {}
};

/// Holds each case against Keras' results in `file` of the golden data, whose cases are the same in the same
/// order: shapes, dtypes and values; gradients of sum(results * upstream); the same on a device whose memory
/// the host cannot read; and where Keras made a functional model of the function, the same in a model, in
/// that model written and read again, and in Keras' own.
void expect_op_values(const std::string& file, std::span<const OpCase> cases);

}  // namespace nyala::golden
