// A step over processes, which are threads here: what replicas bring together, what variables become, and
// sums of gradients are those of one process that has all the replicas.
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/strategies/process_threads.h>

namespace nyala::processes_test {

namespace {

using ::testing::HasSubstr;

class ProcessesTest : public ::testing::TestWithParam<ProcessThreads> {
 protected:
  static const ProcessThreads& processes() { return GetParam(); }
  static int replicas() { return processes().replicas(); }
  static double sum_of_ids() { return replicas() * (replicas() - 1) / 2.0; }
};

/// Keeps the gradient of the one thing that is watched.
class SingleGradient final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t, const Tensor& value) override { gradient = value; }
  Tensor gradient;
};

Tensor row(const Replica& replica, std::initializer_list<float> values) {
  return Tensor::from(std::vector<float>(values), Shape{static_cast<int64_t>(values.size())}, replica.device);
}

Tensor scalar(const Replica& replica, double value) {
  return Tensor::full({}, value, DType::float32, replica.device);
}

TEST_P(ProcessesTest, ReplicasReduceAndGatherOverAllProcesses) {
  processes().run([&](const Strategy& strategy) {
    ASSERT_EQ(strategy.num_replicas_in_sync(), replicas());
    strategy.run([&](Replica& replica) {
      const float id = static_cast<float>(replica.id);
      const auto [sum, mean] = std::pair{replica.all_reduce(ReduceOp::sum, row(replica, {id, 1})),
                                         replica.all_reduce(ReduceOp::mean, row(replica, {id}))};
      EXPECT_EQ(floats(sum), (std::vector<float>{static_cast<float>(sum_of_ids()), float(replicas())}));
      EXPECT_FLOAT_EQ(mean.to_vector<float>()[0], static_cast<float>(sum_of_ids() / replicas()));
      EXPECT_EQ(sum.device(), replica.device);
      // The replica of id k brings k rows of k's.
      const Tensor rows =
          replica.all_gather(Tensor::full({replica.id, 2}, replica.id, DType::float32, replica.device));
      std::vector<float> expected;
      for (int other = 0; other < replicas(); ++other)
        expected.insert(expected.end(), static_cast<size_t>(2 * other), static_cast<float>(other));
      EXPECT_EQ(floats(rows), expected);
      const Tensor stacked = replica.context->all_gather(row(replica, {id, -id}));
      ASSERT_EQ(stacked.shape(), (Shape{replicas(), 2}));
      for (int other = 0; other < replicas(); ++other)
        EXPECT_EQ(stacked.to_vector<float>()[static_cast<size_t>(2 * other + 1)], static_cast<float>(-other));
    });
  });
}

TEST_P(ProcessesTest, GradientsFlowBackToAllProcesses) {
  processes().run([&](const Strategy& strategy) {
    strategy.run([&](Replica& replica) {
      Tape tape;
      Tensor x = tape.watch(row(replica, {1, 2}), 0);
      const Tensor all = replica.all_gather(x);
      const double weight = replica.id + 1.0;
      SingleGradient sink;
      backward(tape, ops::sum(all) * weight, sink);
      const float expected = static_cast<float>(replicas() * (replicas() + 1) / 2);
      EXPECT_EQ(floats(sink.gradient), (std::vector<float>{expected, expected}));
    });
  });
}

TEST_P(ProcessesTest, ValuesOfARunAreReducedAndGatheredEverywhere) {
  processes().run([&](const Strategy& strategy) {
    const PerReplica values = strategy.run([](Replica& replica) {
      return Tensor::full({replica.id + 1, 2}, replica.id + 1.0, DType::float32, replica.device);
    });
    ASSERT_EQ(values.size(), static_cast<size_t>(processes().devices));
    EXPECT_EQ(strategy.gather(values).shape(), (Shape{replicas() * (replicas() + 1) / 2, 2}));
    double squares = 0, count = 0;
    for (int id = 1; id <= replicas(); ++id) squares += id * id, count += id;
    EXPECT_FLOAT_EQ(floats(strategy.reduce("sum", values, {0}))[1], static_cast<float>(squares));
    EXPECT_FLOAT_EQ(floats(strategy.reduce("mean", values, {0}))[0], static_cast<float>(squares / count));
    const PerReplica ids = strategy.run([](Replica& replica) { return scalar(replica, replica.id); });
    EXPECT_FLOAT_EQ(static_cast<float>(strategy.reduce("mean", ids).item()),
                    static_cast<float>(sum_of_ids() / replicas()));
  });
}

