#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

struct L2Config {
  double l2 = 0.01;

  void fields(FieldVisitor& v);
};

/// l2 * sum w^2.
class L2 : public Regularizer {
 public:
  using Config = L2Config;
  /// Throws InvalidArgumentError for a factor that is not finite.
  explicit L2(const Config& config = {});
  template <size_t N>
  explicit L2(const NoSuchField (&)[N]) = delete;
  explicit L2(double l2);
};

}  // namespace nyala
