#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct RandomNormalConfig {
  double mean = 0.0;
  double stddev = 0.05;
  int64_t seed = -1;

  void fields(FieldVisitor& v);
};

/// Normal with the given mean and standard deviation. A seed makes every draw the same one.
class RandomNormal : public Initializer {
 public:
  using Config = RandomNormalConfig;
  explicit RandomNormal(const Config& config = {});
  template <size_t N>
  explicit RandomNormal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
