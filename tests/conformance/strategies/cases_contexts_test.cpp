// The verbs of a strategy and of a replica: the numbered cases of the conformance table that concern them.
// The number of a case stands in its test's name. N is the number of replicas.
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/strategies/generator.h>
#include <nyala/strategies/seed_generator.h>
#include <nyala/tests/conformance/strategies/places.h>

namespace nyala::cases_contexts_test {

namespace {

using Floats = std::vector<float>;

Floats floats(const Tensor& tensor) { return tensor.to_vector<float>(); }

/// One tensor per replica, made inside run: make(id).
template <class F>
PerReplica<> on_each(const Strategy& strategy, F&& make) {
  return strategy.run([&](Replica& replica) { return Tensor(make(replica.id)).to(replica.device); });
}

Tensor filled(const Shape& shape, double value) { return Tensor::full(shape, value); }

Tensor range(int64_t first, int64_t end) {
  Floats values;
  for (int64_t i = first; i < end; ++i) values.push_back(static_cast<float>(i));
  return Tensor::from(values);
}

TEST(ContextCases, Case01_SumOfOnes) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const PerReplica<> ones = on_each(strategy, [](int) { return filled({}, 1); });
    EXPECT_EQ(strategy.reduce(ReduceOp::sum, ones).item(), place.replicas);
  });
}

TEST(ContextCases, Case02_SumAndMeanOfReplicaNumbers) {
  const double sums[] = {1, 3, 6, 10}, means[] = {1, 1.5, 2, 2.5};
  at_every_place([&](const Place& place, const Strategy& strategy) {
    const PerReplica<> values = on_each(strategy, [](int id) { return filled({}, id + 1); });
    EXPECT_EQ(strategy.reduce("SUM", values).item(), sums[place.replicas - 1]);
    EXPECT_EQ(strategy.reduce("MEAN", values).item(), means[place.replicas - 1]);
  });
}

TEST(ContextCases, Case03_SeveralAtOnce) {
  const Floats firsts[] = {{1, 2}, {4, 6}, {9, 12}, {16, 20}};
  at_every_place([&](const Place& place, const Strategy& strategy) {
    const size_t n = static_cast<size_t>(place.replicas);
    const auto values = strategy.run([](Replica& replica) {
      const double first = 2.0 * replica.id + 1;
      const Tensor one = Tensor::from(Floats{float(first), float(first) + 1}, {2}, replica.device);
      return std::pair{one, one * 10.0};
    });
    const auto [sum, tenfold] = strategy.reduce(ReduceOp::sum, values);
    EXPECT_EQ(floats(sum), firsts[n - 1]);
    EXPECT_EQ(floats(tenfold), floats(sum * 10.0));
    const Floats mean = floats(strategy.reduce(ReduceOp::mean, values).first);
    EXPECT_FLOAT_EQ(mean[0], firsts[n - 1][0] / static_cast<float>(n));
    EXPECT_FLOAT_EQ(mean[1], firsts[n - 1][1] / static_cast<float>(n));
  });
}

TEST(ContextCases, Case04_AlongAnAxis) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const PerReplica<> same = on_each(strategy, [](int) { return Tensor({1, 2}); });
    EXPECT_EQ(strategy.reduce(ReduceOp::mean, same, 0).item(), 1.5);
    EXPECT_EQ(strategy.reduce(ReduceOp::sum, same, 0).item(), 3.0 * place.replicas);
    // [0, 1, 2, 3] and [4, 5] on two replicas; in general replica r holds 2 (N - r) numbers.
    const PerReplica<> unlike = on_each(strategy, [&](int id) {
      const int64_t first = id * (2 * place.replicas - id + 1);
      return range(first, first + 2 * (place.replicas - id));
    });
    const double count = place.replicas * (place.replicas + 1);
    EXPECT_EQ(strategy.reduce(ReduceOp::sum, unlike, 0).item(), count * (count - 1) / 2);
    EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::mean, unlike, 0).item(), (count - 1) / 2);
    if (place.replicas == 2) {
      EXPECT_EQ(strategy.reduce(ReduceOp::mean, unlike, 0).item(), 2.5);
    }
  });
}

