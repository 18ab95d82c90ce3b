// What must keep its digits under dtype policies of 16 bits: sums of many numbers, state, what cancels.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::mixed_precision_digits_test {
namespace {

using ::testing::HasSubstr;

class MixedPrecisionDigits : public testing::TestWithParam<const char*> {
 protected:
  MixedPrecisionDigits() { set_dtype_policy(GetParam()); }
  ~MixedPrecisionDigits() override { set_dtype_policy("float32"); }
  static DType half() { return DTypePolicy(GetParam()).compute_dtype(); }
};

INSTANTIATE_TEST_SUITE_P(Policies, MixedPrecisionDigits, testing::Values("mixed_bfloat16", "mixed_float16"),
                         [](const auto& info) { return std::string(info.param); });

float only(const Tensor& x) { return ops::cast(x, DType::float32).to_vector<float>().at(0); }

/// A weight that is read once and used `times` times.
struct Repeats : LayerNode {
  explicit Repeats(int times) : times(times) {}
  int times;
  Variable weight;
  std::string class_name() const override { return "Repeats"; }
  void build(Builder& b, const Shapes&) override { weight = b.weight("weight", {1}, "zeros"); }
  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor w = c[weight];
    Tensor sum = x;
    for (int i = 0; i < times; ++i) sum = sum + w;
    return sum;
  }
};

TEST_P(MixedPrecisionDigits, GradientsOfManyUsesAreSummedInFloat32) {
  GradientTape tape;
  const Tensor x = tape.watch(ops::cast(Tensor::ones({1}), half()));
  std::vector<Tensor> all;
  for (int i = 0; i < 3000; ++i) all.push_back(x * 1.0);
  const Tensor many = ops::sum(ops::concatenate(all, 0));
  EXPECT_EQ(only(tape.gradient(many, x)), only(ops::cast(Tensor({3000.0}), half())));
}

TEST_P(MixedPrecisionDigits, AWeightReadOnceAndUsedOftenTrains) {
  const auto moved = [](int times) {
    const Sequential model({Input({1}), make_layer<Repeats>(times)});
    const Tensor x = Tensor::ones({4, 1});
    model.compile({.optimizer = SGD({.learning_rate = 1.0}),
                   .loss = [](const Tensor&, const Tensor& y) { return ops::mean(y, {-1}); },
                   .auto_scale_loss = false});
    model.train_on_batch(x, x);
    return model.weights()[0].value().to_vector<float>()[0];
  };
  EXPECT_EQ(moved(1), -1.0f);
  EXPECT_EQ(moved(600), -600.0f);
}

TEST_P(MixedPrecisionDigits, FoldedOffsetsKeepTheirDigits) {
  const Sequential model({Input({4, 4, 1}), Conv2D(1, 1, {.use_bias = false, .kernel_initializer = "ones"}),
                          BatchNormalization({.epsilon = 1e-9})});
  model.layers()[1].weights()[2].assign(1.003);  // the moving mean
  const Tensor x = Tensor::ones({2, 4, 4, 1});
  for (const bool fold : {true, false})
    EXPECT_NEAR(only(model.predict(x, {.verbose = 0, .fold_batch_normalization = fold})), -0.003, 2e-5)
        << fold;
}

TEST_P(MixedPrecisionDigits, MergingManyLayersRoundsOnce) {
  const Tensor input = Input({2});
  const std::vector<Tensor> many(300, input);
  const Tensor x = Tensor::ones({1, 2});
  EXPECT_EQ(only(Model(input, Add()(many)).predict(x, {.verbose = 0})), 300.0f);
  EXPECT_EQ(only(Model(input, Average()(many)).predict(x, {.verbose = 0})), 1.0f);
  EXPECT_EQ(Model(input, Add()(many)).predict(x, {.verbose = 0}).dtype(), half());
}

/// Counts its calls, and adds half of its input as a metric.
struct Counts : LayerNode {
  Variable count;
  std::string class_name() const override { return "Counts"; }
  void build(Builder& b, const Shapes&) override { count = b.state("count", {}, "zeros"); }
  Tensor call(Call& c, const Tensor& x) const override {
    c.assign(count, c[count] + 1.0);
    c.add_metric("given", x);
    return x;
  }
};

TEST_P(MixedPrecisionDigits, StateAndAddedMetricsCountOn) {
  const Layer layer = make_layer<Counts>();
  const Sequential model({Input({1}), layer, Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 0.0}), .loss = "mse"});
  const int64_t rows = 2600;
  std::vector<float> values(static_cast<size_t>(rows), 1.0f);
  values[0] = 0.0f;
  const Tensor x = Tensor::from(values, {rows, 1});
  const History history = model.fit(x, x, {.batch_size = 1, .verbose = 0, .shuffle = false});
  EXPECT_EQ(layer.weights()[0].value().item(), static_cast<double>(rows));
  EXPECT_NEAR(history["given"].back(), 1.0 - 1.0 / static_cast<double>(rows), 1e-6);
}

TEST_P(MixedPrecisionDigits, AFloat32HeadStaysWhereAFileIsOpenedInAnotherPolicy) {
  const ScratchFolder folder;
  const Sequential model(
      {Input({4}), Dense(3, {.name = "body"}), Dense(2, {.name = "head", .dtype = "float32"})});
  const auto policies = [&](const std::string& path, const std::string& policy) {
    const Model opened = load_model(path, {.dtype_policy = policy});
    return opened.get_layer("body").dtype_policy().name() + " " +
           opened.get_layer("head").dtype_policy().name();
  };
  for (const char* name : {"mixed.keras", "mixed.h5"}) {
    const std::string path = (folder.path() / name).string();
    model.save(path);
    EXPECT_EQ(policies(path, GetParam()), std::string(GetParam()) + " float32") << name;
    EXPECT_EQ(policies(path, "bfloat16"), "bfloat16 float32") << name;
    EXPECT_EQ(policies(path, "float32"), "float32 float32") << name;
    EXPECT_EQ(policies(path, "float64"), "float64 float32") << name;
  }
  set_dtype_policy("float32");
  const Sequential whole({Input({4}), Dense(3, {.name = "body"}), Dense(2, {.name = "head"})});
  const std::string path = (folder.path() / "whole.keras").string();
  whole.save(path);
  EXPECT_EQ(policies(path, GetParam()), std::string(GetParam()) + " " + GetParam());
}

TEST_P(MixedPrecisionDigits, APolicyOfAWholeModelIsSetInFrontOfItsLayers) {
  const Sequential model({Input({4}), Dense(3)});
  model.set_dtype_policy(GetParam());  // what it has
  EXPECT_THAT(error_text<StateError>([&] { model.set_dtype_policy("float32"); }),
              HasSubstr("load_model(path, {.dtype_policy = \"float32\"})"));
  EXPECT_EQ(model.dtype_policy().name(), GetParam());
}

}  // namespace
}  // namespace nyala::mixed_precision_digits_test
