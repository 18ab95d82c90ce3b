#include <nyala/models/nasnet.h>

#include <nyala/api/layers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/models/image_application.h>

namespace nyala::applications {

using namespace nyala::applications::detail;

namespace nasnet {
namespace {

// Some layers have automatic names: the order in which they are made is that of Keras.

struct Variant {
  std::string name;        // "NASNetMobile"
  std::string keras_name;  // "nasnet_mobile"
  int64_t size, stem_filters, filters, blocks;
  bool skips_reduction;
  std::string url_with_top, hash_with_top, url_without_top, hash_without_top;
};

Tensor normalized(const Tensor& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.9997, .epsilon = 1e-3, .name = name})(x);
}

Tensor relu(const Tensor& x, const std::string& name = {}) { return Activation("relu", {.name = name})(x); }

Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name) {
  return Conv2D(filters, 1,
                {.padding = "same", .use_bias = false, .kernel_initializer = "he_normal", .name = name})(x);
}

/// A kernel's size and the strides of the first of two convolutions.
struct Kernel {
  int64_t size;
  int64_t stride = 1;
};

Tensor separable(const Tensor& input, int64_t filters, Kernel kernel, const std::string& id) {
  Tensor x = relu(input);
  const bool halves = kernel.stride == 2;
  if (halves) x = ZeroPadding2D(correct_pad(x, kernel.size), {.name = "separable_conv_1_pad_" + id})(x);
  x = SeparableConv2D(filters, kernel.size,
                      {.strides = kernel.stride,
                       .padding = halves ? "valid" : "same",
                       .use_bias = false,
                       .name = "separable_conv_1_" + id})(x);
  x = relu(normalized(x, "separable_conv_1_bn_" + id));
  x = SeparableConv2D(filters, kernel.size,
                      {.padding = "same", .use_bias = false, .name = "separable_conv_2_" + id})(x);
  return normalized(x, "separable_conv_2_bn_" + id);
}

Tensor average(const Tensor& x, const std::string& name) {
  return AveragePooling2D(3, {.strides = 1, .padding = "same", .name = name})(x);
}

Tensor sum(const Tensor& a, const Tensor& b, const std::string& name = {}) {
  return Add({.name = name})({a, b});
}

/// Half the image in two ways, of which one sees it moved by a pixel.
Tensor halved(const Tensor& x, int64_t filters, const std::string& id) {
  const auto half = [&](const Tensor& image, const std::string& number) {
    const Tensor pooled = AveragePooling2D(
        1, {.strides = 2, .padding = "valid", .name = "adjust_avg_pool_" + number + "_" + id})(image);
    return pointwise(pooled, filters / 2, "adjust_conv_" + number + "_" + id);
  };
  const Tensor active = relu(x, "adjust_relu_1_" + id);
  const Tensor first = half(active, "1");
  const Tensor moved = Cropping2D({{1, 0}, {1, 0}})(ZeroPadding2D({{0, 1}, {0, 1}})(active));
  const Tensor second = half(moved, "2");
  return normalized(Concatenate(-1)({first, second}), "adjust_bn_" + id);
}

/// The output of the cell before the last in the shape of the last one's.
Tensor adjusted(const Tensor& before, const Tensor& last, int64_t filters, const std::string& id) {
  if (!before.defined()) return last;
  if (before.shape()[2] != last.shape()[2]) return halved(before, filters, id);
  if (before.shape().back() == filters) return before;
  return normalized(pointwise(relu(before), filters, "adjust_conv_projection_" + id), "adjust_bn_" + id);
}

Tensor normal_cell(const Tensor& last, const Tensor& before, int64_t filters, const std::string& id) {
  const Tensor p = adjusted(before, last, filters, id);
  const Tensor h = normalized(pointwise(relu(last), filters, "normal_conv_1_" + id), "normal_bn_1_" + id);
  const Tensor a1 = separable(h, filters, {5}, "normal_left1_" + id);
  const Tensor a2 = separable(p, filters, {3}, "normal_right1_" + id);
  const Tensor a = sum(a1, a2, "normal_add_1_" + id);
  const Tensor b1 = separable(p, filters, {5}, "normal_left2_" + id);
  const Tensor b2 = separable(p, filters, {3}, "normal_right2_" + id);
  const Tensor b = sum(b1, b2, "normal_add_2_" + id);
  const Tensor c = sum(average(h, "normal_left3_" + id), p, "normal_add_3_" + id);
  const Tensor d1 = average(p, "normal_left4_" + id), d2 = average(p, "normal_right4_" + id);
  const Tensor d = sum(d1, d2, "normal_add_4_" + id);
  const Tensor e = sum(separable(h, filters, {3}, "normal_left5_" + id), h, "normal_add_5_" + id);
  return Concatenate(-1, {.name = "normal_concat_" + id})({p, a, b, c, d, e});
}

