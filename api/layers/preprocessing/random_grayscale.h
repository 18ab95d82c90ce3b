#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct RandomGrayscaleConfig {
  NamesRequired names_required = NamesRequired();
  double factor = 0.5;
  std::string data_format = {};  // "channels_last", or "channels_first"
  int64_t seed = -1;             // below 0: none
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// In training makes each image grey at chance `factor`: all channels get its luma. Images of three channels,
/// red, green and blue; those of one stay. See ImageAugmentation.
class RandomGrayscale : public Layer {
 public:
  using Config = RandomGrayscaleConfig;
  /// Throws InvalidArgumentError for a factor outside [0, 1]; building throws ShapeError for other images.
  explicit RandomGrayscale(const Config& config = {});
  explicit RandomGrayscale(double factor, Config config = {});
};

}  // namespace nyala
