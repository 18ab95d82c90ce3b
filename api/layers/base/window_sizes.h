#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/api/layers/base/size.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

/// A window that moves over the axes between batch and channels: a kernel or a pool.
class WindowSizes {
 public:
  /// `padding`: "valid", "same" or "causal".
  template <size_t N>
  WindowSizes(const Size<N>& window, const std::type_identity_t<Size<N>>& strides,
              const std::type_identity_t<Size<N>>& dilation, std::string padding)
      : text_("a window of " + window.to_string() + ", strides " + strides.to_string() + ", dilation " +
              dilation.to_string() + ", padding " + detail::in_quotes(padding)),
        padding_(std::move(padding)) {
    for (size_t i = 0; i < N; ++i) axes_.push_back({window[i], strides[i], dilation[i]});
  }

  struct Axis {
    int64_t window, stride, dilation;
  };
  const std::vector<Axis>& axes() const { return axes_; }
  const std::string& padding() const { return padding_; }
  /// All of it, for errors.
  const std::string& text() const { return text_; }

 private:
  std::vector<Axis> axes_;
  std::string text_;
  std::string padding_;
};

namespace detail {

/// Throws ShapeError unless `input` is (batch, steps, channels), (batch, height, width, channels) or (batch,
/// depth, height, width, channels) for 1, 2 or 3 `axes`.
void check_spatial(const Shape& input, size_t axes);

/// The same, and for a number of channels that is not known.
void check_channels_known(const Shape& input, size_t axes);

/// What the configurations of layers with a kernel show of their window.
template <class Config>
void visit_window(FieldVisitor& v, Config& c) {
  visit_size(v, "kernel_size", c.kernel_size);
  visit_size(v, "strides", c.strides);
  v.field("padding", c.padding);
}

/// Throws ShapeError where the output would be empty.
void check_window(const Shape& input, const WindowSizes& sizes);

}  // namespace detail

}  // namespace nyala