TEST_P(ProcessesTest, AVariableBeginsWithTheValueOfTheFirstReplica) {
  processes().run([&](const Strategy& strategy) {
    const double own = strategy.node().replica_id(0) + 7.0;  // another one in each process
    const Variable outside = strategy.scope([&] { return Variable(own, {.name = "v"}); });
    EXPECT_EQ(outside.value().item(), 7.0);
    strategy.run([&](Replica& replica) {
      EXPECT_EQ(Variable(10.0 + replica.id, {.name = "w"}).value().item(), 10.0);
    });
  });
}

TEST_P(ProcessesTest, WritesOfReplicasAreBroughtTogetherByAggregation) {
  processes().run([&](const Strategy& strategy) {
    const auto made = [&](Aggregation aggregation, const char* name) {
      return strategy.scope([&] {
        return Variable(Tensor::zeros({2}), {.trainable = false, .aggregation = aggregation, .name = name});
      });
    };
    const Variable sum = made(Aggregation::sum, "sum"), mean = made(Aggregation::mean, "mean"),
                   first = made(Aggregation::only_first_replica, "first");
    strategy.run([&](Replica& replica) {
      const Tensor own = row(replica, {replica.id + 1.0f, 2});
      sum.assign_add(own);
      mean.assign(own);
      first.assign_sub(own);
      mean.assign_add(3.0);  // one number on all replicas
      sum.scatter_add(Tensor::from(std::vector<int64_t>{1}, Shape{1}, replica.device), row(replica, {1}));
    });
    const float ids = static_cast<float>(sum_of_ids()), count = static_cast<float>(replicas());
    EXPECT_EQ(floats(sum.value()), (std::vector<float>{ids + count, 3 * count}));
    EXPECT_FLOAT_EQ(floats(mean.value())[0], (ids + count) / count + 3);
    EXPECT_EQ(floats(first.value()), (std::vector<float>{-1, -2}));
    EXPECT_THROW(strategy.run([&](Replica&) { sum.assign(5.0); }), InvalidArgumentError);
  });
}

TEST_P(ProcessesTest, CopiesAreBroughtTogetherWhenTheyAreRead) {
  processes().run([&](const Strategy& strategy) {
    const auto made = [&](Aggregation aggregation, const char* name) {
      return strategy.scope([&] {
        return Variable(Tensor::zeros({1}), {.aggregation = aggregation,
                                             .synchronization = Synchronization::on_read,
                                             .name = name});
      });
    };
    const Variable sum = made(Aggregation::sum, "sum"), mean = made(Aggregation::mean, "mean"),
                   first = made(Aggregation::only_first_replica, "first");
    strategy.run([&](Replica& replica) {
      for (const Variable& variable : {sum, mean, first})
        variable.assign(row(replica, {replica.id + 4.0f}));
    });
    EXPECT_EQ(sum.value().to_vector<float>()[0], static_cast<float>(sum_of_ids() + 4 * replicas()));
    EXPECT_FLOAT_EQ(mean.value().to_vector<float>()[0], static_cast<float>(sum_of_ids() / replicas() + 4));
    EXPECT_EQ(first.value().to_vector<float>()[0], 4);
    sum.assign(Tensor::full({1}, 12));
    EXPECT_FLOAT_EQ(sum.value().to_vector<float>()[0], 12);
    EXPECT_FLOAT_EQ(sum.value(0).to_vector<float>()[0], 12.0f / static_cast<float>(replicas()));
  });
}

