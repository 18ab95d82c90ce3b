#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// Residual networks (He et al. 2015), and those whose blocks begin with the activation (He et al. 2016). 224
/// pixels, at least 32.
Model ResNet50(const ApplicationConfig& config = {});
Model ResNet101(const ApplicationConfig& config = {});
Model ResNet152(const ApplicationConfig& config = {});
Model ResNet50V2(const ApplicationConfig& config = {});
Model ResNet101V2(const ApplicationConfig& config = {});
Model ResNet152V2(const ApplicationConfig& config = {});

namespace resnet {

/// Mode "caffe".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "caffe"); }
using applications::decode_predictions;

}  // namespace resnet

namespace resnet_v2 {

/// Mode "tf".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "tf"); }
using applications::decode_predictions;

}  // namespace resnet_v2

}  // namespace nyala::applications
