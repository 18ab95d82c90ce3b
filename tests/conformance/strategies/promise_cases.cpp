// The trainings that the promise is made for.
#include <nyala/tests/conformance/strategies/attention_cases.h>
#include <nyala/tests/conformance/strategies/promise_case.h>
#include <nyala/tests/conformance/strategies/recurrent_cases.h>

#include <nyala/api/constraints/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int64_t kFeatures = 6, kClasses = 3, kBatch = 16;

/// 75 rows in batches of 16: the last one has 11.
struct Sizes {
  int64_t rows = 75;
  int64_t batch = kBatch;
  int epochs = 3;
};

CaseData table(DType dtype, const Sizes& sizes = {}) {
  CaseData data;
  data.x = {random_numbers(1, {sizes.rows, kFeatures}, dtype)};
  data.y = {random_labels(2, sizes.rows, kClasses)};
  data.fit.batch_size = sizes.batch;
  data.fit.epochs = sizes.epochs;
  data.fit.verbose = 0;
  return data;
}

CaseData default_table(DType dtype) { return table(dtype); }

CaseData images(DType dtype, const Sizes& sizes = {.rows = 43, .batch = 8, .epochs = 3}) {
  CaseData data = table(dtype, sizes);
  data.x = {random_numbers(3, {sizes.rows, 6, 6, 2}, dtype)};
  return data;
}

Tensor positive_weights(int64_t rows, DType dtype) {
  const Tensor numbers = random_numbers(4, {rows}, DType::float64);
  std::vector<double> weights = numbers.to_vector<double>();
  for (double& weight : weights) weight = weight < -1.0 ? 0.0 : 1.5 + weight;
  return ops::cast(Tensor::from(weights), dtype);
}

Optimizer adam() { return Adam({.learning_rate = 0.01}); }
Optimizer momentum() { return SGD({.learning_rate = 0.05, .momentum = 0.9}); }

Loss class_loss() { return SparseCategoricalCrossentropy({.from_logits = true}); }

CompileConfig compiled(const Optimizer& optimizer) {
  return {.optimizer = optimizer, .loss = class_loss(), .metrics = {"accuracy"}};
}

Sequential mlp(const std::string& dtype, const std::vector<Layer>& between = {}, DenseConfig first = {}) {
  first.units = 8;
  first.activation = "tanh";
  first.dtype = dtype;
  std::vector<Layer> layers = {Input({kFeatures}, {.dtype = input_dtype(dtype)}), Dense(first)};
  layers.insert(layers.end(), between.begin(), between.end());
  layers.push_back(Dense(5, {.activation = "sigmoid", .dtype = dtype}));
  layers.push_back(Dense(kClasses, {.dtype = dtype}));
  return Sequential(layers);
}

/// A case of the little network with a table that differs only in how it is trained.
PromiseCase trained_with(const std::string& name, std::function<Optimizer()> optimizer,
                         std::function<CaseData(DType)> data = default_table,
                         int64_t steps_per_execution = 1) {
  const auto make = [optimizer = std::move(optimizer), steps_per_execution](const std::string& dtype) {
    const Model model = mlp(dtype);
    CompileConfig config = compiled(optimizer());
    config.steps_per_execution = steps_per_execution;
    model.compile(config);
    return model;
  };
  return {name, make, std::move(data)};
}

