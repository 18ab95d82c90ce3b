#pragma once

#include <memory>
#include <string>

#include <nyala/api/model/graph.h>
#include <nyala/api/saving/json/strict_json.h>

namespace nyala {

/// An operation of keras.ops in a file: class, constructor's arguments and the arguments of its call, in
/// which
/// {"input": i} stands for input i of the graph's node.
struct OpConfig {
  std::string class_name;
  std::string module = {};
  Json config = Json::object();  // without the name
  Json args = Json::array();
  Json kwargs = Json::object();
};

/// The operation of a node of the graph, whether a file or `x + y` and the like drew it. Throws
/// InvalidArgumentError for an op that is none of Keras'.
OpConfig op_to_config(const GraphNode& node);

/// Whether the class is an operation of Keras' that is built.
bool is_op_class(const std::string& class_name);
/// The operation as a node of a graph, under its module of today. Its constants are read at
/// once. Throws FileFormatError naming `where`; so does running it.
std::shared_ptr<const GraphOperation> make_operation(OpConfig config, const std::string& where);

}  // namespace nyala
