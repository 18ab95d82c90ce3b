#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden {
namespace {

const Tolerance kTolerance = {.absolute = 2e-6, .relative = 1e-5};

/// The variables of the file, in a strategy of their own, and an optimizer for them.
class Training {
 public:
  Training(const Json& golden, const Json& entry)
      : strategy_(Device{}), optimizer_(make_optimizer(entry.at("name"), entry.at("config"))) {
    for (const Json& variable : golden.at("variables")) variables_.push_back(make_variable(variable));
    if (entry.contains("exclude_from_weight_decay"))
      optimizer_.node().exclude_from_weight_decay(entry.at("exclude_from_weight_decay"));
    optimizer_.node().build(strategy_.node().store(), variables_, constraints(entry));
  }

  /// One step whose gradients are `gradients`: those of sum(variable * gradient).
  void step(const Tensors& gradients) {
    strategy_.node().run([&](Replica& replica) { backward_of(replica, gradients); }, &optimizer_.node());
    strategy_.node().update(optimizer_.node());
  }

  void expect_weights(const Json& expected, const std::string& what) const {
    for (size_t i = 0; i < variables_.size(); ++i)
      expect_close(variables_[i].value(), expected.at(i), what + " " + variables_[i].name(), kTolerance);
  }

  const Optimizer& optimizer() const { return optimizer_; }

 private:
  Variable make_variable(const Json& variable) {
    const Tensor initial = tensor(variable);
    return strategy_.node().store().create(
        {.name = variable.at("name"),
         .path = variable.at("name"),
         .shape = initial.shape(),
         .initialize = [initial](const Tensor& value) { value.copy_from(initial); }});
  }

  std::vector<ConstrainedWeight> constraints(const Json& entry) const {
    std::vector<ConstrainedWeight> result;
    if (!entry.contains("constraints")) return result;
    for (const Variable& variable : variables_)
      if (entry.at("constraints").contains(variable.name()))
        result.push_back(
            {variable, make_constraint(entry.at("constraints").at(variable.name()), Json::object())});
    return result;
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

void check_state(const Optimizer& optimizer, const Json& expected, const std::string& what) {
  const std::vector<OptimizerVariable> state = optimizer.node().variables_for_file();
  ASSERT_EQ(state.size(), expected.size()) << what;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string name = expected.at(i).at("name");
    EXPECT_EQ(state[i].name, name) << what;
    EXPECT_EQ(name_of(state[i].value.dtype()), expected.at(i).value("dtype", "float32"))
        << what << " " << name;
    expect_close(state[i].value, expected.at(i), what + " " + name, kTolerance);
  }
}

void check(const Json& golden, const Json& entry) {
  Training training(golden, entry);
  const std::string what = label(entry);
  for (size_t i = 0; i < golden.at("gradients").size(); ++i) {
    training.step(tensors(golden.at("gradients").at(i)));
    training.expect_weights(entry.at("weights").at(i), what + " step " + std::to_string(i));
    expect_close(training.optimizer().learning_rate(), number(entry.at("learning_rate_after").at(i)),
                 what + " learning rate");
  }
  EXPECT_EQ(training.optimizer().iterations(), entry.at("iterations").get<int64_t>()) << what;
  check_state(training.optimizer(), entry.at("variables"), what);
  if (!entry.contains("finalized")) return;
  training.optimizer().node().finalize_averages();
  training.expect_weights(entry.at("finalized"), what + " finalized");
}

void check_class(const std::string& name) {
  const Json golden = load("optimizers.json");
  int count = 0;
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != name) continue;
    check(golden, entry);
    ++count;
  }
  EXPECT_GT(count, 0) << name;
}

TEST(GoldenOptimizers, SGD) { check_class("SGD"); }
TEST(GoldenOptimizers, Adam) { check_class("Adam"); }
TEST(GoldenOptimizers, RMSprop) { check_class("RMSprop"); }

}  // namespace
}  // namespace nyala::golden
