#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/contexts.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/conformance/strategies/places.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::apply_gradients_test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Floats = std::vector<float>;

Floats floats(const Tensor& tensor) { return tensor.to_vector<float>(); }

Tensor on(const Replica& replica, const Floats& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())}, replica.device);
}

Variable made(const Strategy& strategy, const Floats& values, const char* name) {
  return strategy.scope([&] { return Variable(Tensor::from(values), {.name = name}); });
}

void expect_copies(const Variable& variable, const Floats& expected) {
  for (size_t copy = 0; copy < variable.num_copies(); ++copy) {
    const Floats values = floats(variable.value(copy));
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 1e-5) << variable.path() << ", copy " << copy;
  }
}

TEST(ApplyGradients, ReplicasGradientsAreSummedAndAppliedOnce) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, {1, 2}, "v");
    const SGD optimizer(0.5);
    const double sum = place.replicas * (place.replicas + 1) / 2;
    for (int step = 1; step <= 3; ++step) {
      strategy.run([&](Replica& replica) {
        const float own = static_cast<float>(replica.id + 1);
        optimizer.apply_gradients({{on(replica, {own, 2 * own}), v}});
        EXPECT_NEAR(floats(v.value())[0], 1 - 0.5 * sum * step, 1e-5);  // at once, on every replica
      });
      expect_copies(v, {float(1 - 0.5 * sum * step), float(2 - sum * step)});
    }
    EXPECT_EQ(optimizer.iterations(), 3);
  });
}

TEST(ApplyGradients, OutsideOfRunTheyAreThoseOfTheWholeBatch) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Variable v = made(strategy, {1, 2}, "v");
    const SGD optimizer({.learning_rate = 0.5, .momentum = 0.5});
    optimizer.apply_gradients({{Tensor({1, 1}), v}});
    {
      const auto scope = strategy.scope();
      optimizer.apply_gradients(Tensors{Tensor({0, 1})}, Variables{v});
    }
    expect_copies(v, {1 - 0.5f - 0.25f, 2 - 0.5f - 0.75f});
  });
}

TEST(ApplyGradients, HeedsTheConstraintsOfVariablesAndLayers) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const auto scope = strategy.scope();
    const Variable v(Tensor({1, -1}), {.constraint = Constraint("non_neg"), .name = "v"});
    const Dense dense({.units = 1, .kernel_initializer = "ones", .kernel_constraint = "non_neg"});
    dense.node().ensure_built({{None, 2}});
    const Variable kernel = dense.weights()[0];
    const SGD optimizer(0.5);
    const Tensor gradient = Tensor::from(Floats{4, 1}, {2, 1});
    strategy.run([&](Replica& replica) {
      const double share = 1.0 / get_replica_context()->num_replicas_in_sync();
      optimizer.apply_gradients(
          {{on(replica, {4, 1}) * share, v}, {gradient.to(replica.device) * share, kernel}});
    });
    expect_copies(v, {0, 0});
    expect_copies(kernel, {0, 0.5});
  });
}

TEST(ApplyGradients, AGradientThatOneReplicaLacksIsAnError) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    if (place.replicas < 2) return;
    const Variable v = made(strategy, {1, 2}, "v"), w = made(strategy, {3}, "w");
    const SGD optimizer(0.5);
    for (const int lacking : {0, place.replicas - 1}) {
      const auto step = [&](Replica& replica) {
        const Tensor gradient = replica.id == lacking ? Tensor() : on(replica, {1, 1});
        optimizer.apply_gradients({{gradient, v}, {on(replica, {1}), w}});
      };
      EXPECT_THAT(error_text<CommunicationError>([&] { strategy.run(step); }),
                  HasSubstr("replica " + std::to_string(lacking) + " brought no gradient for 'v'"));
    }
    expect_copies(v, {1, 2});
    expect_copies(w, {3});
  });
}

TEST(ApplyGradients, WithoutAnyStrategy) {
  const Variable v({1, 2});
  const SGD optimizer(0.5);
  optimizer.apply_gradients({{Tensor({1, 1}), v}});
  EXPECT_EQ(floats(v.value()), Floats({0.5, 1.5}));
}

TEST(ApplyGradients, OthersKeepValueAndState) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Variable a = made(strategy, {1}, "a"), b = made(strategy, {1}, "b"), c = made(strategy, {1}, "c");
    const Adam optimizer({.learning_rate = 0.1, .weight_decay = 0.5});
    const auto step = [&](const Variables& with_gradient) {
      strategy.run([&](Replica& replica) {
        GradientsAndVariables pairs;
        for (const Variable& variable : {a, b, c}) {
          const bool has =
              std::find(with_gradient.begin(), with_gradient.end(), variable) != with_gradient.end();
          pairs.emplace_back(has ? on(replica, {replica.id == 0 ? 1.0f : 0.0f}) : Tensor(), variable);
        }
        optimizer.apply_gradients(pairs);
      });
    };
    step({a, b, c});
    const float after = floats(a.value())[0];
    EXPECT_NEAR(after, 1 - 0.5f * 0.1f - 0.1f, 1e-5);
    step({b});
    expect_copies(a, {after});
    expect_copies(c, {after});
    EXPECT_LT(floats(b.value())[0], after);
    step({a, c});
    expect_copies(a, {floats(c.value())[0]});
    EXPECT_LT(floats(a.value())[0], after);
  });
}

