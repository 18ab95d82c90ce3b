#pragma once

#include <string>
#include <vector>

#include <nyala/models/application_config.h>

namespace nyala::applications {

/// One architecture, as programs find it by name.
struct Application {
  std::string name;        // Keras' function, "MobileNetV2"
  std::string module;      // Keras' module, "mobilenet_v2"
  std::string preprocess;  // the mode of preprocess_input()
  int64_t image_size;      // height and width it was trained on
  Model (*make)(const ApplicationConfig&);
};

/// All of them, in Keras' alphabetical order.
const std::vector<Application>& all_applications();

/// By name, in any case: "MobileNetV2", "mobilenetv2". Throws NotFoundError with the nearest names.
const Application& find_application(const std::string& name);

/// The mode of preprocess_input() for a module ("mobilenet_v2"), an architecture's name or a mode itself.
/// Throws NotFoundError with the nearest names.
std::string preprocess_mode(const std::string& name);

}  // namespace nyala::applications
