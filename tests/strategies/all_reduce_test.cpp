#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/comm/all_reduce.h>

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

void check(const std::vector<Device>& devices, int64_t length, bool to_all) {
  Tensors buffers;
  for (size_t i = 0; i < devices.size(); ++i)
    buffers.push_back(Tensor::from(buffer_values(static_cast<int>(i), length), {length}, devices[i]));
  all_reduce_sum(buffers, to_all);
  const std::vector<float> sum = expected_sum(static_cast<int>(devices.size()), length);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool has_sum = to_all || i == 0;
    EXPECT_EQ(buffers[i].to_vector<float>(), has_sum ? sum : buffer_values(static_cast<int>(i), length))
        << "buffer " << i << " of " << devices.size() << ", length " << length;
  }
}

class AllReduceTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 7); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

/// The order of the sum is that of the buffers: every bit is known.
TEST_P(AllReduceTest, SumsInOrder) {
  std::vector<Device> devices;
  for (int i = 0; i < GetParam(); ++i) devices.push_back(Device("cpu:" + std::to_string(i)));
  for (int64_t length : kLengths)
    for (bool to_all : {false, true}) check(devices, length, to_all);
}

INSTANTIATE_TEST_SUITE_P(Buffers, AllReduceTest, ::testing::Values(1, 2, 3, 4, 7));

TEST(AllReduceGhostTest, SumsOnAsynchronousDevices) {
  enable_ghost_device();
  for (int64_t length : {0, 1, 5000}) {
    check({"ghost:0", "ghost:1"}, length, true);
    check({"ghost:0", "ghost:1", "ghost:2"}, length, false);
    check({"cpu:0", "ghost:1"}, length, true);
  }
}

TEST(AllReduceGhostTest, SumsFloat64) {
  Tensors buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(Tensor::from(std::vector<double>{1.0 + i, 1e-12 * i}));
  all_reduce_sum(buffers, true);
  const std::vector<double> expected{6.0, 1e-12 + 2e-12};
  for (const Tensor& buffer : buffers) EXPECT_EQ(buffer.to_vector<double>(), expected);
}

}  // namespace

}  // namespace nyala
