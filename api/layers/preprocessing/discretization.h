#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/datasets/base/dataset.h>

namespace nyala {

struct DiscretizationConfig {
  NamesRequired names_required = NamesRequired();
  std::vector<double> bin_boundaries = {};  // ascending; empty: adapt() finds them
  int64_t num_bins = -1;                    // below 0: none
  double epsilon = 0.01;                    // how exact adapt() is
  std::string output_mode = "int";          // or "one_hot", "multi_hot", "count"
  bool sparse = false;                      // true is not supported
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// The number of the bin that each element falls into: bin i begins at boundary i - 1, which belongs to
/// it. As int32, or encoded as by CategoryEncoding.
class Discretization : public Layer {
 public:
  using Config = DiscretizationConfig;
  /// Throws InvalidArgumentError unless there are boundaries in ascending order or a number of bins, and
  /// the mode is known.
  explicit Discretization(const Config& config);
  template <size_t N>
  explicit Discretization(const NoSuchField (&)[N]) = delete;

  /// Takes boundaries from the data so that about as many elements fall into each of `num_bins` bins: one
  /// array, or the x of a dataset of batches. Throws StateError for a layer without num_bins,
  /// InvalidArgumentError where there is no data.
  void adapt(const Tensor& data) const;
  void adapt(const Dataset& data) const;
};

}  // namespace nyala
