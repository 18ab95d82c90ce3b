#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct LeakyReLUConfig {
  NamesRequired names_required = NamesRequired();
  double negative_slope = 0.3;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// x where it is positive, else negative_slope * x.
class LeakyReLU : public Layer {
 public:
  using Config = LeakyReLUConfig;
  /// Throws InvalidArgumentError for a negative slope below 0.
  explicit LeakyReLU(const Config& config = {});
  template <size_t N>
  explicit LeakyReLU(const NoSuchField (&)[N]) = delete;
  explicit LeakyReLU(double negative_slope, Config config = {});
  template <size_t N>
  explicit LeakyReLU(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
