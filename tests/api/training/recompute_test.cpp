// CompileConfig::recompute_batch_normalization: the same numbers, whoever trains.
#include <gtest/gtest.h>

#include <functional>

#include <nyala/nyala.h>

namespace nyala::recompute_test {
namespace {

Tensor numbers(const Shape& shape, uint64_t seed) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform()) - 0.5f;
  return Tensor::from(values, shape);
}

Model network() {
  const Tensor input = Input({8, 8, 3});
  Tensor x = ReLU({.max_value = 6.0})(BatchNormalization()(Conv2D(16, 3, {.padding = "same"})(input)));
  const Tensor shortcut = x;
  x = BatchNormalization()(DepthwiseConv2D(3, {.padding = "same"})(x));
  x = ReLU()(BatchNormalization()(x));
  x = Add()({BatchNormalization()(Conv2D(16, 1)(x)), shortcut});
  x = BatchNormalization()(GlobalAveragePooling2D()(x));
  return Model(input, Dense(1)(x));
}

/// Trains by a tape of its own.
class ByHand final : public ModelNode {
 public:
  ByHand() : inside_(track("inside", network())) {}
  Tensor call(Call& c, const Tensor& x) const override { return inside_(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override { ModelNode::train_step(step, batch); }

 private:
  Model inside_;
};

Tensors trained(const Model& model, bool recompute) {
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = "mse",
                 .recompute_batch_normalization = recompute});
  model.fit(numbers({12, 8, 8, 3}, 1), numbers({12, 1}, 2),
            {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
  return model.get_weights();
}

void expect_equal(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>()) << i;
}

void expect_same_training(const std::function<Model()>& make) {
  const auto run = [&](bool recompute) {
    set_random_seed(9);
    clear_session();
    return trained(make(), recompute);
  };
  expect_equal(run(true), run(false));
}

TEST(RecomputeBatchNormalization, TrainsToTheSameBits) { expect_same_training(network); }

TEST(RecomputeBatchNormalization, WithATrainStepOfItsOwn) {
  expect_same_training([] { return make_model<ByHand>(); });
}

TEST(RecomputeBatchNormalization, OnReplicas) {
  configure_logical_devices("cpu", 2);
  expect_same_training([] {
    return MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}).scope([] { return network(); });
  });
}

}  // namespace
}  // namespace nyala::recompute_test
