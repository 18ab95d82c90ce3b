#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RepeatVectorConfig {
  NamesRequired names_required = NamesRequired();
  int64_t n = 0;  // Keras has no default
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// A vector as a sequence of `n` equal steps: (batch, features) becomes (batch, n, features).
class RepeatVector : public Layer {
 public:
  using Config = RepeatVectorConfig;
  /// Throws InvalidArgumentError unless n is above 0.
  explicit RepeatVector(const Config& config);
  template <size_t N>
  explicit RepeatVector(const NoSuchField (&)[N]) = delete;
  explicit RepeatVector(int64_t n, Config config = {});
  template <size_t N>
  explicit RepeatVector(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
