// Transposing, slicing, padding, repeating and joining are one thing: a copy with a stride per axis on either
// side (StridedCopy). Axes that lie behind each other in both are merged first, so that often one or two are
// left. Then whole lines are copied; where the axis that is dense in the source is not the last one, tiles of
// 32 x 32, so that every line of the cache that is read is used up before it leaves.
#include <algorithm>
#include <cstring>

#include <nyala/backend/kernels/cpu/base/copies.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

constexpr int64_t kChunk = 2 * kParallelGrain;  // elements of one row that one piece of work copies
constexpr int64_t kTile = 32;                   // two tiles of 8-byte elements fill half of a level 1 cache

template <class T>
void copy_line(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    if (count > 8)
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    else
      for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

/// Lines along the last axis.
template <class T>
void copy_lines(const StridedCopy& c, const T* from, T* to) {
  const size_t last = static_cast<size_t>(c.rank - 1);
  const int64_t length = c.sizes[last], lines = c.num_elements() / length;
  const int64_t chunk = std::min(length, kChunk), chunks = (length + chunk - 1) / chunk;
  if (chunks == 1) {
    parallel_for(lines, std::max<int64_t>(1, kParallelGrain / length), [&](int64_t begin, int64_t end) {
      StridedWalk at(c, c.rank - 1, begin);
      for (int64_t line = begin; line < end; ++line, at.advance())
        copy_line(from + at.from, c.from[last], to + at.to, c.to[last], length);
    });
    return;
  }
  parallel_for(lines * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const StridedWalk at(c, c.rank - 1, piece / chunks);
      const int64_t first = piece % chunks * chunk;
      copy_line(from + at.from + first * c.from[last], c.from[last], to + at.to + first * c.to[last],
                c.to[last], std::min(chunk, length - first));
    }
  });
}

template <class T>
void transpose_tile(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[row * to_stride + column] = from[row + column * from_stride];
}

/// The last axis is the fast one in `to`, the one before it in `from`: tiles of both stay in the cache.
template <class T>
void copy_tiles(const StridedCopy& c, const T* from, T* to) {
  const size_t row_axis = static_cast<size_t>(c.rank - 2), column_axis = row_axis + 1;
  const int64_t rows = c.sizes[row_axis], columns = c.sizes[column_axis];
  const int64_t bands = (rows + kTile - 1) / kTile, outer = c.num_elements() / (rows * columns);
  const int64_t per_band = std::min(rows, kTile) * columns;
  parallel_for(outer * bands, std::max<int64_t>(1, kParallelGrain / per_band),
               [&](int64_t begin, int64_t end) {
                 for (int64_t piece = begin; piece < end; ++piece) {
                   const StridedWalk at(c, c.rank - 2, piece / bands);
                   const int64_t row = piece % bands * kTile, height = std::min(kTile, rows - row);
                   for (int64_t column = 0; column < columns; column += kTile)
                     transpose_tile(from + at.from + row + column * c.from[column_axis], c.from[column_axis],
                                    to + at.to + row * c.to[row_axis] + column, c.to[row_axis], height,
                                    std::min(kTile, columns - column));
                 }
               });
}

/// Moves the axis along which `from` runs on to the last but one place. False where there is none but the
/// last.
bool bring_fast_axis_inside(StridedCopy& c) {
  const size_t last = static_cast<size_t>(c.rank - 1);
  if (c.to[last] != 1 || c.from[last] == 1 || c.from[last] == 0) return false;
  for (size_t axis = 0; axis < last; ++axis) {
    if (c.from[axis] != 1 || c.sizes[axis] < 4) continue;
    const auto rotate = [&](auto& values) {
      std::rotate(values.begin() + static_cast<int64_t>(axis),
                  values.begin() + static_cast<int64_t>(axis) + 1,
                  values.begin() + static_cast<int64_t>(last));
    };
    rotate(c.sizes);
    rotate(c.from);
    rotate(c.to);
    return true;
  }
  return false;
}

template <class T>
void copy_elements(const StridedCopy& copy, const void* from, void* to) {
  StridedCopy c = copy.merged();
  if (c.rank > 1 && bring_fast_axis_inside(c))
    copy_tiles(c, static_cast<const T*>(from), static_cast<T*>(to));
  else
    copy_lines(c, static_cast<const T*>(from), static_cast<T*>(to));
}

