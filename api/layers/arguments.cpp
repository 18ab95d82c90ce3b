#include <algorithm>
#include <cctype>

#include <nyala/api/layers/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/window.h>

namespace nyala {

std::string checked_padding(const std::string& layer, const std::string& padding) {
  std::string name = padding;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "valid" || name == "same") return name;
  throw InvalidArgumentError(layer + ": expected padding 'valid' or 'same', received '" + padding + "'" +
                             did_you_mean(name, {"valid", "same"}));
}

void check_data_format(const std::string& layer, const std::string& data_format) {
  if (data_format.empty() || data_format == "channels_last") return;
  if (data_format == "channels_first")
    throw InvalidArgumentError(layer + ": data_format 'channels_first' is not supported yet; expected " +
                               "'channels_last', images of shape (batch, height, width, channels)");
  throw InvalidArgumentError(layer + ": expected data_format 'channels_last', received '" + data_format +
                             "'" + did_you_mean(data_format, {"channels_last"}));
}

void check_positive(const std::string& layer, const std::string& field, const Size2D& size) {
  if (size.rows() <= 0 || size.columns() <= 0)
    throw InvalidArgumentError(layer + ": expected " + field + " > 0, received " + size.to_string());
}

void check_positive(const std::string& layer, const std::string& field, int64_t value) {
  if (value <= 0)
    throw InvalidArgumentError(layer + ": expected " + field + " > 0, received " + std::to_string(value));
}

void check_image(const Shape& input) {
  if (input.rank() != 4)
    throw ShapeError("expected an input of rank 4 (batch, height, width, channels), received shape " +
                     input.to_string());
}

void check_window(const Shape& input, const WindowSizes& sizes) {
  const auto window = sizes.window.to_array(), strides = sizes.strides.to_array(),
             dilation = sizes.dilation.to_array();
  for (int axis = 0; axis < 2; ++axis) {
    const size_t k = static_cast<size_t>(axis);
    const int64_t size = input[axis + 1];
    if (size == None) continue;
    const ops::WindowAxis along{.size = window[k], .stride = strides[k], .dilation = dilation[k]};
    if (ops::window_output_size(size, along, ops::Padding2D(sizes.padding), axis) > 0) continue;
    throw ShapeError("the output would have no " + std::string(axis == 0 ? "rows" : "columns") +
                     ": expected an input of at least " + std::to_string(along.span()) + ", received shape " +
                     input.to_string() + " with a window of " + sizes.window.to_string() + ", strides " +
                     sizes.strides.to_string() + ", dilation " + sizes.dilation.to_string() + ", padding '" +
                     sizes.padding + "'");
  }
}

void check_floating(const Tensor& x) {
  if (!is_floating(x.dtype()))
    throw DTypeError("expected a floating input, received " + std::string(name_of(x.dtype())) +
                     "; put a Rescaling in front or cast it");
}

}  // namespace nyala
