#pragma once

#include <array>
#include <string>
#include <string_view>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// How a window meets the edges: Keras' "valid" and "same" (the odd row or column is added at the end), or
/// explicit sizes, for up to three axes. A small value, kept inside descriptors.
class Padding {
 public:
  enum class Mode : uint8_t { valid, same, given };

  constexpr Padding() = default;
  /// "valid" or "same". Throws InvalidArgumentError with the names there are.
  Padding(std::string_view name);
  Padding(const char* name) : Padding(std::string_view(name)) {}
  Padding(const std::string& name) : Padding(std::string_view(name)) {}
  /// Of an image.
  constexpr Padding(int top, int bottom, int left, int right)
      : mode_(Mode::given), sizes_{top, bottom, left, right} {}
  /// Before and behind each axis in turn. A negative size behind leaves elements out that no window reaches.
  constexpr explicit Padding(const std::array<int32_t, 6>& sizes) : mode_(Mode::given), sizes_(sizes) {}

  Mode mode() const { return mode_; }
  /// Zeros in front of and behind `axis` (0 for the first that the window moves along: rows of an image,
  /// slices of a volume) of `size` elements for a dilated window `span`.
  int64_t before(int axis, int64_t size, int64_t span, int64_t stride) const;
  int64_t after(int axis, int64_t size, int64_t span, int64_t stride) const;

 private:
  int64_t total_same(int64_t size, int64_t span, int64_t stride) const;
  Mode mode_ = Mode::valid;
  std::array<int32_t, 6> sizes_{};
};
using Padding2D = Padding;

/// A window of `size` elements, `dilation` apart, moved by `stride`.
struct WindowAxis {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  /// Elements from the first to the last tap.
  int64_t span() const { return (size - 1) * dilation + 1; }
};

namespace detail {

/// How many windows fit on an axis of `input` elements (None stays None), which is the padding's `axis`.
/// 0 where not even one fits: the caller reports that.
int64_t window_output_size(int64_t input, const WindowAxis& window, const Padding& padding, int axis);

}  // namespace detail

}  // namespace nyala::ops
