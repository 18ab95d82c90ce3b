#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// Inception-ResNet v2 (Szegedy et al. 2016). 299 pixels, at least 75.
Model InceptionResNetV2(const ApplicationConfig& config = {});

namespace inception_resnet_v2 {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace inception_resnet_v2

}  // namespace nyala::applications
