#include <nyala/api/name_table.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/regularizers/regularizer.h>

namespace nyala {

namespace {

const NameTable<Regularizer>& names() {
  static const NameTable<Regularizer> table("regularizer", Regularizers{}, {{"l1_l2", "L1L2"}});
  return table;
}

}  // namespace

Regularizer::Regularizer(const std::string& name) : Regularizer(names().make(name)) {}

}  // namespace nyala
