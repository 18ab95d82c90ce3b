#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/strategies/cross_device/reduce_op.h>

namespace nyala {

/// A ReduceOp or its name: "SUM" or "MEAN", in any case of letters.
struct ReduceOpName {
  ReduceOpName(ReduceOp reduce_op) : op(reduce_op) {}
  /// Throws InvalidArgumentError for another name.
  ReduceOpName(std::string_view name);
  ReduceOpName(const char* name) : ReduceOpName(std::string_view(name)) {}
  ReduceOpName(const std::string& name) : ReduceOpName(std::string_view(name)) {}

  ReduceOp op;
};

/// Along which axes each replica's value is reduced before the replicas': none, one or several.
struct ReduceAxes {
  ReduceAxes() = default;
  ReduceAxes(int axis) : list{axis} {}
  ReduceAxes(std::initializer_list<int> axes) : list(axes) {}
  ReduceAxes(std::vector<int> axes) : list(std::move(axes)) {}

  std::vector<int> list;
};

}  // namespace nyala
