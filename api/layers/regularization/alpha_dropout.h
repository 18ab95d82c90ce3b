#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct AlphaDropoutConfig {
  NamesRequired names_required = NamesRequired();
  double rate = 0.0;                      // Keras has no default
  std::vector<int64_t> noise_shape = {};  // 1: one draw along that axis; None: a draw for each; empty: all
  int64_t seed = -1;                      // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Dropout for networks of selu: in training elements take the value that selu tends to at -infinity at
/// chance `rate`, and all are scaled and moved so that mean and variance stay (Klambauer et al. 2017);
/// else the input.
class AlphaDropout : public Layer {
 public:
  using Config = AlphaDropoutConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1): at 1 nothing would be left.
  explicit AlphaDropout(const Config& config);
  template <size_t N>
  explicit AlphaDropout(const NoSuchField (&)[N]) = delete;
  explicit AlphaDropout(double rate, Config config = {});
  template <size_t N>
  explicit AlphaDropout(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
