#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// Densely connected networks (Huang et al. 2016). 224 pixels, at least 32.
Model DenseNet121(const ApplicationConfig& config = {});
Model DenseNet169(const ApplicationConfig& config = {});
Model DenseNet201(const ApplicationConfig& config = {});

namespace densenet {

/// Mode "torch".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "torch"); }
using applications::decode_predictions;

}  // namespace densenet

}  // namespace nyala::applications
