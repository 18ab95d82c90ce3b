#include <nyala/api/base/name_table.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const NameTable<Regularizer>& names() {
  static const NameTable<Regularizer>& table =
      *new NameTable<Regularizer>("regularizer", Regularizers{}, {{"l1_l2", "L1L2"}});
  return table;
}

}  // namespace

Regularizer::Regularizer(const std::string& name) {
  const auto own = names().has(name) ? std::nullopt : registered<Regularizer>(name);
  *this = own ? *own : names().make(name);
}

}  // namespace nyala
