#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct DropoutConfig {
  double rate = 0.0;
  std::vector<int64_t> noise_shape = {};  // 1: one draw along that axis; None: a draw for each; empty: all
  int64_t seed = -1;                      // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training each element becomes 0 at chance `rate`, and the others are divided by 1 - rate; else the
/// input. What is dropped depends on the seed, the step and the element's place in the global batch, not on
/// the replicas.
class Dropout : public Layer {
 public:
  using Config = DropoutConfig;
  /// Throws InvalidArgumentError for a rate outside [0, 1] or a noise_shape with a size below 1.
  explicit Dropout(const Config& config);
  template <size_t N>
  explicit Dropout(const NoSuchField (&)[N]) = delete;
  explicit Dropout(double rate, Config config = {});
  template <size_t N>
  explicit Dropout(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
