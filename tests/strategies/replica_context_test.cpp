#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Keeps the gradient of the one leaf.
class OneGradient final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t, const Tensor& gradient) override { value = gradient; }
  Tensor value;
};

Tensor row(const ReplicaContext& replica, std::vector<float> values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return Tensor::from(values, Shape{size}, replica.device);
}

class Replicas : public OnStrategies {};

TEST_P(Replicas, AllReduceOfNests) {
  const Strategy under_test = strategy();
  const float n = static_cast<float>(replicas());
  under_test.run([&](ReplicaContext& replica) {
    const float id = static_cast<float>(replica.id);
    const auto [sum, list] =
        replica.all_reduce("SUM", std::pair{row(replica, {id}), std::vector<Tensor>{row(replica, {2, id})}});
    EXPECT_EQ(numbers(sum), std::vector<float>({n * (n - 1) / 2}));
    EXPECT_EQ(numbers(list[0]), std::vector<float>({2 * n, n * (n - 1) / 2}));
    EXPECT_EQ(sum.device(), replica.device);
    EXPECT_EQ(numbers(replica.all_reduce(ReduceOp::mean, row(replica, {id}))),
              std::vector<float>({(n - 1) / 2}));
  });
}

/// The two texts stand in the error that replicas 0 and 1 get for doing different things at one meeting.
template <class First, class Second>
void expect_refused(const Strategy& under_test, First&& first, Second&& second, const std::string& one,
                    const std::string& other) {
  const std::string text = error_text<CommunicationError>([&] {
    under_test.run([&](ReplicaContext& replica) {
      if (replica.id == 1)
        second(replica);
      else
        first(replica);
    });
  });
  EXPECT_THAT(text, AllOf(HasSubstr(one), HasSubstr(other), HasSubstr("replica 0"), HasSubstr("replica 1")));
  under_test.run([](ReplicaContext& replica) { replica.all_reduce("SUM", row(replica, {1})); });
}

TEST_P(Replicas, DifferentVerbsAtOneMeetingAreErrors) {
  const Strategy under_test = strategy();
  if (replicas() == 1) return;
  const auto sum = [](ReplicaContext& r) { r.all_reduce("SUM", row(r, {1, 2})); };
  const auto mean = [](ReplicaContext& r) { r.all_reduce("MEAN", row(r, {1, 2})); };
  const auto gather = [](ReplicaContext& r) {
    r.all_gather(Tensor::zeros({2, 2}, DType::float32, r.device));
  };
  const auto gather_1 = [](ReplicaContext& r) {
    r.all_gather(Tensor::zeros({2, 2}, DType::float32, r.device), 1);
  };
  const auto longer = [](ReplicaContext& r) { r.all_reduce("SUM", row(r, {1, 2, 3})); };
  const auto integers = [](ReplicaContext& r) {
    r.all_reduce("SUM", Tensor::zeros({2}, DType::int32, r.device));
  };
  const auto merge = [](ReplicaContext& r) { r.merge_call([](const Strategy&) {}); };
  expect_refused(under_test, sum, mean, "all_reduce(SUM)", "all_reduce(MEAN)");
  expect_refused(under_test, mean, sum, "all_reduce(SUM)", "all_reduce(MEAN)");
  expect_refused(under_test, sum, gather, "all_reduce(SUM)", "all_gather");
  expect_refused(under_test, gather, gather_1, "all_gather", "all_gather(axis 1)");
  expect_refused(under_test, sum, longer, "float32 (2,)", "float32 (3,)");
  expect_refused(under_test, sum, integers, "float32 (2,)", "int32 (2,)");
  expect_refused(under_test, sum, merge, "all_reduce(SUM)", "merge_call()");
}

TEST_P(Replicas, MergeCallsWithOtherArgumentsAreErrors) {
  const Strategy under_test = strategy();
  if (replicas() == 1) return;
  const std::string text = error_text<CommunicationError>([&] {
    under_test.run([&](ReplicaContext& replica) {
      if (replica.id == 1)
        replica.merge_call([](const Strategy&, const PerReplica<>&) { ADD_FAILURE(); }, row(replica, {1}));
      else
        replica.merge_call([](const Strategy&, const PerReplica<int>&) { ADD_FAILURE(); }, 7);
    });
  });
  EXPECT_THAT(text, AllOf(HasSubstr("merge_call"), HasSubstr("replicas 0 and 1")));
}

TEST_P(Replicas, UpdatesOfDifferentVariablesAreErrors) {
  const Strategy under_test = strategy();
  const auto [a, b] = under_test.scope([] {
    return std::pair{Variable(Tensor({1, 2}), {.name = "a"}), Variable(Tensor({1, 2}), {.name = "b"})};
  });
  if (replicas() == 1 || !a.node().home.defined()) return;  // each replica writes a copy of its own
  expect_refused(
      under_test, [&](ReplicaContext& r) { r.update(a, [](const Tensor&) {}); },
      [&](ReplicaContext& r) { r.update(b, [](const Tensor&) {}); }, "update() of a", "update() of b");
}

