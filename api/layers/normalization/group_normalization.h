#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct GroupNormalizationConfig {
  NamesRequired names_required = NamesRequired();
  int64_t groups = 32;  // -1: as many as channels (instance normalization)
  int64_t axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and variance over each group of
/// neighbouring channels and all other axes but the batch (Wu and He 2018). gamma and beta stand along
/// `axis`, the channels.
class GroupNormalization : public Layer {
 public:
  using Config = GroupNormalizationConfig;
  /// Throws InvalidArgumentError for groups below 1 other than -1, or a negative epsilon.
  explicit GroupNormalization(const Config& config = {});
  template <size_t N>
  explicit GroupNormalization(const NoSuchField (&)[N]) = delete;
  explicit GroupNormalization(int64_t groups, Config config = {});
  template <size_t N>
  explicit GroupNormalization(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
