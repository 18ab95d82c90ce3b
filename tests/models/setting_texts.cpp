#include <nyala/tests/models/setting_texts.h>

#include <cmath>
#include <cstdio>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

namespace {

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

template <class T, class Text>
std::string list(const std::vector<T>& values, Text text) {
  std::string out;
  for (const T& value : values) out += (out.empty() ? "" : ",") + text(value);
  return "(" + out + ")";
}

}  // namespace

void SettingTexts::field(const char* name, double& value) { texts_[name] = number(value); }

void SettingTexts::field(const char* name, std::vector<int64_t>& value) {
  const std::string key = name;
  if (value.empty() && key != "target_shape") {
    texts_[key] = "None";
    return;
  }
  std::vector<int64_t> sizes = value;
  // Paddings whose sides are equal show one number for each axis, Keras always both.
  if (key == "padding" && sizes.size() == 2) sizes = {sizes[0], sizes[0], sizes[1], sizes[1]};
  texts_[key] = list(sizes, [&](int64_t size) {
    return size == None && key == "noise_shape" ? "None" : std::to_string(size);
  });
}

void SettingTexts::field(const char* name, std::vector<double>& value) {
  texts_[name] = value.empty() ? "None" : value.size() == 1 ? number(value[0]) : list(value, number);
}

void SettingTexts::field(const char* name, ActivationArgument& value) { texts_[name] = value.name(); }

void SettingTexts::field(const char* name, Initializer& value) {
  const std::string class_name = value.node().class_name();
  std::string inner;
  if (class_name == "VarianceScaling" || class_name == "Constant") {
    SettingTexts of_initializer;
    value.node().fields(of_initializer);
    for (const char* key : {"scale", "mode", "distribution", "value"})
      if (const auto found = of_initializer.texts().find(key); found != of_initializer.texts().end())
        inner += (inner.empty() ? "" : ";") + found->first + "=" + found->second;
  }
  texts_[name] = class_name + "<" + inner + ">";
}

void SettingTexts::optional(const char* name, double& value) {
  texts_[name] = std::isnan(value) ? "None" : number(value);
}

void SettingTexts::optional(const char* name, int64_t& value, int64_t none) {
  texts_[name] = value == none ? "None" : std::to_string(value);
}

}  // namespace nyala
