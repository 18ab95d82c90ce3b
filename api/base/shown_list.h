#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <vector>

#include <nyala/api/base/fields.h>

namespace nyala::detail {

/// Shows `list`, in the form of which a Config shows a field of another type, and says whether the visitor
/// changed it: only then the field may be set. Whoever writes a file visits the configurations of layers that
/// other threads use meanwhile.
template <class T>
bool shown_and_changed(FieldVisitor& v, const char* name, std::vector<T>& list) {
  const std::vector<T> before = list;
  v.field(name, list);
  return !std::ranges::equal(list, before, [](const T& a, const T& b) {
    if constexpr (std::floating_point<T>)
      if (std::isnan(a) && std::isnan(b)) return true;
    return a == b;
  });
}

}  // namespace nyala::detail
