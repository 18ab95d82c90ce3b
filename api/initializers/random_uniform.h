#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct RandomUniformConfig {
  double minval = -0.05;
  double maxval = 0.05;
  int64_t seed = -1;

  void fields(FieldVisitor& v);
};

/// Uniform in [minval, maxval).
class RandomUniform : public Initializer {
 public:
  using Config = RandomUniformConfig;
  explicit RandomUniform(const Config& config = {});
  template <size_t N>
  explicit RandomUniform(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
