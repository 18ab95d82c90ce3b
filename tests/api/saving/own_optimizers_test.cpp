// Optimizers that a model with a train_step of its own holds: their state is in every file and comes back.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/files/hdf5/file.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/api/saving/interrupted_training.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::own_optimizers_test {

using namespace nyala::detail;
namespace {

using interrupted::Interrupt;
using interrupted::Interruption;

Tensor numbers(const Shape& shape, double factor) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(factor * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

struct GanConfig {
  int64_t steps = 0;  // of accumulation
  bool tracks = true;
  void fields(FieldVisitor& v) {
    v.field("steps", steps);
    v.field("tracks", tracks);
  }
};

/// Two models that learn against each other, with noise that the step draws.
struct Gan : ModelNode {
  using Config = GanConfig;
  Config config;
  Model maker = track("maker", Sequential({Input({2}), Dense(4, {.activation = "tanh"}), Dense(3)}));
  Model critic = track("critic", Sequential({Input({3}), Dense(4, {.activation = "tanh"}), Dense(1)}));
  Optimizer maker_optimizer, critic_optimizer;
  Metric maker_loss = track_metric(metrics::Mean({.name = "maker_loss"}));

  explicit Gan(const Config& config = {})
      : config(config),
        maker_optimizer(held("maker_optimizer",
                             Adam({.learning_rate = 0.02, .gradient_accumulation_steps = config.steps}))),
        critic_optimizer(held("critic_optimizer", SGD({.learning_rate = 0.1, .momentum = 0.9}))) {}
  Optimizer held(const std::string& name, const Optimizer& optimizer) {
    return config.tracks ? track_optimizer(name, optimizer) : optimizer;
  }
  std::string class_name() const override { return "Gan"; }
  void fields(FieldVisitor& v) override { config.fields(v); }
  bool has_call() const override { return false; }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const double share = 1.0 / static_cast<double>(step.global_rows());
    const Tensor noise = step.random_normal({step.rows(), 2});
    const auto train = [&](GradientTape& tape, const Tensor& loss, const Model& part,
                           const Optimizer& optimizer) {
      const Variables weights = part.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    };
    {
      GradientTape tape;
      const Tensor loss =
          (ops::softplus(-critic(batch.x[0])).sum() + ops::softplus(critic(maker(noise))).sum()) * share;
      train(tape, loss, critic, critic_optimizer);
    }
    GradientTape tape;
    const Tensor loss = ops::softplus(-critic(maker(noise))).sum() * share;
    train(tape, loss, maker, maker_optimizer);
    step.track_loss(maker_loss, loss);
  }
};

Gan& node_of(const Model& model) { return dynamic_cast<Gan&>(model.node()); }

class OwnOptimizers : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 3); }
  static void TearDownTestSuite() { configure_logical_devices("cpu", 1); }
  void SetUp() override { set_random_seed(3); }

  static Strategy strategy(int replicas) {
    return mirrored(replicas);
  }
  static Model made(int replicas, const GanConfig& config = {}) {
    return strategy(replicas).scope([&] {
      const Model gan = make_model<Gan>(config);
      gan.compile();
      return gan;
    });
  }
  static History fit(const Model& gan, int epochs, std::vector<CallbackArgument> callbacks = {}) {
    FitConfig config{.batch_size = 4, .epochs = epochs, .verbose = 0};
    config.callbacks = std::move(callbacks);
    return gan.fit(numbers({23, 3}, 0.7), {}, config);
  }
  static std::vector<std::vector<float>> values_of(const Model& gan) {
    Tensors all = gan.get_weights();
    for (const Optimizer& optimizer : {node_of(gan).maker_optimizer, node_of(gan).critic_optimizer})
      for (const OptimizerVariable& variable : optimizer.node().variables_for_file())
        all.push_back(ops::cast(variable.value, DType::float32));
    std::vector<std::vector<float>> values;
    for (const Tensor& tensor : all) values.push_back(tensor.to_vector<float>());
    return values;
  }
};

TEST_P(OwnOptimizers, AnInterruptedTrainingGoesOnBitByBit) {
  for (const GanConfig& config : {GanConfig{}, GanConfig{.steps = 3}}) {
    for (const int64_t freq : {0, 4}) {
      const ScratchFolder folder("own_optimizers");
      const BackupAndRestore backup(folder.file("backup"), {.save_freq = freq});
      set_random_seed(3);
      const Model whole = made(GetParam(), config);
      const History expected = fit(whole, 3);
      set_random_seed(3);
      const Model first = made(GetParam(), config);
      EXPECT_THROW(fit(first, 3, {BackupAndRestore(backup), Interrupt(1, 3)}), Interruption);
      set_random_seed(999);
      const Model second = made(GetParam(), config);
      const History rest = fit(second, 3, {BackupAndRestore(backup)});
      EXPECT_EQ(values_of(second), values_of(whole));
      EXPECT_EQ(rest["maker_loss"],
                (std::vector<double>(expected["maker_loss"].begin() + 1, expected["maker_loss"].end())));
    }
  }
}

