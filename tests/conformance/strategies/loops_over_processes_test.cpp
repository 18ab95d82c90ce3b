// What is noticed where processes do different things in loops of a program's own.
#include <optional>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::loops_over_processes_test {

namespace {

using ::testing::HasSubstr;

using LoopsOverProcesses = OverProcesses;

TEST_P(LoopsOverProcesses, ASumInOneProcessIsNoMeanInAnother) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const PerReplica<> values = several.run([] { return Tensor(1.0f); });
    const std::string text =
        error_text<CommunicationError>([&] { several.reduce(several.is_chief() ? "SUM" : "MEAN", values); });
    EXPECT_THAT(text, HasSubstr("reduce(SUM)"));
    EXPECT_THAT(text, HasSubstr("reduce(MEAN)"));
  });
}

TEST_P(LoopsOverProcesses, NumbersAreReducedOverAllReplicas) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const auto ids = several.run([](Replica& replica) { return replica.id + 1; });
    const int n = several.num_replicas_in_sync();
    EXPECT_EQ(several.reduce("SUM", ids), n * (n + 1) / 2);
    EXPECT_EQ(several.reduce("MEAN", ids), (n + 1) / 2.0);
  });
}

bool is_last(const MultiWorkerMirroredStrategy& several) {
  return several.rank() == several.num_processes() - 1;
}

/// "a in rank 0 and b in rank 1" or "a in ranks 0, 1 and b in rank 2".
std::string first_and_last(const MultiWorkerMirroredStrategy& several, const std::string& first,
                           const std::string& last) {
  return first + (several.num_processes() == 2 ? " in rank 0 and " : " in ranks 0, 1 and ") + last +
         " in rank " + std::to_string(several.num_processes() - 1);
}

/// A step with `rate` of dropout and of learning.
void step(const MultiWorkerMirroredStrategy& several, double dropout, double rate) {
  const Model model = in_scope(several, [&] {
    return Model(Sequential({Input({5}), Dense(4, {.activation = "relu"}), Dropout(dropout), Dense(3)}));
  });
  const Optimizer optimizer = several.scope([&] { return Optimizer(SGD(rate)); });
  several.run([&] {
    GradientTape tape;
    const Tensor loss = ops::sum(ops::square(model(wave({4, 5}, 0.3))));
    const Variables weights = model.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
  });
}

TEST_P(LoopsOverProcesses, LayersWithOtherSettingsAreNamedAtTheFirstStep) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    step(several, 0.25, 0.1);
    const std::string text =
        error_text<StateError>([&] { step(several, is_last(several) ? 0.5 : 0.25, 0.1); });
    EXPECT_THAT(text, HasSubstr("dropout.rate is " + first_and_last(several, "0.25", "0.5")));
  });
}

TEST_P(LoopsOverProcesses, OptimizersWithOtherSettingsAreNamedAtTheFirstStep) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const std::string text =
        error_text<StateError>([&] { step(several, 0.25, is_last(several) ? 0.3 : 0.1); });
    EXPECT_THAT(text, HasSubstr("optimizer.learning_rate is " + first_and_last(several, "0.1", "0.3")));
  });
}

// compile() has built the optimizer, in front of the loop.
TEST_P(LoopsOverProcesses, OptimizersOfCompiledModelsAreComparedAtTheFirstStep) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const double rate = is_last(several) ? 0.3 : 0.1;
    const Model model = in_scope(several, [&] {
      const Sequential made({Input({5}), Dense(3)});
      made.compile({.optimizer = SGD(rate), .loss = "mse"});
      return Model(made);
    });
    const std::string text = error_text<StateError>([&] {
      several.run([&] {
        GradientTape tape;
        const Tensor loss = ops::sum(ops::square(model(wave({4, 5}, 0.3))));
        const Variables weights = model.trainable_variables();
        model.optimizer().apply_gradients(tape.gradient(loss, weights), weights);
      });
    });
    EXPECT_THAT(text, HasSubstr("optimizer.learning_rate is " + first_and_last(several, "0.1", "0.3")));
  });
}

