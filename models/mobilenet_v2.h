#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// MobileNetV2 (Sandler et al. 2018): inverted residual blocks. Option alpha. 224 pixels, at least 32.
Model MobileNetV2(const ApplicationConfig& config = {});

namespace mobilenet_v2 {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace mobilenet_v2

}  // namespace nyala::applications
