#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// Inception v3 (Szegedy et al. 2015). 299 pixels, at least 75.
Model InceptionV3(const ApplicationConfig& config = {});

namespace inception_v3 {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace inception_v3

}  // namespace nyala::applications
