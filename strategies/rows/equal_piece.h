#pragma once

#include <algorithm>

#include <nyala/strategies/rows/row_split.h>

namespace nyala::detail {

/// Piece `index` of `rows` rows in so many pieces: split_rows() with equal weights, without its vectors.
inline RowRange equal_piece(int64_t rows, int64_t pieces, int64_t index) {
  const int64_t share = rows / pieces, larger = rows % pieces;
  return {index * share + std::min(index, larger), share + (index < larger ? 1 : 0)};
}

}  // namespace nyala::detail
