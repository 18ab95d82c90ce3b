// What programs write by analogy: lists and maps in variables, several tensors in braces, nodes made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;

Tensor column(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size()), 1});
}

const Tensor kX = column({1, 2, 3, 4}), kZeros = column({0, 0, 0, 0});

/// Outputs a + b and a - b, named so.
Model two_inputs(bool both_outputs) {
  clear_session();
  const Tensor a = Input({1}), b = Input({1});
  const Tensor sum = Add({.name = "sum"})({a, b}), difference = Subtract({.name = "difference"})({a, b});
  const Model model = both_outputs ? Model({.inputs = {a, b}, .outputs = {sum, difference}})
                                   : Model({.inputs = {a, b}, .outputs = {sum}});
  model.compile({.loss = "mse"});
  return model;
}

TEST(ArgumentTypes, SampleWeightsInAVariable) {
  const Model model = two_inputs(true);
  const Tensors x{kX, kZeros}, y{kZeros, kZeros}, weights{Tensor{1, 0, 0, 0}, Tensor{0, 0, 0, 1}};
  const Logs logs = model.evaluate(x, y, {.verbose = 0, .sample_weight = weights});
  EXPECT_DOUBLE_EQ(logs["sum_loss"], 1 / 4.0);
  EXPECT_DOUBLE_EQ(logs["difference_loss"], 16 / 4.0);
  const std::map<std::string, Tensor> by_name{{"difference", weights[1]}};
  EXPECT_DOUBLE_EQ(model.evaluate(x, y, {.verbose = 0, .sample_weight = by_name})["difference_loss"], 4);
}

TEST(ArgumentTypes, ClassWeightsInAVariable) {
  const auto loss = [](const ClassWeight& weights) {
    clear_session();
    const Sequential model({Input({1}), Dense(1, {.kernel_initializer = "ones"})});
    model.compile({.optimizer = SGD(0.0), .loss = "mse"});
    return model.fit(kX, column({0, 1, 0, 1}), {.verbose = 0, .class_weight = weights}).last("loss");
  };
  const double expected = (1 + 5 * 1 + 9 + 5 * 9) / 4.0;
  EXPECT_DOUBLE_EQ(loss({{0, 1.0}, {1, 5.0}}), expected);
  EXPECT_DOUBLE_EQ(loss(std::map<int, double>{{1, 5.0}}), expected);
  EXPECT_DOUBLE_EQ(loss(std::map<int64_t, float>{{1, 5.0f}}), expected);
}

TEST(ArgumentTypes, SeveralInputsForOnePrediction) {
  const Model model = two_inputs(false);
  const Tensors list{kX, kX};
  const std::vector<float> expected{2, 4, 6, 8};
  EXPECT_EQ(model.predict({kX, kX}).to_vector<float>(), expected);
  EXPECT_EQ(model.predict(list, {.verbose = 0}).to_vector<float>(), expected);
  EXPECT_EQ(model.predict_on_batch({kX, kX}).to_vector<float>(), expected);
  EXPECT_EQ(model.predict_on_batch(list).to_vector<float>(), expected);
}

TEST(ArgumentTypes, SeveralOutputsOfOneBatch) {
  const Model model = two_inputs(true);
  const Tensors outputs = model.predict_all_on_batch({kX, kX});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_THROW((void)model.predict_on_batch({kX, kX}), StateError);
}

/// Numbers in braces are still one tensor.
TEST(ArgumentTypes, NumbersInBracesAreOneTensor) {
  clear_session();
  const Sequential model({Input({2}), Dense(1, {.kernel_initializer = "ones"})});
  EXPECT_EQ(model.predict({{1, 2}, {3, 4}}).to_vector<float>(), (std::vector<float>{3, 7}));
  EXPECT_EQ(model.predict_on_batch({{1, 2}, {3, 4}}).to_vector<float>(), (std::vector<float>{3, 7}));
}

TEST(ArgumentTypes, NegativeEpochsAreAnError) {
  const Model model = two_inputs(false);
  const Tensors x{kX, kX}, y{kX};
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(x, y, {.epochs = -1, .verbose = 0}); }),
              HasSubstr("expected epochs >= 0, received -1"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(x, y, {.verbose = 0, .initial_epoch = -1}); }),
              HasSubstr("expected initial_epoch >= 0, received -1"));
  EXPECT_TRUE(model.fit(x, y, {.epochs = 0, .verbose = 0}).epoch().empty());
}

