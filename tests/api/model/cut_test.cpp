// Models cut out of others and joined with others. Features of a pretrained file are compared with Keras' in
// tests/models/features_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/graph/graph.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {

namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor numbers(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>((i * 7) % 11) / 11.0f - 0.4f);
  return Tensor::from(values, shape);
}

std::vector<float> predicted(const Model& model, const Tensor& x) {
  return model.predict(x, {.verbose = 0}).to_vector<float>();
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers()) names.push_back(layer.name());
  return names;
}

Model chain() {
  return Sequential({Input({4}, {.name = "x"}), Dense(5, {.activation = "tanh", .name = "a"}),
                     Dense(3, {.activation = "tanh", .name = "b"}), Dense(2, {.name = "c"})});
}

Model graph() {
  const Tensor x = Input({4}, {.name = "x"});
  const Tensor a = Dense(5, {.activation = "tanh", .name = "a"})(x);
  const Tensor b = Dense(3, {.activation = "tanh", .name = "b"})(a);
  return Model(x, Dense(2, {.name = "c"})(b));
}

class CutTest : public ::testing::TestWithParam<Model (*)()> {
 protected:
  void SetUp() override {
    clear_session();
    set_random_seed(3);
  }
};

TEST_P(CutTest, FeaturesShareTheirLayersWithTheModel) {
  const Model model = GetParam()();
  EXPECT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.output().shape(), (Shape{None, 2}));
  EXPECT_EQ(model.get_layer("b").input().shape(), (Shape{None, 5}));
  const Model features(model.input(), model.get_layer("b").output());
  EXPECT_THAT(names_of(features), ElementsAre("x", "a", "b"));
  EXPECT_EQ(features.get_layer("b"), model.get_layer("b"));
  const Tensor x = numbers({6, 4});
  const Tensor b = features.predict(x, {.verbose = 0});
  EXPECT_THAT(model.get_layer("c")(b).to_vector<float>(), Pointwise(FloatNear(1e-6f), predicted(model, x)));
  model.compile({.optimizer = SGD(0.5), .loss = "mse"});
  model.fit(x, numbers({6, 2}), {.verbose = 0});
  EXPECT_NE(predicted(features, x), b.to_vector<float>());
}

TEST_P(CutTest, TheRestBeginsInTheMiddle) {
  const Model model = GetParam()();
  const Model front(model.input(), model.get_layer("a").output());
  const Model rest(model.get_layer("a").output(), model.output());
  EXPECT_THAT(names_of(rest), ElementsAre("a_cut", "b", "c"));
  EXPECT_EQ(rest.model_node().input_shapes()[0], (Shape{None, 5}));
  const Tensor x = numbers({6, 4});
  EXPECT_EQ(predicted(rest, front.predict(x, {.verbose = 0})), predicted(model, x));
  EXPECT_EQ(model.get_layer("b").output().shape(), (Shape{None, 3}));
  EXPECT_EQ(predicted(Model(model.input(), model.get_layer("b").output()), x).size(), 18u);
}

TEST_P(CutTest, ANewHeadStandsOnAnotherModelsOutput) {
  const Model base = GetParam()();
  base.set_trainable(false);
  const Tensor features = base.get_layer("b").output();
  const Model model(base.input(), Dense(1, {.name = "head"})(features));
  EXPECT_THAT(names_of(model), ElementsAre("x", "a", "b", "head"));
  EXPECT_EQ(model.trainable_weights().size(), 2u);
  const auto before = base.get_weights()[0].to_vector<float>();
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  const History history = model.fit(numbers({8, 4}), numbers({8, 1}), {.epochs = 5, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  EXPECT_EQ(base.get_weights()[0].to_vector<float>(), before);
}

TEST_P(CutTest, WhatIsCutComesBackFromItsFile) {
  const ScratchFolder folder("cut");
  const Model model = GetParam()();
  const Model rest(model.get_layer("a").output(), {model.get_layer("b").output(), model.output()});
  const Tensor x = numbers({3, 5});
  const Tensors expected = rest.predict_all({x}, {.verbose = 0});
  for (const char* name : {"rest.keras", "rest.h5"}) {
    rest.save(folder.file(name));
    const Model loaded = load_model(folder.file(name));
    const Tensors got = loaded.predict_all({x}, {.verbose = 0});
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>());
    const Model again(loaded.input(), loaded.get_layer("b").output());
    EXPECT_EQ(predicted(again, x), expected[0].to_vector<float>());
  }
}

TEST_P(CutTest, TwoDevicesGiveOneDevicesFeaturesAndFits) {
  configure_logical_devices("cpu", 2);
  const auto run = [](const Strategy& strategy) {
    clear_session();
    set_random_seed(5);
    return strategy.scope([] {
      const Model base = GetParam()();
      const Model model(base.input(),
                        {base.get_layer("a").output(), Dense(2, {.name = "head"})(base.output())});
      model.compile({.optimizer = "adam", .loss = "mse"});
      model.fit(Tensors{numbers({10, 4})}, Tensors{numbers({10, 5}), numbers({10, 2})},
                {.batch_size = 5, .epochs = 3, .verbose = 0});
      std::vector<float> out = predicted(Model(base.input(), base.get_layer("b").output()), numbers({7, 4}));
      const std::vector<float> rest =
          predicted(Model(base.get_layer("a").output(), model.outputs()[1]), numbers({7, 5}));
      out.insert(out.end(), rest.begin(), rest.end());
      return out;
    });
  };
  const auto one = run(MirroredStrategy({.devices = {"cpu:0"}}));
  const auto two = run(MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}));
  EXPECT_THAT(two, Pointwise(FloatNear(1e-5f), one));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CutTest, ::testing::Values(&chain, &graph),
                         [](const auto& kind) { return kind.index == 0 ? "Sequential" : "Functional"; });

