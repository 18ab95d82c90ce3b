#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct MaxNumBoundingBoxesConfig {
  NamesRequired names_required = NamesRequired();
  int64_t max_number = 0;                // Keras has no default
  int64_t fill_value = -1;               // as in Keras, files do not hold it
  std::string bounding_box_format = {};  // "xyxy" ...: Keras asks for one where there are boxes
  std::string data_format = {};          // "channels_last", or "channels_first"
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Gives each image max_number bounding boxes: those behind are left out, and boxes and classes of fill_value
/// stand for missing ones. Inputs are boxes (batch, n, 4), their classes (batch, n) and the images, perhaps
/// labels of these; or images alone, as in Keras, where they are a dictionary {"bounding_boxes": {"boxes",
/// "labels"}, "images", "labels"}. Outputs are the same.
class MaxNumBoundingBoxes : public Layer {
 public:
  using Config = MaxNumBoundingBoxesConfig;
  /// Throws InvalidArgumentError for a max_number below 1; building throws ShapeError for boxes and classes
  /// that do not fit, InvalidArgumentError for two inputs or more than four, and for boxes without a
  /// bounding_box_format, which changes nothing.
  explicit MaxNumBoundingBoxes(const Config& config);
  explicit MaxNumBoundingBoxes(int64_t max_number, Config config = {});
};

}  // namespace nyala
