#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ActivationConfig {
  ActivationArgument activation = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// An activation as a layer: `Activation("relu")`.
class Activation : public Layer {
 public:
  using Config = ActivationConfig;
  explicit Activation(const Config& config);
  template <size_t N>
  explicit Activation(const NoSuchField (&)[N]) = delete;
  explicit Activation(ActivationArgument activation, Config config = {});
  template <size_t N>
  explicit Activation(ActivationArgument, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
