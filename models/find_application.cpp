#include <nyala/models/find_application.h>

#include <algorithm>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/models/all.h>

namespace nyala::applications {

using namespace nyala::detail;

const std::vector<Application>& all_applications() {
  static const std::vector<Application>& all = *new std::vector<Application>{
      {"ConvNeXtBase", "convnext", "none", 224, ConvNeXtBase},
      {"ConvNeXtLarge", "convnext", "none", 224, ConvNeXtLarge},
      {"ConvNeXtSmall", "convnext", "none", 224, ConvNeXtSmall},
      {"ConvNeXtTiny", "convnext", "none", 224, ConvNeXtTiny},
      {"ConvNeXtXLarge", "convnext", "none", 224, ConvNeXtXLarge},
      {"DenseNet121", "densenet", "torch", 224, DenseNet121},
      {"DenseNet169", "densenet", "torch", 224, DenseNet169},
      {"DenseNet201", "densenet", "torch", 224, DenseNet201},
      {"EfficientNetB0", "efficientnet", "none", 224, EfficientNetB0},
      {"EfficientNetB1", "efficientnet", "none", 240, EfficientNetB1},
      {"EfficientNetB2", "efficientnet", "none", 260, EfficientNetB2},
      {"EfficientNetB3", "efficientnet", "none", 300, EfficientNetB3},
      {"EfficientNetB4", "efficientnet", "none", 380, EfficientNetB4},
      {"EfficientNetB5", "efficientnet", "none", 456, EfficientNetB5},
      {"EfficientNetB6", "efficientnet", "none", 528, EfficientNetB6},
      {"EfficientNetB7", "efficientnet", "none", 600, EfficientNetB7},
      {"EfficientNetV2B0", "efficientnet_v2", "none", 224, EfficientNetV2B0},
      {"EfficientNetV2B1", "efficientnet_v2", "none", 240, EfficientNetV2B1},
      {"EfficientNetV2B2", "efficientnet_v2", "none", 260, EfficientNetV2B2},
      {"EfficientNetV2B3", "efficientnet_v2", "none", 300, EfficientNetV2B3},
      {"EfficientNetV2L", "efficientnet_v2", "none", 480, EfficientNetV2L},
      {"EfficientNetV2M", "efficientnet_v2", "none", 480, EfficientNetV2M},
      {"EfficientNetV2S", "efficientnet_v2", "none", 384, EfficientNetV2S},
      {"InceptionResNetV2", "inception_resnet_v2", "tf", 299, InceptionResNetV2},
      {"InceptionV3", "inception_v3", "tf", 299, InceptionV3},
      {"MobileNet", "mobilenet", "tf", 224, MobileNet},
      {"MobileNetV2", "mobilenet_v2", "tf", 224, MobileNetV2},
      {"MobileNetV3Large", "mobilenet_v3", "none", 224, MobileNetV3Large},
      {"MobileNetV3Small", "mobilenet_v3", "none", 224, MobileNetV3Small},
      {"NASNetLarge", "nasnet", "tf", 331, NASNetLarge},
      {"NASNetMobile", "nasnet", "tf", 224, NASNetMobile},
      {"ResNet101", "resnet", "caffe", 224, ResNet101},
      {"ResNet101V2", "resnet_v2", "tf", 224, ResNet101V2},
      {"ResNet152", "resnet", "caffe", 224, ResNet152},
      {"ResNet152V2", "resnet_v2", "tf", 224, ResNet152V2},
      {"ResNet50", "resnet", "caffe", 224, ResNet50},
      {"ResNet50V2", "resnet_v2", "tf", 224, ResNet50V2},
      {"VGG16", "vgg16", "caffe", 224, VGG16},
      {"VGG19", "vgg19", "caffe", 224, VGG19},
      {"Xception", "xception", "tf", 299, Xception},
  };
  return all;
}

const Application& find_application(const std::string& name) {
  std::vector<std::string> names;
  for (const Application& application : all_applications()) {
    if (lower_case(application.name) == lower_case(name)) return application;
    names.push_back(application.name);
  }
  throw NotFoundError("unknown architecture " + in_quotes(name) + did_you_mean(name, names) +
                      ": expected one of " + quoted_list(names));
}

std::string preprocess_mode(const std::string& name) {
  std::vector<std::string> names = {"caffe", "tf", "torch", "none"};
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  for (const Application& application : all_applications()) {
    if (application.module == name || lower_case(application.name) == lower_case(name))
      return application.preprocess;
    if (std::find(names.begin(), names.end(), application.module) == names.end())
      names.push_back(application.module);
  }
  throw NotFoundError("unknown preprocessing " + in_quotes(name) + did_you_mean(name, names) +
                      ": expected one of " + quoted_list(names));
}

}  // namespace nyala::applications
