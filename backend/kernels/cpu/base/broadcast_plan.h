#pragma once

#include <array>
#include <cstdint>

#include <nyala/backend/core/shape.h>

namespace nyala {

/// A broadcast pair as few axes as possible: neighbours in which the same inputs advance are one axis, sizes
/// of 1 are gone. Fast loops run along the last axis, where each input either advances by one or stands
/// still.
class BroadcastPlan {
 public:
  BroadcastPlan(const Shape& a, const Shape& b, const Shape& output);

  int rank() const { return rank_; }
  int64_t count() const { return count_; }
  /// Length of a run along the last axis; 1 for scalars.
  int64_t run() const { return rank_ == 0 ? 1 : size_[static_cast<size_t>(rank_ - 1)]; }
  bool a_advances() const { return rank_ == 0 || stride_a_[static_cast<size_t>(rank_ - 1)] != 0; }
  bool b_advances() const { return rank_ == 0 || stride_b_[static_cast<size_t>(rank_ - 1)] != 0; }

  /// True where one input is a row that repeats along the other, which is as large as the output.
  bool a_repeats() const { return rank_ == 2 && stride_a_[0] == 0 && a_advances() && stride_b_[0] == run(); }
  bool b_repeats() const { return rank_ == 2 && stride_b_[0] == 0 && b_advances() && stride_a_[0] == run(); }

  /// Calls body(offset in a, offset in b, output index, length) for the runs that cover outputs [begin, end).
  template <class Body>
  void for_each_run(int64_t begin, int64_t end, Body&& body) const {
    const int64_t length = run();
    for (int64_t i = begin; i < end;) {
      const int64_t row = i / length, column = i - row * length;
      const int64_t count = length - column < end - i ? length - column : end - i;
      const auto [ia, ib] = row_offsets(row);
      body(ia + (a_advances() ? column : 0), ib + (b_advances() ? column : 0), i, count);
      i += count;
    }
  }

 private:
  struct Offsets {
    int64_t a, b;
  };
  Offsets row_offsets(int64_t row) const {
    Offsets offsets{0, 0};
    for (int axis = rank_ - 2; axis >= 0; --axis) {
      const size_t k = static_cast<size_t>(axis);
      const int64_t position = row % size_[k];
      row /= size_[k];
      offsets.a += position * stride_a_[k];
      offsets.b += position * stride_b_[k];
    }
    return offsets;
  }

  int rank_ = 0;
  int64_t count_ = 1;
  std::array<int64_t, Shape::kMaxRank> size_{}, stride_a_{}, stride_b_{};
};

}  // namespace nyala
