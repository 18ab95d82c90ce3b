#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// Xception (Chollet 2016): separable convolutions with residuals. 299 pixels, at least 71.
Model Xception(const ApplicationConfig& config = {});

namespace xception {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace xception

}  // namespace nyala::applications
