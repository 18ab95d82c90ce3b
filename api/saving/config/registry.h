#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <nyala/api/class_name.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/model/model.h>

namespace nyala {

/// Makes a layer of the user's whose Config is filled by a visitor.
using LayerMaker = std::function<Layer(FieldVisitor&, const LayerOptions&)>;

/// Classes of the user's by name, for one load_model().
using CustomObjects = std::map<std::string, LayerMaker>;

/// How a user's LayerNode or ModelNode is made again: from its `Config`, if it has one, whose `fields(visitor)`
/// is what files hold.
template <class Node>
LayerMaker custom_object() {
  return [](FieldVisitor& visitor, const LayerOptions& options) {
    std::shared_ptr<LayerNode> node;
    if constexpr (requires { typename Node::Config; }) {
      typename Node::Config config;
      config.fields(visitor);
      node = std::make_shared<Node>(config);
    } else {
      node = std::make_shared<Node>();
    }
    return Layer(finish_layer(std::move(node), options));
  };
}

void register_class(const std::string& package, const std::string& class_name, LayerMaker maker);

/// Lets files hold a user's layer or model under "package>Class": `register_serializable<MyLayer>("mine")`
/// before load_model. Its class_name() is the name of the C++ class. Registering again replaces. Thread-safe.
template <class Node>
void register_serializable(const std::string& package = "Custom") {
  register_class(package, class_name_of<Node>(), custom_object<Node>());
}

/// "package>Class" for a registered class, else "".
std::string registered_name_of(const std::string& class_name);
/// The maker of "package>Class" or "Class"; empty where nobody registered it.
LayerMaker registered_class(const std::string& name);

}  // namespace nyala