class GraphEndsTest : public CutTest {};

TEST_F(GraphEndsTest, OfALayerThatIsCalledTwice) {
  const Tensor x = Input({3}, {.name = "x"}), y = Input({3}, {.name = "y"});
  const Dense shared(3, {.use_bias = false, .kernel_initializer = "ones", .name = "shared"});
  const Tensor first = shared(x), second = shared(first + y);
  EXPECT_THAT(
      predicted(Model(x, shared.output()), numbers({1, 3})),
      ElementsAre(FloatNear(-0.2909f, 1e-3f), FloatNear(-0.2909f, 1e-3f), FloatNear(-0.2909f, 1e-3f)));
  const Model both({x, y}, shared.output(1));
  EXPECT_EQ(both.predict_all({numbers({1, 3}), numbers({1, 3})}, {.verbose = 0})[0].shape(), (Shape{1, 3}));
  EXPECT_EQ(names_of(Model({x, y}, shared.output(-1))), names_of(both));
  EXPECT_EQ(shared.input(1).shape(), (Shape{None, 3}));
  EXPECT_THAT(error_text<StateError>([&] { shared.output(2); }), HasSubstr("there is no call 2"));
}

TEST_F(GraphEndsTest, OfSeveralTensors) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const Add sum({.name = "sum"});
  const Tensor total = sum({a, b});
  const Model model({a, b}, {total, a * 2.0});
  EXPECT_EQ(sum.inputs().size(), 2u);
  EXPECT_EQ(model.outputs().size(), 2u);
  EXPECT_THAT(error_text<StateError>([&] { sum.input(); }), HasSubstr("2 inputs; use inputs()"));
  EXPECT_THAT(error_text<StateError>([&] { model.output(); }), HasSubstr("2 outputs; use outputs()"));
  EXPECT_EQ(Model(a, {a * 3.0, a + 1.0}).outputs().size(), 2u);
  EXPECT_EQ(Model({a, b}, total).inputs().size(), 2u);
}

TEST_F(GraphEndsTest, OfWhatHasNone) {
  const Dense dense(3, {.name = "d"});
  EXPECT_THAT(error_text<StateError>([&] { dense.output(); }), HasSubstr("called on a symbolic tensor"));
  dense(numbers({2, 4}));
  EXPECT_THROW(dense.output(), StateError);
  const Sequential late({Dense(3, {.name = "late"}), Dense(2)});
  EXPECT_THAT(error_text<StateError>([&] { late.input(); }), HasSubstr("build(shape)"));
  late.build({None, 4});
  EXPECT_EQ(late.input().shape(), (Shape{None, 4}));
  EXPECT_EQ(Model(late.input(), late.get_layer("late").output()).output().shape(), (Shape{None, 3}));
}

TEST_F(GraphEndsTest, OfAModelInsideAnother) {
  const Model inner = graph();
  const Tensor x = Input({4}, {.name = "outer_x"});
  const Model outer(x, Dense(1, {.name = "top"})(inner(x * 2.0)));
  const Model found(outer.get_layer(inner.name()));
  EXPECT_EQ(found, inner);
  const Model features(found.input(), found.get_layer("a").output());
  EXPECT_EQ(predicted(features, numbers({2, 4})).size(), 10u);
  // Its own output belongs to its own input; that of its call to the model around it.
  EXPECT_THROW(Model(outer.input(), found.output()), InvalidArgumentError);
  const Model front(outer.input(), found.output(0));
  EXPECT_EQ(predicted(front, numbers({2, 4})), predicted(inner, numbers({2, 4}) * 2.0));
  EXPECT_THROW(Model(outer.get_layer("top")), InvalidArgumentError);
}

