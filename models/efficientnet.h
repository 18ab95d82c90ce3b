#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// EfficientNet (Tan and Le 2019). 224, 240, 260, 300, 380, 456, 528 and 600 pixels, at least 32. Takes
/// values 0 to 255; with published weights the model has one more Rescaling, as in Keras.
Model EfficientNetB0(const ApplicationConfig& config = {});
Model EfficientNetB1(const ApplicationConfig& config = {});
Model EfficientNetB2(const ApplicationConfig& config = {});
Model EfficientNetB3(const ApplicationConfig& config = {});
Model EfficientNetB4(const ApplicationConfig& config = {});
Model EfficientNetB5(const ApplicationConfig& config = {});
Model EfficientNetB6(const ApplicationConfig& config = {});
Model EfficientNetB7(const ApplicationConfig& config = {});

namespace efficientnet {

/// Mode "none".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "none"); }
using applications::decode_predictions;

}  // namespace efficientnet

}  // namespace nyala::applications
