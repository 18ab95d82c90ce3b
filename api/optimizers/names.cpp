#include <algorithm>
#include <map>

#include <nyala/api/base/registry.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/c_locale_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Maker = Optimizer (*)();

template <class C>
Optimizer make() {
  return C();
}

template <class... Classes>
std::map<std::string, Maker> makers(ClassList<Classes...>) {
  std::map<std::string, Maker> table;
  (table.emplace(lower_case(Classes({.name = "prototype"}).node().class_name()), make<Classes>), ...);
  return table;
}

}  // namespace

Optimizer::Optimizer(const std::string& name) {
  static const std::map<std::string, Maker>& table = *new std::map<std::string, Maker>(makers(Optimizers{}));
  const auto found = table.find(lower_case(name));
  if (found != table.end()) {
    *this = found->second();
    return;
  }
  if (const auto own = registered<Optimizer>(name)) {
    *this = *own;
    return;
  }
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.first);
  throw InvalidArgumentError("unknown optimizer " + in_quotes(name) + did_you_mean(lower_case(name), names) +
                             ": expected one of " + quoted_list(names));
}

}  // namespace nyala
