#include <nyala/api/base/name_table.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/constraints/constraint.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const NameTable<Constraint>& names() {
  static const NameTable<Constraint>& table = *new NameTable<Constraint>("constraint", Constraints{}, {});
  return table;
}

}  // namespace

Constraint::Constraint(const std::string& name) {
  const auto own = names().has(name) ? std::nullopt : registered<Constraint>(name);
  *this = own ? *own : names().make(name);
}

}  // namespace nyala