void copy_parallel(const StridedCopy& copy, const Tensor& from, const Tensor& to) {
  if (copy.num_elements() == 0) return;
  switch (size_of(to.dtype())) {
    case 1:
      return copy_elements<uint8_t>(copy, from.raw(), to.raw());
    case 2:
      return copy_elements<uint16_t>(copy, from.raw(), to.raw());
    case 4:
      return copy_elements<uint32_t>(copy, from.raw(), to.raw());
    default:
      return copy_elements<uint64_t>(copy, from.raw(), to.raw());
  }
}

template <StridedCopy (*kGeometry)(const KernelCall&)>
void run_copy(const KernelCall& call) {
  copy_parallel(kGeometry(call), call.input(0), call.output(0));
}

void run_slice_backward(const KernelCall& call) {
  const Tensor& y = call.output(0);
  parallel_for(static_cast<int64_t>(y.bytes()), 4 * kChunk, [&](int64_t begin, int64_t end) {
    std::memset(y.raw_as<char>() + begin, 0, static_cast<size_t>(end - begin));
  });
  copy_parallel(ops::detail::slice_backward_copy(call), call.input(0), y);
}

const char* unsupported_pad(const KernelCall& call) {
  return call.descriptor<ops::PadDescriptor>().mode == ops::PadMode::constant ? nullptr
                                                                              : "constant padding only";
}

/// Slab by slab along axis 0: its value everywhere, then the rows of x while it is in the cache.
template <class T>
void pad_slabs(const KernelCall& call, T value) {
  const Tensor &x = call.input(0), &y = call.output(0);
  const int64_t slabs = y.shape()[0], size = y.num_elements() / slabs,
                before = call.descriptor<ops::PadDescriptor>().before[0];
  StridedCopy inside = ops::detail::pad_copy(call);
  const int64_t from_slab = x.num_elements() / x.shape()[0];
  inside.to_offset -= before * size;
  inside.sizes[0] = 1;
  const StridedCopy rows = inside.merged();
  const size_t last = static_cast<size_t>(rows.rank - 1);
  const int64_t lines = rows.num_elements() / rows.sizes[last];
  parallel_for(slabs, std::max<int64_t>(1, kParallelGrain / size), [&](int64_t begin, int64_t end) {
    for (int64_t slab = begin; slab < end; ++slab) {
      T* to = call.out<T>(0) + slab * size;
      std::fill_n(to, size, value);
      if (slab < before || slab >= before + x.shape()[0]) continue;
      const T* from = call.in<T>(0) + (slab - before) * from_slab;
      StridedWalk at(rows, rows.rank - 1, 0);
      for (int64_t line = 0; line < lines; ++line, at.advance())
        copy_line(from + at.from, rows.from[last], to + at.to, rows.to[last], rows.sizes[last]);
    }
  });
}

void run_pad(const KernelCall& call) {
  constexpr int64_t kFewSlabs = 8;
  const DType dtype = call.output(0).dtype();
  if (call.output(0).rank() > 1 && call.output(0).shape()[0] >= kFewSlabs && dtype == DType::float32) {
    pad_slabs(call, static_cast<float>(call.descriptor<ops::PadDescriptor>().value));
    return;
  }
  ops::detail::fill_pad_value(call);
  copy_parallel(ops::detail::pad_copy(call), call.input(0), call.output(0));
}

void run_concatenate(const KernelCall& call) {
  int64_t position = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const StridedCopy copy = ops::detail::concatenate_copy(call, i, position);
    copy_parallel(copy, call.input(i), call.output(0));
  }
}

}  // namespace

void register_copies(KernelTable& table) {
  const auto add = [&](const OpDef& op, void (*run)(const KernelCall&)) {
    table.add(op, DeviceKind::cpu, Kernel{.name = "strided", .run = run, .takes_half = true});
  };
  add(ops::kTranspose, run_copy<ops::detail::transpose_copy>);
  add(ops::kSlice, run_copy<ops::detail::slice_copy>);
  add(ops::kBroadcastTo, run_copy<ops::detail::repeat_copy>);
  add(ops::kRepeat, run_copy<ops::detail::repeat_copy>);
  add(ops::kTile, run_copy<ops::detail::repeat_copy>);
  add(ops::kSliceBackward, run_slice_backward);
  add(ops::kConcatenate, run_concatenate);
  table.add(ops::kPad, DeviceKind::cpu,
            {.name = "strided", .unsupported_reason = unsupported_pad, .run = run_pad, .takes_half = true});
}

}  // namespace nyala
