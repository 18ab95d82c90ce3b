#include <nyala/api/base/shown_list.h>
#include <nyala/api/layers/base/padding_sizes2d.h>
#include <nyala/backend/core/error.h>

namespace nyala {

void detail::visit_padding(FieldVisitor& v, const char* name, PaddingSizes2D& padding) {
  const auto [top, bottom] = padding.rows();
  const auto [left, right] = padding.columns();
  std::vector<int64_t> list = {top, bottom, left, right};
  if (top == bottom && left == right) list = {top, left};
  if (!shown_and_changed(v, name, list)) return;
  if (list.size() == 1)
    padding = PaddingSizes2D(list[0]);
  else if (list.size() == 2)
    padding = PaddingSizes2D(list[0], list[1]);
  else if (list.size() == 4)
    padding = PaddingSizes2D({list[0], list[1]}, {list[2], list[3]});
  else
    throw InvalidArgumentError(std::string(name) + ": expected 1, 2 or 4 sizes, received " +
                               std::to_string(list.size()));
}

}  // namespace nyala
