#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct GaussianNoiseConfig {
  NamesRequired names_required = NamesRequired();
  double stddev = 0.0;  // Keras has no default
  int64_t seed = -1;    // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training adds normal numbers of mean 0 and deviation `stddev`; else the input.
class GaussianNoise : public Layer {
 public:
  using Config = GaussianNoiseConfig;
  /// Throws InvalidArgumentError for a deviation outside [0, 1].
  explicit GaussianNoise(const Config& config);
  template <size_t N>
  explicit GaussianNoise(const NoSuchField (&)[N]) = delete;
  explicit GaussianNoise(double stddev, Config config = {});
  template <size_t N>
  explicit GaussianNoise(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
