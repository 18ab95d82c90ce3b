#include <nyala/models/mobile_blocks.h>

#include <nyala/api/initializers/variance_scaling.h>
#include <nyala/api/layers/all.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

Initializer detail::efficient_kernel_initializer() {
  return VarianceScaling({.scale = 2.0, .mode = "fan_out", .distribution = "truncated_normal"});
}

Initializer detail::efficient_classifier_initializer() {
  return VarianceScaling({.scale = 1.0 / 3.0, .mode = "fan_out", .distribution = "uniform"});
}

Tensor detail::squeeze_and_excite(const Tensor& x, int64_t reduced, const std::string& prefix) {
  const int64_t channels = x.shape().back();
  const Initializer initializer = efficient_kernel_initializer();
  Tensor s = GlobalAveragePooling2D({.name = prefix + "se_squeeze"})(x);
  s = Reshape({1, 1, channels}, {.name = prefix + "se_reshape"})(s);
  s = Conv2D(reduced, 1,
             {.padding = "same",
              .activation = "swish",
              .kernel_initializer = initializer,
              .name = prefix + "se_reduce"})(s);
  s = Conv2D(channels, 1,
             {.padding = "same",
              .activation = "sigmoid",
              .kernel_initializer = initializer,
              .name = prefix + "se_expand"})(s);
  return Multiply({.name = prefix + "se_excite"})({x, s});
}

Tensor detail::add_dropped(const Tensor& x, const Tensor& input, double rate, const std::string& prefix) {
  const Tensor y = rate > 0 ? Dropout(rate, {.noise_shape = {None, 1, 1, 1}, .name = prefix + "drop"})(x) : x;
  return Add({.name = prefix + "add"})({y, input});
}

}  // namespace nyala::applications
