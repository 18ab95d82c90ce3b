// Training computes frozen layers with kernels and the BatchNormalization, additions and activations behind
// them as one. The reference is the same model with a Lambda between them, by which nothing is folded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/nyala.h>

namespace nyala::frozen_folding_test {
namespace {

Tensor numbers(const Shape& shape, uint64_t seed, double low = -1, double high = 1) {
  DrawStream random(seed);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = low + (high - low) * random.uniform();
  return ops::cast(Tensor::from(values, shape), DType::float32);
}

void scramble(const Model& model, uint64_t seed) {
  for (const Variable& variable : model.weights()) {
    const std::string& name = variable.name();
    const bool positive =
        name.find("variance") != std::string::npos || name.find("gamma") != std::string::npos;
    variable.assign(ops::cast(numbers(variable.shape(), ++seed, positive ? 0.5 : -0.5, positive ? 1.5 : 0.5),
                              variable.dtype()));
  }
}

/// What stands between a layer and its neighbour.
Tensor gap(bool folds, const Tensor& x) {
  return folds ? x : Lambda([](const Tensor& value) { return value; })(x);
}

/// An inverted residual block.
Tensor blocks(bool folds, const Tensor& input, int64_t width = 8) {
  const auto normalized = [&](const Tensor& x) { return BatchNormalization()(gap(folds, x)); };
  const Tensor x =
      ReLU({.max_value = 6.0})(normalized(Conv2D(width, 3, {.padding = "same", .use_bias = false})(input)));
  const Tensor y = ReLU()(normalized(DepthwiseConv2D(3, {.padding = "same"})(x)));
  return ReLU()(Add()({normalized(Conv2D(width, 1)(y)), x}));
}

struct Net {
  Model base, model;
};

enum class Kind { nested, flat, behind_a_trained_layer, shared };

void compile(const Model& model) {
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
}

Net make(bool folds, Kind kind = Kind::nested, int64_t width = 8) {
  set_random_seed(4);
  const Tensor inside = Input({8, 8, 4}), input = Input({8, 8, 4});
  Net net;
  net.base = Model(inside, blocks(folds, inside, width));
  Tensor x = kind == Kind::behind_a_trained_layer ? Conv2D(4, 1)(input) : input;
  x = kind == Kind::shared ? Add()({net.base(x), net.base(Conv2D(4, 1)(x))}) : net.base(x);
  const Tensor y = Dense(2, {.dtype = "float32"})(GlobalAveragePooling2D()(x));
  net.model = Model(input, y);
  if (kind == Kind::flat)
    net.base = net.model = Model(input, Dense(2)(GlobalAveragePooling2D()(blocks(folds, input, width))));
  scramble(net.model, 1);
  return net;
}

/// All but the last layer, whose name is another in each model.
void freeze(const Net& net, bool frozen = true) {
  if (&net.base.node() != &net.model.node()) return net.base.set_trainable(!frozen);
  const std::vector<Layer> layers = net.model.layers();
  for (size_t i = 0; i + 1 < layers.size(); ++i) layers[i].set_trainable(!frozen);
}

const Tensor& inputs() {
  static const Tensor& x = *new Tensor(numbers({6, 8, 8, 4}, 1));
  return x;
}
const Tensor& targets() {
  static const Tensor& y = *new Tensor(numbers({6, 2}, 2));
  return y;
}

uint64_t ops_of_a_step(const Model& model) {
  model.train_on_batch(inputs(), targets());
  const uint64_t before = dispatch_count();
  model.train_on_batch(inputs(), targets());
  return dispatch_count() - before;
}

void expect_close(const Tensor& actual, const Tensor& expected, double relative, const std::string& what) {
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

void expect_same_weights(const Net& actual, const Net& expected, double relative = 1e-5) {
  const Variables a = actual.model.weights(), b = expected.model.weights();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_close(a[i].value(), b[i].value(), relative, a[i].path());
}

/// Weights behind some steps are those of the plain model, by fewer ops where anything is folded.
void expect_same_training(const Net& folds, const Net& plain, bool fewer, double relative = 1e-5) {
  const uint64_t ops = ops_of_a_step(folds.model), all = ops_of_a_step(plain.model);
  if (fewer)
    EXPECT_LT(ops, all);
  else  // a Lambda holds its input once more, which changes what is done in place
    EXPECT_NEAR(static_cast<double>(ops), static_cast<double>(all), 1);
  expect_same_weights(folds, plain, relative);
}

TEST(FrozenFolding, TrainsAsTheLayersApart) {
  for (const Kind kind : {Kind::nested, Kind::flat}) {
    const Net folds = make(true, kind), plain = make(false, kind);
    for (const Net& net : {folds, plain}) {
      freeze(net);
      compile(net.model);
    }
    const Tensors before = folds.model.get_weights();
    expect_same_training(folds, plain, true);
    const Tensors after = folds.model.get_weights();
    EXPECT_EQ(after[0].to_vector<float>(), before[0].to_vector<float>());
    EXPECT_NE(after.back().to_vector<float>(), before.back().to_vector<float>());
    for (const Net& net : {folds, plain})
      net.model.fit(inputs(), targets(),
                    {.batch_size = 4,
                     .epochs = 3,
                     .verbose = 0,
                     .validation_data = Arrays{inputs(), targets()},
                     .shuffle = false});
    expect_same_weights(folds, plain);
  }
}

TEST(FrozenFolding, InEveryPolicy) {
  for (const auto& [policy, relative] :
       {std::pair("float64", 1e-6), std::pair("mixed_bfloat16", 0.03), std::pair("mixed_float16", 4e-3)}) {
    SCOPED_TRACE(policy);
    set_dtype_policy(policy);
    const Net folds = make(true), plain = make(false);
    set_dtype_policy("float32");
    for (const Net& net : {folds, plain}) {
      freeze(net);
      compile(net.model);
    }
    expect_same_training(folds, plain, true, relative);
  }
}

TEST(FrozenFolding, SeesEveryWriteOfAVariable) {
  struct Writer : Callback {
    explicit Writer(const Model& written) : base(written) {}
    void on_epoch_begin(int epoch, Logs&) override {
      if (epoch == 1) scramble(base, 50);
      Tensors values = base.get_weights();
      for (Tensor& value : values) value = value * 0.9;
      if (epoch == 2) base.set_weights(values);
    }
    void on_train_batch_begin(int64_t batch, Logs&) override {
      if (batch == 1) base.weights()[1].assign_add(0.25);  // gamma of the first BatchNormalization
    }
    Model base;
  };
  const Net folds = make(true), plain = make(false);
  for (const Net& net : {folds, plain}) {
    freeze(net);
    compile(net.model);
    Writer writer(net.base);
    net.model.fit(inputs(), targets(),
                  {.batch_size = 3, .epochs = 4, .verbose = 0, .callbacks = {writer}, .shuffle = false});
  }
  expect_same_weights(folds, plain);
}

TEST(FrozenFolding, EndsWhereLayersAreUnfrozen) {
  const Net folds = make(true), plain = make(false);
  for (const Net& net : {folds, plain}) {
    freeze(net);
    compile(net.model);
    net.model.train_on_batch(inputs(), targets());
    freeze(net, false);
    compile(net.model);
  }
  const Tensors before = folds.model.get_weights();
  expect_same_training(folds, plain, false, 1e-4);
  const Tensors after = folds.model.get_weights();
  for (size_t i = 0; i < before.size(); ++i) {
    if (folds.model.weights()[i].name() == "bias") continue;  // in front of a mean: its gradient is 0
    EXPECT_NE(after[i].to_vector<float>(), before[i].to_vector<float>()) << i;
  }
  // A BatchNormalization that is trainable computes with the batch, whatever compile() knew.
  for (const Net& net : {folds, plain}) {
    freeze(net);
    compile(net.model);
    net.model.train_on_batch(inputs(), targets());
    for (const Layer& layer : net.base.layers())
      if (layer.class_name() == "BatchNormalization") layer.set_trainable(true);
  }
  expect_same_training(folds, plain, false, 1e-4);
}

TEST(FrozenFolding, PartOfTheLayers) {
  for (const size_t frozen : {size_t{1}, size_t{2}}) {  // a convolution alone, or its normalization alone
    const Net folds = make(true), plain = make(false);
    for (const Net& net : {folds, plain}) {
      size_t kernels = 0;
      for (const Layer& layer : net.base.layers()) {
        const bool is_kernel = layer.class_name().find("Conv") != std::string::npos;
        kernels += is_kernel;
        if (kernels == 1 && is_kernel == (frozen == 1)) layer.set_trainable(false);
      }
      compile(net.model);
    }
    expect_same_training(folds, plain, false, 1e-4);
  }
}

TEST(FrozenFolding, GradientsFlowThroughFrozenLayers) {
  for (const Kind kind : {Kind::behind_a_trained_layer, Kind::shared}) {
    const Net folds = make(true, kind), plain = make(false, kind);
    for (const Net& net : {folds, plain}) {
      freeze(net);
      compile(net.model);
    }
    const auto first = [&] { return folds.model.trainable_weights()[0].value().to_vector<float>(); };
    const std::vector<float> before = first();
    expect_same_training(folds, plain, kind == Kind::shared, 1e-4);  // one of its calls is folded
    EXPECT_NE(first(), before);
  }
}

/// Keras' base(x, training=False).
struct OutOfTraining : LayerNode {
  Layer inner;
  explicit OutOfTraining(const Layer& layer) : inner(track("inner", layer)) {}
  std::string class_name() const override { return "OutOfTraining"; }
  Tensor call(Call& c, const Tensor& x) const override {
    const bool training = c.training();
    c.set_training(false);
    const Tensor y = inner(c, x);
    c.set_training(training);
    return y;
  }
};

TEST(FrozenFolding, NetworksCalledOutOfTraining) {
  const auto made = [](bool folds) {
    Net net = make(folds);
    set_random_seed(4);
    const Tensor input = Input({8, 8, 4});
    net.model = Model(input, Dense(2)(GlobalAveragePooling2D()(make_layer<OutOfTraining>(net.base)(input))));
    compile(net.model);
    return net;
  };
  Net folds = made(true), plain = made(false);
  expect_same_training(folds, plain, false, 1e-4);  // it learns
  for (const Net& net : {folds, plain})
    for (const Layer& layer : net.base.layers())
      if (layer.class_name() != "BatchNormalization") layer.set_trainable(false);
  compile(folds.model), compile(plain.model);
  expect_same_training(folds, plain, false, 1e-4);  // gamma and beta do
  for (const Net& net : {folds, plain}) {
    freeze(net);
    compile(net.model);
  }
  expect_same_training(folds, plain, true);
}

TEST(FrozenFolding, UnderStrategies) {
  configure_logical_devices("cpu", 2);
  const std::vector<std::string> devices{"cpu:0", "cpu:1"};
  const auto trained = [&](const Strategy& strategy) {
    const Net net = strategy.scope([] { return make(true); });
    freeze(net);
    strategy.scope([&] { compile(net.model); });
    for (int i = 0; i < 3; ++i) net.model.train_on_batch(inputs().rows(0, 5), targets().rows(0, 5));
    scramble(net.base, 9);
    for (int i = 0; i < 3; ++i) net.model.train_on_batch(inputs(), targets());
    return net;
  };
  const Net one = trained(OneDeviceStrategy("cpu:0"));
  expect_same_weights(trained(MirroredStrategy({.devices = devices})), one);
  expect_same_weights(trained(MirroredStrategy({.devices = devices, .shared_weights = SharedWeights::never})),
                      one);
  expect_same_weights(
      trained(CentralStorageStrategy({.compute_devices = devices, .parameter_device = "cpu:0"})), one);
  configure_logical_devices("cpu", 1);
}

TEST(FrozenFolding, WarmStepsAllocateNothingAndUnfreezingGivesTheMemoryBack) {
  const Net net = make(true, Kind::nested, 128);
  freeze(net);
  compile(net.model);
  const auto live = [] { return allocator_stats(Device{}).live_bytes; };
  const auto step = [&] { net.model.train_on_batch(inputs(), targets()); };
  net.model.evaluate(inputs(), targets(), {.verbose = 0, .fold_batch_normalization = false});
  const size_t without = live();
  for (int i = 0; i < 3; ++i) step();
  const AllocatorStats warm = allocator_stats(Device{});
  const uint64_t primitives = onednn::primitives_created();
  EXPECT_GE(warm.live_bytes, without + 128 * 128 * sizeof(float));
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocator_stats(Device{}).system_allocations, warm.system_allocations);
  EXPECT_EQ(live(), warm.live_bytes);
  EXPECT_EQ(onednn::primitives_created(), primitives);
  net.model.evaluate(inputs(), targets(), {.verbose = 0});  // with the same folded weights
  step();
  EXPECT_EQ(live(), warm.live_bytes);
  for (const Layer& layer : net.base.layers())
    if (layer.class_name() == "BatchNormalization") layer.set_trainable(true);
  step();
  EXPECT_LT(live(), warm.live_bytes);
}

}  // namespace
}  // namespace nyala::frozen_folding_test
