#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/config/register_serializable.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Net : ModelNode {
  explicit Net(int64_t width = 5) : first(track("first", Dense(width, {.activation = "relu"}))) {}
  Dense first;
  Dropout drop = track("drop", Dropout(0.5));
  Dense last = track("last", Dense(2));

  Tensor call(Call& c, const Tensor& x) const override { return last(c, drop(c, first(c, x))); }
};

/// Two inputs, two outputs, one layer used twice.
struct Pair : ModelNode {
  Dense both = track("both", Dense(3, {.use_bias = false, .kernel_initializer = "ones"}));
  size_t num_inputs() const override { return 2; }
  Outputs call(Call& c, Inputs inputs) const override {
    const Tensor a = both(c, inputs[0]), b = both(c, inputs[1]);
    return {ops::add(a, b), ops::subtract(a, b)};
  }
};

/// A layer with state of its own: a running sum of what it saw in training.
class CountingNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Counting"; }
  void build(Builder& b, const Shape&) override {
    scale_ = b.weight("scale", {}, "ones");
    seen_ = b.state("seen", {}, "zeros");
  }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training()) c.assign(seen_, c[seen_] + 1.0);
    return x * c[scale_];
  }

 private:
  Variable scale_, seen_;
};

class SubclassTest : public ::testing::Test {
 protected:
  void SetUp() override { clear_session(); }
};

TEST_F(SubclassTest, IsBuiltByItsFirstData) {
  const auto net = make_model<Net>();
  EXPECT_FALSE(net.built());
  EXPECT_EQ(net.predict(Tensor::zeros({4, 3}), {.verbose = 0}).shape(), Shape({4, 2}));
  EXPECT_TRUE(net.built());
  EXPECT_EQ(net.count_params(), 3 * 5 + 5 + 5 * 2 + 2);
  std::vector<std::string> names;
  for (const Layer& layer : net.layers()) names.push_back(layer.name());
  EXPECT_THAT(names, ElementsAre("dense", "dropout", "dense_1"));
}

TEST_F(SubclassTest, TakesConstructorArgumentsAndTrains) {
  const auto net = make_model<Net>(7);
  net.compile({.optimizer = Adam({.learning_rate = 0.05}), .loss = "mse"});
  const Tensor x = Tensor::full({32, 3}, 0.5), y = Tensor::full({32, 2}, 2.0);
  const History history = net.fit(x, y, {.epochs = 30, .verbose = 0});
  EXPECT_EQ(net.weights().at(0).shape(), Shape({3, 7}));
  EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
}

TEST_F(SubclassTest, SeveralInputsAndOutputs) {
  const auto pair = make_model<Pair>();
  const Tensor a = Tensor::from(std::vector<float>{1, 2}, {1, 2}),
               b = Tensor::from(std::vector<float>{3, 5}, {1, 2});
  const Tensors out = pair.predict_all({a, b}, {.verbose = 0});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].to_vector<float>(), std::vector<float>(3, 11));
  EXPECT_EQ(out[1].to_vector<float>(), std::vector<float>(3, -5));
  EXPECT_EQ(pair.weights().size(), 1u);
  pair.compile({.optimizer = "sgd", .loss = {"mse", "mae"}});
  const History history = pair.fit({a, b}, {Tensor::zeros({1, 3}), Tensor::zeros({1, 3})}, {.verbose = 0});
  EXPECT_DOUBLE_EQ(history["output_1_loss"].at(0), 121.0);
  EXPECT_DOUBLE_EQ(history["output_2_loss"].at(0), 5.0);
  EXPECT_DOUBLE_EQ(history["loss"].at(0), 126.0);
}

struct Difference : LayerNode {
  std::string class_name() const override { return "Difference"; }
  Outputs call(Call&, Inputs inputs) const override { return {inputs[0] - inputs[1]}; }
};

/// With what a layer had to say in earlier versions.
struct Spelled : LayerNode {
  std::string class_name() const override { return "Spelled"; }
  bool takes_many() const override { return true; }
  using LayerNode::build;
  void build(Builder&, const Shapes& inputs) override { EXPECT_EQ(inputs.size(), 2u); }
  using LayerNode::call;
  Outputs call(Call&, Inputs inputs) const override { return {inputs[0] - inputs[1]}; }
};

struct WithBoth : LayerNode {
  std::string class_name() const override { return "WithBoth"; }
  Tensor call(Call&, const Tensor& x) const override { return x + 1.0; }
  Outputs call(Call&, Inputs inputs) const override { return {inputs[0] * 100.0}; }
};

TEST_F(SubclassTest, TheFormOfCallThatAClassOverridesDecides) {
  const Tensor a = Tensor::from(std::vector<float>{5, 7}, {1, 2}),
               b = Tensor::from(std::vector<float>{1, 2}, {1, 2});
  const Tensor left = Input({2}), right = Input({2});
  register_serializable<Difference>("own");
  const Layer own = make_layer<Difference>();
  const Layer remade = Layer::from_config("own>Difference", own.get_config());
  for (const Layer& layer : {own, remade, make_layer<Spelled>()}) {
    EXPECT_TRUE(layer.node().takes_many());
    EXPECT_THAT(layer({a, b}).to_vector<float>(), ElementsAre(4.0f, 5.0f));
    const Model model({left, right}, {layer({left, right})});
    EXPECT_THAT(model.predict({a, b}, {.verbose = 0}).to_vector<float>(), ElementsAre(4.0f, 5.0f));
  }
  EXPECT_FALSE(make_layer<WithBoth>().node().takes_many());
  EXPECT_THAT(make_layer<WithBoth>()(a).to_vector<float>(), ElementsAre(6.0f, 8.0f));
  EXPECT_TRUE(make_model<Pair>().node().takes_many());
  EXPECT_TRUE(Model(std::make_shared<Pair>()).node().takes_many());
  EXPECT_FALSE(make_model<Net>().node().takes_many());
}

TEST_F(SubclassTest, MayBeALayerOfAFunctionalModel) {
  const auto net = make_model<Net>();
  const Tensor x = Input({3});
  const Model model(x, net(x));
  EXPECT_EQ(model.predict(Tensor::zeros({4, 3}), {.verbose = 0}).shape(), Shape({4, 2}));
  EXPECT_EQ(model.weights().size(), 4u);
}

TEST_F(SubclassTest, StateIsWrittenOncePerTrainingStep) {
  const Sequential model({Input({2}), make_layer<CountingNode>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(Tensor::zeros({10, 2}), Tensor::zeros({10, 2}), {.batch_size = 4, .epochs = 2, .verbose = 0});
  const Variable seen = model.non_trainable_weights().at(0);
  EXPECT_EQ(seen.value().item(), 6.0);
  model.evaluate(Tensor::zeros({10, 2}), Tensor::zeros({10, 2}), {.verbose = 0});
  model.predict(Tensor::zeros({10, 2}), {.verbose = 0});
  EXPECT_EQ(seen.value().item(), 6.0);
}

TEST_F(SubclassTest, CallOnDataComputes) {
  const auto net = make_model<Net>();
  EXPECT_EQ(net(Tensor::zeros({6, 3})).shape(), Shape({6, 2}));
}

/// Errors inside call() name the layer that refused and the model around it.
TEST_F(SubclassTest, ErrorsNameTheLayer) {
  const auto net = make_model<Net>();
  net.build({None, 3});
  EXPECT_THAT(error_text<ShapeError>([&] {
                net.predict(Tensor::zeros({6, 4}), {.verbose = 0});
              }),
              HasSubstr("'dense'"));
}

}  // namespace

}  // namespace nyala
