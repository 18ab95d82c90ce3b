#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class GhostDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { enable_ghost_device(); }
  const Device ghost_{"ghost:0"};
};

TEST_F(GhostDeviceTest, IsListed) {
  EXPECT_EQ(list_logical_devices("ghost").front(), ghost_);
  EXPECT_NO_THROW(check_device_exists(ghost_));
  EXPECT_THROW(check_device_exists("ghost:9"), DeviceNotFoundError);
}

TEST_F(GhostDeviceTest, ComputesInOrder) {
  Tensor x = Tensor::full({100}, 1, DType::float32, ghost_);
  for (int i = 0; i < 20; ++i) x = ops::add(x, x) * 0.5 + 1.0;
  EXPECT_EQ(ops::sum(x).item(), 2100.0);
}

TEST_F(GhostDeviceTest, DropsOfTensorsDoNotDisturbQueuedWork) {
  for (int i = 0; i < 50; ++i) {
    Tensor sum = Tensor::zeros({64}, DType::float32, ghost_);
    for (int k = 0; k < 8; ++k) {
      const Tensor part = Tensor::full({64}, k, DType::float32, ghost_);
      sum = ops::add(sum, part);
    }
    EXPECT_EQ(sum.to_vector<float>(), std::vector<float>(64, 28.0f));
  }
}

TEST_F(GhostDeviceTest, HostReadsAreRefused) {
  const Tensor x = Tensor::zeros({4}, DType::float32, ghost_);
  EXPECT_THROW(x.data<float>(), StateError);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 0.0f));
}

TEST_F(GhostDeviceTest, MixingDevicesIsAnError) {
  const Tensor x = Tensor::zeros({4}, DType::float32, ghost_), y = Tensor::zeros({4});
  EXPECT_THROW(ops::add(x, y), InvalidArgumentError);
}

TEST_F(GhostDeviceTest, AnErrorOfQueuedWorkComesOutOfSynchronize) {
  const Tensor x = Tensor::full({2}, 1, DType::int32, ghost_),
               zero = Tensor::zeros({2}, DType::int32, ghost_);
  const Tensor y = ops::mod(x, zero);
  EXPECT_THROW(synchronize(ghost_), NumericError);
  EXPECT_NO_THROW(synchronize(ghost_));
  EXPECT_EQ(ops::add(x, x).to_vector<int32_t>(), std::vector<int32_t>({2, 2}));
}

TEST_F(GhostDeviceTest, EventsOrderStreams) {
  Stream& first = stream_of("ghost:0");
  Stream& second = stream_of("ghost:1");
  Tensor x = Tensor::full({1000}, 1, DType::float32, "ghost:0");
  for (int i = 0; i < 10; ++i) x = x + 1.0;
  const std::unique_ptr<Event> done = first.record();
  second.wait(*done);
  EXPECT_EQ(x.to("ghost:1").to_vector<float>(), std::vector<float>(1000, 11.0f));
}

/// A read of ghost memory on the host must end the process: that is what finds the seams.
TEST_F(GhostDeviceTest, MemoryIsUnreadableOutsideKernels) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read = [this] {
    const Tensor x = Tensor::full({4}, 1, DType::float32, ghost_);
    synchronize(ghost_);
    const volatile float* bytes = static_cast<const float*>(x.raw());
    std::exit(bytes[0] == 1.0f ? 0 : 1);
  };
  EXPECT_DEATH(read(), "");
}

TEST_F(GhostDeviceTest, ThreadsMayQueueAtOnce) {
  std::vector<std::thread> threads;
  std::vector<double> sums(3);
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      Tensor x = Tensor::full({50}, static_cast<double>(t), DType::float32, ghost_);
      for (int i = 0; i < 30; ++i) x = x + 1.0;
      sums[t] = ops::sum(x).item();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<double>({1500, 1550, 1600}));
}

}  // namespace

}  // namespace nyala
