#include <nyala/api/saving/config/registry.h>

#include <mutex>

namespace nyala {

namespace {

struct Registered {
  std::string package;
  LayerMaker maker;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Registered> classes;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

void register_class(const std::string& package, const std::string& class_name, LayerMaker maker) {
  const std::lock_guard lock(registry().mutex);
  registry().classes[class_name] = {package, std::move(maker)};
}

std::string registered_name_of(const std::string& class_name) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().classes.find(class_name);
  return found == registry().classes.end() ? "" : found->second.package + ">" + class_name;
}

LayerMaker registered_class(const std::string& name) {
  const std::string class_name = name.substr(name.find('>') + 1);
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().classes.find(class_name);
  return found == registry().classes.end() ? LayerMaker() : found->second.maker;
}

}  // namespace nyala
