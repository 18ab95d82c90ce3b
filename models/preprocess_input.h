#pragma once

#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala::applications {

/// Images (..., height, width, channels) of values 0 to 255 as an architecture was trained on them, in a
/// floating dtype (integers become float32). `mode`:
/// - "tf": x / 127.5 - 1;
/// - "caffe": channels in the order blue, green, red, less (103.939, 116.779, 123.68);
/// - "torch": (x / 255 - mean) / deviation, means (0.485, 0.456, 0.406), deviations (0.229, 0.224, 0.225);
/// - "none": as they are, for models that begin with that.
/// Throws InvalidArgumentError for another mode, ShapeError where a mode wants 3 channels and there are not.
Tensor preprocess_input(const Tensor& x, const std::string& mode);

}  // namespace nyala::applications