TEST(ContextCases, Case06_Gather) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const int64_t n = place.replicas;
    const PerReplica<> tables = on_each(strategy, [](int id) { return filled({1, 2, 3}, id); });
    EXPECT_EQ(strategy.gather(tables, 0).shape(), Shape({n, 2, 3}));
    EXPECT_EQ(strategy.gather(tables, 1).shape(), Shape({1, 2 * n, 3}));
    EXPECT_EQ(strategy.gather(tables, 2).shape(), Shape({1, 2, 3 * n}));
    EXPECT_EQ(floats(strategy.gather(tables, 0)).back(), static_cast<float>(n - 1));
    const PerReplica<> rows = on_each(strategy, [](int id) { return filled({id + 1, 2}, id); });
    EXPECT_EQ(strategy.gather(rows, 0).shape(), Shape({n * (n + 1) / 2, 2}));
    strategy.run([&](Replica& replica) {
      const Tensor own = Tensor::full({1, 2, 3}, replica.id, DType::float32, replica.device);
      EXPECT_EQ(replica.all_gather(own, 2).shape(), Shape({1, 2, 3 * n}));
      EXPECT_EQ(floats(replica.all_gather(own, 0)).back(), static_cast<float>(n - 1));
    });
    const PerReplica<> scalars = on_each(strategy, [](int) { return filled({}, 1); });
    EXPECT_THROW((void)strategy.gather(scalars), InvalidArgumentError);
    if (n == 1) return;
    EXPECT_THROW((void)strategy.gather(rows, 1), InvalidArgumentError);
    const PerReplica<> ranks = on_each(strategy, [](int id) {
      return id == 0 ? filled({1}, 0) : filled({1, 1}, 0);
    });
    EXPECT_THROW((void)strategy.gather(ranks), InvalidArgumentError);
    // The strategy goes on afterwards (in TensorFlow later collectives of the process fail).
    EXPECT_EQ(strategy.gather(tables, 0).shape(), Shape({n, 2, 3}));
  });
}

TEST(ContextCases, Case07_GradientOfAllGather) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    strategy.run([&](Replica& replica) {
      GradientTape tape;
      const Tensor x = tape.watch(Tensor::full({1, 2}, replica.id, DType::float32, replica.device));
      Floats weights;
      for (int id = 0; id < place.replicas; ++id) weights.push_back(static_cast<float>(id + 1));
      const Tensor weight = Tensor::from(weights, {place.replicas, 1}, replica.device);
      const Tensor gradient = tape.gradient(ops::sum(replica.all_gather(x) * weight), x);
      const float expected = static_cast<float>(place.replicas * (replica.id + 1));
      EXPECT_EQ(floats(gradient), Floats({expected, expected}));
    });
  });
}

TEST(ContextCases, Case08_AllReduce) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = strategy.scope([] { return Variable(2.0, {.name = "v"}); });
    const double n = place.replicas, expected = 2 * n + n * (n - 1) / 2;
    const PerReplica<> sums = strategy.run([&](Replica& replica) {
      return replica.all_reduce(ReduceOp::sum, v.value() + static_cast<double>(replica.id));
    });
    for (const Tensor& sum : sums) EXPECT_EQ(sum.item(), expected);
  });
}

TEST(ContextCases, Case18_UnevenInputFromAFunction) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    for (const bool drop : {false, true}) {
      const auto dataset = strategy.distribute_datasets_from_function([&](const InputContext&) {
        return Dataset::from_tensor_slices(range(0, 9)).batch(2, {.drop_remainder = drop});
      });
      size_t steps = 0;
      std::vector<size_t> last;
      double squares = 0;
      for (const DistributedBatch& batch : dataset) {
        ++steps;
        last.clear();
        for (const Batch& part : batch.parts) last.push_back(static_cast<size_t>(part.x[0].shape()[0]));
        squares += strategy
                       .reduce(ReduceOp::sum,
                               strategy.run([](const Batch& part) { return ops::sum(part.x[0] * part.x[0]); },
                                            batch))
                       .item();
      }
      const size_t batches = drop ? 4 : 5, n = static_cast<size_t>(place.replicas);
      EXPECT_EQ(steps, (batches + n - 1) / n);
      EXPECT_EQ(squares, drop ? 140.0 : 204.0);
      if (n == 2) {
        EXPECT_EQ(last, drop ? std::vector<size_t>({2, 2}) : std::vector<size_t>({1, 0}));
      }
    }
  });
}

