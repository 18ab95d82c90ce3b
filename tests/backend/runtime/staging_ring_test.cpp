// Small copies to a device that queues its work wait for nothing, and blocks are not written before they are
// read.
#include <gtest/gtest.h>

#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/counters.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/host_memory.h>
#include <nyala/backend/runtime/staging_ring.h>

namespace nyala {
namespace {

class FakeEvent final : public Event {
 public:
  explicit FakeEvent(const bool& reached) : reached_(reached) {}
  void synchronize() override { FAIL() << "the host waits"; }
  bool is_reached() const override { return reached_; }

 private:
  const bool& reached_;
};

/// A stream whose device has come to all of its events, or to none.
class FakeStream final : public Stream {
 public:
  bool reached = false;
  Device device() const override { return "ghost:0"; }
  void launch(const KernelCall&) override {}
  void copy_from_host(void*, const void*, size_t) override {}
  void copy_to_host(void*, const void*, size_t) override {}
  void copy(void*, const void*, size_t) override {}
  void copy_from_peer(void*, const void*, size_t, Stream&) override {}
  void fill_zero(void*, size_t) override {}
  std::unique_ptr<Event> record() override { return std::make_unique<FakeEvent>(reached); }
  void wait(Event&) override {}
  void synchronize() override {}
};

TEST(StagingRing, KeepsWhatTheDeviceHasNotRead) {
  HostMemory memory;
  FakeStream stream;
  StagingRing ring(memory);
  std::vector<const int*> blocks;
  for (int value = 0; value < 100; ++value) {
    const int gone = value;
    ring.pass(&gone, sizeof gone, stream,
              [&](const void* block) { blocks.push_back(static_cast<const int*>(block)); });
  }
  for (int value = 0; value < 100; ++value) EXPECT_EQ(*blocks[static_cast<size_t>(value)], value);
  EXPECT_EQ(ring.size(), 100);
}

TEST(StagingRing, UsesBlocksAgainThatWereRead) {
  HostMemory memory;
  FakeStream stream;
  stream.reached = true;
  StagingRing ring(memory);
  for (int value = 0; value < 100; ++value)
    ring.pass(&value, sizeof value, stream,
              [&](const void* block) { EXPECT_EQ(*static_cast<const int*>(block), value); });
  EXPECT_EQ(ring.size(), 1);
}

TEST(StagingRing, LosesNoBlockButThatOfACopyThatFailed) {
  HostMemory memory;
  FakeStream stream;
  stream.reached = true;
  StagingRing ring(memory);
  const int value = 3;
  const auto good = [](const void*) {};
  ring.pass(&value, sizeof value, stream, good);
  EXPECT_THROW(ring.pass(&value, sizeof value, stream, [](const void*) { throw StateError("no"); }),
               StateError);
  EXPECT_EQ(ring.size(), 0);
  ring.pass(&value, sizeof value, stream, good);
  EXPECT_EQ(ring.size(), 1);
}

TEST(StagingRing, ScalarsReachTheGhostDeviceInOrder) {
  enable_ghost_device();
  const Tensor scalar = Tensor::zeros({}, DType::int64, "ghost:0");
  Tensors copies;
  const uint64_t before = runtime_counters().host_waits;
  for (int64_t value = 0; value < 300; ++value) {
    const int64_t gone = value;
    scalar.copy_from_host(&gone);
    copies.push_back(scalar.clone());
  }
  EXPECT_EQ(runtime_counters().host_waits, before);
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i].item(), static_cast<double>(i));
}

}  // namespace
}  // namespace nyala
