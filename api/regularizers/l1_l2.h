#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

struct L1L2Config {
  double l1 = 0.0;
  double l2 = 0.0;

  void fields(FieldVisitor& v);
};

/// l1 * sum |w| + l2 * sum w^2.
class L1L2 : public Regularizer {
 public:
  using Config = L1L2Config;
  /// Throws InvalidArgumentError for a factor that is not finite.
  explicit L1L2(const Config& config = {});
  template <size_t N>
  explicit L1L2(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