TEST_P(OwnOptimizers, AnyFileHoldsTheirState) {
  const ScratchFolder folder("own_optimizers");
  const Model gan = made(GetParam());
  fit(gan, 1);
  gan.save(folder.file("gan.keras"));
  gan.save_weights(folder.file("gan.weights.h5"));
  Checkpoint(gan).save(folder.file("checkpoint.weights.h5"));
  const Model loaded =
      load_model(folder.file("gan.keras"), {.custom_objects = {{"Gan", custom_object<Gan>()}}});
  EXPECT_EQ(values_of(loaded), values_of(gan));
  EXPECT_EQ(node_of(loaded).maker_optimizer.iterations(), 6);
  for (const int replicas : {1, 2, 3}) {
    const Model other = made(replicas), checked = made(replicas);
    other.load_weights(folder.file("gan.weights.h5"));
    EXPECT_EQ(values_of(other), values_of(gan));
    fit(checked, 1);  // the state of another training gives way
    Checkpoint(checked).restore(folder.file("checkpoint.weights.h5"));
    EXPECT_EQ(values_of(checked), values_of(gan));
  }
}

TEST_P(OwnOptimizers, TheGroupsAreThoseOfKeras) {
  const ScratchFolder folder("own_optimizers");
  const Model gan = made(GetParam());
  fit(gan, 1);
  gan.save_weights(folder.file("gan.weights.h5"));
  const hdf5::File file = hdf5::File::open(folder.file("gan.weights.h5"));
  EXPECT_EQ(file.root().group("maker_optimizer/vars").names().size(), 10u);  // 2 and 2 slots of 4 weights
  EXPECT_EQ(file.root().group("critic_optimizer/vars").names().size(), 6u);
  EXPECT_EQ(file.root().group("critic_optimizer/vars").attributes().string("name"),
            node_of(gan).critic_optimizer.node().name());
}

/// A file of Keras does not say which variables an optimizer has: one that is built takes its state.
TEST_P(OwnOptimizers, AnOptimizerThatIsBuiltNeedsNoList) {
  const ScratchFolder folder("own_optimizers");
  const Model gan = made(GetParam());
  fit(gan, 1);
  gan.save_weights(folder.file("gan.weights.h5"));
  const Model built = made(GetParam());
  node_of(built).maker_optimizer.build(node_of(built).maker.trainable_variables());
  node_of(built).critic_optimizer.build(node_of(built).critic.trainable_variables());
  built.load_weights(folder.file("gan.weights.h5"));
  EXPECT_EQ(values_of(built), values_of(gan));
  const Model wrong = made(GetParam());
  node_of(wrong).maker_optimizer.build(node_of(wrong).critic.trainable_variables());
  Checkpoint(gan).save(folder.file("checkpoint.weights.h5"));
  const auto before = wrong.get_weights()[0].to_vector<float>();
  expect_error<ShapeError>([&] { Checkpoint(wrong).restore(folder.file("checkpoint.weights.h5")); },
                           {"optimizer 'maker_optimizer'", "expected shape"});
  EXPECT_EQ(wrong.get_weights()[0].to_vector<float>(), before);
}

TEST_P(OwnOptimizers, OneThatTheModelDoesNotHoldIsAnErrorInItsStep) {
  const Model gan = made(GetParam(), {.tracks = false});
  expect_error<StateError>([&] { fit(gan, 1); },
                           {"(Gan)", "SGD", "track_optimizer(\"d_optimizer\", SGD(...))"});
}

TEST_P(OwnOptimizers, TheyMoveToAnotherStrategy) {
  const Model stays = made(GetParam());
  fit(stays, 2);
  set_random_seed(3);
  const Model moves = made(GetParam());
  fit(moves, 1);
  strategy(2).adopt(moves);
  EXPECT_EQ(node_of(moves).maker_optimizer.iterations(), 6);
  fit(moves, 1);
  EXPECT_EQ(node_of(moves).maker_optimizer.iterations(), node_of(stays).maker_optimizer.iterations());
}

INSTANTIATE_TEST_SUITE_P(Replicas, OwnOptimizers, testing::Values(1, 2), testing::PrintToStringParamName());

struct TwiceNamed : ModelNode {
  Optimizer one = track_optimizer("one", SGD()), two = track_optimizer("one", SGD());
  std::string class_name() const override { return "TwiceNamed"; }
};
struct NamedAsCompiled : ModelNode {
  Optimizer one = track_optimizer("optimizer", SGD());
  std::string class_name() const override { return "NamedAsCompiled"; }
};

TEST(OwnOptimizerNames, AreTheirOwn) {
  expect_error<InvalidArgumentError>([] { make_model<TwiceNamed>(); }, {"track_optimizer", "'one'"});
  expect_error<InvalidArgumentError>([] { make_model<NamedAsCompiled>(); }, {"'optimizer'", "compile()"});
}

}  // namespace
}  // namespace nyala::own_optimizers_test
