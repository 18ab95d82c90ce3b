// Models that share layers, moved between strategies in any order: the numbers of one device, or a
// StateError.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::shared_layers_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Floats = std::vector<float>;

Tensor noise(uint64_t key, const Shape& shape) { return ops::random_normal(shape, 0.0, 1.0, {.key = key}); }

double fit_once(const Model& model) {
  const int64_t width = model.predict(noise(3, {1, 4}), {.verbose = 0}).shape()[1];
  return model
      .fit(noise(1, {12, 4}), noise(2, {12, width}), {.batch_size = 6, .verbose = 0, .shuffle = false})
      .last("loss");
}

class SharedLayers : public testing::Test {
 protected:
  SharedLayers() {
    clear_session();
    configure_logical_devices("cpu", 3);
    set_random_seed(11);
  }
  ~SharedLayers() override { configure_logical_devices("cpu", 1); }
};

/// Two models with one layer in common.
struct Pair {
  explicit Pair(const char* optimizer) {
    a.compile({.optimizer = optimizer, .loss = "mse"});
    b.compile({.optimizer = optimizer, .loss = "mse"});
  }
  Dense shared{4, {.activation = "tanh", .use_bias = false, .name = "shared"}};
  Sequential a{Input({4}), shared, Dense(4, {.use_bias = false})};
  Sequential b{Input({4}), shared, Dense(4, {.use_bias = false})};
};

std::vector<double> train_both(const Pair& pair) { return {fit_once(pair.a), fit_once(pair.b)}; }

void expect_near(const std::vector<double>& received, const std::vector<double>& expected) {
  ASSERT_EQ(received.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(received[i], expected[i], 2e-4 * std::max(1.0, std::abs(expected[i]))) << "value " << i;
}

TEST_F(SharedLayers, ThereAndBackOneByOne) {
  for (const char* optimizer : {"sgd", "adam"}) {
    const auto run = [&](bool moves) {
      const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}}),
          three({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
      const OneDeviceStrategy one("cpu:0");
      set_random_seed(11);
      const Pair pair(optimizer);
      std::vector<double> losses;
      const auto go_on = [&] { std::ranges::copy(train_both(pair), std::back_inserter(losses)); };
      go_on();
      if (moves) two.adopt(pair.a), two.adopt(pair.b);
      go_on();
      if (moves) three.adopt(pair.b), three.adopt(pair.a);
      go_on();
      if (moves) one.adopt(pair.a), one.adopt(pair.b);
      go_on();
      if (moves) two.adopt(pair.b), one.adopt(pair.b);  // away and back alone: the other follows by itself
      go_on();
      if (moves) get_strategy().adopt(pair.b), get_strategy().adopt(pair.a);
      go_on();
      return losses;
    };
    const auto expected = run(false);
    expect_near(run(true), expected);
  }
}

TEST_F(SharedLayers, WhatMovedInPartSaysSo) {
  const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}}),
      three({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  const Pair pair("adam");
  train_both(pair);
  two.adopt(pair.a);
  const auto says = AllOf(HasSubstr("shared/kernel'"), HasSubstr("another strategy (MirroredStrategy)"),
                          HasSubstr("strategy.adopt(model)"));
  EXPECT_THAT(error_text<StateError>([&] { fit_once(pair.b); }), says);
  EXPECT_THAT(error_text<StateError>([&] {
                pair.b.fit(noise(1, {6, 4}), noise(2, {6, 4}), {.verbose = 0});
              }),
              says);
  EXPECT_THAT(error_text<StateError>([&] { pair.b.compile({.optimizer = "sgd", .loss = "mse"}); }), says);
  EXPECT_THAT(error_text<StateError>([&] { pair.b.predict(noise(1, {6, 4}), {.verbose = 0}); }), says);
  two.adopt(pair.b);
  train_both(pair);
  three.adopt(pair.b);
  EXPECT_THAT(error_text<StateError>([&] {
                pair.a.fit(noise(1, {6, 4}), noise(2, {6, 4}), {.verbose = 0});
              }),
              says);
  EXPECT_GT(fit_once(pair.b), 0.0);
}

TEST_F(SharedLayers, AModelThatIsLeftByItsStrategy) {
  const auto run = [](bool moves) {
    set_random_seed(11);
    const Pair pair("adam");
    std::vector<double> losses = train_both(pair);
    if (moves) {
      const Sequential brief({Input({4}), pair.shared, Dense(2)});
      MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}).adopt(brief);
    }
    if (moves) {
      EXPECT_THAT(error_text<StateError>([&] {
                    pair.b.predict(noise(1, {6, 4}), {.verbose = 0});
                  }),
                  HasSubstr("a strategy that is gone"));
      get_strategy().adopt(pair.b);  // a finds its layer where it was
    }
    std::ranges::copy(train_both(pair), std::back_inserter(losses));
    return losses;
  };
  const auto expected = run(false);
  expect_near(run(true), expected);
}

