// The part of a model in front of what trains is computed without a tape and keeps nothing.
#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/nyala.h>

namespace nyala::frozen_prefix_test {
namespace {

Tensor wave(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(factor * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

/// Passes its input on and notes what a training step holds at this place.
struct ProbeNode : LayerNode {
  std::string class_name() const override { return "Probe"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (x.is_abstract() || !c.training()) return x;
    entries = static_cast<int64_t>(c.tape()->entries().size());
    kept_bytes = 0;
    for (const Tensor& tensor : c.tape()->tensors()) kept_bytes += tensor.storage() ? tensor.bytes() : 0;
    live_bytes = allocator_stats(Device{}).live_bytes;
    seen = x.detached();
    return x;
  }
  mutable int64_t entries = -1;
  mutable size_t kept_bytes = 0, live_bytes = 0;
  mutable Tensor seen;
};

class FrozenPrefix : public testing::Test {
 protected:
  void SetUp() override {
    clear_session();
    set_random_seed(3);
  }
  /// `blocks` of Conv2D, BatchNormalization and ReLU.
  static Model backbone(int blocks) {
    std::vector<Layer> layers = {Input({16, 16, 4})};
    for (int i = 0; i < blocks; ++i) {
      layers.push_back(Conv2D(8, 3, {.padding = "same"}));
      layers.push_back(BatchNormalization());
      layers.push_back(ReLU());
    }
    return Sequential(layers);
  }
  Model with_head(const Model& base) {
    probe_ = make_layer<ProbeNode>();
    const Tensor x = Input({16, 16, 4});
    const Tensor y = Dense(3)(Flatten()(probe_(base(x))));
    const Model model(x, y);
    model.compile({.optimizer = SGD(0.05), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    return model;
  }
  static void train(const Model& model) {
    model.fit(wave({8, 16, 16, 4}, 0.7), Tensor::from(std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 1}, {8, 1}),
              {.batch_size = 8, .epochs = 2, .verbose = 0});
  }
  const ProbeNode& probe() const { return static_cast<const ProbeNode&>(probe_.node()); }

  Layer probe_;
};

TEST_F(FrozenPrefix, RecordsNothing) {
  const Model base = backbone(2);
  train(with_head(base));
  EXPECT_GE(probe().entries, 4);
  EXPECT_GT(probe().kept_bytes, 0u);

  base.set_trainable(false);
  train(with_head(base));
  EXPECT_EQ(probe().entries, 0);
  EXPECT_EQ(probe().kept_bytes, 0u);
}

TEST_F(FrozenPrefix, RecordsFromTheFirstLayerThatTrains) {
  const Model base = backbone(3);
  base.set_trainable(false);
  base.layers()[6].set_trainable(true);  // the last convolution
  train(with_head(base));
  const int64_t of_the_last = probe().entries;
  EXPECT_GT(of_the_last, 0);
  base.layers()[3].set_trainable(true);
  train(with_head(base));
  EXPECT_GT(probe().entries, of_the_last);
}

/// One activation of a step is 8 * 16 * 16 * 8 floats = 64 KiB.
TEST_F(FrozenPrefix, KeepsNoActivations) {
  const auto live_at_the_end = [&](int blocks, bool trainable) {
    const Model base = backbone(blocks);
    base.set_trainable(trainable);
    const Model model = with_head(base);
    const size_t before = allocator_stats(Device{}).live_bytes;
    train(model);
    return static_cast<int64_t>(probe().live_bytes) - static_cast<int64_t>(before);
  };
  constexpr int64_t kActivation = 64 * 1024;
  EXPECT_GT(live_at_the_end(8, true) - live_at_the_end(1, true), 6 * kActivation);
  EXPECT_LT(live_at_the_end(8, false) - live_at_the_end(1, false), kActivation);
}

TEST_F(FrozenPrefix, DropoutInItStillDrops) {
  probe_ = make_layer<ProbeNode>();
  const Sequential model({Input({50}), Dense(200, {.kernel_initializer = "ones", .trainable = false}),
                          Dropout(0.5), probe_, Dense(1)});
  model.compile({.optimizer = SGD(0.0), .loss = "mse"});
  model.fit(Tensor::full({4, 50}, 1.0), Tensor::zeros({4, 1}), {.verbose = 0});
  const std::vector<float> values = probe().seen.to_vector<float>();
  const auto dropped = std::count(values.begin(), values.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(values.size()), 0.5, 0.1);
  EXPECT_EQ(std::count(values.begin(), values.end(), 100.0f) + dropped, std::ssize(values));
  EXPECT_EQ(probe().entries, 0);
}

/// Keras: a frozen BatchNormalization runs in inference mode.
TEST_F(FrozenPrefix, BatchNormalizationKeepsItsStatistics) {
  const Model base = backbone(1);
  base.set_trainable(false);
  base.layers()[1].set_weights({wave({8}, 1.1), wave({8}, 1.2), wave({8}, 1.3), Tensor::full({8}, 2.0)});
  const std::vector<Tensor> before = base.get_weights();
  const Model model = with_head(base);
  train(model);
  const std::vector<Tensor> after = base.get_weights();
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after[i].to_vector<float>(), before[i].to_vector<float>()) << i;
  const std::vector<float> trained = probe().seen.to_vector<float>(),
                           alone = base.predict(wave({8, 16, 16, 4}, 0.7), {.verbose = 0}).to_vector<float>();
  std::vector<float> sorted_trained = trained, sorted_alone = alone;  // fit shuffles the rows
  std::sort(sorted_trained.begin(), sorted_trained.end());
  std::sort(sorted_alone.begin(), sorted_alone.end());
  for (size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(sorted_trained[i], sorted_alone[i], 1e-4);
}

}  // namespace
}  // namespace nyala::frozen_prefix_test
