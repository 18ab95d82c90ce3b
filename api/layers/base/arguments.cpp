#include <algorithm>
#include <limits>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

std::string detail::checked_padding(const std::string& layer, const std::string& padding, bool allow_causal) {
  const std::string name = lower_case(padding);
  std::vector<std::string> allowed = {"valid", "same"};
  if (allow_causal) allowed.push_back("causal");
  if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return name;
  throw InvalidArgumentError(layer + ": expected padding 'valid'" +
                             (allow_causal ? ", 'same' or 'causal'" : " or 'same'") + ", received " +
                             in_quotes(padding) + did_you_mean(name, allowed));
}

void detail::check_data_format(const std::string& layer, const std::string& data_format) {
  if (data_format.empty() || data_format == "channels_last") return;
  if (data_format == "channels_first")
    throw InvalidArgumentError(layer + ": data_format 'channels_first' is not supported yet; expected " +
                               "'channels_last', images of shape (batch, height, width, channels)");
  throw InvalidArgumentError(layer + ": expected data_format 'channels_last', received " +
                             in_quotes(data_format) + did_you_mean(data_format, {"channels_last"}));
}

void detail::check_either_data_format(const std::string& layer, const std::string& data_format) {
  if (data_format != "channels_first" && !data_format.empty() && data_format != "channels_last")
    throw InvalidArgumentError(
        layer + ": expected data_format 'channels_last' or 'channels_first', received " +
        in_quotes(data_format) + did_you_mean(data_format, {"channels_last", "channels_first"}));
}

template <size_t N>
void detail::check_positive(const std::string& layer, const std::string& field, const Size<N>& size) {
  if (size.smallest() <= 0)
    throw InvalidArgumentError(layer + ": expected " + field + " > 0, received " + size.to_string());
  if (size.largest() > std::numeric_limits<int>::max())
    throw InvalidArgumentError(layer + ": expected a smaller " + field + ", received " + size.to_string());
}

template void detail::check_positive(const std::string&, const std::string&, const Size<1>&);
template void detail::check_positive(const std::string&, const std::string&, const Size<2>&);
template void detail::check_positive(const std::string&, const std::string&, const Size<3>&);

void detail::check_positive(const std::string& layer, const std::string& field, int64_t value) {
  if (value <= 0)
    throw InvalidArgumentError(layer + ": expected " + field + " > 0, received " + std::to_string(value));
}

void detail::check_not_negative(const std::string& layer, const std::string& field, double value) {
  if (!(value >= 0))
    throw InvalidArgumentError(layer + ": expected " + field + " >= 0, received " + number_text(value));
}

void detail::check_fraction(const std::string& layer, const std::string& field, double value) {
  if (!(value >= 0 && value <= 1))
    throw InvalidArgumentError(layer + ": expected " + field + " in [0, 1], received " + number_text(value));
}

void detail::check_axes(const std::string& layer, const Axes& axes) {
  if (axes.list().empty()) throw InvalidArgumentError(layer + ": expected an axis, received none");
}

std::string detail::missing_batch_axis(const Shape& received, int expected_rank) {
  if (received.rank() + 1 != expected_rank) return "";
  return ": is the axis of the rows missing? ops::expand_dims(x, 0) adds the batch axis to one example";
}

void detail::check_rank(const Shape& input, int rank, const std::string& axes) {
  if (input.rank() != rank)
    throw ShapeError("expected an input of rank " + std::to_string(rank) + " " + axes + ", received shape " +
                     input.to_string() + missing_batch_axis(input, rank));
}

void detail::check_image(const Shape& input) { check_rank(input, 4, "(batch, height, width, channels)"); }

void detail::check_floating(const Tensor& x) {
  if (!is_floating(x.dtype()))
    throw DTypeError("expected a floating input, received " + std::string(name_of(x.dtype())) +
                     "; put a Rescaling in front or cast it");
}

Tensor detail::as_floating(const Tensor& x, DType dtype) {
  return is_floating(x.dtype()) ? x : ops::cast(x, dtype);
}

Tensor detail::wide(const Tensor& x, DType dtype) {
  return ops::cast(x, promote(promote(x.dtype(), dtype), DType::float32));
}

}  // namespace nyala