/// loss = (id + 1) * sum(weight * weight) of each variable on every replica.
std::function<void(Replica&)> step_of(const Variables& weights) {
  return [weights](Replica& replica) {
    Tensor loss;
    for (const Variable& weight : weights) {
      const Tensor value = replica.tape->watch(weight.value(static_cast<size_t>(replica.local_index)),
                                               weight.node().leaf);
      const Tensor part = ops::sum(value * value) * (replica.id + 1.0);
      loss = loss.defined() ? ops::add(loss, part) : part;
    }
    backward(*replica.tape, loss, *replica.gradients);
  };
}

/// Weights after some steps, by steps of update() and by apply_gradients in turn.
std::vector<std::vector<float>> trained(const Strategy& strategy) {
  Variables weights;
  for (int i = 0; i < 7; ++i)
    weights.push_back(
        make_variable(strategy.node().store(), "w" + std::to_string(i), {100 * (i + 1)}, 0.5 + i));
  PlainDescent rule(weights, 0.002);
  for (int step = 0; step < 3; ++step) {
    strategy.node().run(step_of(weights), &rule);
    strategy.node().update(rule);
    strategy.run([&](Replica& replica) {
      Tensors gradients;
      for (const Variable& weight : weights)
        gradients.push_back(weight.value(static_cast<size_t>(replica.local_index)) * (replica.id + 1.0));
      strategy.node().apply_gradients(
          {.gradients = gradients, .variables = weights, .rule = [&](const Variables&) -> UpdateRule& {
             return rule;
           }});
    });
  }
  // Those of the whole batch: every process brings them, one counts.
  Tensors gradients;
  for (const Variable& weight : weights) gradients.push_back(weight.value(0).clone());
  strategy.node().apply_gradients(
      {.gradients = gradients, .variables = weights, .rule = [&](const Variables&) -> UpdateRule& {
         return rule;
       }});
  std::vector<std::vector<float>> values;
  for (const Variable& weight : weights) {
    values.push_back(floats(weight.value(0)));
    for (size_t copy = 1; copy < weight.num_copies(); ++copy)
      EXPECT_EQ(floats(weight.value(copy)), values.back());
  }
  return values;
}

TEST_P(ProcessesTest, GradientsAreThoseOfOneProcessWithAllReplicas) {
  configure_logical_devices("cpu", replicas());
  InProcessOptions options{.name = "one process", .devices = {}};
  for (int i = 0; i < replicas(); ++i) options.devices.push_back(Device(DeviceKind::cpu, i));
  const auto expected = trained(Strategy(std::make_shared<InProcessStrategy>(options)));
  for (const int64_t bucket_elements : {1, 500, 65536}) {
    ProcessThreads own = processes();
    own.bucket_elements = bucket_elements;
    std::mutex mutex;
    own.run([&](const Strategy& strategy) {
      const auto values = trained(strategy);
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < values.size(); ++i)
        for (size_t j = 0; j < values[i].size(); ++j)
          ASSERT_NEAR(values[i][j], expected[i][j], 1e-5 * (i + 1));
    });
  }
}

