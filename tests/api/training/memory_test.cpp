// Memory that runs out inside of a model's calls: the error's type, and what can be done afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Runs out of memory while `empty` is set.
struct Hungry : LayerNode {
  static inline bool empty = false;
  std::string class_name() const override { return "Hungry"; }
  Tensor call(Call&, const Tensor& x) const override {
    if (empty && !x.is_abstract()) throw std::bad_alloc();
    return x;
  }
};

class Memory : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 2); }
  void TearDown() override {
    Hungry::empty = false;
    configure_logical_devices("cpu", 1);
  }

  static std::vector<double> losses_of(const Sequential& model, uint64_t seed) {
    set_random_seed(seed);
    const Tensor x = ops::random_uniform({12, 3}, 0, 1, {.key = 2});
    return model.fit(x, ops::sum(x, {1}), {.batch_size = 4, .epochs = 2, .verbose = 0})["loss"];
  }
  static Sequential small(uint64_t seed) {
    set_random_seed(seed);
    const Sequential model({Input({3}), Dense(4, {.activation = "tanh"}), Dense(1)});
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    return model;
  }
};

TEST_P(Memory, BadAllocBecomesOutOfMemoryErrorThatNamesTheCall) {
  mirrored(GetParam()).scope([] {
    const Sequential model({Input({3}), Dense(2), make_layer<Hungry>()});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = Tensor::zeros({4, 3}), y = Tensor::zeros({4, 2});
    const auto expect = [](const char* what, auto&& call) {
      try {
        call();
        ADD_FAILURE() << what << " threw nothing";
      } catch (const OutOfMemoryError& error) {
        EXPECT_THAT(error.what(), StartsWith(std::string(what) + ": "));
        EXPECT_THAT(error.what(), HasSubstr("no memory left on the host; "));
      }
    };
    Hungry::empty = true;
    expect("fit", [&] { model.fit(x, y, {.verbose = 0}); });
    expect("evaluate", [&] { model.evaluate(x, y, {.verbose = 0}); });
    expect("predict", [&] { model.predict(x, {.verbose = 0}); });
    expect("train_on_batch", [&] { model.train_on_batch(x, y); });
    Hungry::empty = false;
    EXPECT_EQ(model.fit(x, y, {.verbose = 0})["loss"].size(), 1u);
  });
}

TEST_P(Memory, ASmallerModelOfTheSameStrategyTrainsAsInAFreshOne) {
  const std::vector<double> expected = mirrored(GetParam()).scope([] { return losses_of(small(5), 6); });
  mirrored(GetParam()).scope([&] {
    const size_t before = allocator_stats(Device{}).live_bytes;
    EXPECT_THROW(Sequential({Input({int64_t{1} << 22}), Dense(int64_t{1} << 22)}), OutOfMemoryError);
    EXPECT_EQ(allocator_stats(Device{}).live_bytes, before);
    EXPECT_EQ(losses_of(small(5), 6), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, Memory, ::testing::Values(1, 2));

TEST(MemoryOfLayers, ALayerWhoseBuildFailedIsBuiltWhenItIsCalledAgain) {
  struct Greedy : LayerNode {
    bool fails = true;
    Variable first, second;
    std::string class_name() const override { return "Greedy"; }
    void build(Builder& builder, const Shape& input) override {
      first = builder.weight("first", {input[-1]}, "ones");
      if (std::exchange(fails, false)) throw std::bad_alloc();
      second = builder.weight("second", {input[-1]}, "ones");
    }
    Tensor call(Call& c, const Tensor& x) const override { return x * c[first] + c[second]; }
  };
  const Layer layer = make_layer<Greedy>();
  EXPECT_THROW(layer(Tensor::zeros({2, 3})), std::bad_alloc);
  EXPECT_FLOAT_EQ(layer(Tensor::zeros({2, 3})).to_vector<float>()[0], 1.0f);
  EXPECT_EQ(layer.weights().size(), 2u);
}

}  // namespace

}  // namespace nyala
