#include <nyala/api/layers/base/edges_layer.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

detail::EdgesNode::EdgesNode(const EdgesLayer& layer, std::function<void(FieldVisitor&)> fields)
    : layer_(layer), fields_(std::move(fields)) {
  check_either_data_format(layer.class_name, layer.data_format);
  const std::string field = class_name().starts_with("Cropping") ? "cropping" : "padding";
  constexpr int64_t kMost = std::numeric_limits<int>::max();  // sums of sizes stay far below int64's end
  for (const auto& [before, after] : layer.edges)
    if (std::min(before, after) < 0 || std::max(before, after) > kMost)
      throw InvalidArgumentError(class_name() + ": expected " +
                                 (std::min(before, after) < 0 ? field + " >= 0" : "a smaller " + field) +
                                 ", received (" + std::to_string(before) + ", " + std::to_string(after) +
                                 ")");
}

void detail::EdgesNode::check_shape(const Shape& input) const {
  static constexpr const char* kAxes[] = {"(batch, steps, channels)", "(batch, height, width, channels)",
                                          "(batch, depth, height, width, channels)"};
  const size_t axes = layer_.edges.size();
  check_rank(input, static_cast<int>(axes) + 2, kAxes[axes - 1]);
}

}  // namespace nyala
