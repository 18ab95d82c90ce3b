#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

struct OrthogonalRegularizerConfig {
  double factor = 0.01;
  std::string mode = "rows";  // or "columns"

  void fields(FieldVisitor& v);
};

/// Draws the rows (or columns) of a matrix towards orthogonality: factor times the mean, over all pairs of
/// rows, of the absolute value of the cosine between them. The penalty throws ShapeError for a weight whose
/// rank is not 2.
class OrthogonalRegularizer : public Regularizer {
 public:
  using Config = OrthogonalRegularizerConfig;
  /// Throws InvalidArgumentError for another mode, and for a factor below 0 or not finite.
  explicit OrthogonalRegularizer(const Config& config = {});
  template <size_t N>
  explicit OrthogonalRegularizer(const NoSuchField (&)[N]) = delete;
  explicit OrthogonalRegularizer(double factor, const std::string& mode = "rows");
};

}  // namespace nyala
