#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <nyala/backend/core/dtype.h>

namespace nyala {

/// Keras' DTypePolicy: in which dtype a layer computes, and in which its weights are kept. Copies are equal.
///
/// | name | computes in | weights |
/// |---|---|---|
/// | `float32`, `float64`, `bfloat16`, `float16` | that dtype | that dtype |
/// | `mixed_bfloat16` | bfloat16 | float32 |
/// | `mixed_float16` | float16 | float32 |
/// | `int32`, `int64`, of layers that make whole numbers | that dtype | that dtype |
class DTypePolicy {
 public:
  /// float32.
  constexpr DTypePolicy() = default;
  /// Throws InvalidArgumentError with the nearest name.
  template <class T>
  requires std::convertible_to<const T&, std::string_view> DTypePolicy(const T& name)
      : DTypePolicy(of(std::string_view(name))) {}
  /// That of a floating dtype. Throws DTypeError for another.
  DTypePolicy(DType dtype);

  std::string name() const;
  /// Of what a layer's call() gets, reads and returns.
  DType compute_dtype() const { return compute_; }
  /// Of the layer's weights and state.
  DType variable_dtype() const { return variable_; }

  friend constexpr bool operator==(DTypePolicy a, DTypePolicy b) {
    return a.compute_ == b.compute_ && a.variable_ == b.variable_;
  }

 private:
  constexpr DTypePolicy(DType compute, DType variable) : compute_(compute), variable_(variable) {}
  static DTypePolicy of(std::string_view name);

  DType compute_ = DType::float32, variable_ = DType::float32;
};

/// Makes `policy` that of all layers and models made from now on, on all threads, which do not name one
/// (`.dtype`): Keras' keras.config.set_dtype_policy. At first it is float32. Throws InvalidArgumentError for
/// one of whole numbers.
void set_dtype_policy(DTypePolicy policy);
/// Keras' older name for the same.
void set_global_policy(DTypePolicy policy);
/// The policy that is set.
DTypePolicy dtype_policy();

namespace detail {

/// The policy that a Config's `.dtype` names; empty: the one that is set.
DTypePolicy policy_named(const std::string& dtype);

/// Says once, as a warning in the log, that CPUs compute float16 through float32.
void note_float16();

}  // namespace detail

}  // namespace nyala
