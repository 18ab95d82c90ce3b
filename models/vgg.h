#pragma once

#include <nyala/models/application_config.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/preprocess_input.h>

namespace nyala::applications {

/// VGG (Simonyan and Zisserman 2014): 3x3 convolutions and three Dense layers. 224 pixels, at least 32.
Model VGG16(const ApplicationConfig& config = {});
Model VGG19(const ApplicationConfig& config = {});

namespace vgg16 {

/// Mode "caffe".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "caffe"); }
using applications::decode_predictions;

}  // namespace vgg16

namespace vgg19 {

/// Mode "caffe".
inline Tensor preprocess_input(const Tensor& x) { return applications::preprocess_input(x, "caffe"); }
using applications::decode_predictions;

}  // namespace vgg19

}  // namespace nyala::applications
