// Models whose inputs have several dtypes: each is converted to that of its Input, as in Keras.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

namespace {

using ::testing::ElementsAre;
using ::testing::Pointwise;
using ::testing::DoubleEq;

const std::vector<double> kTenth = {0.1, 1.1, 2.2, 3.3, 4.4, 5.5};

Tensor doubles() { return Tensor::from(kTenth, {2, 3}); }
Tensor singles() { return Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}); }
Tensor ids() { return Tensor::from(std::vector<int64_t>{(int64_t{1} << 40) + 1, 2, 3, 4, 5, 6}, {2, 3}); }

class MixedInputs : public ::testing::TestWithParam<const char*> {
 protected:
  Tensor other() const { return GetParam() == std::string("int64") ? ids() : singles(); }
  Tensor other_input() const { return Input({3}, {.dtype = GetParam()}); }
};

TEST_P(MixedInputs, AFloat64InputKeepsAllItsBits) {
  const Tensor f = Input({3}, {.dtype = "float64"});
  for (const bool first : {false, true}) {
    const Tensor o = other_input();
    const Tensors inputs = first ? Tensors{f, o} : Tensors{o, f};
    const Tensors data = first ? Tensors{doubles(), other()} : Tensors{other(), doubles()};
    const Model model({.inputs = inputs, .outputs = {f * 3.0}});
    std::vector<double> expected;
    for (const double x : kTenth) expected.push_back(x * 3.0);
    EXPECT_THAT(model(data).to_vector<double>(), Pointwise(DoubleEq(), expected)) << first;
    EXPECT_THAT(model.predict(data, {.verbose = 0}).to_vector<double>(), Pointwise(DoubleEq(), expected))
        << first;
  }
}

TEST_P(MixedInputs, OpsOfTheTracedDtypesRun) {
  const Tensor o = other_input(), f = Input({3}, {.dtype = "float64"});
  const Model model({.inputs = {o, f}, .outputs = {ops::where(f > 1.0, ops::minimum(f, 2.5), 0), o + 1}});
  const Tensors out = model.call_all({other(), doubles()});
  EXPECT_THAT(out[0].to_vector<double>(), ElementsAre(0, 1.1, 2.2, 2.5, 2.5, 2.5));
  EXPECT_EQ(out[1].dtype(), other().dtype());
  EXPECT_TRUE(ops::equal(out[1], other() + 1).min());
}

TEST_P(MixedInputs, TrainsOnAnyNumberOfDevicesAsOnOne) {
  configure_logical_devices("cpu", 3);
  const auto trained = [&](int replicas) {
    return mirrored(replicas).scope([&] {
      const Tensor o = other_input(), f = Input({3}, {.dtype = "float64"});
      const Tensor both =
          Concatenate()({ops::cast(o > 3, DType::float32), ops::cast(f * 0.1, DType::float32)});
      const Model model({.inputs = {o, f}, .outputs = {Dense(1, {.kernel_initializer = "ones"})(both)}});
      model.compile({.optimizer = "sgd", .loss = "mse"});
      return model.fit({other(), doubles()}, {Tensor::zeros({2, 1})}, {.epochs = 2, .verbose = 0})["loss"]
          .back();
    });
  };
  const double one = trained(1);
  EXPECT_LT(one, 20.0);
  EXPECT_NEAR(trained(2), one, 1e-6);
  EXPECT_NEAR(trained(3), one, 1e-6);
  configure_logical_devices("cpu", 1);
}

/// What Keras converts, where nothing can be lost.
TEST(InputDtypes, TruthValuesAndNarrowIntegersAreConverted) {
  const Tensor truth = Tensor::from(std::vector<int32_t>{0, 2}, {1, 2}) > 1;
  for (const char* dtype : {"float32", "int32", "int64", "uint8"}) {
    const Tensor x = Input({2}, {.dtype = dtype});
    const Model model(x, ops::cast(x + 1, DType::float32));
    EXPECT_EQ(model(truth).to_vector<float>(), (std::vector<float>{1, 2})) << dtype;
    EXPECT_EQ(model.predict(truth, {.verbose = 0}).to_vector<float>(), (std::vector<float>{1, 2})) << dtype;
    const Tensor bytes = Tensor::from(std::vector<uint8_t>{250, 7}, {1, 2});
    EXPECT_EQ(model(bytes).to_vector<float>(), (std::vector<float>{251, 8})) << dtype;
  }
  const Tensor x = Input({1});
  const Model square(x, x * x);
  EXPECT_EQ(square(Tensor::from(std::vector<int32_t>{100000}, {1, 1})).to_vector<float>(),
            std::vector<float>{1e10F});
}

/// 2^24 + 1 is no float32.
TEST(InputDtypes, AnEmbeddingTakesAllBitsOfItsIds) {
  const int64_t id = (int64_t{1} << 24) + 1;
  Sequential model({Input({1}), Embedding(id + 1, 1)});
  const Tensor ids = Tensor::from(std::vector<int64_t>{id}, {1, 1});
  const float row = model.weights()[0].value()[id].item();
  EXPECT_EQ(model(ids).item(), row);
}

INSTANTIATE_TEST_SUITE_P(Other, MixedInputs, ::testing::Values("int64", "float32"));

}  // namespace

}  // namespace nyala
