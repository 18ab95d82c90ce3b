#pragma once

#include <array>
#include <string>
#include <string_view>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// How a window meets the edges: Keras' "valid" and "same" (the odd row or column is added at the end), or
/// explicit sizes. A small value, kept inside descriptors.
class Padding2D {
 public:
  enum class Mode : uint8_t { valid, same, given };

  constexpr Padding2D() = default;
  /// "valid" or "same". Throws InvalidArgumentError with the names there are.
  Padding2D(std::string_view name);
  Padding2D(const char* name) : Padding2D(std::string_view(name)) {}
  Padding2D(const std::string& name) : Padding2D(std::string_view(name)) {}
  constexpr Padding2D(int top, int bottom, int left, int right)
      : mode_(Mode::given), sizes_{top, bottom, left, right} {}

  Mode mode() const { return mode_; }
  /// Zeros in front of and behind axis 0 (rows) or 1 (columns) of `size` elements for a dilated window
  /// `span`.
  int64_t before(int axis, int64_t size, int64_t span, int64_t stride) const;
  int64_t after(int axis, int64_t size, int64_t span, int64_t stride) const;

 private:
  int64_t total_same(int64_t size, int64_t span, int64_t stride) const;
  Mode mode_ = Mode::valid;
  std::array<int32_t, 4> sizes_{};  // top, bottom, left, right
};

/// A window of `size` elements, `dilation` apart, moved by `stride`.
struct WindowAxis {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  /// Elements from the first to the last tap.
  int64_t span() const { return (size - 1) * dilation + 1; }
};

/// How many windows fit on an axis of `input` elements (None stays None). `axis`: 0 rows, 1 columns.
/// 0 where not even one fits: the caller reports that.
int64_t window_output_size(int64_t input, const WindowAxis& window, const Padding2D& padding, int axis);

}  // namespace nyala::ops
