#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct IdentityConfig {
  double gain = 1.0;

  void fields(FieldVisitor& v);
};

/// gain on the diagonal of a matrix, 0 elsewhere. Throws ShapeError for a value that is not of rank 2.
class Identity : public Initializer {
 public:
  using Config = IdentityConfig;
  explicit Identity(const Config& config = {});
  template <size_t N>
  explicit Identity(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
