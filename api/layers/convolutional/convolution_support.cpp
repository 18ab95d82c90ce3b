#include <limits>
#include <set>

#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/backend/core/error.h>

namespace nyala {

template <size_t N>
void detail::check_strides_or_dilation(const std::string& layer, const Size<N>& strides,
                                       const Size<N>& dilation) {
  if (strides.largest() > 1 && dilation.largest() > 1)
    throw InvalidArgumentError(layer + ": expected strides or dilation_rate to be 1, received strides " +
                               strides.to_string() + " and dilation_rate " + dilation.to_string());
}

void detail::check_activation_axis(const std::string& layer, const std::string& data_format,
                                   const ActivationArgument& activation) {
  static const std::set<std::string>& along_last =
      *new std::set<std::string>{"softmax", "log_softmax", "sparsemax", "glu"};
  if (data_format != "channels_first" || (!activation.is_custom() && !along_last.contains(activation.name())))
    return;
  throw InvalidArgumentError(layer +
                             ": expected an activation of single elements with data_format "
                             "'channels_first', received " +
                             detail::in_quotes(activation.name()) +
                             "; make it a layer of its own behind this one");
}

template <size_t N>
Shape detail::kernel_shape(const Size<N>& sizes, int64_t in, int64_t out) {
  Shape shape;
  for (size_t i = 0; i < N; ++i) shape.append(sizes[i]);
  shape.append(in);
  shape.append(out);
  return shape;
}

template <size_t N>
ops::Padding detail::padding_of(const std::string& name, const Size<N>& kernel, const Size<N>& dilation) {
  if (name != "causal") return name;
  const int64_t before = (kernel[0] - 1) * dilation[0];
  if (before > std::numeric_limits<int>::max())
    throw InvalidArgumentError(
        "padding 'causal': expected a smaller kernel_size or dilation_rate, received " + kernel.to_string() +
        " and " + dilation.to_string());
  return {0, 0, static_cast<int>(before), 0};
}

Tensor detail::as_grouped_kernel(const Tensor& depthwise_kernel) {
  Shape shape = depthwise_kernel.shape();
  shape.set(-1, shape[-2] * shape.back());
  shape.set(-2, 1);
  return ops::reshape(depthwise_kernel, shape);
}

template void detail::check_strides_or_dilation(const std::string&, const Size<1>&, const Size<1>&);
template void detail::check_strides_or_dilation(const std::string&, const Size<2>&, const Size<2>&);
template void detail::check_strides_or_dilation(const std::string&, const Size<3>&, const Size<3>&);
template Shape detail::kernel_shape(const Size<1>&, int64_t, int64_t);
template Shape detail::kernel_shape(const Size<2>&, int64_t, int64_t);
template Shape detail::kernel_shape(const Size<3>&, int64_t, int64_t);
template ops::Padding detail::padding_of(const std::string&, const Size<1>&, const Size<1>&);
template ops::Padding detail::padding_of(const std::string&, const Size<2>&, const Size<2>&);
template ops::Padding detail::padding_of(const std::string&, const Size<3>&, const Size<3>&);

}  // namespace nyala