TEST(ArgumentTypes, VariablesByAllNamesOfKeras) {
  clear_session();
  const Sequential model({Input({2}), BatchNormalization()});
  EXPECT_EQ(model.variables().size(), 4u);
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  EXPECT_EQ(model.non_trainable_variables().size(), 2u);
  EXPECT_EQ(model.variables()[0].path(), "sequential/batch_normalization/gamma");
}

TEST(ArgumentTypes, AHistoryIsWalkedByName) {
  const Model model = two_inputs(false);
  const History history = model.fit(Tensors{kX, kX}, Tensors{kX}, {.epochs = 2, .verbose = 0});
  std::vector<std::string> names;
  for (const auto& [name, values] : history) {
    names.push_back(name);
    EXPECT_EQ(values.size(), 2u);
  }
  EXPECT_EQ(names, std::vector<std::string>{"loss"});
}

struct Doubler : ModelNode {
  bool stepped = false;
  Dense dense = track("dense", Dense(1, {.kernel_initializer = "ones"}));
  std::string class_name() const override { return "Doubler"; }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x) * 2.0; }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    stepped = true;
    step.log("own", step.forward(batch.x[0]).sum(), ReduceOp::sum);
  }
};

TEST(ArgumentTypes, AModelOfANodeMadeByHandIsThatOfMakeModel) {
  clear_session();
  const auto node = std::make_shared<Doubler>();
  const Model model(node);
  EXPECT_EQ(model.name(), "doubler");
  model.compile({});
  EXPECT_DOUBLE_EQ(model.fit(kX, kX, {.verbose = 0}).last("own"), 20.0);
  EXPECT_TRUE(node->stepped);
}

/// The sum of losses by weight, taken by hand from the batch.
struct Weighted : ModelNode {
  Dense dense = track("dense", Dense(1, {.use_bias = false, .kernel_initializer = "ones"}));
  std::string class_name() const override { return "Weighted"; }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor error = ops::square(step.forward(batch.x[0]) - batch.y[0]).mean(-1);
    const Tensor loss = (error * batch.sample_weight[0]).sum() / static_cast<double>(step.global_rows());
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(loss);
  }
};

TEST(ArgumentTypes, WeightsOfABatchAreTheSameOnAnyNumberOfDevices) {
  configure_logical_devices("cpu", 3);
  for (int devices = 1; devices <= 3; ++devices) {
    std::vector<std::string> names;
    for (int i = 0; i < devices; ++i) names.push_back("cpu:" + std::to_string(i));
    const Model model = MirroredStrategy({.devices = names}).scope([] { return make_model<Weighted>(); });
    model.compile({.optimizer = SGD(0.1)});
    const History history =
        model.fit(kX, kZeros, {.verbose = 0, .shuffle = false, .sample_weight = Tensor{1, 0, 2, 1}});
    EXPECT_NEAR(history.last("loss"), (1 + 0 + 18 + 16) / 4.0, 1e-5);
    EXPECT_NEAR(model.get_weights()[0].item(), 1 - 0.1 * 2 * 35 / 4.0, 1e-5);
  }
  configure_logical_devices("cpu", 1);
}

struct Doubtful : LayerNode {
  std::string class_name() const override { return "Doubtful"; }
  Tensor call(Call&, const Tensor& x) const override {
    if (x.mean() > 0.0) return x;
    return x * 2.0;
  }
};

TEST(ArgumentTypes, ADecisionByValuesInACallNamesWhere) {
  EXPECT_THAT(error_text<StateError>([] { Sequential({Input({2}), make_layer<Doubtful>()}); }),
              HasSubstr("ops::where(condition, a, b)"));
}

TEST(ArgumentTypes, AReshapeShowsWhatWasAskedFor) {
  EXPECT_THAT(error_text<ShapeError>([] { (void)Tensor::zeros({2, 2}).reshape({3, -1}); }),
              HasSubstr("received (3, -1)"));
}

}  // namespace

}  // namespace nyala