TEST_F(GraphEndsTest, LiveAsLongAsSomethingHoldsThem) {
  Tensor kept;
  Layer layer;
  {
    const Model model = graph();
    kept = model.get_layer("b").output();
    layer = model.get_layer("c");
    EXPECT_EQ(layer.output().shape(), (Shape{None, 2}));
  }
  EXPECT_THAT(error_text<StateError>([&] { layer.output(); }), HasSubstr("as long as the model"));
  const Layer b = symbolic(kept)->producer->layer;
  EXPECT_EQ(predicted(Model(b.input(), kept), numbers({1, 5})).size(), 3u);
}

TEST_F(GraphEndsTest, AMaskFromBeforeTheCutIsAnError) {
  const Tensor x = Input({5}, {.dtype = "int32"});
  const Embedding words(7, 3, {.mask_zero = true});
  const Tensor y = LSTM(2)(words(x));
  EXPECT_THROW(Model(words.output(), y), InvalidArgumentError);
}

TEST_F(GraphEndsTest, GradientsByAnIntermediateTensor) {
  const Tensor x = Input({6, 6, 1}, {.name = "x"});
  const Tensor conv = Conv2D(2, 3, {.activation = "relu", .name = "conv"})(x);
  const Dense head(3, {.name = "head"});
  const Model model(x, head(GlobalAveragePooling2D()(conv)));
  const Model cam(model.input(), {model.get_layer("conv").output(), model.output()});
  GradientTape tape;
  const Tensors out = cam.call_all({numbers({1, 6, 6, 1})});
  const Tensor score = ops::slice(out[1], {0, 1}, {1, 1});
  const Tensor gradient = tape.gradient(score, out[0]);
  ASSERT_EQ(gradient.shape(), (Shape{1, 4, 4, 2}));
  const auto kernel = head.get_weights()[0].to_vector<float>();
  for (size_t i = 0; i < 32; ++i)
    EXPECT_NEAR(gradient.to_vector<float>()[i], kernel[(i % 2) * 3 + 1] / 16, 1e-6) << i;
}

TEST_F(GraphEndsTest, ShapesAreAskedWithoutData) {
  const Conv2D conv(8, 3, {.strides = 2, .padding = "same"});
  EXPECT_EQ(conv.compute_output_shape({None, 32, 32, 3}), (Shape{None, 16, 16, 8}));
  const Model model = graph();
  EXPECT_EQ(model.compute_output_shape({7, 4}), (Shape{7, 2}));
  EXPECT_EQ(model.get_layer("c").node().output_shapes().at(0), (Shape{None, 2}));
  EXPECT_EQ(Add().compute_output_shapes({{None, 3}, {None, 3}}).at(0), (Shape{None, 3}));
}

TEST_F(GraphEndsTest, LossesAreThePenaltiesOfTheWeights) {
  const Tensor x = Input({2});
  const Dense dense(2, {.kernel_initializer = "ones", .kernel_regularizer = L2(0.5)});
  const Model model(x, dense(x));
  ASSERT_EQ(model.losses().size(), 1u);
  EXPECT_DOUBLE_EQ(model.losses()[0].item(), 2.0);
  GradientTape tape;
  EXPECT_EQ(tape.gradient(dense.losses()[0], dense.trainable_weights()[0]).to_vector<float>(),
            std::vector<float>(4, 1.0f));
  dense.set_trainable(false);
  EXPECT_TRUE(model.losses().empty());
}

TEST_F(GraphEndsTest, ConfigurationsGoThereAndBack) {
  const Dense dense(3, {.activation = "relu", .name = "d"});
  EXPECT_THAT(dense.get_config(), HasSubstr("\"units\":3"));
  const Layer copy = Layer::from_config("Dense", dense.get_config());
  EXPECT_EQ(copy.get_config(), dense.get_config());
  for (const Model& model : {graph(), chain()}) {
    const Model again = Model::from_config(model.get_config());
    EXPECT_EQ(again.get_config(), model.get_config());
    EXPECT_EQ(again.count_params(), model.count_params());
  }
  EXPECT_THROW(Model::from_config(dense.get_config()), FileFormatError);
}

}  // namespace

}  // namespace nyala
