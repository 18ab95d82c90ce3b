#pragma once

#include <nyala/backend/kernels/cpu/recurrent/recurrent_vector.h>

/// The loops of an LSTM as templates of the vector's bytes; see recurrent_vector.h. A block's vectors are the
/// four gates of the same units, so that a step ends where its sums are.
namespace nyala::vec {

template <int kBytes>
struct Lstm : Recurrent<kBytes> {
  using Base = Recurrent<kBytes>;
  using typename Base::F;
  using Forward = RecurrentLoops::LstmForward;
  using Backward = RecurrentLoops::LstmBackward;

  template <int kRows, class Part>
  static void forward_block(const Forward& s, int64_t row, int64_t unit, Part part) {
    const int64_t units = s.common.units;
    F sums[kRows][4];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[r][v] = part.load(s.z + (row + r) * s.stride + v * units + unit);
    const float* packed = s.common.packed + unit * 4 * units;
    Base::template multiply<kRows, 4>(s.h + row * units, units, units, packed, sums);
    for (int r = 0; r < kRows; ++r) finish(s, sums[r], row + r, unit, part);
  }

  template <class Part>
  static void finish(const Forward& s, const F (&z)[4], int64_t row, int64_t unit, Part part) {
    const auto recurrent = s.common.recurrent, activation = s.common.activation;
    const int64_t units = s.common.units;
    const F i = Base::activated(z[0], recurrent), f = Base::activated(z[1], recurrent),
            g = Base::activated(z[2], activation), o = Base::activated(z[3], recurrent);
    if (s.gates) {
      float* to = s.gates + row * s.stride + unit;
      part.store(to, i);
      part.store(to + units, f);
      part.store(to + 2 * units, g);
      part.store(to + 3 * units, o);
    }
    const int64_t place = row * units + unit;
    if (!s.common.counts_row(row)) {
      part.store(s.h_next + place, part.load(s.h + place));
      return;
    }
    const F c = f * part.load(s.c + place) + i * g;
    part.store(s.c + place, c);
    part.store(s.h_next + place, o * Base::activated(c, activation));
  }

  static void forward(const Forward& s) {
    Base::for_units(s.common.units, [&](auto part, int64_t unit) {
      Base::for_row_blocks(s.common.rows,
                           [&]<int kRows>(int64_t row) { forward_block<kRows>(s, row, unit, part); });
    });
  }

  template <class Part>
  static void gates_back(const Backward& s, int64_t row, int64_t unit, Part part) {
    const auto recurrent = s.common.recurrent, activation = s.common.activation;
    const int64_t units = s.common.units, place = row * units + unit;
    const float* from = s.gates + row * s.stride + unit;
    float* to = s.dz + row * s.stride + unit;
    const F i = part.load(from), f = part.load(from + units), g = part.load(from + 2 * units),
            o = part.load(from + 3 * units), c_before = part.load(s.c_before + row * s.c_stride + unit);
    const F a = Base::activated(f * c_before + i * g, activation), dh = part.load(s.dh + place);
    const F carry = part.load(s.dc + place) + dh * o * Base::slope(a, activation);
    part.store(to, carry * g * Base::slope(i, recurrent));
    part.store(to + units, carry * c_before * Base::slope(f, recurrent));
    part.store(to + 2 * units, carry * i * Base::slope(g, activation));
    part.store(to + 3 * units, dh * a * Base::slope(o, recurrent));
    part.store(s.dc + place, carry * f);
    part.store(s.dh + place, F{});
  }

  static void backward(const Backward& s) {
    const int64_t units = s.common.units;
    for (int64_t row = 0; row < s.common.rows; ++row) {
      float* dz = s.dz + row * s.stride;
      if (s.common.counts_row(row))
        Base::for_units(units, [&](auto part, int64_t unit) { gates_back(s, row, unit, part); });
      else
        for (int64_t j = 0; j < 4 * units; ++j) dz[j] = 0.0f;
    }
    Base::state_back({s.common.rows, units, 4 * units, s.dz, s.stride, s.common.packed, s.dh});
  }
};

}  // namespace nyala::vec
