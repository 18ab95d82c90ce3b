#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::functional_test {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers()) names.push_back(layer.name());
  return names;
}

Dense ones(int64_t units, const std::string& name) {
  return Dense(units, {.use_bias = false, .kernel_initializer = "ones", .name = name});
}

class FunctionalTest : public ::testing::Test {
 protected:
  void SetUp() override { clear_session(); }
  static Tensor row(const std::vector<float>& values) {
    return Tensor::from(values, {1, static_cast<int64_t>(values.size())});
  }
};

TEST_F(FunctionalTest, OneInputOneOutput) {
  const auto x = Input({3}, {.name = "x"});
  const auto y = ones(2, "y")(x);
  const Model model(x, y);
  EXPECT_TRUE(model.built());
  EXPECT_EQ(model.name(), "functional");
  EXPECT_THAT(names_of(model), ElementsAre("x", "y"));
  EXPECT_EQ(model.predict(row({1, 2, 3}), {.verbose = 0}).to_vector<float>(), std::vector<float>({6, 6}));
}

TEST_F(FunctionalTest, OpsAndConstantsBecomeNodes) {
  const Tensor x = Input({3});
  const Model model(x, ops::concatenate({x * 2.0, x + 1.0, 10.0 - x}, -1));
  EXPECT_EQ(model.predict(row({1, 2, 3}), {.verbose = 0}).to_vector<float>(),
            std::vector<float>({2, 4, 6, 2, 3, 4, 9, 8, 7}));
}

TEST_F(FunctionalTest, SeveralInputsAndOutputsComeInOrder) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const Tensor sum = Add({.name = "sum"})({a, b});
  const Tensor top = ones(1, "top")(sum);
  const Model model({.inputs = {b, a}, .outputs = {top, a, sum}});
  const Tensors out = model.predict_all({row({10, 20}), row({1, 2})}, {.verbose = 0});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].to_vector<float>(), std::vector<float>({33}));
  EXPECT_EQ(out[1].to_vector<float>(), std::vector<float>({1, 2}));
  EXPECT_EQ(out[2].to_vector<float>(), std::vector<float>({11, 22}));
  const Model twins({.inputs = {a}, .outputs = {a, a * 2.0}});
  EXPECT_THAT(error_text<StateError>([&] {
                twins.predict(row({1, 2}), {.verbose = 0});
              }),
              HasSubstr("predict_all"));
}

TEST_F(FunctionalTest, ASharedLayerHasItsWeightsOnceAndLearnsFromAllUses) {
  const Tensor a = Input({2}), b = Input({2});
  const Dense shared(1, {.use_bias = false, .kernel_initializer = "zeros", .name = "shared"});
  const Model model({.inputs = {a, b}, .outputs = {shared(a) + shared(b)}});
  EXPECT_EQ(model.weights().size(), 1u);
  model.compile({.optimizer = SGD(1.0), .loss = [](const Tensor& y_true, const Tensor& y_pred) {
                   return ops::sum(ops::subtract(y_pred, y_true), {-1});
                 }});
  model.fit({row({1, 2}), row({10, 20})}, {Tensor::zeros({1, 1})}, {.verbose = 0});
  EXPECT_EQ(shared.get_weights().at(0).to_vector<float>(), std::vector<float>({-11, -22}));
}

TEST_F(FunctionalTest, AModelIsALayerOfAnother) {
  const Tensor inner_in = Input({2});
  const Model inner(inner_in, ones(3, "wide")(inner_in), {.name = "inner"});
  const Tensor x = Input({2}, {.name = "x"});
  const Model outer(x, ones(1, "out")(inner(x)));
  EXPECT_THAT(names_of(outer), ElementsAre("x", "inner", "out"));
  EXPECT_EQ(outer.predict(row({1, 2}), {.verbose = 0}).item(), 9.0);
  EXPECT_EQ(outer.weights().size(), 2u);
}

