// BatchNormalization and other neighbours folded into layers with kernels at predict and evaluate: the same
// numbers, fewer ops, the model's own variables as they were.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/nyala.h>

namespace nyala::folded_layer_test {
namespace {

/// Numbers without a pattern in [low, high).
Tensor numbers(const Shape& shape, uint64_t seed, DType dtype = DType::float32, double low = -1,
               double high = 1) {
  DrawStream random(seed);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = low + (high - low) * random.uniform();
  return ops::cast(Tensor::from(values, shape), dtype);
}

/// Gives every variable other values than the initializers', so that no scale is 1 and no mean 0.
void scramble(const Model& model, uint64_t seed = 1) {
  for (const Variable& variable : model.weights()) {
    const std::string& name = variable.name();
    const bool positive =
        name.find("variance") != std::string::npos || name.find("gamma") != std::string::npos;
    const double size = positive ? 1.5 : 0.5;
    variable.assign(numbers(variable.shape(), ++seed, variable.dtype(), positive ? 0.5 : -size, size));
  }
}

Tensor predicted(const Model& model, const Tensors& x, bool fold) {
  return model.predict_all(x, {.batch_size = 4, .verbose = 0, .fold_batch_normalization = fold})[0];
}

uint64_t ops_of(const std::function<void()>& work) {
  const uint64_t before = dispatch_count();
  work();
  return dispatch_count() - before;
}

/// Of one warm batch.
uint64_t ops_of(const Model& model, const Tensors& x, bool fold) {
  predicted(model, x, fold);
  return ops_of([&] { predicted(model, x, fold); });
}

void expect_close(const Tensor& actual, const Tensor& expected, double relative,
                  const std::string& what = "") {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const auto a = ops::cast(actual, DType::float64).to_vector<double>(),
             b = ops::cast(expected, DType::float64).to_vector<double>();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  EXPECT_GT(largest, 0.0) << what;
  EXPECT_LE(difference, relative * largest) << what;
}

/// Folded and plain results agree; whether ops were saved is as expected.
void expect_same(const Model& model, const Tensors& x, bool folds, double relative = 1e-5,
                 const std::string& what = "") {
  scramble(model);
  expect_close(predicted(model, x, true), predicted(model, x, false), relative, what);
  const uint64_t plain = ops_of(model, x, false), folded = ops_of(model, x, true);
  if (folds)
    EXPECT_LT(folded, plain) << what;
  else
    EXPECT_EQ(folded, plain) << what;
}

TEST(FoldedLayer, EveryLayerWithAKernel) {
  using Make = std::function<Layer(bool bias, const std::string& dtype)>;
  const std::vector<std::tuple<std::string, Shape, Make>> cases = {
      {"Dense", {6}, [](bool b, auto d) { return Dense(5, {.use_bias = b, .dtype = d}); }},
      {"Dense of sequences", {3, 6}, [](bool b, auto d) { return Dense(5, {.use_bias = b, .dtype = d}); }},
      {"Conv1D",
       {9, 4},
       [](bool b, auto d) { return Conv1D(6, 3, {.padding = "causal", .use_bias = b, .dtype = d}); }},
      {"Conv2D",
       {8, 7, 4},
       [](bool b, auto d) {
         return Conv2D(6, 3, {.strides = 2, .padding = "same", .use_bias = b, .dtype = d});
       }},
      {"Conv2D in groups",
       {8, 7, 4},
       [](bool b, auto d) { return Conv2D(6, 3, {.groups = 2, .use_bias = b, .dtype = d}); }},
      {"Conv3D", {4, 5, 6, 3}, [](bool b, auto d) { return Conv3D(5, 2, {.use_bias = b, .dtype = d}); }},
      {"DepthwiseConv1D",
       {9, 4},
       [](bool b, auto d) { return DepthwiseConv1D(3, {.depth_multiplier = 3, .use_bias = b, .dtype = d}); }},
      {"DepthwiseConv2D",
       {8, 7, 4},
       [](bool b, auto d) { return DepthwiseConv2D(3, {.depth_multiplier = 2, .use_bias = b, .dtype = d}); }},
      {"SeparableConv1D",
       {9, 4},
       [](bool b, auto d) { return SeparableConv1D(5, 3, {.use_bias = b, .dtype = d}); }},
      {"SeparableConv2D",
       {8, 7, 4},
       [](bool b, auto d) {
         return SeparableConv2D(5, 3, {.depth_multiplier = 2, .use_bias = b, .dtype = d});
       }},
      {"Conv1DTranspose",
       {5, 4},
       [](bool b, auto d) { return Conv1DTranspose(6, 3, {.strides = 2, .use_bias = b, .dtype = d}); }},
      {"Conv2DTranspose",
       {5, 4, 4},
       [](bool b, auto d) {
         return Conv2DTranspose(6, 3, {.strides = 2, .padding = "same", .use_bias = b, .dtype = d});
       }},
      {"Conv3DTranspose", {3, 4, 3, 2}, [](bool b, auto d) {
         return Conv3DTranspose(4, 2, {.use_bias = b, .dtype = d});
       }}};
  for (const auto& [name, shape, make] : cases)
    for (const bool bias : {false, true})
      for (const std::string dtype : {"float32", "float64"}) {
        const DType type = dtype == "float64" ? DType::float64 : DType::float32;
        const Layer normalization = BatchNormalization(
            {.epsilon = 1e-3, .center = bias, .scale = !bias || shape.rank() < 3, .dtype = dtype});
        const Layer layer = make(bias, dtype);
        const Tensor input = Input(shape, {.dtype = dtype});
        const Model graph(input, normalization(layer(input)));
        Shape batch{5};
        for (const int64_t size : shape) batch.append(size);
        const double relative = dtype == "float64" ? 1e-12 : 1e-5;
        // A transposed convolution adds its bias by an op of its own, as many as BatchNormalization takes.
        const bool transposed = name.ends_with("Transpose");
        expect_same(graph, {numbers(batch, 3, type)}, bias || !transposed, relative, name + " " + dtype);
        const Sequential chain({Input(shape, {.dtype = dtype}), make(bias, dtype),
                                BatchNormalization({.dtype = dtype}), Activation("relu", {.dtype = dtype})});
        // And takes no activation.
        expect_same(chain, {numbers(batch, 3, type)}, !transposed, relative, "chain: " + name + " " + dtype);
      }
}

TEST(FoldedLayer, WithTheActivationBehind) {
  for (const Layer& activation : {Layer(ReLU()), Layer(ReLU({.max_value = 6.0})), Layer(Activation("tanh")),
                                  Layer(Activation("sigmoid")), Layer(Activation("relu6"))}) {
    const Tensor input = Input({9, 9, 3});
    Tensor x = Conv2D(16, 3)(input);
    x = activation(BatchNormalization()(x));
    x = DepthwiseConv2D(3, {.padding = "same"})(x);
    x = ReLU({.max_value = 6.0})(BatchNormalization()(x));
    const Model model(input, x);
    scramble(model);
    const Tensor data = numbers({4, 9, 9, 3}, 5, DType::float32, -9, 9);
    expect_close(predicted(model, {data}, true), predicted(model, {data}, false), 1e-5,
                 activation.class_name());
    EXPECT_EQ(ops_of(model, {data}, true), ops_of([&] { predicted(model, {data}, true); }));
  }
}

TEST(FoldedLayer, LeavesWhatItMayNotTouch) {
  const Tensor data = numbers({4, 6, 6, 4}, 5);
  const Tensor input = Input({6, 6, 4});
  {  // the output of the convolution is read twice
    const Tensor z = Conv2D(4, 3)(input);
    expect_same(Model(input, Concatenate()({BatchNormalization()(z), z})), {data}, false);
  }
  {  // or is an output of the model
    const Tensor z = Conv2D(4, 3)(input);
    expect_same(Model(ModelConfig{.inputs = {input}, .outputs = {BatchNormalization()(z), z}}), {data},
                false);
  }
  // an activation or a regularizer in between
  expect_same(Model(input, BatchNormalization()(Conv2D(4, 3, {.activation = "tanh"})(input))), {data}, false);
  expect_same(Model(input, BatchNormalization()(Conv2D(4, 3, {.activity_regularizer = "l2"})(input))), {data},
              false);
  // another axis
  expect_same(Model(input, BatchNormalization({.axis = 1})(Conv2D(4, 3)(input))), {data}, false);
  expect_same(
      Model(input, BatchNormalization({.axis = 1})(Conv2D(5, 3, {.data_format = "channels_first"})(input))),
      {data}, false);
  // another dtype
  expect_same(Model(input, BatchNormalization({.dtype = "float64"})(Conv2D(4, 3)(input))), {data}, false);
  // nothing to fold
  expect_same(Model(input, BatchNormalization()(MaxPooling2D(2)(input))), {data}, false);
  // the axis by its number
  expect_same(Model(input, BatchNormalization({.axis = 3})(Conv2D(4, 3)(input))), {data}, true);
}

TEST(FoldedLayer, SharedLayers) {
  const Tensor data = numbers({4, 6, 6, 4}, 5);
  const Tensor input = Input({6, 6, 4});
  const Layer conv = Conv2D(4, 3, {.padding = "same"});
  const Layer one = BatchNormalization(), two = BatchNormalization();
  Tensor x = one(conv(input));
  x = two(conv(x));
  x = one(conv(x));
  expect_same(Model(input, x), {data}, true);
}

TEST(FoldedLayer, AdditionsBehind) {
  const Tensor data = numbers({4, 6, 6, 4}, 5);
  const Tensor input = Input({6, 6, 4});
  const auto block = [](const Tensor& x) {
    return BatchNormalization()(Conv2D(4, 3, {.padding = "same"})(ReLU()(x)));
  };
  const auto check = [&](const Tensor& output) {
    const Model model(input, output);
    const Tensor given = data.clone();
    expect_same(model, {given}, true);
    expect_close(given, data, 0.0);  // the caller's bytes
    expect_close(predicted(model, {given}, true), predicted(model, {given}, true), 0.0);
  };
  check(ReLU()(Add()({block(input), input})));  // the input itself
  check(ReLU()(Add()({input, block(input)})));
  check(ReLU()(Add()({block(input), block(input)})));  // both could take the sum
  check(block(input) + block(input));                  // as an operation
  const Tensor x = block(input);
  check(Add()({x, x}));
  const Tensor y = MaxPooling2D(2, {.strides = 1, .padding = "same"})(input);
  check(Concatenate()({ReLU()(Add()({block(y), y})), y}));  // the other summand is read later
  const Tensor pooled = GlobalAveragePooling2D({.keepdims = true})(input);
  check(Add()({block(input), pooled}));  // of another shape
  check(Add()({block(y), y, input}));    // of three
  check(Subtract()({block(y), y}));
}

TEST(FoldedLayer, SeparableConvolutionsTakeASum) {
  const Tensor input = Input({6, 6, 4});
  const Tensor y = MaxPooling2D(2, {.strides = 1, .padding = "same"})(input);
  const Tensor x =
      BatchNormalization()(SeparableConv2D(4, 3, {.padding = "same", .use_bias = false})(ReLU()(y)));
  expect_same(Model(input, Add()({x, y})), {numbers({4, 6, 6, 4}, 5)}, true);
}

TEST(FoldedLayer, ZerosAroundImages) {
  const Tensor data = numbers({4, 7, 8, 4}, 5);
  const Tensor input = Input({7, 8, 4});
  const auto padded = [&](const Layer& layer) {
    const Tensor x = ZeroPadding2D({{0, 1}, {2, 1}})(input);
    return ReLU()(BatchNormalization()(layer(x)));
  };
  for (const Layer& layer :
       {Layer(Conv2D(8, 3, {.strides = 2})), Layer(DepthwiseConv2D(3, {.strides = 2}))}) {
    const Model model(input, padded(layer));
    scramble(model);
    const Model by_hand(input, ReLU()(model.get_layer(3)(layer(Lambda([](const Tensor& x) {
                          return ops::pad(x, {{0, 0}, {0, 1}, {2, 1}, {0, 0}});
                        })(input)))));
    for (const bool fold : {true, false})
      expect_close(predicted(model, {data}, fold), predicted(by_hand, {data}, false), 1e-5);
  }
  {  // two readers
    const Tensor x = ZeroPadding2D(1)(input);
    expect_same(Model(input, Concatenate()({Conv2D(4, 3)(x), Conv2D(3, 3)(x)})), {data}, false);
  }
  // a convolution that pads by itself
  expect_same(Model(input, Conv2D(4, 3, {.padding = "same"})(ZeroPadding2D(1)(input))), {data}, false);
}

TEST(FoldedLayer, ZerosAroundMaxima) {
  const Tensor data = numbers({4, 7, 8, 4}, 5);
  const Tensor input = Input({7, 8, 4});
  const auto made = [&](const Layer& before, const Layer& zeros, const Layer& pool) {
    const Model model(input, pool(zeros(before(BatchNormalization()(input)))));
    scramble(model);
    return model;
  };
  const Layer pool = MaxPooling2D(3, {.strides = 2});
  const auto by_hand = [](int64_t size) {
    return Lambda([size](const Tensor& x) {
      return ops::pad(x, {{0, 0}, {size, size}, {size, size}, {0, 0}});
    });
  };
  for (const int64_t size : {1, 3})
    for (const Layer& before : {Layer(ReLU()), Layer(ReLU({.max_value = 6.0})), Layer(Activation("tanh"))}) {
      const Model model = made(before, ZeroPadding2D(static_cast<int>(size)), pool);
      expect_close(predicted(model, {data}, true), predicted(made(before, by_hand(size), pool), {data}, true),
                   0.0);
      const bool fuses = size == 1 && before.class_name() == "ReLU";
      // The input's copy, BatchNormalization, and where they are on their own tanh, zeros; the maxima.
      EXPECT_EQ(ops_of(model, {data}, true) < ops_of(made(before, by_hand(size), pool), {data}, true), fuses);
    }
}

TEST(FoldedLayer, ZerosAroundMaximaInTraining) {
  const auto make = [](bool zeros) {
    set_random_seed(5);
    const Tensor input = Input({6, 6, 3});
    Tensor x = ReLU()(BatchNormalization()(Conv2D(8, 3)(input)));
    x = zeros ? Layer(ZeroPadding2D(1))(x) : Layer(Lambda([](const Tensor& t) {
      return ops::pad(t, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
    }))(x);
    const Model model(input, Dense(1)(Flatten()(MaxPooling2D(3, {.strides = 2})(x))));
    scramble(model);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    const Tensor data = numbers({8, 6, 6, 3}, 1), y = numbers({8, 1}, 2);
    for (int i = 0; i < 3; ++i) model.train_on_batch(data, y);
    return model.get_weights();
  };
  const Tensors left_out = make(true), there = make(false);
  for (size_t i = 0; i < there.size(); ++i) expect_close(left_out[i], there[i], 1e-6);
}

TEST(FoldedLayer, ZerosAreLeftToTheConvolutionInTrainingToo) {
  const auto make = [](bool zeros) {
    set_random_seed(5);
    std::vector<Layer> layers{Input({6, 6, 3})};
    if (zeros) layers.push_back(ZeroPadding2D(1));
    layers.push_back(Conv2D(8, 3, {.padding = zeros ? "valid" : "same"}));
    for (const Layer& layer : std::vector<Layer>{BatchNormalization(), ReLU(), Flatten(), Dense(1)})
      layers.push_back(layer);
    const Sequential model(layers);
    scramble(model);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    const Tensor x = numbers({8, 6, 6, 3}, 1), y = numbers({8, 1}, 2);
    for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
    return model.get_weights();
  };
  const Tensors padded = make(true), same = make(false);
  for (size_t i = 0; i < same.size(); ++i) expect_close(padded[i], same[i], 1e-6);
}

/// MobileNets': zeros in front of a depthwise convolution with strides.
TEST(FoldedLayer, ZerosAreLeftToADepthwiseConvolutionInTraining) {
  struct Trained {
    Tensors weights;
    uint64_t ops;  // of a step
  };
  const auto train = [](int64_t kernel, bool zeros) {
    set_random_seed(5);
    const int64_t low = kernel / 2 - 1, high = kernel / 2;
    const Tensor input = Input({6, 8, 3});
    Tensor x = ReLU({.max_value = 6.0})(BatchNormalization()(Conv2D(8, 1)(input)));
    x = zeros ? Layer(ZeroPadding2D({{low, high}, {low, high}}))(x) : Layer(Lambda([=](const Tensor& t) {
      return ops::pad(t, {{0, 0}, {low, high}, {low, high}, {0, 0}});
    }))(x);
    x = ReLU()(BatchNormalization()(DepthwiseConv2D(kernel, {.strides = 2, .use_bias = false})(x)));
    const Model model(input, Dense(1)(Flatten()(x)));
    scramble(model);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    const Tensor data = numbers({8, 6, 8, 3}, 1), y = numbers({8, 1}, 2);
    uint64_t ops = 0;
    for (int i = 0; i < 3; ++i) {
      const uint64_t before = dispatch_count();
      model.train_on_batch(data, y);
      ops = dispatch_count() - before;
    }
    return Trained{model.get_weights(), ops};
  };
  for (const int64_t kernel : {3, 5}) {
    const Trained left_out = train(kernel, true), there = train(kernel, false);
    EXPECT_LE(left_out.ops + 2, there.ops) << "zeros and their gradient";
    for (size_t i = 0; i < there.weights.size(); ++i)
      expect_close(left_out.weights[i], there.weights[i], 1e-6);
  }
}

Model small_model(int64_t channels = 8) {
  const Tensor input = Input({8, 8, 3});
  Tensor x = ReLU()(BatchNormalization()(Conv2D(channels, 3, {.padding = "same"})(input)));
  x = Add()({BatchNormalization()(Conv2D(channels, 3, {.padding = "same"})(x)), x});
  x = GlobalAveragePooling2D()(ReLU()(x));
  return Model(input, Dense(1)(x));
}

/// A layer of one's own that computes a relu behind it in its own pass, and one that is a relu.
struct Scaled : LayerNode, Fusable {
  std::string class_name() const override { return "Scaled"; }
  Tensor call(Call&, const Tensor& x) const override { return x * 2.0; }
  const Fusable* fusable() const override { return this; }
  bool takes(const FusedParts& parts) const override {
    return parts.activation == ops::Activation::relu && !parts.padding && !parts.sum;
  }
  Tensor call_fused(Call&, const Tensor& x, const FusedCall& fused) const override {
    EXPECT_EQ(fused.parts.activation, ops::Activation::relu);
    ++calls;
    return ops::maximum(x * 2.0, 0.0);
  }
  mutable std::atomic<int> calls{0};
};
struct OwnRelu : LayerNode, Fusable {
  std::string class_name() const override { return "OwnRelu"; }
  Tensor call(Call&, const Tensor& x) const override { return ops::maximum(x, 0.0); }
  const Fusable* fusable() const override { return this; }
  FusedParts does() const override { return {.activation = ops::Activation::relu}; }
};

TEST(FoldedLayer, ALayerOfOnesOwnSaysWhatItTakesByOneInterface) {
  const Tensor x = numbers({8, 3}, 1);
  for (const Layer& behind : {Layer(ReLU()), make_layer<OwnRelu>(), Layer(Activation("tanh"))}) {
    const Layer scaled = make_layer<Scaled>();
    const Model model(Sequential({Input({3}), scaled, behind}));
    expect_close(predicted(model, {x}, true), behind(x * 2.0), 0.0);
    EXPECT_EQ(dynamic_cast<const Scaled&>(scaled.node()).calls > 0, behind.class_name() != "Activation");
  }
}

/// Where the channels come first, what a layer does is not what its node does with the channels last.
TEST(FoldedLayer, LayersWithChannelsFirstStandAlone) {
  const std::string first = "channels_first";
  for (const Layer& layer :
       {Layer(Conv2D(4, 3, {.data_format = first})), Layer(DepthwiseConv2D(3, {.data_format = first})),
        Layer(ZeroPadding2D(1, {.data_format = first})), Layer(MaxPooling2D(2, {.data_format = first}))}) {
    EXPECT_EQ(layer.node().fusable(), nullptr) << layer.class_name();
  }
  EXPECT_NE(Layer(Conv2D(4, 3)).node().fusable(), nullptr);
}

TEST(FoldedLayer, SeesEveryWriteOfAVariable) {
  const Model model = small_model();
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  scramble(model);
  const Tensor x = numbers({4, 8, 8, 3}, 1), y = numbers({4, 1}, 2);
  Tensor last = predicted(model, {x}, true);
  const auto expect_change = [&](const char* what) {
    const Tensor now = predicted(model, {x}, true);
    expect_close(now, predicted(model, {x}, false), 1e-5, what);
    EXPECT_NE(now.to_vector<float>(), last.to_vector<float>()) << what;
    last = now;
  };
  for (const Variable& variable : model.weights()) {
    variable.assign_add(0.25);
    expect_change(variable.path().c_str());
  }
  model.train_on_batch(x, y);
  expect_change("train_on_batch");
  Tensors values = model.get_weights();
  for (Tensor& value : values) value = value * 0.75;
  model.set_weights(values);
  expect_change("set_weights");
  const std::string file = ::testing::TempDir() + "folded.weights.h5";
  model.save_weights(file);
  scramble(model, 77);
  expect_change("scramble");
  model.load_weights(file);
  expect_change("load_weights");
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  expect_change("fit");
}

TEST(FoldedLayer, EvaluateAndHooksOfSingleBatches) {
  const Model model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  scramble(model);
  const Tensor x = numbers({10, 8, 8, 3}, 1), y = numbers({10, 1}, 2);
  const auto plain = model.evaluate(x, y, {.verbose = 0, .fold_batch_normalization = false});
  const auto folded = model.evaluate(x, y, {.verbose = 0});
  for (const auto& [name, value] : plain) EXPECT_NEAR(folded.at(name), value, 1e-5 * std::abs(value)) << name;
  const uint64_t folds = ops_of([&] { model.evaluate(x, y, {.verbose = 0}); });
  EXPECT_LT(folds, ops_of([&] { model.evaluate(x, y, {.verbose = 0, .fold_batch_normalization = false}); }));
  expect_close(model.predict_on_batch(x), predicted(model, {x}, false), 1e-5);
  EXPECT_NEAR(model.test_on_batch(x, y).at("loss"), plain.at("loss"), 1e-5);
  expect_close(model(x), predicted(model, {x}, false), 0.0);  // a call is the graph as it was traced
}

TEST(FoldedLayer, VariablesStayAsTheyWere) {
  const Model model = small_model();
  scramble(model);
  const Tensors before = model.get_weights();
  const size_t count = model.weights().size();
  predicted(model, {numbers({4, 8, 8, 3}, 1)}, true);
  EXPECT_EQ(model.weights().size(), count);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(model.get_weights()[i].to_vector<float>(), before[i].to_vector<float>());
}

TEST(FoldedLayer, ModelsInside) {
  const Model inside = small_model();
  const Tensor input = Input({8, 8, 3});
  const Tensor x = BatchNormalization()(Conv2D(3, 1)(input));
  const Model model(input, inside(x));
  expect_same(model, {numbers({4, 8, 8, 3}, 1)}, true);
  const Sequential chain({Input({8, 8, 3}), Conv2D(3, 1), BatchNormalization(), small_model()});
  expect_same(chain, {numbers({4, 8, 8, 3}, 1)}, true);
}

TEST(FoldedLayer, FrozenLayersTrainAsBefore) {
  const auto train = [](bool predicts) {
    set_random_seed(3);
    const Model model = small_model();
    scramble(model);
    model.get_layer(2).set_trainable(false);  // the first BatchNormalization
    model.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
    const Tensor x = numbers({4, 8, 8, 3}, 1), y = numbers({4, 1}, 2);
    for (int i = 0; i < 3; ++i) {
      if (predicts) predicted(model, {x}, true);
      model.train_on_batch(x, y);
    }
    return model.get_weights();
  };
  const Tensors with = train(true), without = train(false);
  for (size_t i = 0; i < with.size(); ++i)
    EXPECT_EQ(with[i].to_vector<float>(), without[i].to_vector<float>()) << i;
}

TEST(FoldedLayer, MasksGoOn) {
  const Tensor input = Input({5, 3});
  Tensor x = Masking()(input);
  x = BatchNormalization()(Dense(4)(x));
  const Model model(input, LSTM(3)(x));
  Tensor data = numbers({4, 5, 3}, 1);
  for (int i = 0; i < 6; ++i)
    data.data<float>()[static_cast<size_t>(9 + i)] = 0.0f;  // steps 3 and 4 of row 0
  expect_same(model, {data}, true);
}

TEST(FoldedLayer, ASequentialThatLosesALayer) {
  const Sequential model({Input({6, 6, 3}), Conv2D(4, 3), BatchNormalization(), Flatten(), Dense(2)});
  const Tensor data = numbers({4, 6, 6, 3}, 1);
  expect_same(model, {data}, true);
  model.pop();
  EXPECT_EQ(predicted(model, {data}, true).shape(), (Shape{4, 64}));
  model.add(ReLU());
  expect_same(model, {data}, true);
}

TEST(FoldedLayer, UnderStrategies) {
  configure_logical_devices("cpu", 2);
  const Tensor x = numbers({7, 8, 8, 3}, 1), y = numbers({7, 1}, 2);
  const auto run = [&](const std::function<Model(const std::function<Model()>&)>& scope) {
    set_random_seed(4);
    const Model model = scope([] { return small_model(); });
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    scramble(model);
    Tensors out{predicted(model, {x}, true)};
    expect_close(out[0], predicted(model, {x}, false), 1e-5);
    model.train_on_batch(x, y);
    out.push_back(predicted(model, {x}, true));
    expect_close(out[1], predicted(model, {x}, false), 1e-5);
    return out;
  };
  const std::vector<std::string> devices{"cpu:0", "cpu:1"};
  const Tensors one = run([](const auto& make) { return make(); });
  const Tensors mirrored =
      run([&](const auto& make) { return MirroredStrategy({.devices = devices}).scope(make); });
  const Tensors apart = run([&](const auto& make) {
    return MirroredStrategy({.devices = devices, .shared_weights = SharedWeights::never}).scope(make);
  });
  const Tensors central = run([&](const auto& make) {
    return CentralStorageStrategy({.compute_devices = devices, .parameter_device = "cpu:0"}).scope(make);
  });
  for (const Tensors& other : {mirrored, apart, central})
    for (size_t i = 0; i < one.size(); ++i) expect_close(other[i], one[i], 1e-5);
}

TEST(FoldedLayer, WarmBatchesAllocateNothing) {
  const Model model = small_model();
  scramble(model);
  const Tensor x = numbers({4, 8, 8, 3}, 1);
  for (int i = 0; i < 3; ++i) predicted(model, {x}, true);
  const AllocatorStats before = allocator_stats(Device{});
  const uint64_t primitives = onednn::primitives_created();
  for (int i = 0; i < 5; ++i) predicted(model, {x}, true);
  EXPECT_EQ(allocator_stats(Device{}).system_allocations, before.system_allocations);
  EXPECT_EQ(allocator_stats(Device{}).live_bytes, before.live_bytes);
  EXPECT_EQ(onednn::primitives_created(), primitives);
}

TEST(FoldedLayer, TrainingGivesTheMemoryBack) {
  const Model model = small_model(128);
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor x = numbers({4, 8, 8, 3}, 1), y = numbers({4, 1}, 2);
  model.train_on_batch(x, y);
  const size_t before = allocator_stats(Device{}).live_bytes;
  predicted(model, {x}, true);
  EXPECT_GE(allocator_stats(Device{}).live_bytes, before + 9 * 128 * 128 * sizeof(float));
  model.train_on_batch(x, y);
  EXPECT_EQ(allocator_stats(Device{}).live_bytes, before);
}

}  // namespace
}  // namespace nyala::folded_layer_test