// d = 1, g = 2. The first loss is d * g, the second (d * g) ** 2 with the new d.
TEST(ApplyGradients, TheSecondOptimizerSeesTheFirstsUpdate) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable d = made(strategy, {1}, "d"), g = made(strategy, {2}, "g");
    const SGD of_d(0.25), of_g(0.5);
    strategy.run([&](Replica&) {
      const double share = 1.0 / place.replicas;
      {
        GradientTape tape;
        const Tensor loss = ops::sum(d.value() * g.value()) * share;
        of_d.apply_gradients(tape.gradient(loss, Variables{d}), {d});
      }
      GradientTape tape;
      const Tensor product = d.value() * g.value();
      of_g.apply_gradients(tape.gradient(ops::sum(product * product) * share, Variables{g}), {g});
    });
    expect_copies(d, {0.5f});
    expect_copies(g, {2 - 0.5f * 2 * 0.5f * 0.5f * 2});
    EXPECT_EQ(of_d.iterations(), 1);
    EXPECT_EQ(of_g.iterations(), 1);
  });
}

TEST(ApplyGradients, OneReplicaThatStaysAwayIsNamed) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    if (place.replicas == 1) return;
    const Variable v = made(strategy, {1}, "v");
    const SGD optimizer(0.5);
    for (int attempt = 0; attempt < 50; ++attempt) {
      const int absent = attempt % place.replicas;
      const std::string text = error_text<CommunicationError>([&] {
        strategy.run([&](Replica& replica) {
          if (replica.id != absent) optimizer.apply_gradients({{on(replica, {1}), v}});
        });
      });
      EXPECT_THAT(text,
                  HasSubstr("replica " + std::to_string(absent) + " did not come to apply_gradients()"));
      expect_copies(v, {1});
    }
    strategy.run([&](Replica& replica) { optimizer.apply_gradients({{on(replica, {1}), v}}); });
    expect_copies(v, {float(1 - 0.5 * place.replicas)});
  });
}

TEST(ApplyGradients, ReplicasHaveToAgree) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    if (place.replicas == 1) return;
    const Variable v = made(strategy, {1}, "v"), w = made(strategy, {1}, "w");
    const SGD one(0.5), two(0.5);
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  strategy.run([&](Replica& replica) {
                    (replica.id == 0 ? one : two).apply_gradients({{on(replica, {1}), v}});
                  });
                }),
                HasSubstr("different optimizers"));
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  strategy.run([&](Replica& replica) {
                    one.apply_gradients({{on(replica, {1}), replica.id == 0 ? v : w}});
                  });
                }),
                HasSubstr("different variables"));
  });
}

TEST(ApplyGradients, WhatCannotBeAppliedIsRefused) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Variable v = made(strategy, {1}, "v"), w = made(strategy, {1}, "w");
    const SGD optimizer(0.5);
    const auto in_run = [&](const std::function<void(Replica&)>& body) {
      strategy.run([&](Replica& r) { body(r); });
    };
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  in_run([&](Replica&) { optimizer.apply_gradients({{Tensor(), v}}); });
                }),
                HasSubstr("no gradients"));
    EXPECT_THROW(optimizer.apply_gradients(GradientsAndVariables()), InvalidArgumentError);
    EXPECT_THROW(in_run([&](Replica& r) { optimizer.apply_gradients({{on(r, {1, 2}), v}}); }), ShapeError);
    EXPECT_THROW(in_run([&](Replica& r) {
                   optimizer.apply_gradients({{on(r, {1}), v}, {on(r, {1}), v}});
                 }),
                 InvalidArgumentError);
    EXPECT_THROW(in_run([&](Replica& r) {
                   optimizer.apply_gradients({on(r, {1})}, {v, w});
                 }),
                 InvalidArgumentError);
    in_run([&](Replica& r) { optimizer.apply_gradients({{on(r, {0}), v}}); });
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  in_run([&](Replica& r) { optimizer.apply_gradients({{on(r, {1}), w}}); });
                }),
                AllOf(HasSubstr("unknown variable"), HasSubstr("'w'")));
    const Variable elsewhere({1});
    EXPECT_THROW(optimizer.apply_gradients({{Tensor({1}), v}, {Tensor({1}), elsewhere}}), StateError);
    expect_copies(v, {1});
  });
}

TEST(ApplyGradients, AccumulationReducesAtItsLastStep) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, {4}, "v");
    const SGD optimizer({.learning_rate = 1.0, .gradient_accumulation_steps = 2});
    const float n = static_cast<float>(place.replicas);
    for (int step = 0; step < 4; ++step) {
      strategy.run([&](Replica& replica) {
        optimizer.apply_gradients({{on(replica, {static_cast<float>(step + 1)}), v}});
      });
      const float expected[] = {4, 4 - 1.5f * n, 4 - 1.5f * n, 4 - 5 * n};
      expect_copies(v, {expected[step]});
    }
    EXPECT_EQ(optimizer.iterations(), 2);
  });
}

TEST(ApplyGradients, ClippingComesAfterTheSum) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Variable v = made(strategy, {0, 0}, "v");
    const SGD optimizer({.learning_rate = 1.0, .global_clipnorm = 1.0});
    strategy.run([&](Replica& replica) { optimizer.apply_gradients({{on(replica, {3, 4}), v}}); });
    expect_copies(v, {-0.6f, -0.8f});
  });
}

TEST(ApplyGradients, AVariableOfAnotherStrategyIsRefusedInsideRun) {
  configure_logical_devices("cpu", 4);
  const MirroredStrategy one({.devices = {"cpu:0", "cpu:1"}}), two({.devices = {"cpu:2", "cpu:3"}});
  const Variable v = made(one, {1}, "v");
  const SGD optimizer(0.5);
  EXPECT_THROW(two.run([&](Replica& r) { optimizer.apply_gradients({{on(r, {1}), v}}); }), StateError);
  configure_logical_devices("cpu", 1);
}

}  // namespace

}  // namespace nyala::apply_gradients_test
