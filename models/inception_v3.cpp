#include <nyala/models/inception_v3.h>

#include <nyala/api/layers/all.h>
#include <nyala/models/image_application.h>
#include <nyala/models/inception_blocks.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace inception_v3 {
namespace {

// Layers have automatic names: the order in which they are made is that of Keras.

Tensor average(const Tensor& x) { return AveragePooling2D(3, {.strides = 1, .padding = "same"})(x); }

Tensor stem(const Tensor& image) {
  Tensor x = unit(image, {32, 3, true});
  x = unit(x, {32, 3}, true);
  x = unit(x, {64, 3});
  x = MaxPooling2D(3, {.strides = 2})(x);
  x = unit(x, {80, 1}, true);
  x = unit(x, {192, 3}, true);
  return MaxPooling2D(3, {.strides = 2})(x);
}

Tensor mixed_35(const Tensor& x, int64_t pooled, const std::string& name) {
  const Tensor a = branch(x, {{64}});
  const Tensor b = branch(x, {{48}, {64, 5}});
  const Tensor c = branch(x, {{64}, {96, 3}, {96, 3}});
  return joined({a, b, c, branch(average(x), {{pooled}})}, name);
}

/// Factorised 7x7 convolutions.
Tensor mixed_17(const Tensor& x, int64_t n, const std::string& name) {
  const Size2D row{1, 7}, column{7, 1};
  const Tensor a = branch(x, {{192}});
  const Tensor b = branch(x, {{n}, {n, row}, {192, column}});
  const Tensor c = branch(x, {{n}, {n, column}, {n, row}, {n, column}, {192, row}});
  return joined({a, b, c, branch(average(x), {{192}})}, name);
}

Tensor mixed_8(const Tensor& x, const std::string& number) {
  const Tensor a = branch(x, {{320}});
  Tensor b = branch(x, {{384}});
  const Tensor b1 = branch(b, {{384, {1, 3}}}), b2 = branch(b, {{384, {3, 1}}});
  b = joined({b1, b2}, "mixed9_" + number);
  Tensor c = branch(x, {{448}, {384, 3}});
  const Tensor c1 = branch(c, {{384, {1, 3}}}), c2 = branch(c, {{384, {3, 1}}});
  c = joined({c1, c2}, "");
  return joined({a, b, c, branch(average(x), {{192}})}, number == "0" ? "mixed9" : "mixed10");
}

Tensor features(const Tensor& image) {
  Tensor x = stem(image);
  x = mixed_35(x, 32, "mixed0");
  x = mixed_35(x, 64, "mixed1");
  x = mixed_35(x, 64, "mixed2");
  Tensor a = branch(x, {{384, 3, true}});
  Tensor b = branch(x, {{64}, {96, 3}, {96, 3, true}});
  x = joined({a, b, MaxPooling2D(3, {.strides = 2})(x)}, "mixed3");
  x = mixed_17(x, 128, "mixed4");
  x = mixed_17(x, 160, "mixed5");
  x = mixed_17(x, 160, "mixed6");
  x = mixed_17(x, 192, "mixed7");
  a = branch(x, {{192}, {320, 3, true}});
  b = branch(x, {{192}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, true}});
  x = joined({a, b, MaxPooling2D(3, {.strides = 2})(x)}, "mixed8");
  return mixed_8(mixed_8(x, "0"), "1");
}

}  // namespace
}  // namespace inception_v3

Model InceptionV3(const ApplicationConfig& config) {
  using namespace inception_v3;
  const ImageApplication app(config, {.name = "InceptionV3", .default_size = 299, .min_size = 75});
  const Tensor x = features(app.image());
  const std::string file = std::string("inception_v3_weights_tf_dim_ordering_tf_kernels") +
                           (config.include_top ? "" : "_notop") + ".h5";
  return app.model(
      app.classify(x, {.pooling = {.with_top = "avg_pool"}}), "inception_v3",
      {.name = file,
       .url = "https://storage.googleapis.com/tensorflow/keras-applications/inception_v3/" + file,
       .hash = config.include_top ? "9a0d58056eeedaa3f26cb7ebd46da564" : "bcbd6486424b2319ff4ef7d526e38f63"});
}

}  // namespace nyala::applications
