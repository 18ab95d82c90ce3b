#pragma once

#include <concepts>
#include <string>
#include <utility>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomFlipConfig {
  NamesRequired names_required = NamesRequired();
  std::string mode = "horizontal_and_vertical";  // "horizontal" or "vertical"
  int64_t seed = -1;                             // below 0: none
  std::string data_format = {};                  // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training mirrors half of the images: left to right, top to bottom, or both at once. See
/// ImageAugmentation.
class RandomFlip : public Layer {
 public:
  using Config = RandomFlipConfig;
  /// Throws InvalidArgumentError for another mode.
  explicit RandomFlip(const Config& config = {});
  template <std::convertible_to<std::string> Mode>
  explicit RandomFlip(const Mode& mode, Config config = {}) : RandomFlip(with(mode, std::move(config))) {}

 private:
  static Config with(std::string mode, Config config);
};

}  // namespace nyala
