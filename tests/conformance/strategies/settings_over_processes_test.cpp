// Processes that were told different things, which the numbers alone would not show.
#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;
using SettingsOverProcesses = OverProcesses;

Model made(const CompileConfig& compile) {
  Sequential model({Input({5}), Dense(3)});
  model.compile(compile);
  return model;
}

CompileConfig settings() {
  return {.optimizer = SGD(0.1), .loss = "mse", .loss_weights = 1.0, .metrics = {"mae"}};
}

/// What fit throws where the last process does as `other` says.
std::string refusal(const MultiWorkerMirroredStrategy& several,
                    const std::function<void(CompileConfig&, FitConfig&)>& other,
                    const std::function<void(const Model&)>& behind = {}) {
  CompileConfig compile = settings();
  FitConfig fit{.batch_size = 8, .epochs = 2, .verbose = 0};
  const bool is_last = several.rank() == several.num_processes() - 1;
  if (is_last && other) other(compile, fit);
  clear_session();
  set_random_seed(5);
  const Model model = several.scope([&] { return made(compile); });
  if (is_last && behind) behind(model);
  const Tensors before = model.get_weights();
  const std::string text = error_text<StateError>([&] {
    model.fit(wave({24, 5}, 0.37), wave({24, 3}, 0.2), fit);
  });
  const Tensors after = model.get_weights();
  for (size_t i = 0; i < before.size(); ++i) expect_numbers(after[i], numbers(before[i]), 0.0f);
  return text;
}

TEST_P(SettingsOverProcesses, DifferencesAreNamedInAllOfThem) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const std::string first = several.num_processes() == 2 ? " in rank 0" : " in ranks 0, 1",
                      last = " in rank " + std::to_string(several.num_processes() - 1);
    const auto expect_named = [&](const std::string& what,
                                  const std::function<void(CompileConfig&, FitConfig&)>& other) {
      EXPECT_THAT(refusal(several, other), HasSubstr(what));
    };
    expect_named("optimizer.learning_rate is 0.1" + first + " and 0.25" + last,
                 [](CompileConfig& compile, FitConfig&) { compile.optimizer = SGD(0.25); });
    expect_named("optimizer is Adam" + last + " and SGD" + first,
                 [](CompileConfig& compile, FitConfig&) { compile.optimizer = Adam(0.1); });
    expect_named("optimizer.momentum is 0" + first + " and 0.9" + last,
                 [](CompileConfig& compile, FitConfig&) {
                   compile.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9});
                 });
    expect_named("optimizer.learning_rate.decay_steps is 30" + last + " and not there" + first,
                 [](CompileConfig& compile, FitConfig&) { compile.optimizer = SGD(CosineDecay(0.1, 30)); });
    expect_named("loss.delta is 2" + last + " and not there" + first,
                 [](CompileConfig& compile, FitConfig&) { compile.loss = Huber({.delta = 2.0}); });
    expect_named("loss_weights is 0.5" + last + " and 1" + first,
                 [](CompileConfig& compile, FitConfig&) { compile.loss_weights = 0.5; });
    expect_named("metrics is MeanAbsoluteError" + first + " and MeanSquaredError" + last,
                 [](CompileConfig& compile, FitConfig&) { compile.metrics = {"mse"}; });
    expect_named("jit_compile is false" + first + " and true" + last,
                 [](CompileConfig& compile, FitConfig&) { compile.jit_compile = true; });
    expect_named("epochs is 2" + first + " and 3" + last,
                 [](CompileConfig&, FitConfig& fit) { fit.epochs = 3; });
    EXPECT_THAT(refusal(several, {}, [](const Model& model) { model.layers()[0].set_trainable(false); }),
                HasSubstr("dense.trainable is false" + last + " and true" + first));
    EXPECT_THAT(refusal(several, {}, [](const Model& model) { model.optimizer().set_learning_rate(0.5); }),
                HasSubstr("the learning rate is 0.1" +
                          (several.num_processes() == 2 ? std::string(" in rank 0 and 0.5 in rank 1")
                                                        : std::string(" in ranks 0, 1 and 0.5 in rank 2"))));
  });
}

TEST_P(SettingsOverProcesses, ALearningRateThatOneProcessChangesForAnEpochIsNamed) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const bool is_last = several.rank() == several.num_processes() - 1;
    clear_session();
    set_random_seed(5);
    const Model model = several.scope([&] { return made(settings()); });
    LambdaCallback changes({.on_epoch_begin = [&](int epoch, Logs&) {
      if (epoch == 1) model.optimizer().set_learning_rate(0.2);
      if (epoch == 2 && is_last) model.optimizer().set_learning_rate(0.5);
    }});
    const std::string text = error_text<StateError>([&] {
      model.fit(wave({24, 5}, 0.37), wave({24, 3}, 0.2),
                {.batch_size = 8, .epochs = 4, .verbose = 0, .callbacks = {changes}});
    });
    EXPECT_THAT(text, HasSubstr("the learning rate is 0.2"));
    EXPECT_THAT(text, HasSubstr("0.5 in rank " + std::to_string(several.num_processes() - 1)));
    EXPECT_EQ(model.optimizer().iterations(), 6);
  });
}

TEST_P(SettingsOverProcesses, WhatCallbacksThrowAtTheEdgesOfTrainingIsKnownToAll) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    clear_session();
    set_random_seed(5);
    const Model model = several.scope([&] { return made(settings()); });
    const auto throws_in_one = [&](Logs&) {
      if (several.rank() == 1) throw InvalidArgumentError("of the hook");
    };
    for (LambdaCallback callback : {LambdaCallback({.on_train_begin = throws_in_one}),
                                    LambdaCallback({.on_train_end = throws_in_one})}) {
      const auto train = [&] {
        model.fit(wave({24, 5}, 0.37), wave({24, 3}, 0.2),
                  {.batch_size = 8, .verbose = 0, .callbacks = {callback}});
      };
      EXPECT_THAT(several.rank() == 1 ? error_text<InvalidArgumentError>(train)
                                      : error_text<CommunicationError>(train),
                  HasSubstr("of the hook"));
    }
  });
}

TEST_P(SettingsOverProcesses, WhatIsTheSameTrains) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    for (const Optimizer& optimizer :
         {Optimizer(SGD(ExponentialDecay(0.1, 10, 0.5))),
          Optimizer(LossScaleOptimizer({.inner_optimizer = Adam()})),
          Optimizer(MultiOptimizer(OptimizerMap(Adam(), {{".*bias", SGD(0.2)}})))}) {
      CompileConfig compile = settings();
      compile.optimizer = optimizer;
      compile.loss =
          Loss([](const Tensor& y, const Tensor& p) { return ops::mean(ops::square(y - p), {-1}); });
      clear_session();
      set_random_seed(5);
      const Model model = several.scope([&] { return made(compile); });
      const FitConfig fit{.batch_size = 8, .epochs = 1, .verbose = several.is_chief() ? 2 : 0};
      EXPECT_EQ(model.fit(wave({24, 5}, 0.37), wave({24, 3}, 0.2), fit)["loss"].size(), 1u);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, SettingsOverProcesses, ::testing::Values(Layout{2, 1}, Layout{3, 1}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala
