#pragma once

#include <nyala/api/fields.h>
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
  explicit Constant(double value);
};

}  // namespace nyala
