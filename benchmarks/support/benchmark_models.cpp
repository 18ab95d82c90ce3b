#include <nyala/benchmarks/support/benchmark_models.h>

namespace nyala::benchmarks {

namespace {

Model lenet5() {
  return Sequential({Input({28, 28, 1}), Conv2D(6, 5, {.padding = "same", .activation = "sigmoid"}),
                     AveragePooling2D(2), Conv2D(16, 5, {.activation = "sigmoid"}), AveragePooling2D(2),
                     Flatten(), Dense(120, {.activation = "sigmoid"}), Dense(84, {.activation = "sigmoid"}),
                     Dense(10)});
}

Model lenet() {
  return Sequential({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(20, 3, {.activation = "relu"}),
                     AveragePooling2D(2), Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2),
                     Flatten(), Dense(128, {.activation = "relu"}), Dense(10)});
}

Model mlp() {
  return Sequential(
      {Input({784}), Dense(512, {.activation = "relu"}), Dense(512, {.activation = "relu"}), Dense(10)});
}

Tensor conv_bn(const Tensor& x, int64_t filters, int64_t kernel, int64_t strides) {
  const Tensor y = Conv2D(filters, kernel, {.strides = strides, .padding = "same", .use_bias = false})(x);
  return BatchNormalization()(y);
}

Tensor block(const Tensor& x, int64_t filters, int64_t strides) {
  Tensor y = ReLU()(conv_bn(x, filters, 3, strides));
  y = conv_bn(y, filters, 3, 1);
  const bool same = strides == 1 && x.shape().back() == filters;
  return ReLU()(Add()({same ? x : conv_bn(x, filters, 1, strides), y}));
}

Model resnet20() {
  const Input input({32, 32, 3});
  Tensor x = ReLU()(conv_bn(input, 16, 3, 1));
  for (int64_t filters : {16, 32, 64})
    for (int i = 0; i < 3; ++i) x = block(x, filters, i == 0 && filters > 16 ? 2 : 1);
  return Model(input, Dense(10)(GlobalAveragePooling2D()(x)));
}

}  // namespace

BenchmarkModel make_benchmark_model(const std::string& name) {
  BenchmarkModel out;
  if (name == "lenet5")
    out = {lenet5(), {28, 28, 1}, 10, 256};
  else if (name == "lenet")
    out = {lenet(), {28, 28, 1}, 10, 256};
  else if (name == "resnet20")
    out = {resnet20(), {32, 32, 3}, 10, 128};
  else if (name == "mlp")
    out = {mlp(), {784}, 10, 128};
  else
    throw InvalidArgumentError("unknown model '" + name + "'" +
                               did_you_mean(name, {"lenet5", "lenet", "resnet20", "mlp"}));
  out.model.compile({.optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9}),
                     .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return out;
}

}  // namespace nyala::benchmarks