TEST_F(SharedLayers, GatheredGradientsAreNotMixed) {
  for (const int replicas : {1, 2}) {
    const Strategy strategy =
        replicas == 1 ? get_strategy() : MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
    const Pair pair = strategy.scope([] { return Pair("sgd"); });
    pair.a.compile(
        {.optimizer = SGD({.learning_rate = 0.1, .gradient_accumulation_steps = 2}), .loss = "mse"});
    const auto step = [](const Model& model) { model.train_on_batch(noise(1, {6, 4}), noise(2, {6, 4})); };
    step(pair.a), step(pair.a), step(pair.b),
        step(pair.a);  // b between updates of a, then in the middle of one
    step(pair.b);
    EXPECT_THAT(error_text<StateError>([&] { step(pair.a); }), HasSubstr("shared/kernel'"));
    pair.a.compile(
        {.optimizer = SGD({.learning_rate = 0.1, .gradient_accumulation_steps = 2}), .loss = "mse"});
    step(pair.a), step(pair.a);
  }
}

TEST_F(SharedLayers, AnOptimizerOfALoopFollowsItsVariables) {
  const auto run = [&](bool moves) {
    set_random_seed(11);
    const Sequential model({Input({4}), Dense(4, {.activation = "tanh"}), Dense(1)});
    const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
    const Adam adam(0.01);
    std::vector<double> losses;
    for (int step = 0; step < 6; ++step) {
      if (moves && step == 2) two.adopt(model);
      if (moves && step == 4) get_strategy().adopt(model);
      GradientTape tape;
      const Tensor loss = ops::mean(ops::square(model(noise(1, {8, 4})) - noise(2, {8, 1})));
      losses.push_back(loss.item());
      adam.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    }
    return losses;
  };
  expect_near(run(true), run(false));
}

// Steps of a random program. With `moves` models change their strategies in between, else they stay.
class Program {
 public:
  Program(unsigned seed, bool moves) : choices_(seed), places_(seed + 1), moves_(moves) {
    set_random_seed(seed);
    const Dense first(4, {.activation = "tanh", .name = "first"}), second(4, {.name = "second"});
    const BatchNormalization norm({.name = "norm"});
    const Sequential inner({Input({4}), second, norm}, {.name = "inner"});
    models_ = {Sequential({Input({4}), first, Dense(4)}, {.name = "a"}),
               Sequential({Input({4}), first, norm, Dense(3)}, {.name = "b"}),
               Sequential({Input({4}), inner, first, Dense(2)}, {.name = "c"}), inner};
    layers_ = {first, second, norm};
    of_loop_ = models_[2].trainable_variables();
    for (const Sequential& model : models_) compile(model);
  }

  std::vector<double> run(int steps) {
    for (int step = 0; step < steps; ++step) one_step();
    for (const Sequential& model : models_) keep(model);
    return seen_;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(choices_() % end); }
  const Sequential& any_model() { return models_[below(static_cast<unsigned>(models_.size()))]; }

  void compile(const Sequential& model) {
    const Adam adam({.learning_rate = 0.01, .epsilon = 1e-2});
    const SGD sgd({.learning_rate = 0.05, .momentum = 0.9});
    const Optimizer all[] = {
        sgd, adam,
        Adam({.learning_rate = 0.01, .epsilon = 1e-2, .use_ema = true, .ema_overwrite_frequency = 3}),
        LossScaleOptimizer(adam, {.initial_scale = 8.0}),
        MultiOptimizer([=](const Variable& variable) -> Optimizer {
          if (variable.shape().rank() > 1) return adam;
          return sgd;
        })};
    model.compile({.optimizer = all[below(5)], .loss = "mse"});
  }

