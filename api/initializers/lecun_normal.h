#pragma once

#include <nyala/api/initializers/variance_scaling.h>

namespace nyala {

using LecunNormalConfig = FanInitializerConfig;

/// Truncated normal with variance 1 / fan_in (LeCun et al. 1998). Fans as fans() says.
class LecunNormal : public Initializer {
 public:
  using Config = LecunNormalConfig;
  explicit LecunNormal(const Config& config = {});
  template <size_t N>
  explicit LecunNormal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
