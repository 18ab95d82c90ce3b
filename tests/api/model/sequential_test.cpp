#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::sequential_test {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Layer>& layers) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) names.push_back(layer.name());
  return names;
}

std::vector<std::string> paths_of(const Variables& variables) {
  std::vector<std::string> paths;
  for (const Variable& variable : variables) paths.push_back(variable.path());
  return paths;
}

class SequentialTest : public ::testing::Test {
 protected:
  void SetUp() override { clear_session(); }
};

TEST_F(SequentialTest, WithAnInputIsBuiltAtOnce) {
  const Sequential net({Input({4}), Dense(3), Dense(2)}, {.name = "net"});
  EXPECT_TRUE(net.built());
  EXPECT_THAT(names_of(net.layers()), ElementsAre("dense", "dense_1"));  // without the input, as in Keras
  EXPECT_THAT(paths_of(net.weights()),
              ElementsAre("net/dense/kernel", "net/dense/bias", "net/dense_1/kernel", "net/dense_1/bias"));
  EXPECT_EQ(net.count_params(), 4 * 3 + 3 + 3 * 2 + 2);
}

TEST_F(SequentialTest, WithoutAnInputIsBuiltByTheFirstData) {
  const Sequential net({Dense(3), Dense(2)});
  EXPECT_FALSE(net.built());
  EXPECT_TRUE(net.weights().empty());
  EXPECT_THAT(error_text<StateError>([&] { net.count_params(); }), HasSubstr("sequential"));
  EXPECT_EQ(net.predict(Tensor::zeros({5, 4}), {.verbose = 0}).shape(), Shape({5, 2}));
  EXPECT_TRUE(net.built());
  EXPECT_EQ(net.count_params(), 4 * 3 + 3 + 3 * 2 + 2);
}

TEST_F(SequentialTest, FitBuildsAsWell) {
  const Sequential net({Dense(3, {.activation = "relu"}), Dense(1)});
  net.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_FALSE(net.built());
  net.fit(Tensor::zeros({8, 4}), Tensor::zeros({8, 1}), {.verbose = 0});
  EXPECT_TRUE(net.built());
  EXPECT_EQ(net.optimizer().iterations(), 1);
}

TEST_F(SequentialTest, BuildTakesAShape) {
  const Sequential net({Dense(3)});
  net.build({None, 7});
  EXPECT_EQ(net.weights().at(0).shape(), Shape({7, 3}));
}

TEST_F(SequentialTest, AddAndPop) {
  const Sequential net;
  net.add(Input({4}));
  net.add(Dense(3));
  net.add(Dense(2));
  EXPECT_EQ(net.weights().size(), 4u);
  net.pop();
  EXPECT_THAT(names_of(net.layers()), ElementsAre("dense"));
  EXPECT_EQ(net.weights().size(), 2u);
  net.add(Dense(5));
  EXPECT_EQ(net.predict(Tensor::zeros({2, 4}), {.verbose = 0}).shape(), Shape({2, 5}));
}

// Keras 3.15 trains on, leaves the new layer as it is and says nothing.
TEST_F(SequentialTest, ALayerAddedAfterTrainingBeganNeedsCompile) {
  const Tensor x = Tensor::ones({8, 4}), y = Tensor::zeros({8, 2});
  for (const char* optimizer : {"sgd", "adam"}) {
    const Sequential net({Input({4}), Dense(3)});
    net.compile({.optimizer = optimizer, .loss = "mse"});
    const Dense second(2, {.name = "second"});
    net.add(second);  // no step yet
    net.fit(x, y, {.verbose = 0});
    const Dense third(2, {.name = "third"});
    net.add(third);
    const std::vector<float> before = second.get_weights()[0].to_vector<float>();
    const auto says = AllOf(HasSubstr("third/kernel"), HasSubstr("compile() the model again"));
    EXPECT_THAT(error_text<StateError>([&] { net.fit(x, y, {.verbose = 0}); }), says);
    EXPECT_THAT(error_text<StateError>([&] { net.train_on_batch(x, y); }), says);
    EXPECT_EQ(second.get_weights()[0].to_vector<float>(), before);
    net.evaluate(x, y, {.verbose = 0});
    third.set_trainable(false);
    net.fit(x, y, {.verbose = 0});
    third.set_trainable(true);
    net.compile({.optimizer = optimizer, .loss = "mse"});
    const std::vector<float> kernel = third.get_weights()[0].to_vector<float>();
    net.fit(x, y, {.verbose = 0});
    EXPECT_NE(third.get_weights()[0].to_vector<float>(), kernel);
  }
}

TEST_F(SequentialTest, APoppedLayerIsNotTrainedAnyMore) {
  const Sequential net({Input({4}), Dense(3), Dense(3, {.name = "popped"})});
  net.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}), .loss = "mse"});
  const Tensor x = Tensor::ones({8, 4}), y = Tensor::zeros({8, 3});
  net.fit(x, y, {.verbose = 0});
  const Layer popped = net.layers().back();
  net.pop();
  const std::vector<float> kernel = popped.get_weights()[0].to_vector<float>();
  const std::vector<float> first = net.get_weights()[0].to_vector<float>();
  net.fit(x, y, {.verbose = 0});
  EXPECT_EQ(popped.get_weights()[0].to_vector<float>(), kernel);  // momentum would move it on
  EXPECT_NE(net.get_weights()[0].to_vector<float>(), first);
}

