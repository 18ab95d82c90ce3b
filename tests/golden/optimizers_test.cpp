#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/constraints/constraint.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden::optimizers_test {
namespace {

const Tolerance kTolerance = {.absolute = 2e-6, .relative = 1e-5};

/// The variables of the file, in a strategy of their own, and an optimizer for them.
class Training {
 public:
  Training(const Json& golden, const Json& entry)
      : strategy_(Device{}), optimizer_(make_optimizer(entry.at("name").as_string(), entry.at("config"))) {
    for (const Json& variable : golden.at("variables")) {
      variables_.push_back(make_variable(variable));
      constrain(variables_.back(), entry);
    }
    if (entry.contains("exclude_from_weight_decay"))
      optimizer_.node().exclude_from_weight_decay(
          entry.at("exclude_from_weight_decay").get<std::vector<std::string>>());
    optimizer_.node().build(strategy_.node().store(), variables_);
  }

  /// One step whose gradients are `gradients`: those of sum(variable * gradient).
  void step(const Tensors& gradients) {
    strategy_.node().run([&](Replica& replica) { backward_of(replica, gradients); }, &optimizer_.node());
    strategy_.node().update(optimizer_.node());
  }

  void expect_weights(const Json& expected, const std::string& what, const Tolerance& tolerance) const {
    for (size_t i = 0; i < variables_.size(); ++i)
      expect_close(variables_[i].value(), expected.at(i), what + " " + variables_[i].name(), tolerance);
  }

  /// Goes on from weights and state that Keras had.
  void restore(const Json& weights, const Json& state) {
    for (size_t i = 0; i < variables_.size(); ++i) variables_[i].assign(tensor(weights.at(i)));
    optimizer_.node().load_variables(tensors(state));
  }

  const Optimizer& optimizer() const { return optimizer_; }

 private:
  Variable make_variable(const Json& variable) {
    const Tensor initial = tensor(variable);
    return strategy_.node().store().create(
        {.name = variable.at("name").as_string(),
         .path = variable.at("name").as_string(),
         .shape = initial.shape(),
         .initialize = [initial](const Tensor& value) { value.copy_from(initial); }});
  }

  static void constrain(const Variable& variable, const Json& entry) {
    if (entry.contains("constraints") && entry.at("constraints").contains(variable.name()))
      variable.node().spec.constraint =
          make_constraint(entry.at("constraints").at(variable.name()).as_string(), Json::object());
  }

  void backward_of(Replica& replica, const Tensors& gradients) const {
    CallOptions options;
    options.training = true;
    options.tape = replica.tape;
    Call call(options);
    Tensor loss;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Tensor part = ops::sum(ops::multiply(call[variables_[i]], gradients[i]));
      loss = loss.defined() ? ops::add(loss, part) : part;
    }
    backward(*replica.tape, loss, *replica.gradients);
  }

  OneDeviceStrategy strategy_;
  Optimizer optimizer_;
  Variables variables_;
};

void check_state(const Optimizer& optimizer, const Json& expected, const std::string& what,
                 const Tolerance& tolerance) {
  const std::vector<OptimizerVariable> state = optimizer.node().variables_for_file();
  ASSERT_EQ(state.size(), expected.size()) << what;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string name = expected.at(i).at("name").as_string();
    EXPECT_EQ(state[i].name, name) << what;
    EXPECT_EQ(name_of(state[i].value.dtype()), expected.at(i).value("dtype", "float32"))
        << what << " " << name;
    expect_close(state[i].value, expected.at(i), what + " " + name, tolerance);
  }
}

void check_resumed(const Json& golden, const Json& entry, const Tolerance& tolerance) {
  const auto recorded = golden.at("recorded").get<std::vector<size_t>>();
  const size_t half = static_cast<size_t>(std::find(recorded.begin(), recorded.end(), 9u) - recorded.begin());
  Training training(golden, entry);
  training.restore(entry.at("weights").at(half), entry.at("variables_after_10"));
  for (size_t i = 10; i < golden.at("gradients").size(); ++i)
    training.step(tensors(golden.at("gradients").at(i)));
  training.expect_weights(entry.at("weights").back(), label(entry) + " resumed", tolerance);
}

void check(const Json& golden, const Json& entry, const Tolerance& tolerance) {
  Training training(golden, entry);
  const std::string what = label(entry);
  const auto recorded = golden.at("recorded").get<std::vector<size_t>>();
  size_t next = 0;
  for (size_t i = 0; i < golden.at("gradients").size(); ++i) {
    training.step(tensors(golden.at("gradients").at(i)));
    if (next < recorded.size() && recorded[next] == i)
      training.expect_weights(entry.at("weights").at(next++), what + " step " + std::to_string(i), tolerance);
    expect_close(training.optimizer().learning_rate(), number(entry.at("learning_rate_after").at(i)),
                 what + " learning rate");
  }
  EXPECT_EQ(next, recorded.size());
  EXPECT_EQ(training.optimizer().iterations(), entry.at("iterations").get<int64_t>()) << what;
  check_state(training.optimizer(), entry.at("variables"), what, tolerance);
  if (entry.contains("variables_after_10")) check_resumed(golden, entry, tolerance);
  if (!entry.contains("finalized")) return;
  training.optimizer().node().finalize_averages();
  training.expect_weights(entry.at("finalized"), what + " finalized", tolerance);
}

void check_class(const std::string& name, const Tolerance& tolerance) {
  const Json golden = load("optimizers.json");
  int count = 0;
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != name) continue;
    check(golden, entry, tolerance);
    ++count;
  }
  EXPECT_GT(count, 0) << name;
}

class GoldenOptimizer : public ::testing::TestWithParam<const char*> {};
TEST_P(GoldenOptimizer, TwentySteps) {
  // Keras multiplies Nadam's product in float32, step by step; Ftrl divides small differences of roots by the
  // rate.
  const std::string name = GetParam();
  check_class(name, name == "Ftrl"    ? Tolerance{.absolute = 5e-5, .relative = 1e-4}
                    : name == "Nadam" ? Tolerance{.absolute = 5e-6, .relative = 2e-5}
                                      : kTolerance);
}
INSTANTIATE_TEST_SUITE_P(Classes, GoldenOptimizer,
                         ::testing::Values("SGD", "Adam", "RMSprop", "AdamW", "Adagrad", "Adadelta", "Adamax",
                                           "Nadam", "Ftrl", "Lion", "Lamb", "Adafactor", "Muon",
                                           "ScheduleFreeAdamW"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace nyala::golden::optimizers_test
