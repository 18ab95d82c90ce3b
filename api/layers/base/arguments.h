#pragma once

#include <string>

#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/size.h>
#include <nyala/backend/core/tensor.h>

/// Checks of constructor arguments and inputs that several layers share. Errors begin with `layer`, the class
/// name, and say what was expected and received.
namespace nyala::detail {

/// "valid" or "same" (where it is allowed also "causal"), in any case; returns it in lower case. Throws
/// InvalidArgumentError with the nearest name.
std::string checked_padding(const std::string& layer, const std::string& padding, bool allow_causal = false);

/// "" or "channels_last". Throws InvalidArgumentError: "channels_first" is not supported yet.
void check_data_format(const std::string& layer, const std::string& data_format);
/// "", "channels_last" or "channels_first". Throws InvalidArgumentError with the nearest name.
void check_either_data_format(const std::string& layer, const std::string& data_format);

/// Throws InvalidArgumentError unless all sizes are above 0 (and fit in int).
template <size_t N>
void check_positive(const std::string& layer, const std::string& field, const Size<N>& size);
void check_positive(const std::string& layer, const std::string& field, int64_t value);

/// Throws InvalidArgumentError for a value below 0 or NaN.
void check_not_negative(const std::string& layer, const std::string& field, double value);
/// Throws InvalidArgumentError for a value outside [0, 1].
void check_fraction(const std::string& layer, const std::string& field, double value);
/// Throws InvalidArgumentError where there is no axis.
void check_axes(const std::string& layer, const Axes& axes);
/// What an error about `received` adds where the axis of the rows may be missing from it, or "".
std::string missing_batch_axis(const Shape& received, int expected_rank);
/// Throws ShapeError unless `input` has `rank` axes: "expected an input of rank 3 (batch, steps, channels)".
void check_rank(const Shape& input, int rank, const std::string& axes);

/// Throws ShapeError unless `input` is (batch, height, width, channels).
void check_image(const Shape& input);

/// Throws DTypeError unless x is floating.
void check_floating(const Tensor& x);

/// x for arithmetic with a layer's weights: integers and bool become `dtype`, the layer's. Keras promotes
/// them in a call, or its Input casts them.
Tensor as_floating(const Tensor& x, DType dtype);

/// `x` in the wider one of its own dtype, the layer's and float32, as layers without autocast compute.
Tensor wide(const Tensor& x, DType dtype);

}  // namespace nyala::detail