TEST_P(Replicas, MeansOfIntegersAreRoundedDown) {
  const Strategy under_test = strategy();
  under_test.run([&](ReplicaContext& replica) {
    const Tensor value =
        Tensor::from(std::vector<int32_t>{replica.id, -replica.id}, Shape{2}, replica.device);
    const int sum = replicas() * (replicas() - 1) / 2;
    const int up = (sum + replicas() - 1) / replicas();
    EXPECT_EQ(replica.all_reduce(ReduceOp::mean, value).to_vector<int32_t>(),
              std::vector<int32_t>({sum / replicas(), -up}));
  });
}

// L_r = sum(w_r * y * y), y the reduced value: dL/dx_k = sum over r of 2 w_r y, for means divided by N.
TEST_P(Replicas, TheGradientOfAnAllReduceIsAnAllReduce) {
  const Strategy under_test = strategy();
  const float n = static_cast<float>(replicas());
  for (const bool mean : {false, true}) {
    under_test.run([&](ReplicaContext& replica) {
      const float weight = static_cast<float>(replica.id + 1);
      const Tensor x = replica.tape->watch(row(replica, {weight, 2 * weight}), 0);
      const Tensor y = replica.all_reduce(mean ? ReduceOp::mean : ReduceOp::sum, x);
      OneGradient sink;
      backward(*replica.tape, ops::sum(y * y) * static_cast<double>(weight), sink);
      const float total = n * (n + 1) / 2, y0 = mean ? total / n : total;
      const float expected = 2 * y0 * total / (mean ? n : 1);
      EXPECT_NEAR(numbers(sink.value)[0], expected, 1e-4 * expected);
      EXPECT_NEAR(numbers(sink.value)[1], 2 * expected, 2e-4 * expected);
    });
  }
}

TEST_P(Replicas, AllGatherTakesUnevenSizes) {
  const Strategy under_test = strategy();
  const int64_t rows = replicas() * (replicas() + 1) / 2;
  under_test.run([&](ReplicaContext& replica) {
    const Tensor own = Tensor::full({replica.id + 1, 2}, replica.id, DType::float32, replica.device);
    const Tensor all = replica.all_gather(own);
    EXPECT_EQ(all.shape(), Shape({rows, 2}));
    EXPECT_EQ(all.device(), replica.device);
    EXPECT_EQ(numbers(all).back(), static_cast<float>(replicas() - 1));
    EXPECT_EQ(numbers(all).front(), 0.0f);
    const Tensor wide = Tensor::full({2, replica.id + 1}, replica.id, DType::float32, replica.device);
    EXPECT_EQ(replica.all_gather(wide, -1).shape(), Shape({2, rows}));
    const Tensor nothing = Tensor::full({replica.id == 0 ? 0 : 1, 2}, 1, DType::float32, replica.device);
    EXPECT_EQ(replica.all_gather(nothing).shape(), Shape({replicas() - 1, 2}));
  });
}

// Every replica sums all gathered rows with weights 1, 2, ..: row i gets N * (i + 1).
TEST_P(Replicas, TheGradientOfAnAllGatherIsSummedAndCut) {
  const Strategy under_test = strategy();
  under_test.run([&](ReplicaContext& replica) {
    const Tensor own = Tensor::full({replica.id + 1}, 1, DType::float32, replica.device);
    const Tensor all = replica.all_gather(replica.tape->watch(own, 0));
    std::vector<float> weights;
    for (int64_t i = 0; i < all.shape()[0]; ++i) weights.push_back(static_cast<float>(i + 1));
    OneGradient sink;
    backward(*replica.tape, ops::sum(all * row(replica, weights)), sink);
    const std::vector<float> gradient = numbers(sink.value);
    ASSERT_EQ(gradient.size(), static_cast<size_t>(replica.id + 1));
    const int first = replica.id * (replica.id + 1) / 2;
    for (int i = 0; i <= replica.id; ++i)
      EXPECT_EQ(gradient[static_cast<size_t>(i)], static_cast<float>(replicas() * (first + i + 1)));
  });
}

TEST_P(Replicas, AllGatherRefusesWhatDoesNotFit) {
  const Strategy under_test = strategy();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                under_test.run([](ReplicaContext& replica) {
                  replica.all_gather(Tensor::full({}, 1, DType::float32, replica.device));
                });
              }),
              HasSubstr("scalar"));
  EXPECT_THROW(under_test.run([](ReplicaContext& replica) { replica.all_gather(row(replica, {1}), 1); }),
               ShapeError);
  if (replicas() == 1) return;
  EXPECT_THROW(under_test.run([](ReplicaContext& replica) {
    replica.all_gather(Tensor::full({1, replica.id + 1}, 1, DType::float32, replica.device));
  }),
               ShapeError);
  EXPECT_THROW(under_test.run([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::sum, Tensor::full({replica.id + 1}, 1, DType::float32, replica.device));
  }),
               CommunicationError);
}

