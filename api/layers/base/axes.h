#pragma once

#include <vector>

#include <nyala/api/base/shown_list.h>
#include <nyala/backend/core/axes.h>
#include <nyala/backend/core/to_int.h>

namespace nyala::detail {

/// Visits the axes as a list.
inline void visit_axes(FieldVisitor& v, const char* name, Axes& axes) {
  std::vector<int64_t> list(axes.list().begin(), axes.list().end());
  if (shown_and_changed(v, name, list)) axes = Axes(to_ints(list, name));
}

}  // namespace nyala::detail
