#include <functional>
#include <map>

#include <nyala/benchmarks/support/benchmark_models.h>

namespace nyala::benchmarks {

using namespace nyala::detail;

namespace {

/// Makes the layers of all networks, in one dtype.
struct Maker {
  std::string dtype;

  Layer pool() const { return AveragePooling2D(2, {.dtype = dtype}); }
  Layer flatten() const { return Flatten({.dtype = dtype}); }
  Layer relu() const { return ReLU({.dtype = dtype}); }
  Layer dense(int64_t units, const char* activation = "linear") const {
    return Dense(units, {.activation = activation, .dtype = dtype});
  }
  Layer conv(int64_t filters, int64_t kernel, const char* activation, const char* padding = "valid") const {
    return Conv2D(filters, kernel, {.padding = padding, .activation = activation, .dtype = dtype});
  }

  Tensor conv_bn(const Tensor& x, int64_t filters, int64_t kernel, int64_t strides) const {
    const Tensor y = Conv2D(filters, kernel,
                            {.strides = strides, .padding = "same", .use_bias = false, .dtype = dtype})(x);
    return BatchNormalization({.dtype = dtype})(y);
  }

  Tensor block(const Tensor& x, int64_t filters, int64_t strides) const {
    Tensor y = relu()(conv_bn(x, filters, 3, strides));
    y = conv_bn(y, filters, 3, 1);
    const bool same = strides == 1 && x.shape().back() == filters;
    return relu()(Add({.dtype = dtype})({same ? x : conv_bn(x, filters, 1, strides), y}));
  }

  Model lenet5() const {
    return Sequential({Input({28, 28, 1}), conv(6, 5, "sigmoid", "same"), pool(), conv(16, 5, "sigmoid"),
                       pool(), flatten(), dense(120, "sigmoid"), dense(84, "sigmoid"), dense(10)});
  }

  Model lenet() const {
    return Sequential({Input({28, 28, 1}), Rescaling(1 / 255.0, {.dtype = dtype}), conv(20, 3, "relu"),
                       pool(), conv(50, 5, "relu"), pool(), flatten(), dense(128, "relu"), dense(10)});
  }

  Model mlp() const { return Sequential({Input({784}), dense(512, "relu"), dense(512, "relu"), dense(10)}); }

  Model lstm() const { return Sequential({Input({100, 128}), LSTM(128, {.dtype = dtype}), dense(10)}); }

  /// Vaswani et al. 2017, with the mean over all tokens behind it.
  Model transformer() const {
    const Input input({128, 256});
    const Tensor attended = MultiHeadAttention(8, 32, {.dtype = dtype})(input, input);
    const Tensor x = LayerNormalization({.dtype = dtype})(Add({.dtype = dtype})({input, attended}));
    const Tensor y = dense(256)(dense(1024, "relu")(x));
    const Tensor z = LayerNormalization({.dtype = dtype})(Add({.dtype = dtype})({x, y}));
    return Model(input, dense(10)(GlobalAveragePooling1D({.dtype = dtype})(z)));
  }

  Model resnet20() const {
    const Input input({32, 32, 3});
    Tensor x = relu()(conv_bn(input, 16, 3, 1));
    for (int64_t filters : {16, 32, 64})
      for (int i = 0; i < 3; ++i) x = block(x, filters, i == 0 && filters > 16 ? 2 : 1);
    return Model(input, dense(10)(GlobalAveragePooling2D({.dtype = dtype})(x)));
  }

  /// The ResNet-18 that d2l trains on Fashion-MNIST: a stem of 3x3 with neither stride nor pooling.
  Model resnet18() const {
    const Input input({28, 28, 1});
    Tensor x = relu()(conv_bn(input, 64, 3, 1));
    for (int64_t filters : {64, 128, 256, 512})
      for (int i = 0; i < 2; ++i) x = block(x, filters, i == 0 && filters > 64 ? 2 : 1);
    return Model(input, dense(10)(GlobalAveragePooling2D({.dtype = dtype})(x)));
  }

  /// One of nyala::applications with random weights and logits at the end.
  Model application(Model (*make)(const applications::ApplicationConfig&), int64_t size) const {
    const DTypePolicy before = dtype_policy();
    set_dtype_policy(dtype);
    const Model model =
        make({.input_shape = {size, size, 3}, .weights = "none", .classifier_activation = "linear"});
    set_dtype_policy(before);
    return model;
  }
};

const std::map<std::string, std::function<BenchmarkModel(const Maker&)>>& models() {
  namespace apps = nyala::applications;
  using M = const Maker&;
  static const std::map<std::string, std::function<BenchmarkModel(M)>> all = {
      {"lenet5",
       [](M m) {
         return BenchmarkModel{m.lenet5(), {28, 28, 1}, 10, 256};
       }},
      {"lenet",
       [](M m) {
         return BenchmarkModel{m.lenet(), {28, 28, 1}, 10, 256};
       }},
      {"resnet20",
       [](M m) {
         return BenchmarkModel{m.resnet20(), {32, 32, 3}, 10, 128};
       }},
      {"mlp",
       [](M m) {
         return BenchmarkModel{m.mlp(), {784}, 10, 128};
       }},
      {"lstm",
       [](M m) {
         return BenchmarkModel{m.lstm(), {100, 128}, 10, 64};
       }},
      {"transformer",
       [](M m) {
         return BenchmarkModel{m.transformer(), {128, 256}, 10, 32};
       }},
      {"resnet18",
       [](M m) {
         return BenchmarkModel{m.resnet18(), {28, 28, 1}, 10, 64};
       }},
      {"resnet50",
       [](M m) {
         return BenchmarkModel{m.application(apps::ResNet50, 224), {224, 224, 3}, 1000, 16};
       }},
      {"mobilenet_v2",
       [](M m) {
         return BenchmarkModel{m.application(apps::MobileNetV2, 224), {224, 224, 3}, 1000, 16};
       }},
      {"xception", [](M m) {
         return BenchmarkModel{m.application(apps::Xception, 299), {299, 299, 3}, 1000, 8};
       }}};
  return all;
}

}  // namespace

BenchmarkModel make_benchmark_model(const std::string& name, const std::string& dtype,
                                    std::optional<bool> recompute) {
  const auto found = models().find(name);
  if (found == models().end()) {
    std::vector<std::string> names;
    for (const auto& [known, make] : models()) names.push_back(known);
    throw InvalidArgumentError("unknown model '" + name + "'" + did_you_mean(name, names));
  }
  BenchmarkModel out = found->second(Maker{dtype});
  out.model.compile({.optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9}),
                     .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                     .recompute_batch_normalization = recompute});
  return out;
}

}  // namespace nyala::benchmarks
