#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// MobileNetV3 (Howard et al. 2019). Options alpha, minimalistic (no squeeze-and-excite, no 5x5 kernel, no
/// hard swish), dropout (0.2) and include_preprocessing. Images of any size, at least 32 pixels.
Model MobileNetV3Small(const ApplicationConfig& config = {});
Model MobileNetV3Large(const ApplicationConfig& config = {});

namespace mobilenet_v3 {

/// Mode "none".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "none"); }
using applications::decode_predictions;

}  // namespace mobilenet_v3

}  // namespace nyala::applications
