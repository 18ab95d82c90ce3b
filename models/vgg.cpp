#include <nyala/models/vgg.h>

#include <array>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

namespace vgg {
namespace {

struct Variant {
  std::string name;        // "VGG16"
  std::string keras_name;  // "vgg16"
  std::array<int, 5> convolutions;
  const char* hash_with_top;
  const char* hash_without_top;
};

Tensor classifier(const ImageApplication& app, const Tensor& features) {
  const ApplicationConfig& config = app.config();
  if (!config.include_top) return app.pool(features, {});
  Tensor x = Flatten({.name = "flatten"})(features);
  for (const char* name : {"fc1", "fc2"}) x = Dense(4096, {.activation = "relu", .name = name})(x);
  return Dense(config.classes, {.activation = config.classifier_activation, .name = "predictions"})(x);
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config, {.name = variant.name});
  constexpr int64_t kFilters[] = {64, 128, 256, 512, 512};
  Tensor x = app.image();
  for (size_t i = 0; i < 5; ++i) {
    const std::string block = "block" + std::to_string(i + 1);
    for (int j = 1; j <= variant.convolutions[i]; ++j)
      x = Conv2D(kFilters[i], 3,
                 {.padding = "same", .activation = "relu", .name = block + "_conv" + std::to_string(j)})(x);
    x = MaxPooling2D(2, {.strides = 2, .name = block + "_pool"})(x);
  }
  const std::string file = variant.keras_name + "_weights_tf_dim_ordering_tf_kernels" +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(classifier(app, x), variant.keras_name,
                   {.name = file,
                    .url = "https://storage.googleapis.com/tensorflow/keras-applications/" +
                           variant.keras_name + "/" + file,
                    .hash = config.include_top ? variant.hash_with_top : variant.hash_without_top});
}

}  // namespace
}  // namespace vgg

Model VGG16(const ApplicationConfig& config) {
  return vgg::build(config, {"VGG16",
                             "vgg16",
                             {2, 2, 3, 3, 3},
                             "64373286793e3c8b2b4e3219cbf3544b",
                             "6d6bbae143d832006294945121d1f1fc"});
}

Model VGG19(const ApplicationConfig& config) {
  return vgg::build(config, {"VGG19",
                             "vgg19",
                             {2, 2, 4, 4, 4},
                             "cbe5617147190e668d6c5d5026f83318",
                             "253f8cb515780f3b799900260a226db6"});
}

}  // namespace nyala::applications
