#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

struct L1Config {
  double l1 = 0.01;

  void fields(FieldVisitor& v);
};

/// l1 * sum |w|.
class L1 : public Regularizer {
 public:
  using Config = L1Config;
  /// Throws InvalidArgumentError for a factor that is not finite.
  explicit L1(const Config& config = {});
  template <size_t N>
  explicit L1(const NoSuchField (&)[N]) = delete;
  explicit L1(double l1);
};

}  // namespace nyala
