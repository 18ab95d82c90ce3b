#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nyala/backend/core/mutex.h>

namespace nyala {

namespace detail {

/// Keras' snake case of a class name: "Conv2D" -> "conv2d", "ReLU" -> "re_lu".
std::string snake_case(std::string_view class_name);

/// How many names each class has got. Thread-safe.
class NameCounters {
 public:
  std::string next(std::string_view class_name);
  void clear();

 private:
  Mutex mutex_{Mutex::AtFork::is_waited};
  std::map<std::string, int> counts_;
};

}  // namespace detail

/// The next automatic name for a class: "dense", "dense_1". Thread-safe.
std::string unique_name(std::string_view class_name);

/// Starts the automatic names afresh, and makes the dtype policy float32 again (Keras' clear_session).
void clear_session();

}  // namespace nyala