std::vector<PromiseCase> optimizer_cases() {
  std::vector<PromiseCase> cases;
  cases.push_back(trained_with("partial last batch, SGD momentum", momentum));
  cases.push_back(trained_with("partial last batch, Adam", adam));
  cases.push_back(trained_with("RMSprop", [] { return RMSprop({.learning_rate = 0.01}); }));
  cases.push_back(trained_with(
      "clipnorm", [] { return SGD({.learning_rate = 0.5, .momentum = 0.9, .clipnorm = 0.02}); }));
  cases.push_back(trained_with(
      "clipvalue", [] { return SGD({.learning_rate = 0.5, .momentum = 0.9, .clipvalue = 0.004}); }));
  cases.push_back(
      trained_with("global_clipnorm", [] { return Adam({.learning_rate = 0.01, .global_clipnorm = 0.05}); }));
  cases.push_back(
      trained_with("weight decay", [] { return Adam({.learning_rate = 0.01, .weight_decay = 0.1}); }));
  cases.push_back(trained_with("moving averages", [] {
    return SGD({.learning_rate = 0.05,
                .momentum = 0.9,
                .use_ema = true,
                .ema_momentum = 0.8,
                .ema_overwrite_frequency = 4});
  }));
  // 5 steps an epoch: the last two gradients wait in the accumulators when fit ends.
  cases.push_back(trained_with(
      "gradient accumulation", [] { return Adam({.learning_rate = 0.02, .gradient_accumulation_steps = 4}); },
      [](DType dtype) { return table(dtype, {.epochs = 2}); }));
  cases.push_back(trained_with("steps_per_execution", adam, default_table, 3));
  return cases;
}

std::vector<PromiseCase> data_cases() {
  std::vector<PromiseCase> cases;
  cases.push_back(trained_with("last batch of one row", momentum,
                               [](DType dtype) { return table(dtype, {.rows = 65, .epochs = 3}); }));
  cases.push_back(trained_with("every batch smaller than 4", adam, [](DType dtype) {
    return table(dtype, {.rows = 26, .batch = 3, .epochs = 3});
  }));
  cases.push_back(trained_with("sample weights", adam, [](DType dtype) {
    CaseData data = table(dtype);
    data.fit.sample_weight = positive_weights(75, dtype);
    return data;
  }));
  cases.push_back(trained_with("class weights", momentum, [](DType dtype) {
    CaseData data = table(dtype);
    data.fit.class_weight = {{0, 0.5}, {1, 2.0}, {2, 0.25}};
    return data;
  }));
  cases.push_back(trained_with("validation during fit", adam, [](DType dtype) {
    CaseData data = table(dtype, {.rows = 70});
    data.fit.validation_data = {random_numbers(5, {21, kFeatures}, dtype), random_labels(6, 21, kClasses)};
    data.fit.validation_batch_size = 5;
    return data;
  }));
  cases.push_back(trained_with("validation split, steps per epoch", momentum, [](DType dtype) {
    CaseData data = table(dtype, {.rows = 70, .epochs = 6});
    data.fit.validation_split = 0.3;
    data.fit.steps_per_epoch = 3;
    data.fit.validation_freq = 2;
    return data;
  }));
  return cases;
}

/// The loss's own ways to count.
std::vector<PromiseCase> loss_cases() {
  const auto with_loss = [](const std::string& name, std::function<Loss()> loss,
                            std::function<CaseData(DType)> data) {
    const auto make = [loss = std::move(loss)](const std::string& dtype) {
      const Model model = mlp(dtype);
      CompileConfig config = compiled(SGD({.learning_rate = 0.01, .momentum = 0.9}));
      config.loss = loss();
      config.weighted_metrics = {"sparse_categorical_crossentropy"};
      model.compile(config);
      return model;
    };
    return PromiseCase{name, make, std::move(data)};
  };
  const auto weighted = [](DType dtype) {
    CaseData data = table(dtype);
    data.fit.sample_weight = positive_weights(75, dtype);
    return data;
  };
  return {
      with_loss(
          "loss reduction sum",
          [] { return SparseCategoricalCrossentropy({.from_logits = true, .reduction = "sum"}); }, weighted),
      with_loss(
          "loss reduction mean_with_sample_weight",
          [] {
            return SparseCategoricalCrossentropy(
                {.from_logits = true, .reduction = "mean_with_sample_weight"});
          },
          weighted),
      with_loss(
          "ignored class",
          [] { return SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 1}); },
          default_table)};
}

/// A layer with a weight that nothing uses.
class SpareNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Spare"; }
  void build(Builder& b, const Shape& input) override {
    spare_ = b.weight("spare", {7}, "ones");
    scale_ = b.weight("scale", {input.back()}, "ones");
  }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[scale_]; }

 private:
  Variable spare_, scale_;
};

Layer spare_layer(const std::string& dtype) {
  auto node = std::make_shared<SpareNode>();
  return Layer(finish_layer(node, {"spare", true, dtype}));
}

