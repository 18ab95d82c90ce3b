#pragma once

#include <string>
#include <string_view>

namespace nyala {

namespace detail {

/// Keras' snake case of a class name: "Conv2D" -> "conv2d", "ReLU" -> "re_lu".
std::string snake_case(std::string_view class_name);

}  // namespace detail

/// The next automatic name for a class: "dense", "dense_1". Thread-safe.
std::string unique_name(std::string_view class_name);

/// Starts the automatic names afresh (Keras' clear_session).
void clear_session();

}  // namespace nyala
