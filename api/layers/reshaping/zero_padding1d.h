#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct ZeroPadding1DConfig {
  NamesRequired names_required = NamesRequired();
  EdgeSizes<1> padding = 1;
  std::string data_format = {};  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// Adds steps of zeros in front and behind. Input (batch, steps, channels).
class ZeroPadding1D : public Layer {
 public:
  using Config = ZeroPadding1DConfig;
  /// Throws InvalidArgumentError for a negative size.
  explicit ZeroPadding1D(const Config& config = {});
  explicit ZeroPadding1D(EdgeSizes<1> padding, Config config = {});
};

}  // namespace nyala
