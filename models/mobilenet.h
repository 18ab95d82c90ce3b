#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// MobileNet (Howard et al. 2017): depthwise and 1x1 convolutions. Options alpha, depth_multiplier and
/// dropout (0.001). 224 pixels, at least 32.
Model MobileNet(const ApplicationConfig& config = {});

namespace mobilenet {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace mobilenet

}  // namespace nyala::applications
