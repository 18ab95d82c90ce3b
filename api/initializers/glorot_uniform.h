#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using GlorotUniformConfig = FanInitializerConfig;

/// Uniform in [-l, l), l = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). Fans as fans() says.
class GlorotUniform : public Initializer {
 public:
  using Config = GlorotUniformConfig;
  explicit GlorotUniform(const Config& config = {});
  template <size_t N>
  explicit GlorotUniform(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
