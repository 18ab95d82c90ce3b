// DataParallel: PyTorch's wrapper, with the numbers of one device.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {

using namespace nyala::detail;
namespace {

Tensor random_rows(const Shape& shape, uint64_t key) {
  return ops::random_normal(shape, 0.0, 1.0, {.key = key});
}

Model small_model() {
  set_random_seed(5);
  return Sequential(
      {Input({6}), Dense(4, {.activation = "tanh"}), BatchNormalization(), Dropout(0.3), Dense(3)});
}

std::vector<std::vector<float>> weights_after(const Model& net, const std::function<void()>& train) {
  train();
  std::vector<std::vector<float>> values;
  for (const Tensor& weight : net.get_weights()) values.push_back(weight.to_vector<float>());
  return values;
}

void expect_close(const std::vector<std::vector<float>>& received,
                  const std::vector<std::vector<float>>& expected) {
  ASSERT_EQ(received.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < expected[i].size(); ++k) EXPECT_NEAR(received[i][k], expected[i][k], 2e-5) << i;
}

TEST(DataParallel, ChoosesItsDevices) {
  configure_logical_devices("cpu", 3);
  const Model net = small_model();
  const Tensor x = random_rows({7, 6}, 1);
  EXPECT_EQ(DataParallel(net)(x).device(), Device("cpu:0"));
  EXPECT_EQ(DataParallel(net, {.device_ids = {1, 2}})(x).device(), Device("cpu:1"));
  EXPECT_EQ(DataParallel(net, {.device_ids = {1, 2}, .output_device = "cpu:0"})(x).device(), Device("cpu:0"));
  EXPECT_NE(DataParallel(net).summary_text().find("3 replicas on cpu:0, cpu:1, cpu:2"), std::string::npos);
  EXPECT_THROW(DataParallel(net, {.device_ids = {0, 3}}), DeviceNotFoundError);
  EXPECT_THROW(DataParallel(net, {.device_ids = {0, 0}}), InvalidArgumentError);
  EXPECT_THROW(DataParallel(net, {.output_device = "cpu:3"}), DeviceNotFoundError);
  EXPECT_THROW(DataParallel(net, {.dim = -1}), InvalidArgumentError);
}

TEST(DataParallel, OneDeviceRunsPlainly) {
  configure_logical_devices("cpu", 1);
  const Model net = small_model();
  const DataParallel model(net);
  const Tensor x = random_rows({7, 6}, 1);
  EXPECT_EQ(model(x).to_vector<float>(), net(x).to_vector<float>());
}

TEST(DataParallel, AHandLoopTrainsLikeTheNet) {
  const Tensor x = random_rows({7, 6}, 1), y = random_rows({7, 3}, 2);
  const auto descend = [&](const Model& model) {
    for (int step = 0; step < 5; ++step) {
      GradientTape tape;
      Call call({.training = true, .tape = thread_context().tape, .rows = 7, .global_rows = 7, .step = {}});
      const Tensor loss = ops::mean(ops::square(model(call, x) - y));
      const Variables variables = model.trainable_variables();
      const Tensors gradients = tape.gradient(loss, variables);
      for (size_t i = 0; i < variables.size(); ++i)
        variables[i].assign(variables[i].value() - gradients[i] * 0.1);
    }
  };
  configure_logical_devices("cpu", 3);
  const Model plain = small_model();
  const auto expected = weights_after(plain, [&] { descend(plain); });
  for (const std::vector<int>& ids : {std::vector<int>{0}, {0, 1}, {0, 1, 2}}) {
    const Model net = small_model();
    const DataParallel model(net, {.device_ids = ids});
    expect_close(weights_after(net, [&] { descend(model); }), expected);
  }
}

TEST(DataParallel, AnotherDimension) {
  configure_logical_devices("cpu", 2);
  set_random_seed(1);
  const Sequential net({Input({5, 4}), Dense(3, {.activation = "tanh"})});
  const DataParallel model(net, {.dim = 1});
  const Tensor x = random_rows({2, 5, 4}, 1);
  EXPECT_EQ(model(x).shape(), (Shape{2, 5, 3}));
  const auto received = model(x).to_vector<float>(), expected = net(x).to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(received[i], expected[i], 1e-6);
}

TEST(DataParallel, CountsOfAllSlicesAreAddedUp) {
  struct CountingRows : LayerNode {
    Variable rows;
    std::string class_name() const override { return "CountingRows"; }
    void build(Builder& b, const Shape&) override {
      rows = b.state("rows", Shape{1}, "zeros", Aggregation::sum);
    }
    Tensor call(Call& c, const Tensor& x) const override {
      const double own = x.is_abstract() ? 0.0 : static_cast<double>(x.shape()[0]);
      c.assign(rows, c[rows] + own);
      return x;
    }
  };
  configure_logical_devices("cpu", 3);
  const Sequential net({Input({2}), make_layer<CountingRows>(), Dense(1)});
  const DataParallel model(net);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(random_rows({7, 2}, 1), random_rows({7, 1}, 2), {.batch_size = 4, .epochs = 3, .verbose = 0});
  EXPECT_EQ(net.get_layer(0).weights()[0].value().item(), 21.0);
}

TEST(DataParallel, FilesHaveNoPrefix) {
  configure_logical_devices("cpu", 2);
  const ScratchFolder folder("data_parallel");
  const Model net = small_model(), other = small_model();
  other.set_weights([&] {
    Tensors values = other.get_weights();
    for (Tensor& value : values) value = value + 1.0;
    return values;
  }());
  DataParallel(net).save_weights(folder.file("parallel.weights.h5"));
  other.load_weights(folder.file("parallel.weights.h5"));
  net.save_weights(folder.file("net.weights.h5"));
  DataParallel(other).load_weights(folder.file("net.weights.h5"));
  for (size_t i = 0; i < net.get_weights().size(); ++i)
    EXPECT_EQ(other.get_weights()[i].to_vector<float>(), net.get_weights()[i].to_vector<float>());
}

TEST(DataParallel, ASubclassedModelIsBuiltByItsFirstBatch) {
  struct Net : ModelNode {
    Dense first = track("first", Dense(4, {.activation = "relu"}));
    Dense second = track("second", Dense(2));
    Tensor call(Call& c, const Tensor& x) const override { return second(c, first(c, x)); }
  };
  configure_logical_devices("cpu", 2);
  const Model net = make_model<Net>();
  const DataParallel model(net, {.device_ids = {0, 1}});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const History history =
      model.fit(random_rows({9, 3}, 1), random_rows({9, 2}, 2), {.epochs = 3, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  EXPECT_TRUE(net.built());
  EXPECT_EQ(model.module().weights(), net.weights());
}

}  // namespace
}  // namespace nyala
