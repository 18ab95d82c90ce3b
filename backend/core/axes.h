#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace nyala {

/// One axis or several: `-1` or `{1, 2}`; none stands for what the place that takes them says, mostly all.
/// Negative axes count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : axes_{axis} {}
  template <std::same_as<bool> T>
  Axes(T) = delete;  // keepdims stands behind the axes
  Axes(std::initializer_list<int> axes) : axes_(axes) {}
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}

  const std::vector<int>& list() const { return axes_; }
  bool empty() const { return axes_.empty(); }
  size_t size() const { return axes_.size(); }
  auto begin() const { return axes_.begin(); }
  auto end() const { return axes_.end(); }

 private:
  std::vector<int> axes_;
};

}  // namespace nyala
