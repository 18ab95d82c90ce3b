#pragma once

#include <functional>
#include <type_traits>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct LambdaConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// A function of tensors as a layer without weights: `Lambda([](const Tensor& x) { return x * 2.0; })`, or of
/// several, `Lambda([](const Tensors& x) { return x[0] - x[1]; })`, which may return Tensors too. It is made
/// of ops, and runs on every replica at once. Files hold a function of one tensor by the name that
/// register_serializable() gave it, as Keras' do; any other is code, which no file can hold.
class Lambda : public Layer {
 public:
  using Config = LambdaConfig;
  using Function = std::function<Tensors(const Tensors&)>;

  template <class F>
  requires std::is_invocable_r_v<Tensor, F&, const Tensor&>
  explicit Lambda(F function, Config config = {}) : Lambda(ActivationArgument(std::move(function)), config) {}

  template <class F>
  requires(std::is_invocable_r_v<Tensor, F&, const Tensors&> &&
           !std::is_invocable_r_v<Tensor, F&, const Tensor&>) explicit Lambda(F function, Config config = {})
      : Lambda(Function([function](const Tensors& x) { return Tensors{function(x)}; }), config) {}

  explicit Lambda(Function function, Config config = {});
  /// A function with its name in files.
  explicit Lambda(ActivationArgument function, Config config = {});
};

}  // namespace nyala
