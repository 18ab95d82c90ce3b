#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using GlorotNormalConfig = FanInitializerConfig;

/// Truncated normal with variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010). Fans as fans() says.
class GlorotNormal : public Initializer {
 public:
  using Config = GlorotNormalConfig;
  explicit GlorotNormal(const Config& config = {});
  template <size_t N>
  explicit GlorotNormal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
