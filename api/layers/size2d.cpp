#include <nyala/api/layers/size2d.h>
#include <nyala/backend/core/error.h>

namespace nyala {

std::string Size2D::to_string() const {
  return given_ ? "(" + std::to_string(rows_) + ", " + std::to_string(columns_) + ")" : "None";
}

void visit_size(FieldVisitor& v, const char* name, Size2D& size) {
  std::vector<int64_t> list;
  if (size.given()) list = {size.rows(), size.columns()};
  v.field(name, list);
  if (list.size() > 2)
    throw InvalidArgumentError(std::string(name) + ": expected one or two sizes, received " +
                               std::to_string(list.size()));
  size = list.empty() ? Size2D::none() : Size2D(list.front(), list.back());
}

}  // namespace nyala
