#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nyala/api/base/dtype_policy.h>
#include <nyala/api/saving/config/custom_object.h>

namespace nyala {

/// What one load_model() knows besides the file's text.
struct LoadScope {
  CustomObjects custom_objects = {};
  /// Options in the file that no class took, each with its place.
  std::vector<std::string> unknown_options = {};
  /// Layers that the file uses in several places, by Keras' shared_object_id.
  std::map<int64_t, Layer> shared = {};
  int depth = 0;  // of layers in layers
  /// Of all layers, whatever the text says of them, but those that the text has in float32 beside others of
  /// fewer bits.
  std::optional<DTypePolicy> dtype_policy = {};
  bool keeps_float32 = false;
};

}  // namespace nyala
