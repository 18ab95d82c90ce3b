#include <nyala/api/constraints/all.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/name_table.h>

namespace nyala {

namespace {

const NameTable<Constraint>& names() {
  static const NameTable<Constraint> table("constraint", Constraints{}, {});
  return table;
}

}  // namespace

Constraint::Constraint(const std::string& name) : Constraint(names().make(name)) {}

}  // namespace nyala
