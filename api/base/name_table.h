#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/names.h>
#include <nyala/backend/core/error.h>

namespace nyala {

/// The classes of one kind; stands in the kind's list, all.h.
template <class... Classes>
struct ClassList {};

/// Finds default-constructed objects of one kind by Keras' names: the class name, its snake case, and
/// aliases.
template <class Handle>
class NameTable {
 public:
  using Aliases = std::vector<std::pair<std::string, std::string>>;  // alias, class name

  /// `kind` as errors say it: "initializer".
  template <class... Classes>
  NameTable(std::string kind, ClassList<Classes...>, const Aliases& aliases) : kind_(std::move(kind)) {
    (add(Classes().node().class_name(), [] { return Handle(Classes()); }), ...);
    for (const auto& [alias, name] : aliases) makers_[alias] = makers_.at(name);
  }

  bool has(const std::string& name) const { return makers_.contains(name); }
  /// Throws InvalidArgumentError with the nearest name.
  Handle make(const std::string& name) const {
    if (const auto found = makers_.find(name); found != makers_.end()) return found->second();
    throw InvalidArgumentError("unknown " + kind_ + " " + detail::in_quotes(name) +
                               detail::did_you_mean(name, shown_) + ": expected one of " +
                               detail::quoted_list(shown_));
  }

 private:
  using Maker = Handle (*)();

  void add(const std::string& class_name, Maker maker) {
    makers_[class_name] = maker;
    makers_[detail::snake_case(class_name)] = maker;
    shown_.push_back(detail::snake_case(class_name));
  }

  std::string kind_;
  std::map<std::string, Maker> makers_;
  std::vector<std::string> shown_;
};

}  // namespace nyala
