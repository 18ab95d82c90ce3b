#pragma once

#include <string>
#include <vector>

#include <nyala/api/model/graph.h>
#include <nyala/api/saving/json/strict_json.h>

namespace nyala {

/// One argument of an operation in a file: a tensor of the graph, or any other value.
struct OpArgument {
  Tensor tensor = {};
  Json value = {};
};

/// An operation drawn by `x + y` and the like: Keras' class, its module, and the arguments. Inputs are named
/// by their place in the node: {"input": i}. Throws InvalidArgumentError for an op that files cannot hold yet.
struct OpConfig {
  std::string class_name;
  std::string module;
  std::vector<Json> arguments = {};  // null: the next input
};
OpConfig op_to_config(const GraphNode& node);

/// Whether the class is an operation of Keras' that is built.
bool is_op_class(const std::string& class_name);
/// Draws or computes it. Throws FileFormatError naming `where`.
Tensor run_op(const std::string& class_name, const std::vector<OpArgument>& arguments, const Json& keywords,
              const std::string& where);

}  // namespace nyala