TEST_P(LoopsOverProcesses, TrainOnBatchComparesSettingsOnce) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const auto train = [&](double rate, double dropout) {
      const Model model = in_scope(several, [&] {
        const Sequential made({Input({5}), Dropout(dropout, {.seed = 1, .name = "dropout"}), Dense(3)});
        made.compile({.optimizer = SGD(rate), .loss = "mse"});
        return Model(made);
      });
      for (int i = 0; i < 2; ++i) model.train_on_batch(wave({4, 5}, 0.3), wave({4, 3}, 0.2));
    };
    train(0.1, 0.25);
    EXPECT_THAT(error_text<StateError>([&] { train(0.1, is_last(several) ? 0.5 : 0.25); }),
                HasSubstr("dropout.rate is " + first_and_last(several, "0.25", "0.5")));
    EXPECT_THAT(error_text<StateError>([&] { train(is_last(several) ? 0.3 : 0.1, 0.25); }),
                HasSubstr("optimizer.learning_rate is " + first_and_last(several, "0.1", "0.3")));
  });
}

// A program may look at its layers by a model of its own.
TEST_P(LoopsOverProcesses, AModelThatOneProcessAloneHasIsNoDifference) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, [] { return Model(Sequential({Input({5}), Dense(4), Dense(3)})); });
    const Optimizer optimizer = several.scope([&] { return Optimizer(SGD(0.1)); });
    std::optional<Model> features;
    if (several.is_chief())
      features = several.scope([&] { return Model(Sequential({Input({5}), model.layers()[0]})); });
    several.run([&] {
      GradientTape tape;
      const Tensor loss = ops::sum(ops::square(model(wave({4, 5}, 0.3))));
      const Variables weights = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    });
    EXPECT_EQ(optimizer.iterations(), 1);
  });
}

TEST_P(LoopsOverProcesses, DataOfAnotherDtypeIsNamed) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Tensor x = wave({12, 5}, 0.3);
    const Dataset data =
        Dataset::from_tensor_slices(is_last(several) ? ops::cast(x, DType::float64) : x).batch(6);
    const std::string text = error_text<StateError>([&] {
      for (const DistributedBatch& batch : several.distribute(data)) (void)batch;
    });
    EXPECT_THAT(text, HasSubstr("float32 with 2 axes"));
    EXPECT_THAT(text, HasSubstr("float64 with 2 axes"));
  });
}

TEST_P(LoopsOverProcesses, SampleWeightsThatSomeLackAreNamed) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model model = in_scope(several, [] {
      Sequential made({Input({5}), Dense(3)});
      made.compile({.optimizer = SGD(0.1), .loss = "mse"});
      return Model(made);
    });
    const Tensor x = wave({12, 5}, 0.3), y = wave({12, 3}, 0.2), weights = ops::abs(wave({12}, 0.5));
    const auto expect_named = [&](const std::string& text) {
      EXPECT_THAT(text, HasSubstr("sample weights: none"));
      EXPECT_THAT(text, HasSubstr("sample weights: float32 with 1 axis"));
    };
    expect_named(error_text<StateError>([&] {
      FitConfig fit{.batch_size = 6, .verbose = 0};
      if (is_last(several)) fit.sample_weight = weights;
      model.fit(x, y, fit);
    }));
    expect_named(error_text<StateError>(
        [&] { is_last(several) ? model.train_on_batch(x, y, weights) : model.train_on_batch(x, y); }));
    EXPECT_EQ(model.fit(x, y, {.batch_size = 6, .verbose = 0})["loss"].size(), 1u);
  });
}

INSTANTIATE_TEST_SUITE_P(All, LoopsOverProcesses, ::testing::Values(Layout{2, 1}, Layout{3, 1}, Layout{2, 2}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::loops_over_processes_test
