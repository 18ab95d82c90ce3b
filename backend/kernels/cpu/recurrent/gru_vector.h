#pragma once

#include <nyala/backend/kernels/cpu/recurrent/recurrent_vector.h>

/// The loops of a GRU with reset_after as templates of the vector's bytes; see recurrent_vector.h. A block's
/// vectors are the three gates of the same units.
namespace nyala::vec {

template <int kBytes>
struct Gru : Recurrent<kBytes> {
  using Base = Recurrent<kBytes>;
  using typename Base::F;
  using Forward = RecurrentLoops::GruForward;
  using Backward = RecurrentLoops::GruBackward;

  template <int kRows, class Part>
  static void forward_block(const Forward& s, int64_t row, int64_t unit, Part part) {
    const int64_t units = s.common.units;
    F sums[kRows][3] = {};
    if (s.bias)
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < 3; ++v) sums[r][v] = part.load(s.bias + v * units + unit);
    const float* packed = s.common.packed + unit * 3 * units;
    Base::template multiply<kRows, 3>(s.h + row * units, units, units, packed, sums);
    for (int r = 0; r < kRows; ++r) finish(s, sums[r], row + r, unit, part);
  }

  template <class Part>
  static void finish(const Forward& s, const F (&q)[3], int64_t row, int64_t unit, Part part) {
    const auto recurrent = s.common.recurrent;
    const int64_t units = s.common.units, place = row * units + unit;
    const float* x = s.x + row * s.stride + unit;
    const F z = Base::activated(part.load(x) + q[0], recurrent),
            r = Base::activated(part.load(x + units) + q[1], recurrent),
            n = Base::activated(part.load(x + 2 * units) + r * q[2], s.common.activation);
    if (s.gates) {
      float* to = s.gates + row * s.gates_stride + unit;
      part.store(to, z);
      part.store(to + units, r);
      part.store(to + 2 * units, n);
      part.store(to + 3 * units, q[2]);
    }
    const F h = part.load(s.h + place);
    part.store(s.h_next + place, s.common.counts_row(row) ? z * h + (1.0f - z) * n : h);
  }

  static void forward(const Forward& s) {
    Base::for_units(s.common.units, [&](auto part, int64_t unit) {
      Base::for_row_blocks(s.common.rows,
                           [&]<int kRows>(int64_t row) { forward_block<kRows>(s, row, unit, part); });
    });
  }

  template <class Part>
  static void gates_back(const Backward& s, int64_t row, int64_t unit, Part part) {
    const auto recurrent = s.common.recurrent;
    const int64_t units = s.common.units, place = row * units + unit;
    const float* from = s.gates + row * s.gates_stride + unit;
    const F z = part.load(from), r = part.load(from + units), n = part.load(from + 2 * units),
            q = part.load(from + 3 * units), h = part.load(s.h_before + row * s.h_stride + unit),
            dh = part.load(s.dh + place);
    const F dz = dh * (h - n) * Base::slope(z, recurrent),
            dn = dh * (1.0f - z) * Base::slope(n, s.common.activation),
            dr = dn * q * Base::slope(r, recurrent);
    float *dx = s.dx + row * s.stride + unit, *drecurrent = s.drecurrent + row * s.stride + unit;
    part.store(dx, dz);
    part.store(dx + units, dr);
    part.store(dx + 2 * units, dn);
    part.store(drecurrent, dz);
    part.store(drecurrent + units, dr);
    part.store(drecurrent + 2 * units, dn * r);
    part.store(s.dh + place, dh * z);
  }

  static void backward(const Backward& s) {
    const int64_t units = s.common.units;
    for (int64_t row = 0; row < s.common.rows; ++row) {
      float *dx = s.dx + row * s.stride, *drecurrent = s.drecurrent + row * s.stride;
      if (s.common.counts_row(row))
        Base::for_units(units, [&](auto part, int64_t unit) { gates_back(s, row, unit, part); });
      else
        for (int64_t j = 0; j < 3 * units; ++j) dx[j] = drecurrent[j] = 0.0f;
    }
    Base::state_back({s.common.rows, units, 3 * units, s.drecurrent, s.stride, s.common.packed, s.dh});
  }
};

}  // namespace nyala::vec
