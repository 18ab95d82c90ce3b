#include <functional>
#include <map>

#include <nyala/api/layers/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_layer.h>

namespace nyala::golden {

Layer make_layer_of(const std::string& class_name, const Json& config) {
  using Maker = std::function<Layer(const Json&)>;
  static const std::map<std::string, Maker> makers = {
      {"Activation", from_config<Activation>},
      {"Add", from_config<Add>},
      {"AveragePooling2D", from_config<AveragePooling2D>},
      {"BatchNormalization", from_config<BatchNormalization>},
      {"Concatenate", from_config<Concatenate>},
      {"Conv2D", from_config<Conv2D>},
      {"Dense", from_config<Dense>},
      {"Dropout", from_config<Dropout>},
      {"Flatten", from_config<Flatten>},
      {"GlobalAveragePooling2D", from_config<GlobalAveragePooling2D>},
      {"GlobalMaxPooling2D", from_config<GlobalMaxPooling2D>},
      {"MaxPooling2D", from_config<MaxPooling2D>},
      {"ReLU", from_config<ReLU>},
      {"Rescaling", from_config<Rescaling>},
      {"Reshape", from_config<Reshape>},
      {"Softmax", from_config<Softmax>},
      {"ZeroPadding2D", from_config<ZeroPadding2D>},
  };
  return makers.at(class_name)(config);
}

}  // namespace nyala::golden
