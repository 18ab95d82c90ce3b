#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/datasets/base/dataset.h>

namespace nyala {

struct NormalizationConfig {
  NamesRequired names_required = NamesRequired();
  Axes axis = -1;  // those that keep statistics of their own; {}: one mean and one variance for all
  /// Given together, or both empty for adapt(): one number, or one for each entry of the last kept axis, of
  /// the last two, ... in row-major order.
  std::vector<double> mean = {};
  std::vector<double> variance = {};
  bool invert = false;
  /// Sizes of mean and variance along the last kept axes, where 1 stands for all entries: Keras' nested
  /// lists. Empty: what fits their number.
  std::vector<int64_t> statistics_shape = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// (x - mean) / max(sqrt(variance), 1e-7), or with `invert` the way back. Mean and variance are given, or
/// weights (mean, variance, count, none of them trained) that adapt() sets.
class Normalization : public Layer {
 public:
  using Config = NormalizationConfig;
  /// Throws InvalidArgumentError where only one of mean and variance is given, their sizes differ or are not
  /// those of statistics_shape, or there are several numbers but no axis; building throws ShapeError where
  /// they do not fit the kept axes.
  explicit Normalization(const Config& config = {});
  template <size_t N>
  explicit Normalization(const NoSuchField (&)[N]) = delete;
  explicit Normalization(int axis, Config config = {});
  template <size_t N>
  explicit Normalization(int, const NoSuchField (&)[N]) = delete;

  /// Sets mean and variance (divided by the number of values) to those of the data: one array, or the x of
  /// a dataset of batches. Builds the layer if need be. Throws StateError for a layer with given statistics,
  /// ShapeError for data of another shape, InvalidArgumentError where there is none.
  void adapt(const Tensor& data) const;
  void adapt(const Dataset& data) const;
};

}  // namespace nyala