TEST_F(SequentialTest, PopWithoutLayersIsAnError) { EXPECT_THROW(Sequential().pop(), StateError); }

TEST_F(SequentialTest, TwoLayersOfOneNameAreAnError) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                Sequential({Input({4}), Dense(3, {.name = "same"}), Dense(2, {.name = "same"})});
              }),
              AllOf(HasSubstr("unique"), HasSubstr("'same'")));
}

TEST_F(SequentialTest, AnInputInTheMiddleIsAnError) {
  EXPECT_THROW(Sequential({Dense(3), Input({4})}), InvalidArgumentError);
  EXPECT_THROW(Sequential({Input({4}), Input({4})}), InvalidArgumentError);
}

TEST_F(SequentialTest, AWrongShapeNamesTheLayer) {
  EXPECT_THAT(error_text<ShapeError>([] {
                Sequential({Input({4, 4}), Conv2D(2, 3)}, {.name = "net"});
              }),
              AllOf(HasSubstr("conv2d"), HasSubstr("(None, 4, 4)")));
  const Sequential net({Input({4}), Dense(3)}, {.name = "net"});
  EXPECT_THAT(error_text<ShapeError>([&] {
                net.predict(Tensor::zeros({2, 5}), {.verbose = 0});
              }),
              AllOf(HasSubstr("'net'"), HasSubstr("(None, 4)"), HasSubstr("(2, 5)")));
}

TEST_F(SequentialTest, GetLayerByNameAndIndex) {
  const Sequential net({Input({4}), Dense(3, {.name = "hidden"}), Dense(2, {.name = "out"})});
  EXPECT_EQ(net.get_layer("out"), net.layers()[1]);
  EXPECT_EQ(net.get_layer(0).name(), "hidden");
  EXPECT_EQ(net.get_layer(-1).name(), "out");
  EXPECT_THAT(error_text<NotFoundError>([&] { net.get_layer("hiden"); }),
              AllOf(HasSubstr("hiden"), HasSubstr("did you mean 'hidden'"), HasSubstr("'out'")));
  EXPECT_THROW(net.get_layer(2), NotFoundError);
  EXPECT_THROW(net.get_layer(-3), NotFoundError);
}

TEST_F(SequentialTest, CopiesNameOneModel) {
  const auto make = [] { return Sequential({Input({2}), Dense(1)}); };
  const Model net = make();
  const Model copy = net;  // NOLINT
  copy.set_weights({Tensor::from(std::vector<float>{1, 2}, {2, 1}), Tensor({5})});
  EXPECT_EQ(net.predict(Tensor::from(std::vector<float>{10, 100}, {1, 2}), {.verbose = 0}).item(), 215.0);
}

TEST_F(SequentialTest, AModelInsideAModel) {
  // Not relu: in one run of eight all three units would be dead for this input.
  const Sequential inner({Input({4}), Dense(3, {.activation = "tanh"}), Dense(4)}, {.name = "inner"});
  const Sequential outer({Input({4}), inner, Dense(2)}, {.name = "outer"});
  EXPECT_EQ(outer.weights().size(), 6u);
  EXPECT_EQ(outer.get_layer("inner"), inner);
  const Tensor before = inner.get_weights().at(0);
  outer.compile({.optimizer = SGD(0.1), .loss = "mse"});
  outer.fit(Tensor::full({8, 4}, 1), Tensor::zeros({8, 2}), {.verbose = 0});
  EXPECT_NE(inner.get_weights().at(0).to_vector<float>(), before.to_vector<float>());
}

TEST_F(SequentialTest, AModelIsNoPartOfItself) {
  const Sequential a({}, {.name = "a"}), b({}, {.name = "b"}), c({}, {.name = "c"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { a.add(a); }), HasSubstr("'a' cannot hold itself"));
  a.add(b);
  b.add(c);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { c.add(a); }),
              AllOf(HasSubstr("'c' cannot hold 'a'"), HasSubstr("which holds it")));
  EXPECT_TRUE(c.layers().empty());
  c.add(Dense(3));
  EXPECT_EQ(a.predict(Tensor::ones({2, 4}), {.verbose = 0}).shape(), (Shape{2, 3}));
}

TEST_F(SequentialTest, AutomaticNamesCountPerClass) {
  const Sequential first({Dense(1), Dense(1), ReLU()}), second({Dense(1)});
  EXPECT_THAT(names_of(first.layers()), ElementsAre("dense", "dense_1", "re_lu"));
  EXPECT_EQ(second.layers()[0].name(), "dense_2");
  EXPECT_EQ(second.name(), "sequential_1");
}

}  // namespace

}  // namespace nyala::sequential_test
