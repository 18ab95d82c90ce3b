#include <nyala/api/saving/ops/get_item.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/files/json/json_integer.h>

namespace nyala {

namespace {

bool is_special(const Json& json, const char* class_name) {
  return json.is_object() && json.contains("class_name") && json["class_name"] == class_name;
}

/// One bound of a slice.
int64_t bound_of(const Json& slice, const char* name, const OpArguments& a) {
  const Json config = slice.contains("config") ? slice["config"] : Json::object();
  if (!config.is_object() || !config.contains(name) || config[name].is_null()) return ops::kToEnd;
  const auto bound = integer_in(config[name]);
  if (!bound) a.fail("key", "slices of integers of 64 bits");
  return std::max(*bound, ops::kToEnd + 1);  // which is a number of its own
}

/// What a key does to the axes of x.
struct Selection {
  std::vector<ops::AxisRange> ranges;
  std::vector<int> dropped;  // axes that a number takes one place of
  std::vector<int> added;    // places of new axes in the result
};

Selection selection_of(const std::vector<Json>& key, const Shape& x, const OpArguments& a) {
  int used = 0;
  for (const Json& item : key) used += !item.is_null() && !is_special(item, "__ellipsis__");
  if (used > x.rank()) a.fail("key", "at most " + std::to_string(x.rank()) + " places of " + x.to_string());
  Selection s;
  int result = 0;
  for (const Json& item : key) {
    const int axis = static_cast<int>(s.ranges.size());
    if (item.is_null()) {
      s.added.push_back(result++);
    } else if (is_special(item, "__ellipsis__")) {
      for (int i = used; i < x.rank(); ++i, ++result) s.ranges.emplace_back();
      used = x.rank();  // a second one stands for nothing
    } else if (is_special(item, "__slice__")) {
      const int64_t step = bound_of(item, "step", a);
      if (step != ops::kToEnd && std::abs(step) > std::numeric_limits<int32_t>::max())
        a.fail("key", "a step of 32 bits, received " + std::to_string(step));
      s.ranges.push_back({bound_of(item, "start", a), bound_of(item, "stop", a),
                          step == ops::kToEnd ? 1 : static_cast<int32_t>(step)});
      ++result;
    } else if (const auto integer = integer_in(item)) {
      const int64_t i = *integer, size = x[axis];
      if (size != None && (i >= size || i < -size))
        a.fail("key", "places of " + x.to_string() + ", received " + std::to_string(i));
      s.ranges.push_back({i, i == -1 ? ops::kToEnd : i + 1, 1});
      s.dropped.push_back(axis);
    } else {
      a.fail("key", "numbers, slices, None and '...'");
    }
  }
  return s;
}

}  // namespace

Tensors read_item(const OpArguments& a) {
  const Tensor x = a.tensor("x", 0);
  const Json given = a.has("key", 1) ? a.json("key", 1) : Json();
  const std::vector<Json> key =
      given.is_array() ? std::vector<Json>(given.begin(), given.end()) : std::vector<Json>{given};
  const Selection s = selection_of(key, x.shape(), a);
  Tensor y = ops::strided_slice(x, s.ranges);
  if (!s.dropped.empty()) y = ops::squeeze(y, s.dropped);
  for (const int axis : s.added) y = ops::expand_dims(y, axis);
  return {y};
}

void write_item(const TracedOp& op, OpConfig& out) {
  const auto& slice = op.as<ops::SliceDescriptor>();
  const auto bound = [](int64_t value) { return value == ops::kToEnd ? Json() : Json(value); };
  Json key = Json::array();
  for (int axis = 0; axis < op.inputs[0].rank(); ++axis) {
    const ops::AxisRange range = slice.range(axis);
    const bool strict = range.step == 0;
    key.push_back({{"class_name", "__slice__"},
                   {"config",
                    {{"start", bound(range.start)},
                     {"stop", bound(range.stop)},
                     {"step", strict || range.step == 1 ? Json() : Json(range.step)}}}});
  }
  out.args.push_back(key);
}

void upgrade_item(OpConfig& op) {
  if (!op.args[1].is_array()) return;
  for (Json& part : op.args[1]) {
    if (!part.is_object()) continue;
    part = part.contains("class_name") ? Json{{"class_name", "__ellipsis__"}, {"config", Json::object()}}
                                       : Json{{"class_name", "__slice__"}, {"config", part}};
  }
}

}  // namespace nyala
