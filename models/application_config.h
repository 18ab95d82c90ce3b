#pragma once

#include <string>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/fields.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/model/model.h>

namespace nyala::applications {

/// What all architectures take, in Keras' words. A field that an architecture does not have (alpha of a
/// ResNet) must keep its default; anything else throws InvalidArgumentError.
struct ApplicationConfig {
  NamesRequired names_required = NamesRequired();
  /// (height, width, channels). Empty: the architecture's own size where there is a top, else (None, None,
  /// 3).
  Shape input_shape = {};
  double alpha = 1.0;            // width: MobileNet, MobileNetV2, MobileNetV3*
  int64_t depth_multiplier = 1;  // MobileNet
  bool minimalistic = false;     // MobileNetV3*
  double dropout = kNoValue;     // in front of the classifier, NaN: Keras' rate; MobileNet, MobileNetV3*
  bool include_top = true;
  bool include_preprocessing = true;  // MobileNetV3*, EfficientNetV2*, ConvNeXt*
  /// "imagenet": Keras' published file (see pretrained_file.h); "none" or empty: random; else the path of a
  /// file of any format that Model::load_weights reads.
  std::string weights = "imagenet";
  /// A symbolic tensor to use as the image; the model begins at the Inputs that it depends on.
  Tensor input_tensor = {};
  std::string pooling = {};  // without a top: "" (the last feature map), "avg" or "max"
  int64_t classes = 1000;
  ActivationArgument classifier_activation = "softmax";
  std::string name = {};  // empty: Keras'
};

}  // namespace nyala::applications
