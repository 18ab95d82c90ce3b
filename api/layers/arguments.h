#pragma once

#include <string>

#include <nyala/api/layers/size2d.h>
#include <nyala/backend/core/tensor.h>

/// Checks of constructor arguments and inputs that several layers share. Errors begin with `layer`, the class
/// name, and say what was expected and received.
namespace nyala {

/// "valid" or "same", in any case; returns it in lower case. Throws InvalidArgumentError with the nearest
/// name.
std::string checked_padding(const std::string& layer, const std::string& padding);

/// "" or "channels_last". Throws InvalidArgumentError: "channels_first" is not supported yet.
void check_data_format(const std::string& layer, const std::string& data_format);

/// Throws InvalidArgumentError unless both sizes are above 0.
void check_positive(const std::string& layer, const std::string& field, const Size2D& size);
void check_positive(const std::string& layer, const std::string& field, int64_t value);

/// Throws ShapeError unless `input` is (batch, height, width, channels).
void check_image(const Shape& input);

/// A window that moves over an image: kernel or pool.
struct WindowSizes {
  Size2D window;
  Size2D strides;
  Size2D dilation;
  std::string padding;
};
/// Throws ShapeError where the output would have no rows or columns.
void check_window(const Shape& input, const WindowSizes& sizes);

/// Throws DTypeError unless x is floating.
void check_floating(const Tensor& x);

}  // namespace nyala