TEST(ContextCases, Case18_SumOfSquaresOfRange10) {
  at_every_place([](const Place&, const Strategy& strategy) {
    for (const int64_t size : {1, 3, 4, 10, 16}) {
      double sum = 0;
      for (const DistributedBatch& batch :
           strategy.distribute(Dataset::from_tensor_slices(range(0, 10)).batch(size)))
        sum += strategy
                   .reduce(ReduceOp::sum,
                           strategy.run([](const Batch& part) { return part.x[0] * part.x[0]; }, batch), 0)
                   .item();
      EXPECT_EQ(sum, 285.0);
    }
  });
}

// The rows of a batch are cut by one rule for all sources; replica r of N = 2, 3 and 5 gets these.
TEST(ContextCases, Case19_OneRuleCutsEveryBatch) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    std::vector<std::vector<Floats>> steps;
    for (const DistributedBatch& batch :
         strategy.distribute(Dataset::from_tensor_slices(range(0, 6)).batch(4))) {
      steps.emplace_back();
      for (const Batch& part : batch.parts) steps.back().push_back(floats(part.x[0]));
    }
    if (place.replicas == 2) {
      EXPECT_EQ(steps, (std::vector<std::vector<Floats>>{{{0, 1}, {2, 3}}, {{4}, {5}}}));
    }
    if (place.replicas == 3) {
      EXPECT_EQ(steps, (std::vector<std::vector<Floats>>{{{0, 1}, {2}, {3}}, {{4}, {5}, {}}}));
    }
    if (place.replicas == 4) {
      EXPECT_EQ(steps, (std::vector<std::vector<Floats>>{{{0}, {1}, {2}, {3}}, {{4}, {5}, {}, {}}}));
    }
  });
}

TEST(ContextCases, Case40_SeedGenerator) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const SeedGenerator seeds = strategy.scope([] { return SeedGenerator(42); });
    for (const Tensor& state : strategy.run([&] { return seeds.state().value(); }))
      EXPECT_EQ(state.to_vector<int64_t>(), std::vector<int64_t>({42, 0}));
    EXPECT_EQ(seeds.state().value().to_vector<int64_t>(), std::vector<int64_t>({42, 0}));
  });
}

TEST(ContextCases, Case41_Generator) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const auto draw = [&](const Generator& generator) {
      std::vector<Floats> drawn;
      for (const Tensor& value : strategy.run([&] { return generator.normal({3}); }))
        drawn.push_back(floats(value));
      return drawn;
    };
    const auto first = draw(strategy.scope([] { return Generator::from_seed(1); }));
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), static_cast<size_t>(place.replicas));
    EXPECT_EQ(draw(strategy.scope([] { return Generator::from_seed(1); })), first);
  });
}

TEST(ContextCases, AnErrorNamesReplicaDeviceAndLayer) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Dense layer = strategy.scope([&] {
      Dense made(2, {.name = "too_narrow"});
      made(Tensor::zeros({1, 3}, DType::float32, strategy.node().device(0)));
      return made;
    });
    const int last = place.replicas - 1;
    for (int attempt = 0; attempt < 100; ++attempt) {
      try {
        strategy.run([&](Replica& replica) {
          replica.all_reduce(ReduceOp::sum, Tensor::zeros({1}, DType::float32, replica.device));
          const int64_t width = replica.id == last ? 4 : 3;
          layer(Tensor::zeros({1, width}, DType::float32, replica.device));
          replica.all_reduce(ReduceOp::sum, Tensor::zeros({1}, DType::float32, replica.device));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const ShapeError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("too_narrow"));
        if (place.replicas == 1) continue;
        EXPECT_THAT(error.what(), ::testing::HasSubstr("replica " + std::to_string(last) + " on " +
                                                       strategy.node().device(last).to_string()));
      }
    }
  });
}

}  // namespace

}  // namespace nyala::cases_contexts_test