Tensor reduction_cell(const Tensor& last, const Tensor& before, int64_t filters, const std::string& id) {
  const Tensor p = adjusted(before, last, filters, id);
  const Tensor h =
      normalized(pointwise(relu(last), filters, "reduction_conv_1_" + id), "reduction_bn_1_" + id);
  const Tensor padded = ZeroPadding2D(correct_pad(h, 3), {.name = "reduction_pad_1_" + id})(h);
  const auto largest = [&](const std::string& name) {
    return MaxPooling2D(3, {.strides = 2, .padding = "valid", .name = name + id})(padded);
  };
  const Tensor a1 = separable(h, filters, {5, 2}, "reduction_left1_" + id);
  const Tensor a2 = separable(p, filters, {7, 2}, "reduction_right1_" + id);
  const Tensor a = sum(a1, a2, "reduction_add_1_" + id);
  const Tensor b1 = largest("reduction_left2_");
  const Tensor b2 = separable(p, filters, {7, 2}, "reduction_right2_" + id);
  const Tensor b = sum(b1, b2, "reduction_add_2_" + id);
  const Tensor c1 =
      AveragePooling2D(3, {.strides = 2, .padding = "valid", .name = "reduction_left3_" + id})(padded);
  const Tensor c2 = separable(p, filters, {5, 2}, "reduction_right3_" + id);
  const Tensor c = sum(c1, c2, "reduction_add3_" + id);
  const Tensor d = sum(b, average(a, "reduction_left4_" + id));
  const Tensor e1 = separable(a, filters, {3}, "reduction_left4_" + id);
  const Tensor e = sum(e1, largest("reduction_right5_"), "reduction_add4_" + id);
  return Concatenate(-1, {.name = "reduction_concat_" + id})({b, c, d, e});
}

/// The last two cells' outputs.
struct Cells {
  Tensor last, before;
};

Cells normal_cells(Cells cells, const Variant& variant, int64_t filters, int64_t first) {
  for (int64_t i = 0; i < variant.blocks; ++i) {
    const Tensor next = normal_cell(cells.last, cells.before, filters, std::to_string(first + i));
    cells = {next, cells.last};
  }
  return cells;
}

Tensor features(const Tensor& image, const Variant& variant) {
  const int64_t filters = variant.filters, n = variant.blocks;
  Tensor x = Conv2D(
      variant.stem_filters, 3,
      {.strides = 2, .use_bias = false, .kernel_initializer = "he_normal", .name = "stem_conv1"})(image);
  const Tensor stem = normalized(x, "stem_bn1");
  const Tensor first = reduction_cell(stem, {}, filters / 4, "stem_1");
  Cells cells = {reduction_cell(first, stem, filters / 2, "stem_2"), first};
  cells = normal_cells(cells, variant, filters, 0);
  for (const int64_t stage : {1, 2}) {
    const int64_t wide = filters << stage;
    x = reduction_cell(cells.last, cells.before, wide, "reduce_" + std::to_string(stage * n));
    cells = {x, variant.skips_reduction ? cells.before : cells.last};
    cells = normal_cells(cells, variant, wide, stage * n + 1);
  }
  return relu(cells.last);
}

Model build(const ApplicationConfig& config, const Variant& variant) {
  const ImageApplication app(config, {.name = variant.name, .default_size = variant.size});
  if (app.imagenet() && !config.input_shape.empty() && !config.input_shape.is_known())
    throw ShapeError(variant.name + ": expected a known input_shape for the published weights, received " +
                     config.input_shape.to_string());
  const Tensor x = features(app.image(), variant);
  const std::string base = "https://storage.googleapis.com/tensorflow/keras-applications/nasnet/";
  if (config.include_top)
    return app.model(app.classify(x, {}), variant.keras_name,
                     {.name = variant.keras_name + ".h5",
                      .url = base + variant.url_with_top,
                      .hash = variant.hash_with_top});
  return app.model(app.classify(x, {}), variant.keras_name,
                   {.name = variant.keras_name + "_no_top.h5",
                    .url = base + variant.url_without_top,
                    .hash = variant.hash_without_top});
}

}  // namespace
}  // namespace nasnet

Model NASNetMobile(const ApplicationConfig& config) {
  ApplicationConfig sized = config;
  if (!config.include_top && config.input_shape.empty() && !config.input_tensor.defined())
    sized.input_shape = {224, 224, 3};
  return nasnet::build(sized, {"NASNetMobile", "nasnet_mobile", 224, 32, 44, 4, false, "NASNet-mobile.h5",
                               "020fb642bf7360b370c678b08e0adf61", "NASNet-mobile-no-top.h5",
                               "1ed92395b5b598bdda52abe5c0dbfd63"});
}

Model NASNetLarge(const ApplicationConfig& config) {
  return nasnet::build(config, {"NASNetLarge", "nasnet_large", 331, 96, 168, 6, true, "NASNet-large.h5",
                                "11577c9a518f0070763c2b964a382f17", "NASNet-large-no-top.h5",
                                "d81d89dc07e6e56530c4e77faddd61b5"});
}

}  // namespace nyala::applications
