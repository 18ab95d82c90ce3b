#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using HeNormalConfig = FanInitializerConfig;

/// Truncated normal with variance 2 / fan_in (He et al. 2015). Fans as fans() says.
class HeNormal : public Initializer {
 public:
  using Config = HeNormalConfig;
  explicit HeNormal(const Config& config = {});
  template <size_t N>
  explicit HeNormal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
