#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/window.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// What the positions along an axis are called.
const char* name_of_axis(size_t axis, size_t axes) {
  if (axes == 1) return "steps";
  return axis + 1 == axes ? "columns" : axis + 2 == axes ? "rows" : "slices";
}

}  // namespace

void detail::check_spatial(const Shape& input, size_t axes) {
  check_rank(input, static_cast<int>(axes) + 2,
             axes == 1   ? "(batch, steps, channels)"
             : axes == 2 ? "(batch, height, width, channels)"
                         : "(batch, depth, height, width, channels)");
}

void detail::check_channels_known(const Shape& input, size_t axes) {
  check_spatial(input, axes);
  if (input.back() == None)
    throw ShapeError("expected a known number of channels, received " + input.to_string());
}

void detail::check_window(const Shape& input, const WindowSizes& sizes) {
  const size_t count = sizes.axes().size();
  // Both have one window for each element.
  const ops::Padding padding(sizes.padding() == "causal" ? "same" : sizes.padding());
  for (size_t i = 0; i < count; ++i) {
    const int axis = static_cast<int>(i);
    const int64_t size = input[axis + 1];
    const auto& [window, stride, dilation] = sizes.axes()[i];
    const ops::WindowAxis along{.size = window, .stride = stride, .dilation = dilation};
    if (size == None || ops::detail::window_output_size(size, along, padding, axis) > 0) continue;
    throw ShapeError("the output would have no " + std::string(name_of_axis(i, count)) +
                     ": expected an input of at least " + std::to_string(along.span()) + ", received shape " +
                     input.to_string() + " with " + sizes.text());
  }
}

}  // namespace nyala
