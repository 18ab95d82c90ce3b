#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// EfficientNetV2 (Tan and Le 2021). Option include_preprocessing. 224, 240, 260, 300, 384, 480 and 480
/// pixels, at least 32.
Model EfficientNetV2B0(const ApplicationConfig& config = {});
Model EfficientNetV2B1(const ApplicationConfig& config = {});
Model EfficientNetV2B2(const ApplicationConfig& config = {});
Model EfficientNetV2B3(const ApplicationConfig& config = {});
Model EfficientNetV2S(const ApplicationConfig& config = {});
Model EfficientNetV2M(const ApplicationConfig& config = {});
Model EfficientNetV2L(const ApplicationConfig& config = {});

namespace efficientnet_v2 {

/// Mode "none".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "none"); }
using applications::decode_predictions;

}  // namespace efficientnet_v2

}  // namespace nyala::applications
