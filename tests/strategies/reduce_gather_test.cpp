#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/tests/strategies/strategy_kinds.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReduceGather : public OnStrategies {
 protected:
  /// One tensor per replica on its device: make(id).
  template <class F>
  static PerReplica<> values(const Strategy& strategy, F&& make) {
    return strategy.distribute_values_from_function(
        [&](const ValueContext& context) { return Tensor(make(context.replica_id_in_sync_group)); });
  }
  static Tensor counting(int64_t count, const Shape& shape, float first = 0) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(first + static_cast<float>(i));
    return Tensor::from(numbers, shape);
  }
};

TEST_P(ReduceGather, MeanAlongAnAxisCountsElements) {
  const Strategy under_test = strategy();
  // Replica r holds r + 1 numbers, 0, 1, 2, ... going on from replica to replica.
  const PerReplica<> parts = values(
      under_test, [](int id) { return counting(id + 1, {id + 1}, static_cast<float>(id * (id + 1) / 2)); });
  const double count = replicas() * (replicas() + 1) / 2;
  EXPECT_FLOAT_EQ(under_test.reduce(ReduceOp::mean, parts, 0).item(), (count - 1) / 2);
  EXPECT_EQ(under_test.reduce(ReduceOp::sum, parts, 0).item(), count * (count - 1) / 2);
}

TEST_P(ReduceGather, SeveralAxes) {
  const Strategy under_test = strategy();
  const PerReplica<> parts = values(under_test, [](int) { return counting(12, {2, 3, 2}); });
  const Tensor sum = under_test.reduce("SUM", parts, {0, 2});
  const float n = static_cast<float>(replicas());
  EXPECT_EQ(numbers(sum),
            std::vector<float>({(0 + 1 + 6 + 7) * n, (2 + 3 + 8 + 9) * n, (4 + 5 + 10 + 11) * n}));
  EXPECT_EQ(numbers(under_test.reduce("mean", parts, {0, -1})), std::vector<float>({3.5f, 5.5f, 7.5f}));
  EXPECT_EQ(under_test.reduce("mean", parts, std::vector<int>{0, 1, 2}).item(), 5.5);
}

TEST_P(ReduceGather, MeansOfIntegersAlongAnAxisAreExact) {
  const Strategy under_test = strategy();
  const PerReplica<> parts = values(under_test, [](int) { return Tensor::from(std::vector<int64_t>{1, 2}); });
  EXPECT_EQ(under_test.reduce(ReduceOp::mean, parts, 0).item(), 1.5);
  EXPECT_EQ(under_test.reduce(ReduceOp::sum, parts, 0).item(), 3.0 * replicas());
}

TEST_P(ReduceGather, MirroredValuesCountOncePerReplica) {
  const Strategy under_test = strategy();
  const Mirrored<> same = under_test.mirror(Tensor({1, 2}));
  EXPECT_EQ(numbers(under_test.reduce(ReduceOp::mean, same)), std::vector<float>({1, 2}));
  EXPECT_EQ(under_test.reduce(ReduceOp::sum, same, 0).item(), 3.0 * replicas());
  EXPECT_EQ(under_test.gather(same).shape(), Shape({2 * replicas()}));
}

TEST_P(ReduceGather, APlainTensorHasAMeanButNoSum) {
  const Strategy under_test = strategy();
  EXPECT_EQ(under_test.reduce(ReduceOp::mean, Tensor({1, 2})).to_vector<float>(), std::vector<float>({1, 2}));
  if (replicas() == 1)
    EXPECT_EQ(under_test.reduce(ReduceOp::sum, Tensor(3.0f)).item(), 3.0);
  else
    EXPECT_THROW((void)under_test.reduce(ReduceOp::sum, Tensor(3.0f)), InvalidArgumentError);
}

TEST_P(ReduceGather, NamesAndAxesAreChecked) {
  const Strategy under_test = strategy();
  const PerReplica<> parts = values(under_test, [](int) { return Tensor({1, 2}); });
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { (void)under_test.reduce("MAX", parts); }),
              HasSubstr("'MAX' is not a valid ReduceOp"));
  EXPECT_THROW((void)under_test.reduce(ReduceOp::sum, parts, 1), InvalidArgumentError);
  EXPECT_THROW((void)under_test.reduce(ReduceOp::mean, parts, -2), InvalidArgumentError);
  EXPECT_THROW((void)under_test.reduce(ReduceOp::mean, parts, {0, 0}), InvalidArgumentError);
  EXPECT_THROW((void)under_test.gather(parts, 1), InvalidArgumentError);
}

TEST_P(ReduceGather, ValuesHaveToFit) {
  const Strategy under_test = strategy();
  EXPECT_THAT(error_text<InvalidArgumentError>(
                  [&] { (void)under_test.gather(values(under_test, [](int) { return Tensor(1.0f); })); }),
              HasSubstr("scalar"));
  EXPECT_THROW((void)under_test.reduce(ReduceOp::sum, PerReplica<>(std::vector<Tensor>(7, Tensor(1.0f)))),
               InvalidArgumentError);
  if (replicas() == 1) return;
  const PerReplica<> lengths = values(under_test, [](int id) { return counting(id + 1, {id + 1}); });
  EXPECT_THROW((void)under_test.reduce(ReduceOp::sum, lengths), ShapeError);
  const PerReplica<> ranks = values(under_test, [](int id) {
    return id == 0 ? counting(1, {1}) : counting(1, {1, 1});
  });
  EXPECT_THROW((void)under_test.gather(ranks), ShapeError);
  const PerReplica<> widths = values(under_test, [](int id) { return counting(id + 1, {1, id + 1}); });
  EXPECT_THROW((void)under_test.gather(widths, 0), ShapeError);
  EXPECT_EQ(under_test.gather(widths, 1).shape(), Shape({1, replicas() * (replicas() + 1) / 2}));
  EXPECT_EQ(under_test.gather(widths, -1).shape(), Shape({1, replicas() * (replicas() + 1) / 2}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReduceGather, ::testing::ValuesIn(strategy_kinds()), kind_name);

TEST(ReduceOpName, TakesNamesInAnyCase) {
  EXPECT_EQ(ReduceOpName("SUM").op, ReduceOp::sum);
  EXPECT_EQ(ReduceOpName(std::string("Mean")).op, ReduceOp::mean);
  EXPECT_THROW(ReduceOpName(""), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
