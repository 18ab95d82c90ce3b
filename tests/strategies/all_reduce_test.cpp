// Sums in place whose every bit is known: those of the ops that add in replica order.
#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cross_device/direct_all_reduce.h>
#include <nyala/strategies/cross_device/reduction_to_one_device.h>

namespace nyala {

namespace {

constexpr int64_t kLengths[] = {0, 1, 17, 32768, 100001};

float value_of(int buffer, int64_t i) {
  return 1.0f / static_cast<float>(3 + buffer) + static_cast<float>((i * 7 + buffer * 13) % 101) * 0.37f;
}

std::vector<float> buffer_values(int buffer, int64_t length) {
  std::vector<float> values(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) values[static_cast<size_t>(i)] = value_of(buffer, i);
  return values;
}

std::vector<float> expected_sum(int buffers, int64_t length) {
  std::vector<float> sum = buffer_values(0, length);
  for (int buffer = 1; buffer < buffers; ++buffer)
    for (int64_t i = 0; i < length; ++i) sum[static_cast<size_t>(i)] += value_of(buffer, i);
  return sum;
}

void check(const CrossDeviceOps& ops, const std::vector<Device>& devices, int64_t length, bool to_all) {
  Tensors buffers;
  for (size_t i = 0; i < devices.size(); ++i)
    buffers.push_back(Tensor::from(buffer_values(static_cast<int>(i), length), {length}, devices[i]));
  ops.all_reduce(ReduceOp::sum, buffers, to_all);
  const std::vector<float> sum = expected_sum(static_cast<int>(devices.size()), length);
  for (size_t i = 0; i < (to_all ? buffers.size() : 1); ++i)
    EXPECT_EQ(buffers[i].to_vector<float>(), sum)
        << ops.name() << ": buffer " << i << " of " << devices.size() << ", length " << length;
}

class AllReduceTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 8); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

TEST_P(AllReduceTest, SumsInOrder) {
  std::vector<Device> devices;
  for (int i = 0; i < GetParam(); ++i) devices.push_back(Device("cpu:" + std::to_string(i % 8)));
  for (int64_t length : kLengths)
    for (bool to_all : {false, true}) {
      check(DirectAllReduce(), devices, length, to_all);
      check(ReductionToOneDevice(), devices, length, to_all);
      check(ReductionToOneDevice({.device = "cpu:7"}), devices, length, to_all);
    }
}

INSTANTIATE_TEST_SUITE_P(Buffers, AllReduceTest, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12));

TEST(AllReduceGhostTest, SumsOnAsynchronousDevices) {
  enable_ghost_device();
  for (int64_t length : {0, 1, 5000})
    for (bool to_all : {false, true}) {
      check(DirectAllReduce(), {"ghost:0", "ghost:1"}, length, to_all);
      check(DirectAllReduce(), {"cpu:0", "ghost:1"}, length, to_all);
      check(ReductionToOneDevice(), {"ghost:0", "ghost:1", "ghost:2"}, length, to_all);
      check(ReductionToOneDevice({.device = "cpu:0"}), {"ghost:0", "ghost:1"}, length, to_all);
      check(ReductionToOneDevice({.device = "ghost:2"}), {"cpu:0", "ghost:1"}, length, to_all);
    }
}

}  // namespace

}  // namespace nyala
