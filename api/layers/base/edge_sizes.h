#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include <nyala/api/base/fields.h>

namespace nyala {

/// What is in front of something and behind it.
struct EdgePair {
  int64_t before = 0, after = 0;
};

/// Elements to add or to leave out on both sides of some axes: `1` for all, `{1, 2}` in front and behind one
/// axis, `{1, 2}` for both sides of each of several, `{{1, 2}, {0, 3}}` for one after the other.
template <int kAxes>
class EdgeSizes {
 public:
  EdgeSizes(int64_t all) { edges_.fill({all, all}); }
  EdgeSizes(int64_t before, int64_t after) requires(kAxes == 1) : edges_{EdgePair{before, after}} {}
  EdgeSizes(int64_t rows, int64_t columns) requires(kAxes == 2)
      : EdgeSizes(EdgePair{rows, rows}, EdgePair{columns, columns}) {}
  EdgeSizes(int64_t depth, int64_t rows, int64_t columns) requires(kAxes == 3)
      : EdgeSizes(EdgePair{depth, depth}, EdgePair{rows, rows}, EdgePair{columns, columns}) {}
  EdgeSizes(const std::array<EdgePair, kAxes>& edges) : edges_(edges) {}
  EdgeSizes(EdgePair rows, EdgePair columns) requires(kAxes == 2) : edges_{rows, columns} {}
  EdgeSizes(EdgePair depth, EdgePair rows, EdgePair columns) requires(kAxes == 3)
      : edges_{depth, rows, columns} {}

  std::vector<EdgePair> list() const { return {edges_.begin(), edges_.end()}; }

 private:
  std::array<EdgePair, kAxes> edges_;
};

namespace detail {

/// Visits pairs as a flat list; one number stands for all, and one for each axis for both its sides. Says
/// whether the visitor changed them. Throws InvalidArgumentError for a list of another length.
bool visit_edge_list(FieldVisitor& v, const char* name, std::vector<EdgePair>& edges);

template <int kAxes>
void visit_edges(FieldVisitor& v, const char* name, EdgeSizes<kAxes>& edges) {
  std::vector<EdgePair> list = edges.list();
  if (!visit_edge_list(v, name, list)) return;
  std::array<EdgePair, kAxes> array;
  for (size_t i = 0; i < kAxes; ++i) array[i] = list[i];
  edges = array;
}

}  // namespace detail

}  // namespace nyala
