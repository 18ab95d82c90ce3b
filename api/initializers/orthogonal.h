#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct OrthogonalConfig {
  double gain = 1.0;
  int64_t seed = -1;

  void fields(FieldVisitor& v);
};

/// gain times a random matrix with orthonormal columns (rows, where there are fewer rows than columns); the
/// matrix has the last size of the shape as columns. Saxe et al. 2014. Throws ShapeError for a rank below 2.
class Orthogonal : public Initializer {
 public:
  using Config = OrthogonalConfig;
  explicit Orthogonal(const Config& config = {});
  template <size_t N>
  explicit Orthogonal(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
