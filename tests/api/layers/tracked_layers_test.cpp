// Layers inside of layers and of steps: those that nobody holds, and those that are called without a Call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::tracked_layers_test {

namespace {

using ::testing::HasSubstr;

struct Forgetful : ModelNode {
  Dense hidden = Dense(3);
  Dense last = track("last", Dense(1));
  std::string class_name() const override { return "Forgetful"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, hidden(c, x)); }
};

struct ForgetfulLayer : LayerNode {
  Dense inner = Dense(3);
  std::string class_name() const override { return "ForgetfulLayer"; }
  Tensor call(Call& c, const Tensor& x) const override { return inner(c, x); }
};

struct ForgetfulBuilder : ForgetfulLayer {
  std::string class_name() const override { return "ForgetfulBuilder"; }
  void build(Builder& b, const Shape& input) override { b.build(inner, input); }
};

void expect_named(const std::string& text, const std::string& owner) {
  EXPECT_THAT(text, HasSubstr(owner));
  EXPECT_THAT(text, HasSubstr("layer 'dense"));
  EXPECT_THAT(text, HasSubstr("track(\"d\", Dense(...))"));
}

TEST(TrackedLayers, AMemberThatNobodyHoldsIsAnErrorWhenItsOwnerIsBuilt) {
  const Tensor x = Tensor::zeros({4, 2});
  expect_named(error_text<StateError>([] { make_model<Forgetful>().build({None, 2}); }), "(Forgetful)");
  expect_named(error_text<StateError>([&] { make_model<Forgetful>()(x); }), "(Forgetful)");
  expect_named(error_text<StateError>([] {
                 const Model model = make_model<Forgetful>();
                 model.compile({.optimizer = "sgd", .loss = "mse"});
                 model.fit(Tensor::zeros({4, 2}), Tensor::zeros({4, 1}), {.verbose = 0});
               }),
               "(Forgetful)");
  expect_named(error_text<StateError>([] { make_layer<ForgetfulLayer>()(Input({2})); }), "(ForgetfulLayer)");
  expect_named(error_text<StateError>([&] { make_layer<ForgetfulBuilder>()(x); }), "(ForgetfulBuilder)");
}

/// What has no weights, is frozen or is held by the layers around needs no tracking.
struct Borrowing : LayerNode {
  explicit Borrowing(const Dense& borrowed, const Dense& teacher) : lent(borrowed), frozen(teacher) {
    frozen.set_trainable(false);
  }
  Dense lent, frozen;
  Dropout dropout = Dropout(0.5);
  std::string class_name() const override { return "Borrowing"; }
  Tensor call(Call& c, const Tensor& x) const override { return lent(c, dropout(c, x)) + frozen(c, x); }
};
struct Lender : ModelNode {
  Dense own = track("own", Dense(3));
  Layer borrowing = track("borrowing", make_layer<Borrowing>(own, Dense(3)));
  Tensor call(Call& c, const Tensor& x) const override { return own(c, borrowing(c, x)); }
};

TEST(TrackedLayers, LayersOfAnOuterLayerAndFrozenOnesMayBeCalled) {
  const Model model = make_model<Lender>();
  EXPECT_NO_THROW(model.build({None, 3}));
  EXPECT_EQ(model.trainable_weights().size(), 2u);
}

struct UntrackedCritic : ModelNode {
  Dense own = track("own", Dense(1)), critic = Dense(1);
  std::string class_name() const override { return "UntrackedCritic"; }
  Tensor call(Call& c, const Tensor& x) const override { return own(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override { critic(step.call(), batch.x[0]); }
};

TEST(TrackedLayers, ATrainingStepSaysSo) {
  const Model model = make_model<UntrackedCritic>();
  static_cast<UntrackedCritic&>(model.model_node()).critic(Tensor::zeros({1, 2}));  // builds it
  model.compile({.optimizer = "sgd", .loss = "mse"});
  expect_named(error_text<StateError>([&] {
                 model.fit(Tensor::zeros({4, 2}), Tensor::zeros({4, 1}), {.verbose = 0});
               }),
               "(UntrackedCritic)");
}

Dense dense(int64_t units) { return Dense(units, {.dtype = "float64"}); }

/// Twice the same model: with the call handed on, and without.
template <bool explicit_call>
struct Net : ModelNode {
  Dense first = track("first", dense(6));
  BatchNormalization norm = track("norm", BatchNormalization({.momentum = 0.5, .dtype = "float64"}));
  Dropout drop = track("drop", Dropout(0.5, {.seed = 3, .dtype = "float64"}));
  Dense last = track("last", dense(2));
  Tensor call(Call& c, const Tensor& x) const override {
    if constexpr (explicit_call) return last(c, drop(c, norm(c, first(c, x))));
    return last(drop(norm(first(x))));
  }
};

/// The same, where the step calls the layers.
template <bool explicit_call>
struct Stepping : Net<explicit_call> {
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    Tensor y;
    if constexpr (explicit_call)
      y = this->last(step.call(), this->drop(step.call(), this->first(step.call(), batch.x[0])));
    else
      y = this->last(this->drop(this->first(batch.x[0])));
    const Tensor loss = step.compute_loss(batch, {y});
    step.track_loss(loss);
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
  }
};

Tensor numbers(const Shape& shape, double factor) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(factor * static_cast<double>(i + 1));
  return Tensor::from(values, shape);
}

class InsideAStep : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", GetParam()); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  template <class Node>
  static std::vector<double> trained() {
    clear_session();
    set_random_seed(11);
    MirroredStrategyConfig config;
    for (int i = 0; i < GetParam(); ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const Model model = MirroredStrategy(config).scope([] { return make_model<Node>(); });
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    const Tensor x = numbers({11, 3}, 0.7), y = numbers({11, 2}, 1.3);
    const History history =
        model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .validation_data = Arrays{x, y}});
    std::vector<double> all = history["loss"];
    all.push_back(history["val_loss"].back());
    for (const Tensor& weight : model.get_weights())
      for (const double value : weight.to_vector<double>()) all.push_back(value);
    return all;
  }
};

TEST_P(InsideAStep, ALayerWithoutACallFollowsTheOneThatRuns) {
  EXPECT_EQ(trained<Net<false>>(), trained<Net<true>>());
}

TEST_P(InsideAStep, AlsoInTrainStep) { EXPECT_EQ(trained<Stepping<false>>(), trained<Stepping<true>>()); }

INSTANTIATE_TEST_SUITE_P(Replicas, InsideAStep, ::testing::Values(1, 2, 3));

/// As in Keras a network inside a loss is no part of the step.
TEST(TrackedLayers, ANetworkInsideALossRunsInInferenceMode) {
  const Sequential judge({Input({2}), Dropout(0.9)});
  const Sequential model({Input({2}), Dense(2, {.kernel_initializer = "ones"})});
  model.compile({.optimizer = SGD({.learning_rate = 0.0}), .loss = [judge](const Tensor& t, const Tensor& p) {
                   return ops::mean(ops::square(judge(t) - judge(p)), {-1});
                 }});
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  EXPECT_FLOAT_EQ(static_cast<float>(model.train_on_batch(x, Tensor::zeros({2, 2}))["loss"]), 29.0f);
}

}  // namespace

}  // namespace nyala::tracked_layers_test
