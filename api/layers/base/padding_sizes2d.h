#pragma once

#include <array>
#include <string>

#include <nyala/api/base/fields.h>

namespace nyala {

/// Rows and columns to add around an image: `1`, `{1, 2}` (rows above and below, columns left and right), or
/// `{{top, bottom}, {left, right}}`.
class PaddingSizes2D {
 public:
  struct Pair {
    int64_t before, after;
  };
  constexpr PaddingSizes2D(int64_t all) : PaddingSizes2D(all, all) {}
  constexpr PaddingSizes2D(int64_t rows, int64_t columns) : rows_{rows, rows}, columns_{columns, columns} {}
  constexpr PaddingSizes2D(Pair rows, Pair columns) : rows_(rows), columns_(columns) {}

  Pair rows() const { return rows_; }
  Pair columns() const { return columns_; }

 private:
  Pair rows_, columns_;
};

namespace detail {

/// Visits as {rows, columns} where both sides are equal, else as {top, bottom, left, right}; one number
/// stands for all. Throws InvalidArgumentError for another length.
void visit_padding(FieldVisitor& v, const char* name, PaddingSizes2D& padding);

}  // namespace detail

}  // namespace nyala
