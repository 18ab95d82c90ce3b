#pragma once

#include <initializer_list>
#include <vector>

#include <nyala/api/fields.h>

namespace nyala {

/// One axis or several: `-1` or `{1, 2}`. Negative axes count from the end.
class Axes {
 public:
  Axes(int axis) : axes_{axis} {}
  Axes(std::initializer_list<int> axes) : axes_(axes) {}
  explicit Axes(std::vector<int> axes) : axes_(std::move(axes)) {}

  const std::vector<int>& list() const { return axes_; }

 private:
  std::vector<int> axes_;
};

/// Visits the axes as a list.
inline void visit_axes(FieldVisitor& v, const char* name, Axes& axes) {
  std::vector<int64_t> list(axes.list().begin(), axes.list().end());
  v.field(name, list);
  axes = Axes(std::vector<int>(list.begin(), list.end()));
}

}  // namespace nyala
