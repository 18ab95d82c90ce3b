#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/backend/ops/signal/stft.h>

namespace nyala::ops {

namespace {

/// Where sequences lie.
struct SequenceLayout {
  const char* op;
  int64_t length, stride, fft_length;

  int64_t before() const { return (fft_length - length) / 2; }
  /// How many strides the numbers of one transform reach over.
  int64_t overlaps() const { return (fft_length + stride - 1) / stride; }
};

void check(const SequenceLayout& s) {
  if (s.length < 1 || s.stride < 1)
    throw InvalidArgumentError(std::string(s.op) +
                               ": expected sequence_length and sequence_stride >= 1, received " +
                               std::to_string(s.length) + " and " + std::to_string(s.stride));
  if (s.fft_length < s.length)
    throw InvalidArgumentError(std::string(s.op) + ": expected fft_length >= sequence_length, received " +
                               std::to_string(s.fft_length) + " and " + std::to_string(s.length));
}

/// Axis `axis`, counted from the end, with more elements.
Tensor widened_axis(const Tensor& x, int axis, std::pair<int64_t, int64_t> width,
                    const char* mode = "constant") {
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
  widths[static_cast<size_t>(x.rank() - axis)] = width;
  return pad(x, widths, mode);
}

/// x with `sizes` in place of its last `count` axes.
Tensor with_last_axes(const Tensor& x, int count, const std::vector<int64_t>& sizes) {
  Shape shape = x.shape().slice(0, x.rank() - count);
  for (const int64_t size : sizes) shape.append(size);
  return reshape(x, shape);
}

Tensor first_of_axis(const Tensor& x, int axis, int64_t count) {
  return slice_axis(x, x.rank() - axis, {0, count});
}

/// The window in the middle of fft_length numbers.
Tensor centered_window(const StftWindow& window, const SequenceLayout& s, const Tensor& like) {
  return widened_axis(window.values(s.length, like), 1, {s.before(), s.fft_length - s.length - s.before()});
}

/// (..., time) -> (..., sequences, fft_length).
Tensor sequences_of(const Tensor& x, const SequenceLayout& s) {
  const int64_t time = x.shape().back();
  const int64_t count = time < s.fft_length ? 0 : (time - s.fft_length) / s.stride + 1;
  std::vector<int32_t> places;
  for (int64_t sequence = 0; sequence < count; ++sequence)
    for (int64_t i = 0; i < s.fft_length; ++i)
      places.push_back(static_cast<int32_t>(sequence * s.stride + i));
  const Tensor indices = Tensor::from(places, {count, s.fft_length}, x.device());
  return take(x, indices, x.rank() - 1);
}

/// The window for adding up what was multiplied by it. Where all that overlaps is 0 it is 0.
Tensor inverse_window(const Tensor& window, const SequenceLayout& s) {
  const int64_t size = s.overlaps() * s.stride;
  const Tensor rows =
      reshape(widened_axis(square(window), 1, {0, size - s.fft_length}), {s.overlaps(), s.stride});
  const Tensor repeated = reshape(broadcast_to(sum(rows, 0, true), {s.overlaps(), s.stride}), {size});
  const Tensor total = first_of_axis(repeated, 1, s.fft_length);
  return where(equal(total, 0), 0.0, window / total);
}

/// (..., sequences, fft_length) -> (..., time): part k of all sequences, one stride long, is a row that is
/// moved by k strides, which is what reading rows of one element less does.
Tensor overlapped_sum(const Tensor& x, const SequenceLayout& s) {
  const int64_t parts = s.overlaps(), count = x.shape()[-2], length = count + parts - 1;
  const Tensor cut =
      with_last_axes(widened_axis(x, 1, {0, parts * s.stride - s.fft_length}), 1, {parts, s.stride});
  const Tensor rows = widened_axis(swapaxes(cut, -3, -2), 2, {0, parts});
  const Tensor flat = with_last_axes(rows, 3, {parts * (count + parts), s.stride});
  const Tensor moved = with_last_axes(first_of_axis(flat, 2, parts * length), 2, {parts, length, s.stride});
  const Tensor all = with_last_axes(sum(moved, -3), 2, {length * s.stride});
  return first_of_axis(all, 1, (count - 1) * s.stride + s.fft_length);
}

}  // namespace

StftWindow::StftWindow(const std::string& name) : window_(name) {
  if (name != "hann" && name != "hamming")
    throw InvalidArgumentError("stft: expected window \"hann\", \"hamming\" or a tensor, received \"" + name +
                               "\"");
}

Tensor StftWindow::values(int64_t sequence_length, const Tensor& like) const {
  if (const Tensor* given = std::get_if<Tensor>(&window_)) {
    if (given->shape() != Shape{sequence_length})
      throw ShapeError("stft: expected a window of shape " + Shape{sequence_length}.to_string() +
                       ", received " + given->shape().to_string());
    return cast(*given, like.dtype());
  }
  const double offset = std::get<std::string>(window_) == "hann" ? 0.5 : 0.54;
  // A window of odd length is symmetric in TensorFlow, periodic or not.
  const int64_t period = sequence_length % 2 == 0 ? sequence_length : sequence_length - 1;
  std::vector<double> out(static_cast<size_t>(sequence_length), 1.0);
  for (size_t i = 0; i < out.size() && period > 0; ++i)
    out[i] = offset - (1 - offset) * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                              static_cast<double>(period));
  return cast(Tensor::from(out, {sequence_length}, like.device()), like.dtype());
}

ComplexTensor stft(const Tensor& x, int64_t sequence_length, int64_t sequence_stride, int64_t fft_length,
                   const StftOptions& options) {
  const SequenceLayout s{"stft", sequence_length, sequence_stride, fft_length};
  check(s);
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw DTypeError("stft: expected float32 or float64, received " + std::string(name_of(x.dtype())));
  if (x.rank() < 1 || x.shape().back() == None)
    throw ShapeError("stft: expected a last axis of known size, received shape " + x.shape().to_string());
  const int64_t half = fft_length / 2;
  const Tensor sequences = sequences_of(options.center ? widened_axis(x, 1, {half, half}, "reflect") : x, s);
  if (options.window.is_none()) return rfft(sequences, fft_length);
  return rfft(sequences * centered_window(options.window, s, x), fft_length);
}

Tensor istft(const ComplexTensor& x, int64_t sequence_length, int64_t sequence_stride, int64_t fft_length,
             const IstftOptions& options) {
  const SequenceLayout s{"istft", sequence_length, sequence_stride, fft_length};
  check(s);
  if (x.real.rank() < 2 || x.real.shape()[-2] == None)
    throw ShapeError("istft: expected sequences of a known number in the last axis but one, received shape " +
                     x.real.shape().to_string());
  Tensor sequences = irfft(x, fft_length);
  if (!options.window.is_none())
    sequences = sequences * inverse_window(centered_window(options.window, s, sequences), s);
  const Tensor whole = overlapped_sum(sequences, s);
  const int64_t start = options.center ? fft_length / 2 : 0;
  int64_t stop = whole.shape().back() - start;
  if (options.length) stop = start + *options.length;
  return slice_axis(whole, whole.rank() - 1, {start, stop});
}

}  // namespace nyala::ops
