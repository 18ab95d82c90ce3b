#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct GaussianDropoutConfig {
  NamesRequired names_required = NamesRequired();
  double rate = 0.0;  // Keras has no default
  int64_t seed = -1;  // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training multiplies by normal numbers of mean 1 and deviation sqrt(rate / (1 - rate)); else the
/// input.
class GaussianDropout : public Layer {
 public:
  using Config = GaussianDropoutConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1): at 1 the deviation is infinite.
  explicit GaussianDropout(const Config& config);
  template <size_t N>
  explicit GaussianDropout(const NoSuchField (&)[N]) = delete;
  explicit GaussianDropout(double rate, Config config = {});
  template <size_t N>
  explicit GaussianDropout(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
