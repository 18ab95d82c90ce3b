#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/mirrored.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> sizes(const std::vector<double>& weights, int64_t rows) {
  std::vector<int64_t> list;
  for (const RowRange& range : split_rows(weights, rows)) list.push_back(range.count);
  return list;
}

TEST(RowSplitTest, LargestRemaindersGetWhatIsLeft) {
  EXPECT_THAT(sizes({3, 1}, 8), ElementsAre(6, 2));
  EXPECT_THAT(sizes({3, 1}, 7), ElementsAre(5, 2));  // 5.25 and 1.75
  EXPECT_THAT(sizes({3, 1}, 1), ElementsAre(1, 0));
  EXPECT_THAT(sizes({1, 3}, 2), ElementsAre(1, 1));  // 0.5 and 1.5: the first of equal remainders
  EXPECT_THAT(sizes({1, 0.01, 1}, 10), ElementsAre(5, 0, 5));
  EXPECT_THAT(sizes({0.1, 0.2, 0.7}, 10), ElementsAre(1, 2, 7));
  EXPECT_THAT(sizes({1e-300, 1e300}, 5), ElementsAre(0, 5));
  EXPECT_THAT(sizes({2, 5}, 0), ElementsAre(0, 0));
  EXPECT_THAT(sizes({7}, 5), ElementsAre(5));
}

TEST(RowSplitTest, PiecesAreConsecutiveAndNearTheirShare) {
  const std::vector<double> weights{0.3, 2.7, 1.0, 1.0, 0.05};
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int64_t rows = 0; rows < 300; ++rows) {
    int64_t next = 0;
    const std::vector<RowRange> pieces = split_rows(weights, rows);
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(pieces[i].first, next);
      next += pieces[i].count;
      EXPECT_LT(
          std::abs(static_cast<double>(pieces[i].count) - static_cast<double>(rows) * weights[i] / total),
          1.0);
    }
    EXPECT_EQ(next, rows);
  }
}

class DeviceWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 4); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

TEST_F(DeviceWeightsTest, EqualWeightsSplitLikeNone) {
  for (int replicas : {1, 2, 3, 4}) {
    const std::vector<std::string> names{"cpu:0", "cpu:1", "cpu:2", "cpu:3"};
    const std::vector<std::string> devices(names.begin(), names.begin() + replicas);
    const MirroredStrategy plain({.devices = devices});
    const MirroredStrategy weighted(
        {.devices = devices, .device_weights = std::vector<double>(devices.size(), 0.7)});
    for (int64_t rows = 0; rows < 100; ++rows)
      for (int id = 0; id < replicas; ++id) {
        EXPECT_EQ(weighted.node().rows_of(id, rows).first, plain.node().rows_of(id, rows).first);
        EXPECT_EQ(weighted.node().rows_of(id, rows).count, plain.node().rows_of(id, rows).count);
      }
  }
}

TEST_F(DeviceWeightsTest, TheSplitIsDescribedAndDistributed) {
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}, .device_weights = {3, 1}});
  EXPECT_THAT(strategy.describe(), HasSubstr("3 : 1"));
  Batch batch;
  batch.x = {Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {8, 1})};
  const DistributedBatch parts = strategy.distribute(batch);
  EXPECT_EQ(parts.parts[0].x[0].shape(), Shape({6, 1}));
  EXPECT_EQ(parts.parts[1].x[0].to_vector<float>(), std::vector<float>({6, 7}));
}

TEST_F(DeviceWeightsTest, Errors) {
  const auto text = [](std::vector<double> weights) -> std::string {
    try {
      MirroredStrategy({.devices = {"cpu:0", "cpu:1"}, .device_weights = std::move(weights)});
    } catch (const InvalidArgumentError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(text({1}), AllOf(HasSubstr("MirroredStrategy"), HasSubstr("2"), HasSubstr("received 1")));
  EXPECT_THAT(text({1, 2, 3}), HasSubstr("received 3"));
  EXPECT_THAT(text({1, 0}), AllOf(HasSubstr("weight 1"), HasSubstr("positive")));
  EXPECT_THAT(text({-1, 2}), HasSubstr("weight 0"));
  EXPECT_THAT(text({1, NAN}), HasSubstr("positive"));
  EXPECT_THAT(text({INFINITY, 1}), HasSubstr("positive"));
  EXPECT_THROW(CentralStorageStrategy({.compute_devices = {"cpu:0", "cpu:1"}, .device_weights = {1}}),
               InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