TEST_F(FunctionalTest, AModelOfTheMiddleSharesTheLayers) {
  const Tensor x = Input({2});
  const Tensor middle = ones(3, "middle")(x);
  const Model whole(x, ones(1, "out")(middle)), features(x, middle);
  EXPECT_EQ(features.predict(row({1, 2}), {.verbose = 0}).to_vector<float>(), std::vector<float>({3, 3, 3}));
  whole.compile({.optimizer = SGD(0.1), .loss = "mse"});
  whole.fit(row({1, 2}), Tensor::zeros({1, 1}), {.verbose = 0});
  EXPECT_NE(features.predict(row({1, 2}), {.verbose = 0}).to_vector<float>(), std::vector<float>({3, 3, 3}));
}

TEST_F(FunctionalTest, ATrailingAxisOfOneIsAddedOrTaken) {
  const Tensor x = Input({1});
  const Model model(x, x * 3.0);
  EXPECT_EQ(model.predict(Tensor({1, 2}), {.verbose = 0}).shape(), Shape({2, 1}));
  EXPECT_EQ(model.predict(Tensor::zeros({2, 1, 1}), {.verbose = 0}).shape(), Shape({2, 1}));
}

TEST_F(FunctionalTest, AnOutputWithoutItsInputIsAnError) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { Model(a, Add()({a, b})); }), HasSubstr("'b'"));
}

TEST_F(FunctionalTest, OrdinaryTensorsAreRefused) {
  const Tensor x = Input({2});
  EXPECT_THROW(Model(Tensor({1, 2}), x), InvalidArgumentError);
  EXPECT_THROW(Model(x, Tensor({1, 2})), InvalidArgumentError);
  EXPECT_THROW(Add()({x, Tensor::abstract({1, 2}, DType::float32)}), InvalidArgumentError);
  EXPECT_THROW(Model(ModelConfig{}), InvalidArgumentError);
}

/// Symbolic tensors have no values, whatever one asks of them.
TEST_F(FunctionalTest, SymbolicTensorsHaveNoValues) {
  const Tensor x = Input({2});
  EXPECT_THROW(x.to_vector<float>(), Error);
  EXPECT_THROW(x.item(), Error);
  const Model model(x, ones(1, "out")(x));
  EXPECT_THROW(model.predict(x, {.verbose = 0}), Error);
}

TEST_F(FunctionalTest, NamesThatOccurTwiceAreAnError) {
  const Tensor x = Input({2});
  const Tensor y = ones(2, "q")(ones(2, "q")(x));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { Model(x, y); }),
              AllOf(HasSubstr("\"q\""), HasSubstr("2 times"), HasSubstr("unique")));
}

TEST_F(FunctionalTest, TheWrongNumberOfInputsIsAnError) {
  const Tensor a = Input({2}), b = Input({2});
  const Model model({.inputs = {a, b}, .outputs = {Add()({a, b})}, .name = "two"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.predict_all({row({1, 2})}, {.verbose = 0});
              }),
              AllOf(HasSubstr("'two'"), HasSubstr("2"), HasSubstr("1")));
}

TEST_F(FunctionalTest, AWrongInputNamesModelExpectedAndReceived) {
  const Tensor a = Input({2}), b = Input({4, 3});
  const Model model({.inputs = {a, b}, .outputs = {a, b}, .name = "two"});
  EXPECT_THAT(
      error_text<ShapeError>([&] {
        model.predict_all({Tensor::zeros({6, 2}), Tensor::zeros({6, 4, 2})}, {.verbose = 0});
      }),
      AllOf(HasSubstr("'two'"), HasSubstr("input 1"), HasSubstr("(None, 4, 3)"), HasSubstr("(6, 4, 2)")));
}

TEST_F(FunctionalTest, InputsOfDifferentLengthsAreAnError) {
  const Tensor a = Input({2}), b = Input({2});
  const Model model({.inputs = {a, b}, .outputs = {Add()({a, b})}});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.predict_all({Tensor::zeros({6, 2}), Tensor::zeros({5, 2})}, {.verbose = 0});
              }),
              AllOf(HasSubstr("6"), HasSubstr("5")));
}

}  // namespace

}  // namespace nyala::functional_test