/// A layer with a loss of its own: the mean over all rows.
class PenaltyNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Penalty"; }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_loss(ops::sum(ops::square(x)) * (x.is_abstract() || x.shape()[0] == 0 ? 0.0 : 0.1 / x.shape()[0]));
    return x;
  }
};

Layer penalty_layer(const std::string& dtype) {
  return Layer(finish_layer(std::make_shared<PenaltyNode>(), {"penalty", true, dtype}));
}

/// Metrics that are no means.
PromiseCase binary() {
  const auto make = [](const std::string& dtype) {
    const Sequential net({Input({kFeatures}, {.dtype = input_dtype(dtype)}),
                          Dense(5, {.activation = "tanh", .dtype = dtype}),
                          Dense(1, {.activation = "sigmoid", .dtype = dtype})});
    net.compile({.optimizer = adam(),
                 .loss = BinaryCrossentropy(),
                 .metrics = {"accuracy", metrics::Precision({.thresholds = {0.4}}), metrics::Recall()},
                 .weighted_metrics = {metrics::Precision({.name = "weighted_precision"})}});
    return net;
  };
  const auto make_data = [](DType dtype) {
    CaseData data = table(dtype);
    data.y = {random_labels(14, 75, 2)};
    data.fit.sample_weight = positive_weights(75, dtype);
    return data;
  };
  return {"binary, precision, recall", make, make_data};
}

PromiseCase with_layers(const std::string& name, std::function<Optimizer()> optimizer,
                        std::function<std::vector<Layer>(const std::string&)> between,
                        std::function<DenseConfig()> first = {}) {
  const auto make = [=](const std::string& dtype) {
    const Model model =
        mlp(dtype, between ? between(dtype) : std::vector<Layer>(), first ? first() : DenseConfig());
    model.compile(compiled(optimizer()));
    return model;
  };
  return {name, make, default_table};
}

Model convolutional(const std::string& dtype, double dropout) {
  std::vector<Layer> layers = {Input({6, 6, 2}, {.dtype = input_dtype(dtype)}),
                               Conv2D(4, 3, {.padding = "same", .use_bias = false, .dtype = dtype}),
                               BatchNormalization({.momentum = 0.8, .dtype = dtype}),
                               Activation("tanh", {.dtype = dtype}), MaxPooling2D(2, {.dtype = dtype})};
  if (dropout > 0) layers.push_back(Dropout(dropout, {.dtype = dtype}));
  layers.push_back(Conv2D(5, 2, {.use_bias = false, .kernel_regularizer = L2(0.01), .dtype = dtype}));
  layers.push_back(BatchNormalization({.dtype = dtype}));
  layers.push_back(ReLU({.dtype = dtype}));
  layers.push_back(GlobalAveragePooling2D({.dtype = dtype}));
  layers.push_back(Dense(kClasses, {.dtype = dtype}));
  return Sequential(layers);
}

PromiseCase batch_normalization_case(const std::string& name, std::function<Optimizer()> optimizer,
                                     const Sizes& sizes) {
  const auto make = [optimizer = std::move(optimizer)](const std::string& dtype) {
    const Model model = convolutional(dtype, 0.0);
    model.compile(compiled(optimizer()));
    return model;
  };
  return {name, make, [sizes](DType dtype) { return images(dtype, sizes); }};
}

