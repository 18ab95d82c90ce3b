#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct FlattenConfig {
  std::string data_format = {};  // "channels_last"
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// All axes but the batch as one, row-major: (batch, 2, 3) -> (batch, 6); (batch) -> (batch, 1).
class Flatten : public Layer {
 public:
  using Config = FlattenConfig;
  explicit Flatten(const Config& config = {});
  template <size_t N>
  explicit Flatten(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
