#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct TruncatedNormalConfig {
  double mean = 0.0;
  double stddev = 0.05;
  int64_t seed = -1;

  void fields(FieldVisitor& v);
};

/// Normal, drawn again where further than 2 stddev from the mean.
class TruncatedNormal : public Initializer {
 public:
  using Config = TruncatedNormalConfig;
  explicit TruncatedNormal(const Config& config = {});
  template <size_t N>
  explicit TruncatedNormal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