  void keep(const Model& model) {
    for (const Tensor& weight : model.get_weights())
      seen_.push_back(ops::sum(ops::abs(ops::cast(weight, DType::float64))).item());
  }

  Strategy place() {
    switch (places_() % 6) {
      case 0:
        return get_strategy();
      case 1:
        return OneDeviceStrategy("cpu:1");
      case 2:
        return MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
      case 3:
        return MirroredStrategy({.devices = {"cpu:0", "cpu:1"}, .shared_weights = SharedWeights::never});
      case 4:
        return CentralStorageStrategy({.compute_devices = {"cpu:0", "cpu:1"}, .parameter_device = "cpu:2"});
      default:
        return MirroredStrategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
    }
  }

  void move_all() {
    std::vector<Sequential> order = models_;
    std::shuffle(order.begin(), order.end(), places_);
    const Strategy to =
        kept_.empty() || places_() % 2 ? kept_.emplace_back(place()) : kept_[places_() % kept_.size()];
    if (places_() % 3 == 0) place().adopt(order[0]);  // on a detour, perhaps to a strategy that is gone then
    for (const Sequential& model : order) {
      to.adopt(model);
      try {  // of those that still lie in two strategies
        order.back().predict(noise(5, {3, 4}), {.verbose = 0});
      } catch (const StateError&) {
      }
    }
  }

  double step_of_a_loop() {
    GradientTape tape;
    const Tensor x = noise(1, {8, 4}).to(of_loop_[0].value(0).device());
    const Tensor loss = ops::mean(ops::square(models_[2](x)));
    try {
      loop_.apply_gradients(tape.gradient(loss, of_loop_), of_loop_);
    } catch (const InvalidArgumentError&) {  // all are frozen
      return -1;
    }
    return loss.item();
  }

  void one_step() {
    const Sequential& model = any_model();
    switch (below(11)) {
      case 0:
        if (moves_) move_all();
        break;
      case 1: {
        const std::string file = folder_.file("model.weights.h5");
        model.save_weights(file);
        seen_.push_back(fit_once(model));
        model.load_weights(file);
        break;
      }
      case 2: {
        const Layer& layer = layers_[below(3)];
        layer.set_trainable(!layer.trainable());
        if (below(2)) compile(model);
        break;
      }
      case 3: {
        Model copy = clone_model(model);
        copy.set_weights(model.get_weights());
        copy.compile({.optimizer = "sgd", .loss = "mse"});
        seen_.push_back(fit_once(copy));
        break;
      }
      case 4: {
        Tensors values = model.get_weights();
        for (Tensor& value : values) value = value * 0.9;
        model.set_weights(values);
        break;
      }
      case 5: {
        Sequential grown = models_[0];
        if (grown.layers().size() > 2)
          grown.pop(), seen_.push_back(fit_once(grown));
        else
          grown.add(Dense(4)), compile(grown);
        break;
      }
      case 6: {
        const std::string file = folder_.file("checkpoint");
        Checkpoint(model).save(file);
        seen_.push_back(fit_once(model));
        try {
          Checkpoint(model).restore(file);
        } catch (const ShapeError&) {  // of an optimizer that fit has made, or that a pop has made smaller
          seen_.push_back(-1);
        }
        break;
      }
      case 7:
        seen_.push_back(step_of_a_loop());
        break;
      default:
        seen_.push_back(fit_once(model));
    }
  }

  const ScratchFolder folder_{"shared_layers"};
  std::mt19937 choices_, places_;
  bool moves_;
  std::vector<Strategy> kept_;
  std::vector<Sequential> models_;
  std::vector<Layer> layers_;
  Optimizer loop_ = Adam({.learning_rate = 0.01, .epsilon = 1e-2});
  Variables of_loop_;
  std::vector<double> seen_;
};

// NYALA_PROGRAMS: how many.
TEST_F(SharedLayers, RandomProgramsGiveTheNumbersOfOneDevice) {
  const char* const wanted = std::getenv("NYALA_PROGRAMS");
  const unsigned programs = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 12;
  for (unsigned seed = 1; seed <= programs && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto expected = Program(seed, false).run(24);
    expect_near(Program(seed, true).run(24), expected);
  }
}

}  // namespace
}  // namespace nyala::shared_layers_test
