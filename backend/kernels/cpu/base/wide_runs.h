#pragma once

#include <algorithm>
#include <cstdint>

#include <nyala/backend/core/op.h>
#include <nyala/backend/kernels/cpu/base/half_loops.h>
#include <nyala/backend/kernels/cpu/base/scratch.h>

/// How a loop over float32 runs over 16-bit floats: they are widened a tile at a time into a buffer on the
/// stack, which stays in the cache, and what the loop writes is narrowed from there. Memory sees 16 bits
/// only. A float32 tensor is read and written where it lies.
namespace nyala {

/// Elements of a tile, unless the loop needs others.
inline constexpr int64_t kWideRun = 1024;
/// Elements of the longest row that is widened as a whole on the stack.
inline constexpr int64_t kWideRow = 4096;

/// The conversions of this CPU for a 16-bit float.
const HalfLoops& half_loops(DType dtype);

/// float32 or a 16-bit float.
inline bool is_narrow_float(DType dtype) { return dtype == DType::float32 || is_half(dtype); }

/// A buffer for so many elements of `t` as float32, null where they are.
inline float* wide_buffer(const Tensor& t, int64_t elements, Scratch& scratch) {
  return is_half(t.dtype()) ? scratch.take(elements) : nullptr;
}

/// Rows of a tensor: the place of the first, how many, elements of each, elements from one to the next.
struct RowsAt {
  int64_t first, count, size, stride;
};
/// Such rows as float32.
template <class T>
struct FloatRows {
  T* data;
  int64_t stride;
};

class WideInput {
 public:
  /// `x` is float32 or a 16-bit float.
  explicit WideInput(const Tensor& x)
      : data_(x.raw()), loops_(is_half(x.dtype()) ? &half_loops(x.dtype()) : nullptr) {}

  bool is_widened() const { return loops_ != nullptr; }
  /// Elements [first, first + count): where they lie, or in `buffer`.
  const float* read(int64_t first, int64_t count, float* buffer) const {
    if (!loops_) return static_cast<const float*>(data_) + first;
    loops_->widen(static_cast<const uint16_t*>(data_) + first, buffer, count);
    return buffer;
  }
  /// Rows where they lie, or one behind the other in `buffer`.
  FloatRows<const float> read_rows(const RowsAt& at, float* buffer) const {
    if (!loops_) return {static_cast<const float*>(data_) + at.first, at.stride};
    for (int64_t i = 0; i < at.count; ++i) read(at.first + i * at.stride, at.size, buffer + i * at.size);
    return {buffer, at.size};
  }
  /// Elements to somewhere else.
  void load(int64_t first, int64_t count, float* to) const {
    if (read(first, count, to) != to) std::copy_n(static_cast<const float*>(data_) + first, count, to);
  }

 private:
  const void* data_;
  const HalfLoops* loops_;
};

class WideOutput {
 public:
  explicit WideOutput(const Tensor& y)
      : data_(y.raw()), loops_(is_half(y.dtype()) ? &half_loops(y.dtype()) : nullptr) {}

  bool is_narrowed() const { return loops_ != nullptr; }
  /// Where elements from `first` on are to be written, before write() of the same.
  float* place(int64_t first, float* buffer) const {
    return loops_ ? buffer : static_cast<float*>(data_) + first;
  }
  /// Brings what was written to place() to the tensor.
  void write(int64_t first, int64_t count, const float* place) const {
    if (loops_) loops_->narrow(place, static_cast<uint16_t*>(data_) + first, count);
  }
  /// place() and write() for rows, which lie one behind the other in `buffer`.
  FloatRows<float> place_rows(const RowsAt& at, float* buffer) const {
    if (loops_) return {buffer, at.size};
    return {static_cast<float*>(data_) + at.first, at.stride};
  }
  void write_rows(const RowsAt& at, const float* buffer) const {
    if (!loops_) return;
    for (int64_t i = 0; i < at.count; ++i) write(at.first + i * at.stride, at.size, buffer + i * at.size);
  }
  /// Elements from somewhere else.
  void store(int64_t first, int64_t count, const float* from) const {
    if (loops_)
      write(first, count, from);
    else
      std::copy_n(from, count, static_cast<float*>(data_) + first);
  }
  void zero(int64_t first, int64_t count) const {
    if (loops_)
      std::fill_n(static_cast<uint16_t*>(data_) + first, count, uint16_t{0});
    else
      std::fill_n(static_cast<float*>(data_) + first, count, 0.0f);
  }

 private:
  void* data_;
  const HalfLoops* loops_;
};

/// Buffer `which` of the calling thread with room for `count` floats, for loops that need more at a time than
/// belongs on a stack, such as an image. Kept, so that a warm step grows nothing.
float* wide_scratch(int which, int64_t count);

/// Calls body(first, count) for the tiles of [begin, end); there is one where `wide` is false.
template <class Body>
void for_each_tile(bool wide, int64_t begin, int64_t end, Body&& body) {
  if (!wide) return body(begin, end - begin);
  for (int64_t first = begin; first < end; first += kWideRun) body(first, std::min(kWideRun, end - first));
}

}  // namespace nyala
