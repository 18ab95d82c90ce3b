#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct HashedCrossingConfig {
  int64_t num_bins = 0;
  std::string output_mode = "int";  // or "one_hot"
  bool sparse = false;              // true is not supported
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};  // int64, or float32 where numbers are encoded

  void fields(FieldVisitor& v);
};

/// A bin for each combination of two features or more, `HashedCrossing(100)({city, month})`: hashes of all of
/// them joined, modulo num_bins. Inputs are whole numbers of one shape, () or (batch) or (batch, 1).
class HashedCrossing : public Layer {
 public:
  using Config = HashedCrossingConfig;
  /// Throws InvalidArgumentError unless num_bins is above 0 and the mode is known.
  explicit HashedCrossing(const Config& config);
  template <size_t N>
  explicit HashedCrossing(const NoSuchField (&)[N]) = delete;
  template <int = 0>
  explicit HashedCrossing(int64_t num_bins, Config config = {})
      : HashedCrossing((config.num_bins = num_bins, config)) {}
};

}  // namespace nyala