std::vector<PromiseCase> layer_cases() {
  std::vector<PromiseCase> cases;
  cases.push_back(
      with_layers("L2", momentum, {}, [] { return DenseConfig{.kernel_regularizer = L2(0.05)}; }));
  cases.push_back(with_layers("activity regularizer", adam, {},
                              [] { return DenseConfig{.activity_regularizer = L2(0.05)}; }));
  cases.push_back(with_layers(
      "add_loss", adam, [](const std::string& dtype) { return std::vector<Layer>{penalty_layer(dtype)}; }));
  cases.push_back(with_layers("dropout", adam, [](const std::string& dtype) {
    return std::vector<Layer>{Dropout(0.4, {.dtype = dtype}), Dropout(0.2, {.dtype = dtype})};
  }));
  cases.push_back(with_layers("noise and layer normalization", adam, [](const std::string& dtype) {
    return std::vector<Layer>{Dense(8, {.dtype = dtype}),
                              GaussianNoise(0.2, {.dtype = dtype}),
                              LayerNormalization({.dtype = dtype}),
                              AlphaDropout(0.3, {.dtype = dtype}),
                              Reshape({4, 2}, {.dtype = dtype}),
                              SpatialDropout1D(0.3, {.dtype = dtype}),
                              Flatten({.dtype = dtype}),
                              PReLU({.dtype = dtype}),
                              GaussianDropout(0.1, {.dtype = dtype})};
  }));
  cases.push_back(with_layers("frozen layer", adam, [](const std::string& dtype) {
    return std::vector<Layer>{Dense(8, {.activation = "tanh", .trainable = false, .dtype = dtype})};
  }));
  cases.push_back(with_layers(
      "unused variable", [] { return Adam({.learning_rate = 0.01, .weight_decay = 0.1}); },
      [](const std::string& dtype) { return std::vector<Layer>{spare_layer(dtype)}; }));
  cases.push_back(
      batch_normalization_case("BatchNormalization, SGD momentum", momentum, {.rows = 43, .batch = 8}));
  cases.push_back(batch_normalization_case("BatchNormalization, Adam", adam, {.rows = 43, .batch = 8}));
  cases.push_back(batch_normalization_case("BatchNormalization, last batch of one row", momentum,
                                           {.rows = 33, .batch = 8}));
  return cases;
}

Model two_outputs(const std::string& dtype) {
  const Tensor left = Input({4}, {.dtype = input_dtype(dtype), .name = "left"}),
               right = Input({3}, {.dtype = input_dtype(dtype), .name = "right"});
  const Dense shared(4, {.activation = "tanh", .dtype = dtype});
  const Tensor a = shared(left);
  const Tensor b = shared(Dense(4, {.dtype = dtype})(right));
  const Tensor both = Concatenate(-1, {.dtype = dtype})({a, b});
  const Tensor kind = Dense(kClasses, {.name = "kind", .dtype = dtype})(both);
  const Tensor size = Dense(1, {.name = "size", .dtype = dtype})(a + b * 0.5);
  const Model model({.inputs = {left, right}, .outputs = {kind, size}});
  model.compile({.optimizer = adam(),
                 .loss = {{"kind", class_loss()}, {"size", Loss("mse")}},
                 .loss_weights = {{"kind", 0.7}, {"size", 1.5}},
                 .metrics_by_output = {{"kind", {"accuracy"}}, {"size", {"mae"}}}});
  return model;
}

CaseData two_output_data(DType dtype) {
  CaseData data = table(dtype);
  data.x = {random_numbers(7, {75, 4}, dtype), random_numbers(8, {75, 3}, dtype)};
  data.y.push_back(random_numbers(9, {75, 1}, dtype));
  return data;
}

/// The network of the examples, smaller, with the fast kernels of large layers and images as bytes.
PromiseCase lenet() {
  const auto make = [](const std::string& dtype) {
    const Sequential net(
        {Input({16, 16, 1}, {.dtype = input_dtype(dtype)}), Rescaling(1 / 255.0, {.dtype = dtype}),
         Conv2D(20, 3, {.activation = "relu", .dtype = dtype}), AveragePooling2D(2, {.dtype = dtype}),
         Conv2D(50, 5, {.activation = "relu", .dtype = dtype}), AveragePooling2D(2, {.dtype = dtype}),
         Flatten({.dtype = dtype}), Dense(128, {.activation = "relu", .dtype = dtype}),
         Dense(10, {.dtype = dtype})});
    net.compile(compiled(momentum()));
    return net;
  };
  const auto make_data = [](DType dtype) {
    CaseData data = table(dtype, {.rows = 53, .batch = 16, .epochs = 2});
    data.x = {ops::cast(random_labels(12, 53 * 16 * 16, 256).with_shape({53, 16, 16, 1}), DType::uint8)};
    data.y = {random_labels(13, 53, 10)};
    return data;
  };
  return {"LeNet, uint8 images", make, make_data};
}

