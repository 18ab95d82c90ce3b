#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// NASNet-A (Zoph et al. 2017). 224 and 331 pixels, at least 32.
Model NASNetMobile(const ApplicationConfig& config = {});
Model NASNetLarge(const ApplicationConfig& config = {});

namespace nasnet {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace nasnet

}  // namespace nyala::applications