/// Gradients are sums over the replicas of a process, rounded; what programs reduce is not.
TEST_P(ProcessesTest, GradientsThatTravelInBfloat16AreTheSameEverywhere) {
  std::vector<std::vector<float>> exact;
  std::mutex mutex;
  processes().run([&](const Strategy& strategy) {
    auto values = trained(strategy);
    const std::lock_guard lock(mutex);
    exact = std::move(values);
  });
  ProcessThreads own = processes();
  own.wire_dtype = DType::bfloat16;
  std::vector<std::vector<std::vector<float>>> received;
  own.run([&](const Strategy& strategy) {
    const double fine = 1 + 1.0 / 4096;
    const PerReplica ones = strategy.run([&](Replica& replica) { return scalar(replica, fine); });
    EXPECT_EQ(strategy.reduce("mean", ones).item(), fine);
    EXPECT_THAT(strategy.node().describe(), HasSubstr("gradients travel as bfloat16"));
    auto values = trained(strategy);
    const std::lock_guard lock(mutex);
    received.push_back(std::move(values));
  });
  for (const auto& values : received) EXPECT_EQ(values, received[0]);
  EXPECT_NE(received[0], exact);
  for (size_t i = 0; i < exact.size(); ++i)
    for (size_t j = 0; j < exact[i].size(); ++j)
      ASSERT_NEAR(received[0][i][j], exact[i][j], 2e-3 * exact[i][j]) << i;
}

TEST_P(ProcessesTest, OtherVariablesInAnotherProcessAreAnError) {
  const auto errors = processes().errors_of([&](const Strategy& strategy) {
    const bool first = strategy.node().replica_id(0) == 0;
    const Variable weight = make_variable(strategy.node().store(), "w", {2}, 1);
    weight.assign(first ? 1.0 : 2.0);  // each process its own: they do not notice here
    PlainDescent rule({weight}, 1.0);
    strategy.node().run(step_of({weight}), &rule);
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const CommunicationError& caught) {
      EXPECT_THAT(caught.what(), HasSubstr("the values of the variables to be trained"));
    }
  }
}

TEST_P(ProcessesTest, MergeCallSeesTheReplicasOfItsProcess) {
  processes().run([&](const Strategy& strategy) {
    strategy.run([&](Replica& replica) {
      const Tensor sum = replica.merge_call(
          [&](const Strategy& inside, const PerReplica<>& ids) {
            EXPECT_EQ(ids.size(), static_cast<size_t>(processes().devices));
            return inside.reduce("sum", ids);
          },
          scalar(replica, replica.id));
      EXPECT_EQ(sum.item(), sum_of_ids());
    });
  });
}

TEST_P(ProcessesTest, AReplicaThatThrowsEndsTheStepEverywhere) {
  const int guilty = replicas() - 1;
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = processes().errors_of([&](const Strategy& strategy) {
    const Variable weight = make_variable(strategy.node().store(), "w", {2}, 1);
    PlainDescent rule({weight}, 1.0);
    const auto step = step_of({weight});
    strategy.node().run(
        [&](Replica& replica) {
          if (replica.id == guilty) throw ShapeError("the shoe does not fit");
          step(replica);
        },
        &rule);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    ASSERT_TRUE(errors[rank]) << rank;
    try {
      std::rethrow_exception(errors[rank]);
    } catch (const ShapeError& error) {
      EXPECT_EQ(rank + 1, errors.size());
      EXPECT_THAT(error.what(), HasSubstr("replica " + std::to_string(guilty)));
    } catch (const CommunicationError& error) {
      EXPECT_LT(rank + 1, errors.size());
      EXPECT_THAT(error.what(), HasSubstr("the shoe does not fit"));
    }
  }
}

TEST_P(ProcessesTest, ProcessesThatDoDifferentThingsGetAnErrorThatNamesBoth) {
  const auto errors = processes().errors_of([&](const Strategy& strategy) {
    strategy.run([&](Replica& replica) {
      const bool first = replica.id < processes().devices;
      if (first)
        replica.all_reduce("sum", scalar(replica, 1));
      else
        replica.all_gather(row(replica, {1}));
    });
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_THROW(std::rethrow_exception(error), CommunicationError);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ProcessesTest,
    ::testing::Values(ProcessThreads{2, 1}, ProcessThreads{3, 1}, ProcessThreads{2, 2},
                      ProcessThreads{.processes = 2, .devices = 2, .share_weights = false}),
    [](const auto& instance) {
      return instance.param.name() + (instance.param.share_weights ? "" : "_separate");
    });

}  // namespace

}  // namespace nyala::processes_test
