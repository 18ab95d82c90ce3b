#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// ConvNeXt (Liu et al. 2022). Option include_preprocessing. 224 pixels, at least 32. Without a top the last
/// layer is a LayerNormalization.
Model ConvNeXtTiny(const ApplicationConfig& config = {});
Model ConvNeXtSmall(const ApplicationConfig& config = {});
Model ConvNeXtBase(const ApplicationConfig& config = {});
Model ConvNeXtLarge(const ApplicationConfig& config = {});
Model ConvNeXtXLarge(const ApplicationConfig& config = {});

namespace convnext {

/// Mode "none".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "none"); }
using applications::decode_predictions;

}  // namespace convnext

}  // namespace nyala::applications
