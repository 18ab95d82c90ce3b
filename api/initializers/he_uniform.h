#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using HeUniformConfig = FanInitializerConfig;

/// Uniform in [-l, l), l = sqrt(6 / fan_in) (He et al. 2015). Fans as fans() says.
class HeUniform : public Initializer {
 public:
  using Config = HeUniformConfig;
  explicit HeUniform(const Config& config = {});
  template <size_t N>
  explicit HeUniform(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
