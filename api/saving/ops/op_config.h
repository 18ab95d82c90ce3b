#pragma once

#include <string>

#include <nyala/files/json/strict_json.h>

namespace nyala {

/// An operation of keras.ops in a file: class, constructor's arguments and the arguments of its call, in
/// which {"input": i} stands for input i of the graph's node.
struct OpConfig {
  std::string class_name;
  std::string module = {};
  Json config = Json::object();  // without the name
  Json args = Json::array();
  Json kwargs = Json::object();
};

}  // namespace nyala
