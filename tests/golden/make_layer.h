#pragma once

#include <string>

#include <nyala/api/layers/base/layer.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {

/// A layer by Keras' class name and constructor arguments.
Layer make_layer_of(const std::string& class_name, const Json& config);

}  // namespace nyala::golden
