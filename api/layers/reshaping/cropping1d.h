#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct Cropping1DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<1> cropping = 1;
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Leaves out the first and last steps. Input (batch, steps, channels).
class Cropping1D : public Layer {
 public:
  using Config = Cropping1DConfig;
  /// Throws InvalidArgumentError for a negative size; building throws ShapeError where nothing would be
  /// left.
  explicit Cropping1D(const Config& config = {});
  explicit Cropping1D(EdgeSizes<1> cropping, Config config = {});
};

}  // namespace nyala