TEST_P(Replicas, MergeCallRunsOnceWithRegroupedArguments) {
  const Strategy under_test = strategy();
  int calls = 0;
  const PerReplica<int> results = under_test.run([&](ReplicaContext& replica) {
    const Tensor own = row(replica, {static_cast<float>(replica.id)});
    return replica.merge_call(
        [&](const Strategy& inside, const PerReplica<>& values, const PerReplica<int>& ids,
            const std::pair<PerReplica<>, PerReplica<double>>& nest, const std::string& text) {
          ++calls;
          EXPECT_EQ(text, "same");
          EXPECT_EQ(values.size(), static_cast<size_t>(replicas()));
          EXPECT_EQ(nest.second[0], 0.5);
          const double sum = inside.reduce(ReduceOp::sum, values).item();
          EXPECT_EQ(sum, replicas() * (replicas() - 1) / 2);
          std::vector<int> out;
          for (const int id : ids) out.push_back(100 + id);
          return PerReplica<int>(out);
        },
        own, replica.id, std::pair{own, 0.5}, std::string("same"));
  });
  EXPECT_EQ(calls, 1);
  for (int id = 0; id < replicas(); ++id) EXPECT_EQ(results[static_cast<size_t>(id)], 100 + id);
  const PerReplica<std::string> same = under_test.run([](ReplicaContext& replica) {
    return replica.merge_call([](const Strategy&) { return std::string("to all"); });
  });
  EXPECT_EQ(same.values().back(), "to all");
}

TEST_P(Replicas, MergeCallWithADifferingPlainArgumentIsAnError) {
  if (replicas() == 1) return;
  const Strategy under_test = strategy();
  EXPECT_THROW(under_test.run([](ReplicaContext& replica) {
    replica.merge_call([](const Strategy&, const std::string&) {}, std::to_string(replica.id));
  }),
               InvalidArgumentError);
}

TEST_P(Replicas, MergeCallsHaveToBeEqualInNumber) {
  if (replicas() == 1) return;
  const Strategy under_test = strategy();
  for (int attempt = 0; attempt < 50; ++attempt) {
    const int absent = attempt % replicas();
    const std::string text = error_text<CommunicationError>([&] {
      under_test.run([&](ReplicaContext& replica) {
        replica.merge_call([](const Strategy&) {});
        if (replica.id != absent) replica.merge_call([](const Strategy&) {});
      });
    });
    EXPECT_THAT(text, AllOf(HasSubstr("a different number of merge_call() calls"),
                            HasSubstr("replica " + std::to_string(absent) + " did not come"),
                            Not(HasSubstr(" on "))));  // not as if one that waited were the cause
  }
}

TEST_P(Replicas, DifferentMeetingsAtOneTimeAreAnError) {
  if (replicas() == 1) return;
  const Strategy under_test = strategy();
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::string text = error_text<CommunicationError>([&] {
      under_test.run([&](ReplicaContext& replica) {
        if (replica.id == 0)
          replica.merge_call([](const Strategy&) { FAIL(); });
        else
          replica.all_reduce(ReduceOp::sum, row(replica, {1}));
      });
    });
    EXPECT_THAT(text, AllOf(HasSubstr("merge_call"), HasSubstr("all_reduce")));
  }
}

TEST_P(Replicas, AnErrorInMergeCallReachesTheCaller) {
  const Strategy under_test = strategy();
  for (int attempt = 0; attempt < 100; ++attempt) {
    EXPECT_THAT(error_text<NumericError>([&] {
                  under_test.run([](ReplicaContext& replica) {
                    replica.merge_call([](const Strategy&) { throw NumericError("in the middle"); });
                  });
                }),
                HasSubstr("in the middle"));
    EXPECT_EQ(under_test.run([] { return 1; }).size(), static_cast<size_t>(replicas()));
  }
}

TEST_P(Replicas, AGradientOutsideOfItsRunIsAnError) {
  if (replicas() == 1) return;
  const Strategy under_test = strategy();
  std::vector<Tape> tapes(static_cast<size_t>(replicas()));
  const PerReplica<> losses = under_test.run([&](ReplicaContext& replica) {
    Tape& tape = tapes[static_cast<size_t>(replica.id)];
    return replica.all_reduce(ReduceOp::sum, tape.watch(row(replica, {1}), 0));
  });
  OneGradient sink;
  EXPECT_THROW(backward(tapes[0], losses[0], sink), StateError);
}

TEST_P(Replicas, UpdateConcernsACopyOnce) {
  const Strategy under_test = strategy();
  const Variable variable = under_test.scope([] { return Variable(5.0); });
  under_test.run([&](ReplicaContext& replica) {
    replica.update(
        variable, [](const Tensor& copy, double number) { copy.copy_from(copy + number); }, 2.0);
    replica.update(
        variable, [](const Tensor& copy, double number) { copy.copy_from(copy + number); }, 1.0);
  });
  for (int id = 0; id < replicas(); ++id) EXPECT_EQ(variable.value(static_cast<size_t>(id)).item(), 8.0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Replicas, ::testing::ValuesIn(strategy_kinds()), kind_name);

}  // namespace

}  // namespace nyala
