#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using LecunUniformConfig = FanInitializerConfig;

/// Uniform in [-l, l), l = sqrt(3 / fan_in) (LeCun et al. 1998). Fans as fans() says.
class LecunUniform : public Initializer {
 public:
  using Config = LecunUniformConfig;
  explicit LecunUniform(const Config& config = {});
  template <size_t N>
  explicit LecunUniform(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
