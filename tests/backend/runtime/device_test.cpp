#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/tests/support/team.h>

/// The address sanitizer ends the process for a request that the system refuses, unless told otherwise.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace nyala {

using namespace nyala::detail;

namespace {

class DeviceRegistryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    configure_logical_devices("cpu", 1);
    thread_context() = {};
  }
};

TEST_F(DeviceRegistryTest, LogicalDevicesAreConfigured) {
  EXPECT_EQ(list_logical_devices("cpu").size(), 1u);
  configure_logical_devices("cpu", 3);
  EXPECT_EQ(list_logical_devices("cpu"), (std::vector<Device>{"cpu:0", "cpu:1", "cpu:2"}));
  EXPECT_NO_THROW(check_device_exists("cpu:2"));
  EXPECT_THROW(check_device_exists("cpu:3"), DeviceNotFoundError);
  EXPECT_THROW(configure_logical_devices("cpu", 0), InvalidArgumentError);
  EXPECT_THROW(configure_logical_devices("cpu", 257), InvalidArgumentError);
  EXPECT_THROW(configure_logical_devices("gpu", 2), InvalidArgumentError);
  EXPECT_THROW(configure_logical_devices("tpu", 2), InvalidArgumentError);
}

TEST_F(DeviceRegistryTest, TensorsOutliveTheirLogicalDevice) {
  configure_logical_devices("cpu", 2);
  const Tensor x = Tensor::full({3}, 2, DType::float32, "cpu:1");
  configure_logical_devices("cpu", 1);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({2, 2, 2}));
}

TEST_F(DeviceRegistryTest, ThreadsAreShared) {
  EXPECT_GE(available_cores(), 1);
  configure_logical_devices("cpu", 256);
  EXPECT_EQ(threads_per_cpu_device(), 1);
}

TEST_F(DeviceRegistryTest, TheScopedDeviceEnds) {
  configure_logical_devices("cpu", 2);
  {
    const auto on = device("cpu:1");
    EXPECT_EQ(thread_context().device, Device("cpu:1"));
  }
  EXPECT_EQ(thread_context().device, Device("cpu:0"));
  EXPECT_THROW(device("cpu:5"), DeviceNotFoundError);
}

TEST_F(DeviceRegistryTest, CopiesBetweenAllKindsOfDevices) {
  configure_logical_devices("cpu", 2);
  enable_ghost_device();
  const Tensor x = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {3, 2});
  const std::vector<Device> devices = {"cpu:0", "cpu:1", "ghost:0", "ghost:1"};
  for (const Device from : devices)
    for (const Device to : devices) {
      const Tensor there = x.to(from).to(to);
      EXPECT_EQ(there.device(), to);
      EXPECT_EQ(there.to_vector<int32_t>(), x.to_vector<int32_t>());
      EXPECT_EQ(there.rows(1, 1).clone().to_vector<int32_t>(), std::vector<int32_t>({3, 4}));
    }
  EXPECT_EQ(Tensor::zeros({0, 2}, DType::float32, "ghost:0").to("cpu:1").num_elements(), 0);
}

TEST(AllocatorTest, FreedBlocksAreHandedOutAgain) {
  CachingAllocator& allocator = allocator_of(Device{});
  void* first = nullptr;
  {
    const StorageRef storage = allocator.allocate(100'000);
    first = storage->data();
  }
  const AllocatorStats before = allocator.stats();
  const StorageRef again = allocator.allocate(100'000);
  EXPECT_EQ(again->data(), first);
  EXPECT_EQ(allocator.stats().system_allocations, before.system_allocations);
  EXPECT_EQ(allocator.stats().requests, before.requests + 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(again->data()) % 64, 0u);
}

TEST(AllocatorTest, BlocksAreAtMostAQuarterTooLarge) {
  CachingAllocator& allocator = allocator_of(Device{});
  for (size_t bytes = 1; bytes < 10'000'000; bytes = bytes * 5 / 4 + 1) {
    const StorageRef storage = allocator.allocate(bytes);
    EXPECT_GE(storage->bytes(), bytes);
    if (bytes >= 64) {
      EXPECT_LE(static_cast<double>(storage->bytes()), 1.26 * static_cast<double>(bytes)) << bytes;
    }
  }
}

TEST(AllocatorTest, AWarmLoopAllocatesNothing) {
  const auto step = [] {
    Tensor x = Tensor::full({100, 50}, 1);
    for (int i = 0; i < 5; ++i) x = ops::add(x, x) * 0.5;
    return x.data<float>()[0];
  };
  for (int i = 0; i < 3; ++i) step();
  const uint64_t before = allocator_stats(Device{}).system_allocations;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(step(), 1.0f);
  EXPECT_EQ(allocator_stats(Device{}).system_allocations, before);
}

TEST(AllocatorTest, LiveBytesFollowTensors) {
  const size_t before = allocator_stats(Device{}).live_bytes;
  {
    const Tensor x = Tensor::zeros({1000});
    EXPECT_GE(allocator_stats(Device{}).live_bytes, before + 4000);
  }
  EXPECT_EQ(allocator_stats(Device{}).live_bytes, before);
  allocator_of(Device{}).release_cached();
  EXPECT_EQ(allocator_stats(Device{}).cached_bytes, 0u);
}

TEST(AllocatorTest, AnImpossibleRequestIsAnError) {
  EXPECT_THROW(Tensor::empty({int64_t{1} << 57}), OutOfMemoryError);
  EXPECT_THROW(Tensor::empty({int64_t{1} << 45}), OutOfMemoryError);
  EXPECT_EQ(Tensor::full({2}, 3).to_vector<float>()[1], 3);
}

TEST(AllocatorTest, ConcurrentUse) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 300; ++i) {
        const Tensor x = Tensor::full({1 + i % 17, 40}, static_cast<double>(t));
        const Tensor y = ops::add(x, x);
        for (const float value : y.data<float>()) wrong[t] += value != 2.0f * static_cast<float>(t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(ParallelTest, PiecesCoverTheRangeOnceAndDependOnItAlone) {
  const auto pieces = [](int threads) {
    const TestTeam team(threads);
    std::vector<int> starts(1000), hits(1000);
    parallel_for(1000, 64, [&](int64_t begin, int64_t end) {
      starts[static_cast<size_t>(begin)] = static_cast<int>(end);
      for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
    });
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), 1000);
    return starts;
  };
  EXPECT_EQ(pieces(1), pieces(3));
  parallel_for(0, 64, [](int64_t, int64_t) { FAIL(); });
}

}  // namespace

}  // namespace nyala
