#include <nyala/api/layers/base/edge_sizes.h>

#include <string>

#include <nyala/api/base/shown_list.h>
#include <nyala/backend/core/error.h>

namespace nyala {

bool detail::visit_edge_list(FieldVisitor& v, const char* name, std::vector<EdgePair>& edges) {
  const size_t axes = edges.size();
  std::vector<int64_t> list;
  for (const auto& [before, after] : edges) {
    list.push_back(before);
    list.push_back(after);
  }
  if (!shown_and_changed(v, name, list)) return false;
  if (list.size() == 1) list.assign(2 * axes, list[0]);
  if (list.size() != axes && list.size() != 2 * axes)
    throw InvalidArgumentError(std::string(name) + ": expected 1, " + std::to_string(axes) + " or " +
                               std::to_string(2 * axes) + " sizes, received " + std::to_string(list.size()));
  const bool both = list.size() == axes;
  for (size_t i = 0; i < axes; ++i)
    edges[i] = both ? EdgePair{list[i], list[i]} : EdgePair{list[2 * i], list[2 * i + 1]};
  return true;
}

}  // namespace nyala
