#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct UpSampling1DConfig {
  NamesRequired names_required = NamesRequired();
  int64_t size = 2;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Repeats each step `size` times. Input (batch, steps, channels).
class UpSampling1D : public Layer {
 public:
  using Config = UpSampling1DConfig;
  /// Throws InvalidArgumentError unless size is above 0.
  explicit UpSampling1D(const Config& config = {});
  template <size_t N>
  explicit UpSampling1D(const NoSuchField (&)[N]) = delete;
  explicit UpSampling1D(int64_t size, Config config = {});
  template <size_t N>
  explicit UpSampling1D(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
