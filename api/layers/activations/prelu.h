#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct PReLUConfig {
  NamesRequired names_required = NamesRequired();
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  std::vector<int64_t> shared_axes = {};  // axes, counted with the batch, along which alpha is the same
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// x where it is positive, else alpha * x with a weight alpha of the shape of an input without the batch
/// (He et al. 2015).
class PReLU : public Layer {
 public:
  using Config = PReLUConfig;
  /// Building throws ShapeError for a shared axis that the input lacks, or an unknown size along one
  /// that is not shared.
  explicit PReLU(const Config& config = {});
  template <size_t N>
  explicit PReLU(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
