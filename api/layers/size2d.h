#pragma once

#include <array>
#include <string>

#include <nyala/api/fields.h>

namespace nyala {

/// A size in two dimensions, rows before columns: `3` or `{3, 5}`.
class Size2D {
 public:
  constexpr Size2D(int64_t both) : Size2D(both, both) {}
  constexpr Size2D(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}
  /// Keras' None: not given.
  static constexpr Size2D none() {
    Size2D size(0);
    size.given_ = false;
    return size;
  }

  bool given() const { return given_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t largest() const { return rows_ > columns_ ? rows_ : columns_; }
  /// As ops take it.
  std::array<int, 2> to_array() const { return {static_cast<int>(rows_), static_cast<int>(columns_)}; }
  /// "(3, 5)", or "None".
  std::string to_string() const;

  friend bool operator==(const Size2D&, const Size2D&) = default;

 private:
  int64_t rows_, columns_;
  bool given_ = true;
};

/// Visits a size as a list: {} not given, {rows, columns} else; one number stands for both. Throws
/// InvalidArgumentError for longer lists.
void visit_size(FieldVisitor& v, const char* name, Size2D& size);

}  // namespace nyala
