#pragma once

#include <optional>
#include <string>
#include <variant>

#include <nyala/backend/ops/signal/fft.h>

namespace nyala::ops {

/// What the numbers of a sequence are multiplied by: "hann" or "hamming" (periodic, as TensorFlow's), a
/// tensor of one number each, or nothing (std::nullopt). Throws InvalidArgumentError for another name.
class StftWindow {
 public:
  StftWindow(std::nullopt_t) {}
  StftWindow(const char* name) : StftWindow(std::string(name)) {}
  StftWindow(const std::string& name);
  StftWindow(const Tensor& values) : window_(values) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(window_); }
  /// (sequence_length) numbers in the dtype of `like` and on its device. Throws ShapeError for a tensor of
  /// another shape.
  Tensor values(int64_t sequence_length, const Tensor& like) const;

 private:
  std::variant<std::monostate, std::string, Tensor> window_;
};

struct StftOptions {
  StftWindow window = "hann";
  /// The last axis is mirrored by fft_length / 2 at both ends, so that sequence t has its middle at
  /// t * sequence_stride.
  bool center = true;
};
/// The short-time Fourier transform: rfft of sequences of the last axis that begin `sequence_stride` apart,
/// each times the window in the middle of `fft_length` numbers: (..., time) -> twice (..., sequences,
/// fft_length / 2 + 1). Composed of other ops. Throws DTypeError unless x is float32 or float64, ShapeError
/// for an unknown time, InvalidArgumentError for lengths below 1 and an fft_length below the sequence_length.
ComplexTensor stft(const Tensor& x, int64_t sequence_length, int64_t sequence_stride, int64_t fft_length,
                   const StftOptions& options = {});

struct IstftOptions {
  /// How much of the result is kept; by default all, but what `center` added.
  std::optional<int64_t> length = {};
  StftWindow window = "hann";
  bool center = true;
};
/// The inverse of stft with the same arguments: twice (..., sequences, fft_length / 2 + 1) -> (..., time).
/// Overlapping sequences are added, each times the window divided by the sum of its squares (Griffin and Lim
/// 1984), without a window as they are. Throws as stft.
Tensor istft(const ComplexTensor& x, int64_t sequence_length, int64_t sequence_stride, int64_t fft_length,
             const IstftOptions& options = {});

}  // namespace nyala::ops
