#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nyala {

/// Rows [first, first + count) of a global batch.
struct RowRange {
  int64_t first = 0;
  int64_t count = 0;
};

namespace detail {

/// The one rule that cuts a global batch: `rows` rows become one consecutive piece per weight, in the order
/// of the weights. Piece i gets floor(rows * w_i / W) rows, W being the sum of the weights; the rows that are
/// left go one each to the pieces with the largest remainders, the first of equals first. So the sizes add up
/// to `rows`, equal weights give sizes that differ by at most one (larger first), and a piece may be empty.
std::vector<RowRange> split_rows(std::span<const double> weights, int64_t rows);

/// Throws InvalidArgumentError, naming `strategy`, unless there is one positive finite weight per device.
/// None at all is allowed and means equal ones.
void check_device_weights(std::span<const double> weights, size_t num_devices, const char* strategy);

}  // namespace detail

}  // namespace nyala