/// A schedule and constraints, which see whole weights.
PromiseCase constrained() {
  const auto make = [](const std::string& dtype) {
    const Model model =
        mlp(dtype, {}, {.kernel_constraint = MaxNorm({.max_value = 0.7}), .bias_constraint = NonNeg()});
    const ExponentialDecay decay({.initial_learning_rate = 0.05, .decay_steps = 4, .decay_rate = 0.7});
    model.compile(compiled(SGD({.learning_rate = decay, .momentum = 0.9, .nesterov = true})));
    return model;
  };
  return {"schedule, constraints", make, default_table};
}

/// Far more rows in the table than a batch names, some of them twice: gradients travel as rows, between
/// processes those of 90,000 rows only. The second table is small and its gradients stay dense.
PromiseCase embeddings(const std::string& name, int64_t num_words, std::function<Optimizer()> optimizer) {
  constexpr int64_t kLength = 4;
  const auto make = [num_words, optimizer = std::move(optimizer)](const std::string& dtype) {
    const Tensor words = Input({kLength}, {.dtype = "int64"}), kinds = Input({1}, {.dtype = "int64"});
    const Tensor text = Flatten({.dtype = dtype})(Embedding(num_words, 3, {.dtype = dtype})(words));
    const Tensor kind = Flatten({.dtype = dtype})(Embedding(5, 2, {.dtype = dtype})(kinds));
    const Tensor both = Concatenate(-1, {.dtype = dtype})({text, kind});
    const Model model({.inputs = {words, kinds},
                       .outputs = {Dense(kClasses, {.dtype = dtype})(
                           Dense(6, {.activation = "tanh", .dtype = dtype})(both))}});
    model.compile(compiled(optimizer()));
    return model;
  };
  const auto make_data = [](DType dtype) {
    CaseData data = table(dtype, {.rows = 43, .batch = 8, .epochs = 3});
    data.x = {random_labels(14, 43 * kLength, 40).with_shape({43, kLength}),
              random_labels(15, 43, 5).with_shape({43, 1})};
    return data;
  };
  return {name, make, make_data};
}

/// Everything at once.
PromiseCase all_in_one() {
  const auto make = [](const std::string& dtype) {
    const Model model = convolutional(dtype, 0.3);
    CompileConfig config = compiled(Adam({.learning_rate = 0.01,
                                          .weight_decay = 0.01,
                                          .global_clipnorm = 0.5,
                                          .use_ema = true,
                                          .ema_momentum = 0.9,
                                          .gradient_accumulation_steps = 2}));
    config.steps_per_execution = 2;
    config.weighted_metrics = {"accuracy"};
    model.compile(config);
    return model;
  };
  const auto make_data = [](DType dtype) {
    CaseData data = images(dtype, {.rows = 41, .batch = 8, .epochs = 5});
    data.fit.sample_weight = positive_weights(41, dtype);
    data.fit.validation_data = {random_numbers(10, {9, 6, 6, 2}, dtype), random_labels(11, 9, kClasses)};
    return data;
  };
  return {"all in one", make, make_data};
}

std::vector<PromiseCase> all_cases() {
  std::vector<PromiseCase> cases;
  for (const auto& group :
       {optimizer_cases(), data_cases(), loss_cases(), layer_cases(), recurrent_cases(), attention_cases()})
    cases.insert(cases.end(), group.begin(), group.end());
  cases.push_back({"two outputs, shared layer", two_outputs, two_output_data});
  cases.push_back(binary());
  cases.push_back(lenet());
  cases.push_back(constrained());
  cases.push_back(embeddings("embeddings, Adam, global_clipnorm", 500,
                             [] { return Adam({.learning_rate = 0.02, .global_clipnorm = 0.1}); }));
  cases.push_back(embeddings("embeddings, SGD, weight decay", 90'000, [] {
    return SGD({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01});
  }));
  cases.push_back(all_in_one());
  return cases;
}

}  // namespace

const std::vector<PromiseCase>& promise_cases() {
  static const std::vector<PromiseCase> cases = all_cases();
  return cases;
}

}  // namespace nyala
