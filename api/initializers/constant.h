#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct ConstantConfig {
  double value = 0.0;

  void fields(FieldVisitor& v);
};

/// All `value`.
class Constant : public Initializer {
 public:
  using Config = ConstantConfig;
  explicit Constant(const Config& config = {});
  template <size_t N>
  explicit Constant(const NoSuchField (&)[N]) = delete;
  explicit Constant(double value);
};

}  // namespace nyala
